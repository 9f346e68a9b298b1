"""What tests ask Spark again and again."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import pytest
from pyspark.errors import PySparkException

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyspark.sql import SparkSession


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


@contextmanager
def fails(condition: str, sql_state: str | None = None) -> Iterator[Any]:
    """Expect a Spark error with this condition (and SQLSTATE)."""
    with pytest.raises(PySparkException) as caught:
        yield caught
    assert caught.value.getCondition() == condition, str(caught.value)
    if sql_state is not None:
        assert caught.value.getSqlState() == sql_state
