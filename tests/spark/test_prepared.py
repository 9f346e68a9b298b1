"""PREPARE TRANSACTION … COMMIT PREPARED, the key of BEGIN, and the fail-fast setting, in SQL."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import pytest

from tests.support.driver import wait_until
from tests.support.spark_rows import fails, one, rows, version

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark


@pytest.fixture(autouse=True)
def _no_transaction_left(spark: SparkSession, other: SparkSession) -> Iterator[None]:
    yield
    for session in (spark, other):
        if session.sql("SHOW TRANSACTION").count():
            session.sql("ROLLBACK")


def test_write_audit_publish(spark: SparkSession, other: SparkSession, table: str) -> None:
    """One session writes, another looks at it, corrects it and commits it."""
    name = table.rpartition(".")[2]
    spark.sql(f"CREATE TABLE {table} AS SELECT 1 AS a")
    before = version(spark)
    begun = spark.sql("BEGIN COMMENT 'nightly'").first()["transaction_id"]
    spark.sql(f"INSERT INTO {table} VALUES (2), (-1)")
    spark.sql(f"CREATE TABLE {table}_totals AS SELECT sum(a) AS s FROM {table}")
    prepared = spark.sql(f"prepare transaction '{name}';").first()
    assert (prepared["name"], prepared["transaction_id"]) == (name, begun)
    assert rows(spark, f"SELECT * FROM {table}") == [(1,)]
    assert rows(other, f"SELECT * FROM {table}") == [(1,)]

    shown = [row for row in other.sql("SHOW TRANSACTIONS").collect() if row["name"] == name]
    assert [(r["transaction_id"], r["state"], r["message"]) for r in shown] == [
        (begun, "prepared", "nightly")
    ]
    assert (
        other.sql(f"CALL lake.system.resume_transaction('{name}')").first()["transaction_id"]
        == begun
    )
    assert rows(other, f"SELECT * FROM {table}") == [(-1,), (1,), (2,)]
    assert rows(other, f"SELECT * FROM {table}_totals") == [(2,)]
    other.sql(f"DELETE FROM {table} WHERE a < 0")
    other.sql(f"UPDATE {table}_totals SET s = 3")
    other.sql(f"OPTIMIZE {table}")
    spark.sql(f"INSERT INTO {table} VALUES (10)")
    assert other.sql("COMMIT").first()["version"] == before + 2
    for session in (spark, other):
        assert rows(session, f"SELECT * FROM {table}") == [(1,), (2,), (10,)]
        assert rows(session, f"SELECT * FROM {table}_totals") == [(3,)]
    query = f"SELECT state, version FROM lake.system.transactions WHERE name = '{name}'"
    assert rows(spark, query) == [("committed", before + 2)]


def test_commit_prepared_and_rollback_prepared(
    spark: SparkSession, other: SparkSession, table: str
) -> None:
    """Ended without resuming, from any session; each of them once."""
    spark.sql(f"CREATE TABLE {table} (a INT)")
    for number, name in enumerate(("kept", "dropped")):
        spark.sql("BEGIN")
        spark.sql(f"INSERT INTO {table} VALUES ({number})")
        spark.sql(f"PREPARE TRANSACTION '{name}'")
    before = version(spark)
    committed = other.sql("COMMIT PREPARED 'kept'").first()
    assert committed["version"] == before + 1
    dropped = other.sql('rollback prepared "dropped"').first()
    assert dropped["transaction_id"] != committed["transaction_id"]
    for session in (spark, other):
        assert rows(session, f"SELECT * FROM {table}") == [(0,)]
        for name in ("kept", "dropped"):
            for statement in ("COMMIT", "ROLLBACK"):
                with fails("TRINITYLAKE_TRANSACTION_FINISHED", "25000"):
                    session.sql(f"{statement} PREPARED '{name}'")


def test_out_of_place(spark: SparkSession, table: str) -> None:
    """Each mistake has its own condition and leaves the transaction as it was."""
    with fails("TRINITYLAKE_NO_TRANSACTION", "25P01"):
        spark.sql("PREPARE TRANSACTION 'p'")
    with fails("TRINITYLAKE_TRANSACTION_NOT_FOUND", "42704"):
        spark.sql("COMMIT PREPARED 'nothing'")
    spark.sql("BEGIN")
    spark.sql(f"CREATE TABLE {table} AS SELECT 1 AS a")
    with fails("TRINITYLAKE_INVALID_NAME", "42602"):
        spark.sql("PREPARE TRANSACTION 'no spaces'")
    with fails("TRINITYLAKE_TRANSACTION_ACTIVE", "25001"):
        spark.sql("COMMIT PREPARED 'nothing'")
    assert rows(spark, f"SELECT * FROM {table}") == [(1,)]
    spark.sql("PREPARE TRANSACTION 'odd'")
    with fails("TABLE_OR_VIEW_NOT_FOUND"):
        spark.sql(f"SELECT * FROM {table}")
    with fails("TRINITYLAKE_NO_TRANSACTION"):
        spark.sql("COMMIT")
    spark.sql("BEGIN")
    with fails("TRINITYLAKE_TRANSACTION_ALREADY_EXISTS", "42710"):
        spark.sql("PREPARE TRANSACTION 'odd'")
    spark.sql("ROLLBACK")
    spark.sql("ROLLBACK PREPARED 'odd'")


def test_resumed_twice(spark: SparkSession, other: SparkSession, table: str) -> None:
    """The first to end it wins; the other is told, and free."""
    spark.sql("BEGIN")
    spark.sql(f"CREATE TABLE {table} AS SELECT 1 AS a")
    spark.sql("PREPARE TRANSACTION 'twice'")
    for session in (spark, other):
        session.sql("CALL lake.system.resume_transaction(name => 'twice')")
        assert rows(session, f"SELECT * FROM {table}") == [(1,)]
    other.sql(f"INSERT INTO {table} VALUES (2)")
    spark.sql("ROLLBACK")
    with fails("TRINITYLAKE_TRANSACTION_MOVED", "25000"):
        other.sql("COMMIT")
    with fails("TRINITYLAKE_NO_TRANSACTION"):
        other.sql("ROLLBACK")
    with fails("TABLE_OR_VIEW_NOT_FOUND"):
        other.sql(f"SELECT * FROM {table}")


def test_names_reused_after_drop(spark: SparkSession, other: SparkSession, table: str) -> None:
    """A prepared change of a table that was dropped and made anew is refused; nothing is mixed."""
    spark.sql(f"CREATE TABLE {table} AS SELECT 1 AS a")
    spark.sql("BEGIN")
    spark.sql(f"INSERT INTO {table} VALUES (2)")
    spark.sql("PREPARE TRANSACTION 'reused'")
    other.sql(f"DROP TABLE {table}")
    other.sql(f"CREATE TABLE {table} AS SELECT 7 AS a")
    with fails("TRINITYLAKE_COMMIT_CONFLICT", "40001"):
        spark.sql("COMMIT PREPARED 'reused'")
    assert rows(spark, f"SELECT * FROM {table}") == [(7,)]
    spark.sql("CALL lake.system.resume_transaction('reused')")
    assert rows(spark, f"SELECT * FROM {table}") == [(1,), (2,)]
    spark.sql("ROLLBACK")


def test_idempotency_key(spark: SparkSession, table: str) -> None:
    """The same load twice: the second changes nothing and reports the first one's version."""
    spark.sql(f"CREATE TABLE {table} (a INT)")
    versions = []
    for _ in range(2):
        spark.sql("BEGIN TRANSACTION ISOLATION LEVEL SNAPSHOT COMMENT 'x' IDEMPOTENCY KEY 'it''s'")
        spark.sql(f"INSERT INTO {table} VALUES (1)")
        versions.append(spark.sql("COMMIT").first()["version"])
    assert versions[0] == versions[1]
    assert rows(spark, f"SELECT * FROM {table}") == [(1,)]
    spark.sql("START TRANSACTION IDEMPOTENCY KEY 'another'")
    spark.sql(f"INSERT INTO {table} VALUES (1)")
    assert spark.sql("COMMIT").first()["version"] > versions[0]


