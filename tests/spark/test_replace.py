"""CREATE OR REPLACE and REPLACE without a query, in SQL and by Delta's builders."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from delta.tables import DeltaTable

from tests.support.spark_rows import fails, one, rows, version

if TYPE_CHECKING:
    from collections.abc import Iterator

    from delta.tables import DeltaTableBuilder
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark


@pytest.fixture(autouse=True)
def _no_transaction_left(spark: SparkSession) -> Iterator[None]:
    yield
    if spark.sql("SHOW TRANSACTION").count():
        spark.sql("ROLLBACK")


def operations(spark: SparkSession, table: str) -> list[str]:
    """What was done to a table, oldest first."""
    return [row["operation"] for row in spark.sql(f"DESCRIBE HISTORY {table}").collect()][::-1]


@pytest.mark.parametrize("verb", ["CREATE OR REPLACE", "REPLACE"])
def test_the_same_columns(spark: SparkSession, other: SparkSession, table: str, verb: str) -> None:
    """The table is empty afterwards, in one version; its history goes on."""
    spark.sql(f"CREATE TABLE {table} (a INT) TBLPROPERTIES (p = 'q') COMMENT 'old'")
    spark.sql(f"INSERT INTO {table} VALUES (1), (2)")
    before = version(spark)
    spark.sql(f"{verb} TABLE {table} (a INT)")
    assert version(spark) == before + 1
    for session in (spark, other):
        assert rows(session, f"SELECT * FROM {table}") == []
        assert rows(session, f"SELECT * FROM {table} VERSION AS OF {before}") == [(1,), (2,)]
    assert operations(spark, table) == ["CREATE TABLE", "WRITE", f"{verb} TABLE"]
    assert "p" not in dict(rows(spark, f"SHOW TBLPROPERTIES {table}"))
    spark.sql(f"INSERT INTO {table} VALUES (3)")
    assert rows(other, f"SELECT * FROM {table}") == [(3,)]


@pytest.mark.parametrize("verb", ["CREATE OR REPLACE", "REPLACE"])
def test_another_table(spark: SparkSession, other: SparkSession, table: str, verb: str) -> None:
    """Columns, partitioning, clustering, properties and comment are those of the statement."""
    spark.sql(f"CREATE TABLE {table} (a INT, b INT) TBLPROPERTIES (p = 'q')")
    spark.sql(f"INSERT INTO {table} VALUES (1, 1)")
    spark.sql(
        f"{verb} TABLE {table} (k STRING, n BIGINT GENERATED ALWAYS AS IDENTITY, v DATE NOT NULL)"
        " PARTITIONED BY (k) COMMENT 'new'"
        " TBLPROPERTIES (r = 's', 'delta.enableChangeDataFeed' = 'true')"
    )
    assert spark.table(table).columns == ["k", "n", "v"]
    assert rows(spark, f"SELECT * FROM {table}") == []
    spark.sql(f"INSERT INTO {table} (k, v) VALUES ('x', DATE'2026-01-01')")
    assert rows(other, f"SELECT k, CAST(v AS STRING) FROM {table}") == [("x", "2026-01-01")]
    assert rows(other, f"SHOW PARTITIONS {table}") == [("x",)]
    shown = dict(rows(other, f"SHOW TBLPROPERTIES {table}"))
    assert (shown["r"], shown["delta.enableChangeDataFeed"], shown.get("p")) == ("s", "true", None)
    detail = spark.sql(f"DESCRIBE DETAIL {table}").first()
    assert (detail["description"], detail["partitionColumns"]) == ("new", ["k"])

    spark.sql(f"{verb} TABLE {table} (z INT, y INT)")
    assert rows(spark, f"SELECT z, y FROM {table}") == []
    assert spark.sql(f"DESCRIBE DETAIL {table}").first()["partitionColumns"] == []
    spark.sql(f"{verb} TABLE {table} (z INT, y INT) CLUSTER BY (z)")
    assert spark.sql(f"DESCRIBE DETAIL {table}").first()["clusteringColumns"] == ["z"]


def test_a_table_that_is_not_there(spark: SparkSession, table: str) -> None:
    """CREATE OR REPLACE creates it; REPLACE says that it is not there."""
    before = version(spark)
    with fails("TABLE_OR_VIEW_NOT_FOUND"):
        spark.sql(f"REPLACE TABLE {table} (a INT)")
    assert version(spark) == before
    spark.sql(f"CREATE OR REPLACE TABLE {table} (a INT)")
    assert version(spark) == before + 1
    assert operations(spark, table) == ["CREATE OR REPLACE TABLE"]
    spark.sql(f"INSERT INTO {table} VALUES (1)")
    spark.sql(f"DROP TABLE {table}")
    spark.sql(f"CREATE OR REPLACE TABLE {table} (b STRING)")
    assert rows(spark, f"SELECT b FROM {table}") == []


def test_in_a_transaction(spark: SparkSession, other: SparkSession, table: str) -> None:
    """Statements that follow see the new table, others the old one until COMMIT."""
    spark.sql(f"CREATE TABLE {table} AS SELECT 1 AS a")
    before = version(spark)
    spark.sql("BEGIN")
    spark.sql(f"INSERT INTO {table} VALUES (2)")
    spark.sql(f"CREATE OR REPLACE TABLE {table} (b STRING)")
    assert rows(spark, f"SELECT b FROM {table}") == []
    spark.sql(f"INSERT INTO {table} VALUES ('x')")
    spark.sql(f"REPLACE TABLE {table} (c STRING)")
    spark.sql(f"INSERT INTO {table} VALUES ('y')")
    spark.sql(f"CREATE OR REPLACE TABLE {table}_new (a INT)")
    spark.sql(f"INSERT INTO {table}_new VALUES (7)")
    spark.sql(f"CREATE OR REPLACE TABLE {table}_new (a INT)")
    assert rows(spark, f"SELECT c FROM {table}") == [("y",)]
    assert rows(other, f"SELECT a FROM {table}") == [(1,)]
    spark.sql("COMMIT")
    assert version(spark) == before + 1
    for session in (spark, other):
        assert rows(session, f"SELECT c FROM {table}") == [("y",)]
        assert rows(session, f"SELECT a FROM {table}_new") == []
        assert rows(session, f"SELECT a FROM {table} VERSION AS OF {before}") == [(1,)]


def test_rolled_back(spark: SparkSession, other: SparkSession, table: str) -> None:
    """ROLLBACK leaves the old table as it was, with its rows, columns and history."""
    spark.sql(f"CREATE TABLE {table} AS SELECT 1 AS a")
    before = version(spark)
    spark.sql("BEGIN")
    spark.sql(f"CREATE OR REPLACE TABLE {table} (a INT)")
    spark.sql(f"CREATE OR REPLACE TABLE {table} (b STRING)")
    spark.sql(f"CREATE OR REPLACE TABLE {table}_new (a INT)")
    spark.sql("ROLLBACK")
    assert version(spark) == before
    for session in (spark, other):
        assert rows(session, f"SELECT a FROM {table}") == [(1,)]
        with fails("TABLE_OR_VIEW_NOT_FOUND"):
            session.sql(f"SELECT * FROM {table}_new")
    spark.sql(f"INSERT INTO {table} VALUES (2)")
    assert rows(other, f"SELECT a FROM {table}") == [(1,), (2,)]


def test_one_that_fails(spark: SparkSession, table: str) -> None:
    """A statement that Delta refuses leaves the old table, and a transaction as it was."""
    spark.sql(f"CREATE TABLE {table} AS SELECT 1 AS a")
    before = version(spark)
    refused = f"CREATE OR REPLACE TABLE {table} (a INT) TBLPROPERTIES ('delta.appendOnly' = 'no')"
    with pytest.raises(Exception, match=r"no"):
        spark.sql(refused)
    assert version(spark) == before
    spark.sql("BEGIN")
    spark.sql(f"INSERT INTO {table} VALUES (2)")
    with pytest.raises(Exception, match=r"no"):
        spark.sql(refused)
    assert rows(spark, f"SELECT a FROM {table}") == [(1,), (2,)]
    spark.sql("COMMIT")
    assert rows(spark, f"SELECT a FROM {table}") == [(1,), (2,)]


def builder(made: DeltaTableBuilder, table: str, *columns: str) -> DeltaTableBuilder:
    """A builder with a name and columns of strings."""
    made = made.tableName(table)
    for column in columns:
        made = made.addColumn(column, "STRING")
    return made


def test_builders(spark: SparkSession, other: SparkSession, table: str) -> None:
    """create, createIfNotExists, replace and createOrReplace do as their SQL does."""
    before = version(spark)
    made = builder(DeltaTable.createOrReplace(spark), table, "a").property("p", "q").execute()
    assert version(spark) == before + 1
    assert made.toDF().columns == ["a"]
    spark.sql(f"INSERT INTO {table} VALUES ('x')")
    made = builder(DeltaTable.createOrReplace(spark), table, "a").execute()
    assert made.toDF().count() == 0
    assert rows(other, f"SELECT * FROM {table}") == []
    spark.sql(f"INSERT INTO {table} VALUES ('x')")
    builder(DeltaTable.createOrReplace(spark), table, "b", "c").partitionedBy("c").execute()
    assert rows(other, f"SELECT b, c FROM {table}") == []
    spark.sql(f"INSERT INTO {table} VALUES ('x', 'y')")
    builder(DeltaTable.replace(spark), table, "d").comment("new").execute()
    assert rows(other, f"SELECT d FROM {table}") == []
    spark.sql(f"INSERT INTO {table} VALUES ('z')")
    assert version(spark) == before + 8

    builder(DeltaTable.createIfNotExists(spark), table, "e").execute()
    assert rows(other, f"SELECT d FROM {table}") == [("z",)]
    with fails("TABLE_OR_VIEW_ALREADY_EXISTS"):
        builder(DeltaTable.create(spark), table, "e").execute()
    with fails("TABLE_OR_VIEW_NOT_FOUND"):
        builder(DeltaTable.replace(spark), f"{table}_absent", "e").execute()
    assert version(spark) == before + 8
    builder(DeltaTable.create(spark), f"{table}_2", "e").clusterBy("e").execute()
    builder(DeltaTable.createIfNotExists(spark), f"{table}_3", "e").execute()
    assert version(spark) == before + 10
    assert rows(other, f"SELECT e FROM {table}_2 UNION ALL SELECT e FROM {table}_3") == []


def test_builders_in_a_transaction(spark: SparkSession, other: SparkSession, table: str) -> None:
    """What they make is part of it: rolled back, or committed as one version."""
    spark.sql(f"CREATE TABLE {table} AS SELECT 'old' AS a")
    before = version(spark)
    for end in ("ROLLBACK", "COMMIT"):
        spark.sql("BEGIN")
        builder(DeltaTable.createOrReplace(spark), table, "a").execute()
        builder(DeltaTable.createOrReplace(spark), f"{table}_2", "b").execute()
        builder(DeltaTable.replace(spark), f"{table}_2", "c").execute()
        spark.sql(f"INSERT INTO {table} VALUES ('new')")
        assert rows(spark, f"SELECT a FROM {table}") == [("new",)]
        assert rows(spark, f"SELECT c FROM {table}_2") == []
        assert rows(other, f"SELECT a FROM {table}") == [("old",)]
        spark.sql(end)
        assert version(spark) == before + (end == "COMMIT")
    assert rows(other, f"SELECT a FROM {table}") == [("new",)]
    assert rows(other, f"SELECT c FROM {table}_2") == []


def test_short_names(spark: SparkSession, other: SparkSession, table: str) -> None:
    """After USE, builders and handles know the names that SQL knows."""
    other.sql("USE lake.db")
    name = table.rpartition(".")[2]
    made = builder(DeltaTable.create(other), name, "a").execute()
    other.sql(f"INSERT INTO {name} VALUES ('x')")
    assert made.toDF().count() == 1
    assert DeltaTable.forName(other, f"db.{name}").toDF().count() == 1
    made = builder(DeltaTable.createOrReplace(other), f"db.{name}", "b").execute()
    assert made.toDF().columns == ["b"]
    assert rows(spark, f"SELECT b FROM {table}") == []
    with fails("TABLE_OR_VIEW_NOT_FOUND"):
        DeltaTable.forName(other, f"{name}_absent")


@pytest.mark.parametrize("old", ["(a INT)", "AS SELECT 1 AS a"])
def test_rows_that_came_in_meanwhile(
    spark: SparkSession, other: SparkSession, table: str, old: str
) -> None:
    """They are replaced, too, whether the table had rows or not; who writes later is refused."""
    spark.sql(f"CREATE TABLE {table} {old}")
    spark.sql("BEGIN")
    spark.sql(f"CREATE OR REPLACE TABLE {table} (b STRING)")
    other.sql(f"INSERT INTO {table} VALUES (2)")
    spark.sql("COMMIT")
    assert rows(other, f"SELECT b FROM {table}") == []

    spark.sql("BEGIN")
    spark.sql(f"INSERT INTO {table} VALUES ('x')")
    other.sql(f"CREATE OR REPLACE TABLE {table} (c INT)")
    with fails("TRINITYLAKE_COMMIT_CONFLICT", "40001"):
        spark.sql("COMMIT")
    assert one(spark, f"SELECT count(c) FROM {table}") == 0
