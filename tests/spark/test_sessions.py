"""A Spark session that nobody holds any more is gone, with its catalog and its transaction."""

from __future__ import annotations

import gc
from typing import TYPE_CHECKING

import pytest

from tests.support.driver import wait_until

if TYPE_CHECKING:
    from collections.abc import Callable

    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

_SESSIONS = 8
_KEPT_BY_SPARK = 3
"""Threads of Spark's and Delta's pools keep the session that was active when they were started."""


def test_dropped_sessions_are_collected(
    spark: SparkSession, new_session: Callable[..., SparkSession], root: str, table: str
) -> None:
    """Nothing of ours keeps them: not the list of catalogs, not what they read and wrote."""
    jvm = spark._jvm
    spark.sql(f"CREATE TABLE {table} (a INT)")

    def come_and_go(number: int) -> object:
        session = new_session(root)
        if number % 2:
            session.sql("BEGIN")
        session.sql(f"INSERT INTO {table} VALUES ({number})")
        assert session.sql(f"SELECT * FROM {table} WHERE a = {number}").count() == 1
        return jvm.java.lang.ref.WeakReference(session._jsparkSession)

    sessions = [come_and_go(number) for number in range(_SESSIONS)]
    # Delta keeps what it knows of a log, and the session that asked, for up to an hour.
    jvm.org.apache.spark.sql.delta.DeltaLog.clearCache()

    def are_collected() -> bool:
        gc.collect()
        jvm.java.lang.System.gc()
        return sum(session.get() is not None for session in sessions) <= _KEPT_BY_SPARK

    assert wait_until(are_collected, 60)
    assert spark.sql(f"SELECT * FROM {table}").count() == _SESSIONS // 2
