"""Reading the past, going back to it, and the history of versions."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.support.spark_rows import fails, one, rows, version

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark


def test_by_version(spark: SparkSession, table: str) -> None:
    """Every spelling reads the lakehouse's version, with the schema of then."""
    spark.sql(f"CREATE TABLE {table} AS SELECT 1 AS a")
    old = version(spark)
    spark.sql("CREATE NAMESPACE lake.unrelated")
    spark.sql(f"INSERT INTO {table} VALUES (2)")
    spark.sql(f"ALTER TABLE {table} ADD COLUMNS (b INT)")
    for clause in (
        f"FOR SYSTEM_VERSION AS OF {old}",
        f"VERSION AS OF {old}",
        f"VERSION AS OF '{old}'",
        f"VERSION AS OF {old + 1}",
    ):
        assert rows(spark, f"SELECT * FROM {table} {clause}") == [(1,)], clause
    assert rows(spark, f"SELECT * FROM {table} VERSION AS OF {old + 2}") == [(1,), (2,)]
    read = spark.read.option("versionAsOf", old).table(table)
    assert [tuple(row) for row in read.collect()] == [(1,)]
    assert rows(spark, f"SELECT * FROM {table}") == [(1, None), (2, None)]


def test_by_time(spark: SparkSession, table: str) -> None:
    """A time reads the last version committed by then."""
    spark.sql(f"CREATE TABLE {table} AS SELECT 1 AS a")
    moment = one(spark, "SELECT CAST(max(created_at) AS STRING) FROM lake.system.versions")
    spark.sql(f"INSERT INTO {table} VALUES (2)")
    for clause in (f"FOR SYSTEM_TIME AS OF '{moment}'", f"TIMESTAMP AS OF '{moment}'"):
        assert rows(spark, f"SELECT * FROM {table} {clause}") == [(1,)], clause
    read = spark.read.option("timestampAsOf", moment).table(table)
    assert [tuple(row) for row in read.collect()] == [(1,)]
    assert one(spark, f"SELECT count(*) FROM {table} TIMESTAMP AS OF current_timestamp()") == 2
    with fails("TRINITYLAKE_TIMESTAMP_OUT_OF_RANGE", "22023"):
        spark.sql(f"SELECT * FROM {table} TIMESTAMP AS OF '2000-01-01'")
    with fails("TRINITYLAKE_TIMESTAMP_OUT_OF_RANGE", "22023"):
        spark.sql(f"SELECT * FROM {table} TIMESTAMP AS OF '2999-01-01'")


def test_several_versions_in_one_query(spark: SparkSession, table: str) -> None:
    """Each mention of a table has a version of its own."""
    spark.sql(f"CREATE TABLE {table} AS SELECT 1 AS a")
    first = version(spark)
    spark.sql(f"INSERT INTO {table} VALUES (2)")
    spark.sql(f"INSERT INTO {table} VALUES (3)")
    assert rows(
        spark,
        f"SELECT now.a FROM {table} now LEFT ANTI JOIN {table} VERSION AS OF {first} old"
        " ON now.a = old.a",
    ) == [(2,), (3,)]
    assert rows(
        spark,
        f"SELECT (SELECT count(*) FROM {table} VERSION AS OF {first}),"
        f" (SELECT count(*) FROM {table} VERSION AS OF {first + 1}), count(*) FROM {table}",
    ) == [(1, 2, 3)]


@pytest.mark.parametrize(
    ("clause", "condition"),
    [
        ("VERSION AS OF 99999", "TRINITYLAKE_VERSION_NOT_FOUND"),
        ("VERSION AS OF -1", None),
        ("VERSION AS OF '1e3'", "TRINITYLAKE_INVALID_VERSION"),
        ("VERSION AS OF 'no such export'", "TRINITYLAKE_SNAPSHOT_NOT_FOUND"),
        ("VERSION AS OF 0", "TABLE_OR_VIEW_NOT_FOUND"),
    ],
)
def test_impossible_versions(spark: SparkSession, clause: str, condition: str | None) -> None:
    """Each has its own error; a table that was not there yet is simply not found."""
    spark.sql("CREATE TABLE IF NOT EXISTS lake.db.impossible (a INT)")
    if condition is None:
        with pytest.raises(Exception, match="PARSE"):
            spark.sql(f"SELECT * FROM lake.db.impossible {clause}")
    else:
        with fails(condition):
            spark.sql(f"SELECT * FROM lake.db.impossible {clause}")


