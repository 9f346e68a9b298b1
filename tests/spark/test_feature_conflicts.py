"""Table features under concurrent transactions: rebased correctly, or refused by name.

Row ids, in-commit timestamps, identity columns and deletion vectors are in ``test_conflicts.py``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from pyspark.errors import PySparkException

from tests.support.spark_rows import fails, rows

if TYPE_CHECKING:
    from collections.abc import Callable

    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark


@pytest.fixture
def race(spark: SparkSession, other: SparkSession) -> Callable[..., str]:
    """Let my transaction begin and work, theirs commit, mine commit; return mine's refusal."""

    def run(mine: str, theirs: str) -> str:
        """Run one statement of each."""
        spark.sql("BEGIN")
        spark.sql(mine)
        other.sql(theirs)
        try:
            spark.sql("COMMIT")
        except PySparkException as error:
            return str(error)
        return ""

    return run


def test_generated_columns(spark: SparkSession, table: str, race: Callable[..., str]) -> None:
    """Values are generated in each transaction and stay what they are."""
    spark.sql(f"CREATE TABLE {table} (a INT, b INT GENERATED ALWAYS AS (a * 2)) USING delta")
    assert not race(f"INSERT INTO {table} (a) VALUES (1)", f"INSERT INTO {table} (a) VALUES (2)")
    assert not race(f"UPDATE {table} SET a = 3 WHERE a = 1", f"INSERT INTO {table} (a) VALUES (4)")
    assert rows(spark, f"SELECT * FROM {table}") == [(2, 4), (3, 6), (4, 8)]
    with pytest.raises(Exception, match=r"(?i)constraint"):
        spark.sql(f"INSERT INTO {table} VALUES (1, 1)")


def test_column_mapping(spark: SparkSession, table: str, race: Callable[..., str]) -> None:
    """Data under physical names follow data; a renamed column refuses who did not know it."""
    mapped = "TBLPROPERTIES ('delta.columnMapping.mode' = 'name')"
    spark.sql(f"CREATE TABLE {table} {mapped} AS SELECT 1 AS a, 'x' AS p")
    assert not race(f"INSERT INTO {table} VALUES (2, 'y')", f"UPDATE {table} SET a = 5")
    assert rows(spark, f"SELECT * FROM {table}") == [(2, "y"), (5, "x")]
    refusal = race(
        f"INSERT INTO {table} VALUES (3, 'z')", f"ALTER TABLE {table} RENAME COLUMN a TO b"
    )
    assert "columns changed" in refusal
    refusal = race(f"UPDATE {table} SET p = 'q'", f"ALTER TABLE {table} DROP COLUMN b")
    assert "columns changed" in refusal
    assert rows(spark, f"SELECT p FROM {table}") == [("x",), ("y",)]


def test_change_feed(spark: SparkSession, table: str, race: Callable[..., str]) -> None:
    """Each change is in the feed once, under the number that its commit got."""
    spark.sql(
        f"CREATE TABLE {table} TBLPROPERTIES ('delta.enableChangeDataFeed' = 'true',"
        " 'delta.enableDeletionVectors' = 'true') AS SELECT CAST(id AS INT) a"
        " FROM range(1, 4, 1, 1)"
    )
    assert not race(f"UPDATE {table} SET a = 20 WHERE a = 2", f"INSERT INTO {table} VALUES (9)")
    assert not race(f"DELETE FROM {table} WHERE a = 1", f"DELETE FROM {table} WHERE a = 3")
    feed = spark.read.format("delta").option("readChangeFeed", "true").option("startingVersion", 1)
    (path, *_) = rows(spark, f"SELECT DISTINCT _metadata.file_path FROM {table}")[0]
    feed = feed.load(path.rpartition("/")[0])
    changes = [tuple(r) for r in feed.select("_commit_version", "_change_type", "a").collect()]
    assert sorted(changes) == [
        (1, "insert", 9),
        (2, "update_postimage", 20),
        (2, "update_preimage", 2),
        (3, "delete", 3),
        (4, "delete", 1),
    ]
    assert rows(spark, f"SELECT a FROM {table}") == [(9,), (20,)]


def test_progress_of_a_query(spark: SparkSession, other: SparkSession, table: str) -> None:
    """The same batch of one query, written by two transactions, is there once."""
    spark.sql(f"CREATE TABLE {table} (a INT)")

    def batch(session: SparkSession) -> None:
        """Write the batch as the query would."""
        data = session.createDataFrame([(1,)], "a INT")
        marked = data.write.option("txnAppId", "query").option("txnVersion", "1")
        marked.mode("append").saveAsTable(table)

    spark.sql("BEGIN")
    batch(spark)
    batch(other)
    with fails("TRINITYLAKE_COMMIT_CONFLICT") as refused:
        spark.sql("COMMIT")
    assert "progress of the streaming query" in str(refused.value)
    batch(spark)
    assert rows(spark, f"SELECT * FROM {table}") == [(1,)]


def test_domains_and_protocols(spark: SparkSession, table: str, race: Callable[..., str]) -> None:
    """Clustering columns and features have one writer at a time; data follow a safe feature."""
    spark.sql(f"CREATE TABLE {table} (a INT, b INT) CLUSTER BY (a)")
    cluster = f"ALTER TABLE {table} CLUSTER BY (%s)"
    assert "domain" in race(cluster % "b", cluster % "a, b")
    deletions = f"ALTER TABLE {table} SET TBLPROPERTIES ('delta.enableDeletionVectors' = 'true')"
    mapping = f"ALTER TABLE {table} SET TBLPROPERTIES ('delta.columnMapping.mode' = 'name')"
    assert "protocol" in race(mapping, deletions)
    stamps = f"ALTER TABLE {table} SET TBLPROPERTIES ('delta.enableInCommitTimestamps' = 'true')"
    assert "inCommitTimestamp" in race(f"INSERT INTO {table} VALUES (1, 1)", stamps)
    assert not race(
        f"INSERT INTO {table} VALUES (1, 1)",
        f"ALTER TABLE {table} SET TBLPROPERTIES ('delta.enableTypeWidening' = 'true')",
    )
    assert rows(spark, f"SELECT * FROM {table}") == [(1, 1)]
