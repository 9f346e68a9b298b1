"""Streams from and to tables."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from pyspark.errors import StreamingQueryException

import trinitylake_spark as tl
from tests.support.driver import wait_until
from tests.support.spark_rows import has_begun, rows, slow_value, version

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.streaming import StreamingQuery

pytestmark = pytest.mark.spark


def drain(data: DataFrame, target: str, checkpoint: Path) -> None:
    """Write everything that a stream has now into a table."""
    query = (
        data.writeStream.format("delta")
        .option("checkpointLocation", str(checkpoint))
        .trigger(availableNow=True)
        .toTable(target)
    )
    query.awaitTermination()


def test_a_stream_sees_every_row_once(
    spark: SparkSession, other: SparkSession, table: str, tmp_path: Path
) -> None:
    """Whoever wrote it, in a transaction or not, and whatever was renumbered meanwhile."""
    spark.sql(f"CREATE TABLE {table} (a INT)")
    spark.sql(f"CREATE TABLE {table}_copy (a INT)")
    spark.sql(f"INSERT INTO {table} VALUES (1)")

    def follow() -> None:
        drain(spark.readStream.table(table), f"{table}_copy", tmp_path / "checkpoint")

    follow()
    assert rows(spark, f"SELECT * FROM {table}_copy") == [(1,)]
    spark.sql("BEGIN")
    spark.sql(f"INSERT INTO {table} VALUES (2)")
    other.sql(f"INSERT INTO {table} VALUES (3)")
    spark.sql(f"INSERT INTO {table} VALUES (4)")
    follow()
    assert rows(other, f"SELECT * FROM {table}_copy") == [(1,), (3,)]
    spark.sql("COMMIT")
    follow()
    spark.sql(f"INSERT INTO {table} VALUES (5)")
    follow()
    follow()
    assert rows(spark, f"SELECT * FROM {table}_copy") == [(1,), (2,), (3,), (4,), (5,)]


def test_each_batch_is_a_version(spark: SparkSession, table: str, tmp_path: Path) -> None:
    """A batch commits once; running it again commits nothing."""
    spark.sql(f"CREATE TABLE {table} AS SELECT 1 AS a")
    spark.sql(f"CREATE TABLE {table}_copy (a INT)")
    before = version(spark)
    stream = spark.readStream.table(table)
    drain(stream, f"{table}_copy", tmp_path / "checkpoint")
    assert version(spark) == before + 1
    drain(stream, f"{table}_copy", tmp_path / "checkpoint")
    assert version(spark) == before + 1


def test_a_stream_creates_its_table(spark: SparkSession, table: str, tmp_path: Path) -> None:
    """A sink that is not there is created."""
    spark.sql(f"CREATE TABLE {table} AS SELECT 1 AS a")
    drain(spark.readStream.table(table), f"{table}_made", tmp_path / "checkpoint")
    assert rows(spark, f"SELECT * FROM {table}_made") == [(1,)]


def test_for_each_batch(
    spark: SparkSession, other: SparkSession, table: str, tmp_path: Path
) -> None:
    """Statements inside foreachBatch see each other and what others committed meanwhile."""
    spark.sql(f"CREATE TABLE {table} AS SELECT 1 AS a")
    spark.sql(f"CREATE TABLE {table}_copy (a INT)")
    seen = []

    def batch(data: DataFrame, number: int) -> None:
        session = data.sparkSession
        data.writeTo(f"{table}_copy").append()
        seen.append(session.table(f"{table}_copy").count())
        session.sql(f"INSERT INTO {table}_copy VALUES ({100 + number})")
        other.sql(f"INSERT INTO {table}_copy VALUES ({200 + number})")
        seen.append(session.sql(f"SELECT * FROM {table}_copy").count())

    query = (
        spark.readStream.table(table)
        .writeStream.foreachBatch(batch)
        .option("checkpointLocation", str(tmp_path / "checkpoint"))
        .trigger(availableNow=True)
        .start()
    )
    query.awaitTermination()
    assert seen == [1, 3]
    assert rows(spark, f"SELECT * FROM {table}_copy") == [(1,), (100,), (200,)]


def test_a_batch_is_a_transaction_over_several_tables(
    spark: SparkSession, other: SparkSession, table: str, tmp_path: Path
) -> None:
    """A foreach batch joins a static table, as it is then, and commits all it writes at once."""
    for name in ("", "_static", "_copy", "_log"):
        spark.sql(f"CREATE TABLE {table}{name} (a INT)")
    spark.sql(f"INSERT INTO {table} VALUES (1), (2)")
    static = spark.table(f"{table}_static")
    other.sql(f"INSERT INTO {table}_static VALUES (2)")
    versions = []

    def batch(data: DataFrame, number: int) -> None:
        session = data.sparkSession
        with tl.transaction(session, catalog="lake") as tx:
            found = data.join(session.table(f"{table}_static"), "a")
            found.writeTo(f"{table}_copy").append()
            session.sql(f"INSERT INTO {table}_log VALUES ({number})")
            assert rows(other, f"SELECT * FROM {table}_log") == []
        versions.append(tx.version)

    query = (
        spark.readStream.table(table)
        .join(static, "a")
        .writeStream.foreachBatch(batch)
        .option("checkpointLocation", str(tmp_path / "checkpoint"))
        .trigger(availableNow=True)
        .start()
    )
    query.awaitTermination()
    assert versions == [version(other)]
    assert rows(other, f"SELECT * FROM {table}_copy") == [(2,)]
    assert rows(other, f"SELECT * FROM {table}_log") == [(0,)]


@pytest.mark.parametrize(
    "change", ["ADD COLUMNS (b STRING)", "SET TBLPROPERTIES ('delta.checkpointInterval' = '20')"]
)
def test_a_batch_meets_an_alter(
    spark: SparkSession, other: SparkSession, table: str, tmp_path: Path, change: str
) -> None:
    """It ends with our conflict and commits nothing; started again, it goes on."""
    spark.sql(f"CREATE TABLE {table} AS SELECT 1 AS a")
    spark.sql(f"CREATE TABLE {table}_copy (a INT)")
    name, copy = f"batch {change}".replace("'", ""), f"{table}_copy"

    def start(value: str) -> StreamingQuery:
        return (
            spark.readStream.table(table)
            .selectExpr(f"{value} AS a")
            .writeStream.format("delta")
            .option("checkpointLocation", str(tmp_path / "checkpoint"))
            .trigger(availableNow=True)
            .toTable(copy)
        )

    query = start(slow_value("a", name, 8000))
    assert wait_until(lambda: has_begun(other, name), 60)
    other.sql(f"ALTER TABLE {copy} {change}")
    before = version(other)
    with pytest.raises(StreamingQueryException, match=r"TRINITYLAKE_COMMIT_CONFLICT.*40001"):
        query.awaitTermination(120)
    assert version(other) == before
    assert rows(other, f"SELECT * FROM {copy}") == []
    start("a").awaitTermination(120)
    assert rows(other, f"SELECT a FROM {copy}") == [(1,)]


def test_a_batch_meets_rows(
    spark: SparkSession, other: SparkSession, table: str, tmp_path: Path
) -> None:
    """What others insert or rewrite meanwhile does not disturb it."""
    spark.sql(f"CREATE TABLE {table} AS SELECT 1 AS a")
    spark.sql(f"CREATE TABLE {table}_copy AS SELECT 5 AS a")
    query = (
        spark.readStream.table(table)
        .selectExpr(f"{slow_value('a', 'rows', 8000)} AS a")
        .writeStream.format("delta")
        .option("checkpointLocation", str(tmp_path / "checkpoint"))
        .trigger(availableNow=True)
        .toTable(f"{table}_copy")
    )
    assert wait_until(lambda: has_begun(other, "rows"), 60)
    other.sql(f"INSERT INTO {table}_copy VALUES (2)")
    other.sql(f"UPDATE {table}_copy SET a = 6 WHERE a = 5")
    query.awaitTermination(120)
    assert rows(other, f"SELECT * FROM {table}_copy") == [(1,), (2,), (6,)]


def _follow(spark: SparkSession, table: str, checkpoint: Path) -> StreamingQuery:
    """Start a query that reads a table as it grows, and let it read what is there."""
    query = (
        spark.readStream.table(table)
        .writeStream.format("noop")
        .option("checkpointLocation", str(checkpoint))
        .trigger(processingTime="0 seconds")
        .start()
    )
    query.processAllAvailable()
    return query


def test_a_table_dropped_under_a_stream(spark: SparkSession, table: str, tmp_path: Path) -> None:
    """The query ends with an error that says so; a new table of the name is not taken for it."""
    spark.sql(f"CREATE TABLE {table} AS SELECT 1 AS a")
    query = _follow(spark, table, tmp_path / "checkpoint")
    spark.sql(f"DROP TABLE {table}")
    spark.sql(f"CREATE TABLE {table} AS SELECT 2 AS a")
    with pytest.raises(StreamingQueryException, match=r"dropped|created anew"):
        query.awaitTermination(120)


def test_a_rollback_under_a_stream(spark: SparkSession, table: str, tmp_path: Path) -> None:
    """The query ends with an error that says so, though the log has as many commits again."""
    spark.sql(f"CREATE TABLE {table} AS SELECT 1 AS a")
    before = version(spark)
    spark.sql(f"INSERT INTO {table} VALUES (2)")
    query = _follow(spark, table, tmp_path / "checkpoint")
    spark.sql(f"CALL lake.system.rollback_to_version({before})")
    spark.sql(f"INSERT INTO {table} VALUES (3)")
    spark.sql(f"INSERT INTO {table} VALUES (4)")
    with pytest.raises(StreamingQueryException, match="rolled back under the stream"):
        query.awaitTermination(120)