def test_the_past_is_read_only(spark: SparkSession, table: str) -> None:
    """Writing to a past version is refused, through any door."""
    spark.sql(f"CREATE TABLE {table} AS SELECT 1 AS a")
    old = version(spark)
    before = version(spark)
    with pytest.raises(Exception, match=r"PARSE|AS OF"):
        spark.sql(f"INSERT INTO {table} VERSION AS OF {old} VALUES (2)")
    assert version(spark) == before


def test_rollback_of_everything(spark: SparkSession, other: SparkSession, table: str) -> None:
    """Data, schemas and names of all tables go back together, as a new version, for everybody."""
    spark.sql(f"CREATE TABLE {table} AS SELECT 1 AS a")
    spark.sql(f"CREATE TABLE {table}_dropped AS SELECT 1 AS a")
    target = version(spark)
    spark.sql(f"INSERT INTO {table} VALUES (2)")
    spark.sql(f"ALTER TABLE {table} ADD COLUMNS (b INT)")
    spark.sql(f"DROP TABLE {table}_dropped")
    spark.sql(f"CREATE TABLE {table}_new AS SELECT 1 AS a")
    last = version(spark)
    assert one(other, f"SELECT count(*) FROM {table}") == 2

    result = spark.sql(f"CALL lake.system.rollback_to_version({target})").first()
    assert result is not None
    assert (result["version"], result["previous_version"]) == (last + 1, last)
    for session in (spark, other):
        assert rows(session, f"SELECT * FROM {table}") == [(1,)]
        assert rows(session, f"SELECT * FROM {table}_dropped") == [(1,)]
        with fails("TABLE_OR_VIEW_NOT_FOUND"):
            session.sql(f"SELECT * FROM {table}_new")
    assert one(spark, f"SELECT count(*) FROM {table} VERSION AS OF {last}") == 2


def test_writing_after_a_rollback(spark: SparkSession, other: SparkSession, table: str) -> None:
    """Commits after it get numbers that others had before; neither is taken for the other."""
    spark.sql(f"CREATE TABLE {table} AS SELECT 1 AS a")
    target = version(spark)
    for i in (100, 200):
        spark.sql(f"INSERT INTO {table} VALUES ({i})")
        assert one(other, f"SELECT count(*) FROM {table}") == 2 + (i == 200)
    last = version(spark)
    spark.sql(f"CALL lake.system.rollback_to_version(version => {target})")
    for i in (2, 3, 4):
        spark.sql(f"INSERT INTO {table} VALUES ({i})")
        assert one(other, f"SELECT count(*) FROM {table}") == i
    spark.sql(f"DELETE FROM {table} WHERE a = 2")
    other.sql(f"UPDATE {table} SET a = 30 WHERE a = 3")
    for session in (spark, other):
        assert rows(session, f"SELECT * FROM {table}") == [(1,), (4,), (30,)]
        assert rows(session, f"SELECT * FROM {table} VERSION AS OF {last}") == [
            (1,),
            (100,),
            (200,),
        ]
        session.conf.set("trinitylake.kernel-reads", "false")
        assert rows(session, f"SELECT * FROM {table}") == [(1,), (4,), (30,)]
        session.conf.unset("trinitylake.kernel-reads")


def test_rollback_inside_a_transaction(spark: SparkSession) -> None:
    """It makes a version of its own, so it is refused there."""
    spark.sql("BEGIN")
    with fails("TRINITYLAKE_TRANSACTION_ACTIVE"):
        spark.sql("CALL lake.system.rollback_to_version(0)")
    spark.sql("ROLLBACK")


