"""``tl.transaction`` and ``tl.run_transaction`` on a Spark session."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

import trinitylake_spark as tl
from tests.support.spark_rows import one, rows, version
from trinitylake_spark.errors import (
    InvalidInputError,
    Kind,
    TransactionStateError,
    TrinityLakeError,
)
from trinitylake_spark.spark.settings import catalog_settings

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from pyspark.sql import SparkSession

    from trinitylake_spark.spark.transaction import SparkTransaction

pytestmark = pytest.mark.spark


@pytest.mark.parametrize("catalog", [None, "lake"])
def test_commit_and_rollback(
    spark: SparkSession, other: SparkSession, table: str, catalog: str | None
) -> None:
    """The block is one version with its message; an error inside leaves nothing."""
    spark.sql(f"CREATE TABLE {table} (a INT)")
    before = version(spark)
    with tl.transaction(
        spark, catalog, isolation="serializable", message="it's\nmine", idempotency_key=table
    ) as tx:
        assert spark.sql("SHOW TRANSACTION").first()["isolation_level"] == "SERIALIZABLE"
        spark.sql(f"INSERT INTO {table} VALUES (1)")
        spark.sql(f"INSERT INTO {table} VALUES (2)")
        assert rows(other, f"SELECT * FROM {table}") == []
    assert (tx.base_version, tx.version) == (before, before + 1)
    made = one(other, f"SELECT message FROM lake.system.versions WHERE version = {tx.version}")
    assert made == "it's\nmine"

    with pytest.raises(ZeroDivisionError):
        fail_inside(spark, catalog, table)
    assert rows(spark, f"SELECT * FROM {table}") == [(1,), (2,)]
    assert spark.sql("SHOW TRANSACTION").count() == 0
    with (
        pytest.raises(InvalidInputError, match="there"),
        tl.transaction(spark, catalog, isolation="there"),
    ):
        pass


def fail_inside(spark: SparkSession, catalog: str | None, table: str) -> None:
    """Write in a transaction that an error ends."""
    with tl.transaction(spark, catalog):
        spark.sql(f"INSERT INTO {table} VALUES (3)")
        raise ZeroDivisionError


def test_run_without_a_catalog(spark: SparkSession, other: SparkSession, table: str) -> None:
    """The only lakehouse is found, also for the second run after a conflict."""
    spark.sql(f"CREATE TABLE {table} AS SELECT 1 AS a")
    runs = []

    def add(tx: SparkTransaction) -> int:
        runs.append(tx.id)
        spark.sql(f"UPDATE {table} SET a = a + 1")
        if len(runs) == 1:
            other.sql(f"UPDATE {table} SET a = a + 10")
        return one(spark, f"SELECT a FROM {table}")

    assert tl.run_transaction(spark, add) == 12
    assert len(set(runs)) == 2
    assert rows(other, f"SELECT * FROM {table}") == [(12,)]


def test_several_lakehouses(new_session: Callable[..., SparkSession], tmp_path: Path) -> None:
    """The current catalog is meant if it is one, else the error names them; as in SQL's BEGIN."""
    spark = new_session((tmp_path / "one").as_uri(), catalog="lake")
    for key, value in catalog_settings("zwei", (tmp_path / "two").as_uri(), create=True).items():
        spark.conf.set(key, value)
    with pytest.raises(TrinityLakeError, match="lake, zwei") as caught, tl.transaction(spark):
        pass
    assert caught.value.kind is Kind.SETUP
    spark.sql("USE zwei")
    with tl.transaction(spark) as tx:
        spark.sql("CREATE NAMESPACE zwei.n")
        with pytest.raises(TransactionStateError, match="zwei"), tl.transaction(spark):
            pass
    assert tx.version == version(spark, "zwei")
    spark.sql("USE lake")
    with tl.transaction(spark) as tx:
        spark.sql("CREATE NAMESPACE n")
        spark.sql("USE zwei")
    assert tx.version == version(spark, "lake")