def test_fail_fast(
    new_session: Callable[..., SparkSession], root: str, spark: SparkSession, table: str
) -> None:
    """With the setting a statement fails when COMMIT would; COMMIT names all tables."""
    for name in ("a", "b"):
        spark.sql(f"CREATE TABLE {table}_{name} AS SELECT 1 AS x")
    session = new_session(root)
    session.conf.set("spark.sql.catalog.lake.fail-fast", "true")
    session.sql("USE lake")
    session.sql("BEGIN")
    session.sql(f"UPDATE {table}_a SET x = 2")
    spark.sql(f"UPDATE {table}_b SET x = 3")
    with fails("TRINITYLAKE_COMMIT_CONFLICT", "40001"):
        session.sql(f"UPDATE {table}_b SET x = 2")
    assert one(session, f"SELECT x FROM {table}_b") == 1
    spark.sql(f"UPDATE {table}_a SET x = 3")
    with fails("TRINITYLAKE_COMMIT_CONFLICT", "40001"):
        session.sql(f"CREATE TABLE {table}_c (x INT)")
    with fails("TRINITYLAKE_COMMIT_CONFLICT", "40001") as caught:
        session.sql("COMMIT")
    assert f"{table}_a".removeprefix("lake.") in str(caught.value)


def test_expired(new_session: Callable[..., SparkSession], root: str) -> None:
    """Too old to commit, open or prepared: refused by name, nothing committed, the name is free."""
    session = new_session(root + "-short")
    session.sql("USE lake")
    session.sql("CREATE NAMESPACE lake.db")
    session.sql("CREATE TABLE lake.db.t (a INT)")
    session.sql("CALL lake.system.set_property('txn_ttl_millis', '3000')")
    session.sql("BEGIN")
    session.sql("INSERT INTO lake.db.t VALUES (1)")
    time.sleep(3)
    with fails("TRINITYLAKE_TRANSACTION_EXPIRED", "25P04"):
        session.sql("PREPARE TRANSACTION 'late'")
    with fails("TRINITYLAKE_TRANSACTION_EXPIRED", "25P04"):
        session.sql("COMMIT")
    assert session.sql("SHOW TRANSACTION").count() == 0
    session.sql("CALL lake.system.set_property('txn_ttl_millis', '15000')")
    session.sql("BEGIN")
    session.sql("INSERT INTO lake.db.t VALUES (2)")
    session.sql("PREPARE TRANSACTION 'late'")
    states = "SELECT state FROM lake.system.transactions"
    assert wait_until(lambda: rows(session, states) == [("expired",)], 60)
    for statement in ("COMMIT PREPARED 'late'", "CALL lake.system.resume_transaction('late')"):
        with fails("TRINITYLAKE_TRANSACTION_EXPIRED", "25P04"):
            session.sql(statement)
    session.sql("ROLLBACK PREPARED 'late'")
    assert rows(session, "SELECT * FROM lake.db.t") == []