def test_time_travel_inside_a_transaction(spark: SparkSession, table: str) -> None:
    """A transaction can read the past beside its own writes."""
    spark.sql(f"CREATE TABLE {table} AS SELECT 1 AS a")
    old = version(spark)
    spark.sql("BEGIN")
    spark.sql(f"INSERT INTO {table} SELECT a + 1 FROM {table} VERSION AS OF {old}")
    assert rows(spark, f"SELECT * FROM {table}") == [(1,), (2,)]
    assert rows(spark, f"SELECT * FROM {table} VERSION AS OF {old}") == [(1,)]
    spark.sql("COMMIT")
    assert rows(spark, f"SELECT * FROM {table}") == [(1,), (2,)]


def test_restore_one_table(spark: SparkSession, table: str) -> None:
    """RESTORE takes one table back to a version of the lakehouse, and no other."""
    spark.sql(f"CREATE TABLE {table} AS SELECT 1 AS a")
    spark.sql("CREATE NAMESPACE lake.between")
    spark.sql(f"INSERT INTO {table} VALUES (2)")
    target = version(spark)
    moment = one(spark, "SELECT CAST(max(created_at) AS STRING) FROM lake.system.versions")
    spark.sql(f"CREATE TABLE {table}_other AS SELECT 1 AS a")
    spark.sql(f"INSERT INTO {table} VALUES (3)")
    spark.sql(f"RESTORE TABLE {table} TO VERSION AS OF {target}")
    assert rows(spark, f"SELECT * FROM {table}") == [(1,), (2,)]
    spark.sql(f"INSERT INTO {table} VALUES (4)")
    spark.sql(f"RESTORE TABLE {table} TO TIMESTAMP AS OF '{moment}'")
    assert rows(spark, f"SELECT * FROM {table}") == [(1,), (2,)]
    assert rows(spark, f"SELECT * FROM {table}_other") == [(1,)]
    with fails("TRINITYLAKE_VERSION_NOT_FOUND"):
        spark.sql(f"RESTORE TABLE {table} TO VERSION AS OF 99999")


def test_restore_where_the_log_does_not_lead(spark: SparkSession, table: str) -> None:
    """Behind a rollback, or before the table was created anew, another way is named."""
    spark.sql(f"CREATE TABLE {table} AS SELECT 1 AS a")
    first = version(spark)
    spark.sql(f"INSERT INTO {table} VALUES (2)")
    spark.sql(f"CALL lake.system.rollback_to_version({first})")
    spark.sql(f"INSERT INTO {table} VALUES (3)")
    with fails("TRINITYLAKE_UNSUPPORTED", "0A000"):
        spark.sql(f"RESTORE TABLE {table} TO VERSION AS OF {first + 1}")
    assert rows(spark, f"SELECT * FROM {table}") == [(1,), (3,)]
    spark.sql(f"CREATE OR REPLACE TABLE {table} AS SELECT * FROM {table} VERSION AS OF {first + 1}")
    assert rows(spark, f"SELECT * FROM {table}") == [(1,), (2,)]


def test_the_history_of_versions(spark: SparkSession, table: str) -> None:
    """`system.versions` says who did what, newest last number first, with SQL and DataFrames."""
    spark.sql(f"CREATE TABLE {table} (a INT)")
    spark.sql(f"INSERT INTO {table} VALUES (1)")
    spark.sql(f"OPTIMIZE {table}")
    history = spark.table("lake.system.versions").orderBy("version", ascending=False).limit(2)
    name = table.removeprefix("lake.")
    assert [[(c["name"], c["operation"]) for c in row["changes"]] for row in history.collect()] == [
        [(name, "INSERT")],
        [(name, "CREATE")],
    ]
    assert [row["kind"] for row in history.collect()] == ["logical", "logical"]
    assert one(spark, "SELECT count(DISTINCT author) FROM lake.system.versions") >= 1
