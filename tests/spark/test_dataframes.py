"""Tables through DataFrames and DeltaTable."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from chispa import assert_df_equality
from delta.tables import DeltaTable
from pyspark.sql.functions import col

from tests.support.spark_rows import fails, one, rows, version

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark


def test_save_as_table(spark: SparkSession, table: str) -> None:
    """DataFrameWriter creates, appends, overwrites, and refuses what exists."""
    data = spark.createDataFrame([(1, "x"), (2, None)], "a INT, b STRING")
    data.write.saveAsTable(table)
    assert_df_equality(spark.table(table), data, ignore_row_order=True, ignore_nullable=True)
    with fails("TABLE_OR_VIEW_ALREADY_EXISTS"):
        data.write.saveAsTable(table)
    data.write.mode("ignore").saveAsTable(table)
    data.write.mode("append").saveAsTable(table)
    assert_df_equality(
        spark.table(table), data.union(data), ignore_row_order=True, ignore_nullable=True
    )
    before = version(spark)
    data.write.mode("overwrite").saveAsTable(table)
    assert version(spark) == before + 1
    assert_df_equality(spark.table(table), data, ignore_row_order=True, ignore_nullable=True)


def test_save_as_table_with_partitions(spark: SparkSession, table: str) -> None:
    """Partitions and a new schema are options as in Delta."""
    spark.range(4).selectExpr("id AS a", "id % 2 AS k").write.partitionBy("k").saveAsTable(table)
    assert rows(spark, f"SHOW PARTITIONS {table}") == [(0,), (1,)]
    data = spark.range(2).selectExpr("id AS other")
    data.write.mode("overwrite").option("overwriteSchema", "true").saveAsTable(table)
    assert_df_equality(spark.table(table), data, ignore_row_order=True, ignore_nullable=True)


def test_insert_into(spark: SparkSession, table: str) -> None:
    """It goes by position."""
    spark.sql(f"CREATE TABLE {table} (a BIGINT, b BIGINT)")
    spark.range(2).selectExpr("id AS b", "id + 10 AS a").write.insertInto(table)
    assert rows(spark, f"SELECT a, b FROM {table}") == [(0, 10), (1, 11)]
    spark.range(1).selectExpr("id", "id").write.insertInto(table, overwrite=True)
    assert rows(spark, f"SELECT * FROM {table}") == [(0, 0)]


def test_write_to(spark: SparkSession, table: str) -> None:
    """All verbs of DataFrameWriterV2."""
    data = spark.range(3).selectExpr("id AS a", "id % 2 AS k")
    data.writeTo(table).tableProperty("p", "q").create()
    data.writeTo(table).append()
    assert one(spark, f"SELECT count(*) FROM {table}") == 6
    data.where("a = 1").writeTo(table).overwrite(col("a") == 1)
    assert rows(spark, f"SELECT a FROM {table}") == [(0,), (0,), (1,), (2,), (2,)]
    data.writeTo(table).replace()
    assert_df_equality(spark.table(table), data, ignore_row_order=True, ignore_nullable=True)
    data.writeTo(table).createOrReplace()
    assert_df_equality(spark.table(table), data, ignore_row_order=True, ignore_nullable=True)
    data.limit(0).writeTo(table).overwritePartitions()
    with fails("TABLE_OR_VIEW_ALREADY_EXISTS"):
        data.writeTo(table).create()
    with fails("TABLE_OR_VIEW_NOT_FOUND"):
        data.writeTo(f"{table}_absent").append()


def test_a_table_copied_onto_itself_and_others(spark: SparkSession, table: str) -> None:
    """What was read through the fast face can be written, also back to where it came from."""
    spark.sql(
        f"CREATE TABLE {table} AS SELECT 1 AS a, 'x' AS b, array(1.5D) AS c, DATE'2026-01-01' d"
    )
    read = spark.table(table)
    read.write.saveAsTable(f"{table}_copy")
    assert_df_equality(spark.table(f"{table}_copy"), read)
    read.writeTo(table).append()
    assert one(spark, f"SELECT count(*) FROM {table}") == 2
    spark.table(table).selectExpr("a + 1 AS a", "b", "c", "d").write.mode("overwrite").saveAsTable(
        table
    )
    assert rows(spark, f"SELECT a FROM {table}") == [(2,), (2,)]


def test_cached_dataframes(spark: SparkSession, table: str) -> None:
    """A cache serves the version that was cached, never a newer statement with older rows."""
    spark.sql(f"CREATE TABLE {table} AS SELECT 1 AS a")
    cached = spark.table(table).cache()
    assert cached.count() == 1
    spark.sql(f"INSERT INTO {table} VALUES (2)")
    assert spark.table(table).count() == 2
    assert one(spark, f"SELECT count(*) FROM {table}") == 2
    cached.unpersist()


def test_temp_views(spark: SparkSession, table: str) -> None:
    """A temporary view over a table follows it."""
    spark.sql(f"CREATE TABLE {table} AS SELECT 1 AS a")
    spark.sql(f"CREATE OR REPLACE TEMP VIEW by_text AS SELECT * FROM {table}")
    spark.table(table).createOrReplaceTempView("by_plan")
    spark.sql(f"INSERT INTO {table} VALUES (2)")
    assert rows(spark, "SELECT * FROM by_text") == [(1,), (2,)]
    assert rows(spark, "SELECT * FROM by_plan") in ([(1,)], [(1,), (2,)])


def test_delta_table_by_name(spark: SparkSession, other: SparkSession, table: str) -> None:
    """DeltaTable.forName reads and writes the table as it is now."""
    spark.sql(f"CREATE TABLE {table} AS SELECT CAST(id AS INT) AS a FROM range(3)")
    handle = DeltaTable.forName(spark, table)
    assert handle.toDF().count() == 3
    other.sql(f"INSERT INTO {table} VALUES (10)")
    handle.update("a = 10", {"a": "11"})
    handle.delete("a = 0")
    source = spark.createDataFrame([(1,), (20,)], "a INT")
    (
        handle.alias("t")
        .merge(source.alias("s"), "t.a = s.a")
        .whenMatchedUpdate(set={"a": "t.a + 100"})
        .whenNotMatchedInsertAll()
        .execute()
    )
    expected = [(2,), (11,), (20,), (101,)]
    assert rows(spark, f"SELECT * FROM {table}") == expected
    assert rows(other, f"SELECT * FROM {table}") == expected
    assert [tuple(r) for r in handle.toDF().orderBy("a").collect()] == expected
    with fails("TRINITYLAKE_UNSUPPORTED"):
        handle.vacuum()
    with fails("TRINITYLAKE_UNSUPPORTED"):
        handle.clone("cloned", isShallow=True)
    assert handle.history(1).first()["operation"] == "MERGE"
    handle.optimize().executeCompaction()
    assert handle.detail().first()["numFiles"] == 1
    assert rows(spark, f"SELECT * FROM {table}") == expected


def test_delta_table_restores_to_lake_versions(spark: SparkSession, table: str) -> None:
    """The number to restore to is the one that system.versions shows."""
    spark.sql(f"CREATE TABLE {table} AS SELECT 1 AS a")
    spark.sql("CREATE NAMESPACE lake.to_shift_numbers")
    spark.sql(f"INSERT INTO {table} VALUES (2)")
    target = version(spark)
    spark.sql(f"INSERT INTO {table} VALUES (3)")
    DeltaTable.forName(spark, table).restoreToVersion(target)
    assert rows(spark, f"SELECT * FROM {table}") == [(1,), (2,)]


def test_delta_table_in_a_transaction(spark: SparkSession, other: SparkSession, table: str) -> None:
    """A handle follows the session's transaction, and back out of it."""
    spark.sql(f"CREATE TABLE {table} AS SELECT 1 AS a")
    handle = DeltaTable.forName(spark, table)
    spark.sql("BEGIN")
    handle.update(set={"a": "2"})
    assert handle.toDF().first()["a"] == 2
    assert rows(other, f"SELECT * FROM {table}") == [(1,)]
    spark.sql("ROLLBACK")
    assert rows(spark, f"SELECT * FROM {table}") == [(1,)]
    assert DeltaTable.forName(spark, table).toDF().first()["a"] == 1
    handle.update(set={"a": "3"})
    assert rows(other, f"SELECT * FROM {table}") == [(3,)]


def test_the_catalog_api(spark: SparkSession, table: str) -> None:
    """spark.catalog sees namespaces and tables."""
    spark.sql(f"CREATE TABLE {table} AS SELECT 1 AS a")
    assert spark.catalog.tableExists(table)
    assert not spark.catalog.tableExists(f"{table}_absent")
    assert spark.catalog.databaseExists("lake.db")
    spark.catalog.setCurrentCatalog("lake")
    assert table.rpartition(".")[2] in [t.name for t in spark.catalog.listTables("lake.db")]
    assert [c.name for c in spark.catalog.listColumns(table)] == ["a"]
    spark.catalog.setCurrentCatalog("spark_catalog")
