"""Changing rows in SQL; every check is of contents, in the writing session and in another."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.support.spark_rows import one, rows, version

if TYPE_CHECKING:
    from collections.abc import Callable

    from pyspark.sql import SparkSession

    Holds = Callable[[str, list[tuple[object, ...]]], None]

pytestmark = pytest.mark.spark


@pytest.fixture
def holds(spark: SparkSession, other: SparkSession) -> Holds:
    """Assert that a table holds these rows, for the session that wrote and for another."""

    def check(table: str, expected: list[tuple[object, ...]]) -> None:
        assert rows(spark, f"SELECT * FROM {table}") == expected
        assert rows(other, f"SELECT * FROM {table}") == expected
        assert one(spark, f"SELECT count(*) FROM {table}") == len(expected)

    return check


def test_insert(spark: SparkSession, table: str, holds: Holds) -> None:
    """Each INSERT adds its rows, one version each."""
    spark.sql(f"CREATE TABLE {table} (a INT, b STRING)")
    before = version(spark)
    for i in range(4):
        spark.sql(f"INSERT INTO {table} VALUES ({i}, 'x')")
        holds(table, [(j, "x") for j in range(i + 1)])
    spark.sql(f"INSERT INTO {table} (b) VALUES ('y')")
    spark.sql(f"INSERT INTO {table} SELECT a + 10, b FROM {table} WHERE a > 2")
    assert one(spark, f"SELECT sum(a) FROM {table}") == 0 + 1 + 2 + 3 + 13
    assert version(spark) == before + 6


def test_insert_overwrite(spark: SparkSession, table: str, holds: Holds) -> None:
    """It replaces all rows, or the partitions it names, or what REPLACE WHERE says."""
    spark.sql(f"CREATE TABLE {table} (a INT, k STRING) PARTITIONED BY (k)")
    spark.sql(f"INSERT INTO {table} VALUES (1, 'x'), (2, 'y')")
    spark.sql(f"INSERT OVERWRITE {table} PARTITION (k = 'x') VALUES (3)")
    holds(table, [(2, "y"), (3, "x")])
    spark.sql(f"INSERT INTO {table} REPLACE WHERE k = 'y' VALUES (4, 'y'), (5, 'y')")
    holds(table, [(3, "x"), (4, "y"), (5, "y")])
    spark.sql(f"INSERT OVERWRITE {table} VALUES (6, 'z')")
    holds(table, [(6, "z")])


def test_update_and_delete(spark: SparkSession, table: str, holds: Holds) -> None:
    """They change the rows that their condition names, and answer how many."""
    spark.sql(f"CREATE TABLE {table} AS SELECT CAST(id AS INT) AS a, 'x' AS b FROM range(5)")
    assert one(spark, f"UPDATE {table} SET b = 'u' WHERE a >= 3") == 2
    holds(table, [(0, "x"), (1, "x"), (2, "x"), (3, "u"), (4, "u")])
    assert one(spark, f"DELETE FROM {table} WHERE a % 2 = 0") == 3
    holds(table, [(1, "x"), (3, "u")])
    spark.sql(f"DELETE FROM {table}")
    holds(table, [])


def test_deletion_vectors(spark: SparkSession, table: str, holds: Holds) -> None:
    """Rows that are deleted by a deletion vector are gone, on both faces of the table."""
    spark.sql(
        f"CREATE TABLE {table} TBLPROPERTIES ('delta.enableDeletionVectors' = 'true')"
        " AS SELECT CAST(id AS INT) AS a FROM range(100)"
    )
    spark.sql(f"DELETE FROM {table} WHERE a >= 3")
    holds(table, [(0,), (1,), (2,)])
    spark.sql(f"UPDATE {table} SET a = -a WHERE a = 2")
    holds(table, [(-2,), (0,), (1,)])


def test_merge(spark: SparkSession, table: str, holds: Holds) -> None:
    """MERGE updates, deletes and inserts in one version."""
    spark.sql(f"CREATE TABLE {table} AS SELECT CAST(id AS INT) AS a, 'x' AS b FROM range(3)")
    spark.sql(f"CREATE TABLE {table}_source AS SELECT * FROM VALUES (1, 'm'), (2, 'd'), (9, 'n')")
    before = version(spark)
    spark.sql(
        f"MERGE INTO {table} t USING {table}_source s ON t.a = s.col1"
        " WHEN MATCHED AND s.col2 = 'd' THEN DELETE"
        " WHEN MATCHED THEN UPDATE SET b = s.col2"
        " WHEN NOT MATCHED THEN INSERT (a, b) VALUES (s.col1, s.col2)"
    )
    holds(table, [(0, "x"), (1, "m"), (9, "n")])
    assert version(spark) == before + 1


def test_truncate(spark: SparkSession, table: str, holds: Holds) -> None:
    """TRUNCATE leaves an empty table."""
    spark.sql(f"CREATE TABLE {table} AS SELECT 1 AS a")
    spark.sql(f"TRUNCATE TABLE {table}")
    holds(table, [])


def test_optimize(spark: SparkSession, table: str, holds: Holds) -> None:
    """OPTIMIZE and ZORDER leave the rows as they are, in fewer files."""
    spark.sql(f"CREATE TABLE {table} (a INT)")
    for i in range(4):
        spark.sql(f"INSERT INTO {table} VALUES ({i})")
    spark.sql(f"OPTIMIZE {table}")
    holds(table, [(0,), (1,), (2,), (3,)])
    assert spark.sql(f"DESCRIBE DETAIL {table}").first()["numFiles"] == 1
    spark.sql(f"INSERT INTO {table} VALUES (4)")
    spark.sql(f"OPTIMIZE {table} ZORDER BY (a)")
    holds(table, [(0,), (1,), (2,), (3,), (4,)])


def test_schema_evolution(spark: SparkSession, table: str) -> None:
    """MERGE WITH SCHEMA EVOLUTION and mergeSchema add columns with their rows."""
    spark.sql(f"CREATE TABLE {table} AS SELECT 1 AS a")
    spark.sql("SELECT 2 AS a, 'new' AS b").write.option("mergeSchema", "true").mode(
        "append"
    ).saveAsTable(table)
    assert rows(spark, f"SELECT * FROM {table} WHERE a = 2") == [(2, "new")]
    assert one(spark, f"SELECT b FROM {table} WHERE a = 1") is None


def test_many_commits_cross_checkpoints(spark: SparkSession, table: str, holds: Holds) -> None:
    """After 25 commits, with checkpoints between them, both faces show every row once."""
    spark.sql(f"CREATE TABLE {table} (a INT)")
    for i in range(25):
        spark.sql(f"INSERT INTO {table} VALUES ({i})")
    holds(table, [(i,) for i in range(25)])
    spark.conf.set("trinitylake.kernel-reads", "false")
    try:
        holds(table, [(i,) for i in range(25)])
    finally:
        spark.conf.unset("trinitylake.kernel-reads")
    spark.sql(f"DELETE FROM {table} WHERE a < 20")
    holds(table, [(20,), (21,), (22,), (23,), (24,)])
    assert spark.sql(f"DESCRIBE HISTORY {table}").count() == 27
