"""What tests ask Spark again and again."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import pytest
from pyspark.errors import PySparkException

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyspark.sql import SparkSession


_QUICK = {
    # Rows are few and plans many, so compiling each of them is most of the work.
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
    "spark.sql.adaptive.enabled": "false",
    "spark.sql.shuffle.partitions": "1",
    "spark.databricks.delta.snapshotPartitions": "1",
}


def quicken(session: SparkSession) -> SparkSession:
    """Make a session quick for many small statements; return it."""
    for key, value in _QUICK.items():
        session.conf.set(key, value)
    return session


def rows(spark: SparkSession, statement: str) -> list[tuple[Any, ...]]:
    """Run a statement; return its rows, sorted."""
    return sorted(tuple(row) for row in spark.sql(statement).collect())


def one(spark: SparkSession, statement: str) -> Any:
    """Run a statement; return the one value it answers."""
    ((value,),) = spark.sql(statement).collect()
    return value


def version(spark: SparkSession, catalog: str = "lake") -> int:
    """The newest version of the lakehouse."""
    return one(spark, f"SELECT max(version) FROM {catalog}.system.versions")


def slow_value(value: str, name: str, millis: int = 4000) -> str:
    """An expression that says when it is computed (``has_begun``) and takes its time.

    Args:
        value: what it is worth, in SQL.
        name: what it says it by.
        millis: how long it takes.
    """
    said = f"java_method('java.lang.System', 'setProperty', '{name}', 'begun')"
    slept = f"java_method('java.lang.Thread', 'sleep', {millis}L)"
    return f"CASE WHEN length(concat_ws('', {said}, {slept})) > -1 THEN {value} END"


def has_begun(spark: SparkSession, name: str) -> bool:
    """Whether a ``slow_value`` is being computed, or was."""
    return one(spark, f"SELECT java_method('java.lang.System', 'getProperty', '{name}')") == "begun"


@contextmanager
def fails(condition: str, sql_state: str | None = None) -> Iterator[Any]:
    """Expect a Spark error with this condition (and SQLSTATE)."""
    with pytest.raises(PySparkException) as caught:
        yield caught
    assert caught.value.getCondition() == condition, str(caught.value)
    if sql_state is not None:
        assert caught.value.getSqlState() == sql_state
