"""A statement that fails after it has written leaves the transaction as it was before."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.support.driver import wait_until
from tests.support.spark_rows import fails, has_begun, one, rows, slow_value

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

_BATCHES = "spark.databricks.delta.optimize.batchSize"


def test_half_a_compaction(spark: SparkSession, other: SparkSession, table: str) -> None:
    """OPTIMIZE commits batch by batch; when the second fails the first is taken back, too."""
    spark.sql(
        f"CREATE TABLE {table} PARTITIONED BY (p) AS"
        " SELECT id AS a, CAST(id % 4 AS INT) AS p FROM range(0, 16, 1, 2)"
    )
    paths = rows(spark, f"SELECT DISTINCT _metadata.file_path FROM {table} WHERE p = 1")
    files = [Path("/" + path.partition("/-/")[2]) for (path,) in paths]
    log = files[0].parent.parent / "_delta_log" / "_staged_commits"
    spark.sql("BEGIN")
    spark.sql(f"INSERT INTO {table} VALUES (100, 9)")
    before = rows(spark, f"SELECT *, _metadata.file_name FROM {table} WHERE p <> 1")
    written = len(list(log.iterdir()))
    spark.conf.set(_BATCHES, "1b")
    with hidden(files), pytest.raises(Exception, match=r"(?i)file"):
        spark.sql(f"OPTIMIZE {table}")
    spark.conf.unset(_BATCHES)

    assert len(list(log.iterdir())) > written, "it failed before it had written anything"
    assert rows(spark, f"SELECT *, _metadata.file_name FROM {table} WHERE p <> 1") == before
    spark.sql(f"INSERT INTO {table} VALUES (101, 9)")
    number = spark.sql("COMMIT").first()["version"]
    history = spark.sql(f"SELECT changes FROM lake.system.versions WHERE version = {number}")
    assert [c["operation"] for c in history.first()["changes"]] == ["INSERT"]
    for session in (spark, other):
        assert one(session, f"SELECT count(*) FROM {table}") == 18


def test_two_threads_of_one_transaction(
    spark: SparkSession, other: SparkSession, table: str
) -> None:
    """Of two statements that write to one table the later one fails alone and can be run again."""
    spark.sql(f"CREATE TABLE {table} (a BIGINT)")
    spark.sql("BEGIN")
    slow = f"INSERT INTO {table} SELECT {slow_value('1L', 'statement')}"
    with ThreadPoolExecutor(1) as pool:
        running = pool.submit(lambda: spark.sql(slow))
        assert wait_until(lambda: has_begun(spark, "statement"), 60)
        spark.sql(f"INSERT INTO {table} VALUES (2)")
        with fails("TRINITYLAKE_STATEMENT_CONFLICT", "55006"):
            running.result()
    assert rows(spark, f"SELECT * FROM {table}") == [(2,)]
    assert spark.sql("SHOW TRANSACTION").count() == 1
    spark.sql(slow)
    spark.sql("COMMIT")
    assert rows(other, f"SELECT * FROM {table}") == [(1,), (2,)]


@contextmanager
def hidden(files: list[Path]) -> Iterator[None]:
    """Take data files away for a while, so that whoever reads them fails."""
    for file in files:
        file.rename(file.with_suffix(".hidden"))
    yield
    for file in files:
        file.with_suffix(".hidden").rename(file)
