"""Namespaces in SQL."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.support.spark_rows import fails, rows

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark


def test_a_namespace_lives(spark: SparkSession) -> None:
    """It is created, listed, described with its properties, changed and dropped."""
    spark.sql("CREATE NAMESPACE lake.ns COMMENT 'mine' WITH PROPERTIES (a = '1')")
    assert ("ns",) in rows(spark, "SHOW NAMESPACES IN lake")

    spark.sql("ALTER NAMESPACE lake.ns SET PROPERTIES (a = '2', b = '3')")
    described = dict(rows(spark, "DESCRIBE NAMESPACE EXTENDED lake.ns"))
    assert described["Comment"] == "mine"
    assert described["Properties"] == "((a,2), (b,3))"

    spark.sql("DROP NAMESPACE lake.ns")
    assert ("ns",) not in rows(spark, "SHOW NAMESPACES IN lake")


def test_creating_twice(spark: SparkSession) -> None:
    """IF NOT EXISTS makes it harmless; else it is Spark's own error."""
    spark.sql("CREATE NAMESPACE lake.twice")
    spark.sql("CREATE NAMESPACE IF NOT EXISTS lake.twice")
    with fails("SCHEMA_ALREADY_EXISTS"):
        spark.sql("CREATE NAMESPACE lake.twice")


def test_dropping_what_is_not_there(spark: SparkSession) -> None:
    """IF EXISTS makes it harmless; else it is Spark's own error."""
    spark.sql("DROP NAMESPACE IF EXISTS lake.nowhere")
    with fails("SCHEMA_NOT_FOUND"):
        spark.sql("DROP NAMESPACE lake.nowhere")


def test_dropping_a_full_one(spark: SparkSession) -> None:
    """A namespace with a table is dropped with CASCADE only, and the table with it."""
    spark.sql("CREATE NAMESPACE lake.full")
    spark.sql("CREATE TABLE lake.full.t (a INT)")
    with fails("SCHEMA_NOT_EMPTY"):
        spark.sql("DROP NAMESPACE lake.full")
    assert rows(spark, "SELECT * FROM lake.full.t") == []

    spark.sql("DROP NAMESPACE lake.full CASCADE")
    with fails("TABLE_OR_VIEW_NOT_FOUND"):
        spark.sql("SELECT * FROM lake.full.t")


@pytest.mark.parametrize("name", ["with space", "tab\there", "ü" * 51])
def test_impossible_names(spark: SparkSession, name: str) -> None:
    """A name that the format cannot hold is refused, and nothing is made."""
    with fails("TRINITYLAKE_INVALID_NAME"):
        spark.sql(f"CREATE NAMESPACE lake.`{name}`")
    with fails("TRINITYLAKE_INVALID_NAME"):
        spark.sql(f"CREATE TABLE lake.db.`{name}` (a INT)")
    assert (name,) not in rows(spark, "SHOW NAMESPACES IN lake")


def test_unusual_names(spark: SparkSession) -> None:
    """Dots, slashes, umlauts and keywords are ordinary characters of a name."""
    for name in ("größe", "a.b", "a/b", "select", "100%"):
        spark.sql(f"CREATE NAMESPACE lake.`{name}`")
        spark.sql(f"CREATE TABLE lake.`{name}`.`{name}` AS SELECT 1 AS a")
        assert rows(spark, f"SELECT * FROM lake.`{name}`.`{name}`") == [(1,)]
        spark.sql(f"INSERT INTO lake.`{name}`.`{name}` VALUES (2)")
        assert rows(spark, f"SELECT * FROM lake.`{name}`.`{name}`") == [(1,), (2,)]


def test_there_is_one_level(spark: SparkSession) -> None:
    """A namespace in a namespace does not exist, and the message names it in full."""
    with fails("SCHEMA_NOT_FOUND"):
        spark.sql("CREATE TABLE lake.db.inner.t (a INT)")


def test_system_is_reserved(spark: SparkSession) -> None:
    """Nothing can be written to `system`."""
    with fails("TRINITYLAKE_READ_ONLY", "25006"):
        spark.sql("CREATE TABLE lake.system.t (a INT)")
    with fails("TRINITYLAKE_READ_ONLY", "25006"):
        spark.sql("CREATE TABLE lake.system.t AS SELECT 1 AS a")
    with fails("TRINITYLAKE_READ_ONLY", "25006"):
        spark.sql("DROP NAMESPACE lake.system CASCADE")
    with fails("TRINITYLAKE_READ_ONLY", "25006"):
        spark.sql("INSERT INTO lake.system.versions SELECT * FROM lake.system.versions")
    assert "versions" in [name for _, name, _ in rows(spark, "SHOW TABLES IN lake.system")]
