"""Partitions of every type that a partition column may have: told apart by what Spark records.

A transaction overwrites one partition of a table of each type while another session writes to
another partition, or to the same. All tables go in one transaction, so that one COMMIT tells.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.support.spark_rows import fails, quicken, rows

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

# Type, and two values of it. Hours, not days, and a zone that is no whole number of hours from UTC.
TYPES = {
    "string": ("STRING", "'x'", "'y = 1/z'"),
    "varchar": ("VARCHAR(9)", "'x'", "'y'"),
    "tinyint": ("TINYINT", "5Y", "-6Y"),
    "smallint": ("SMALLINT", "5S", "-6S"),
    "int": ("INT", "5", "-6"),
    "bigint": ("BIGINT", "5L", "-6L"),
    "bool": ("BOOLEAN", "true", "false"),
    "dec": ("DECIMAL(10, 2)", "1.50BD", "-2.00BD"),
    "decimal_small": ("DECIMAL(20, 10)", "0.0000000001BD", "3BD"),
    "float": ("FLOAT", "1.1F", "-2.5F"),
    "double": ("DOUBLE", "1.1D", "1E20D"),
    "day": ("DATE", "DATE '2026-01-01'", "DATE '2026-01-02'"),
    "moment": ("TIMESTAMP", "TIMESTAMP '2026-01-01 00:00:00'", "TIMESTAMP '2026-01-01 01:00:00.5'"),
    "clock": (
        "TIMESTAMP_NTZ",
        "TIMESTAMP_NTZ '2026-01-01 00:00:00'",
        "TIMESTAMP_NTZ '2026-01-01 01:00:00.5'",
    ),
    "bin": ("BINARY", "X'6162'", "X'63'"),
}
ZONE = "America/St_Johns"
Rows = set[tuple[str, int]]


@pytest.fixture(scope="module")
def sessions(
    new_session: Callable[..., SparkSession], root: str
) -> tuple[SparkSession, SparkSession]:
    """Two sessions of one time zone, and a table of each type with row 1 in A and row 2 in B."""
    spark, other = new_session(root), new_session(root)
    spark.sql("CREATE NAMESPACE lake.db")
    for session in map(quicken, (spark, other)):
        session.conf.set("spark.sql.session.timeZone", ZONE)
        session.sql("USE lake")
    spark.sql("BEGIN")
    for name, (kind, a, b) in TYPES.items():
        spark.sql(f"CREATE TABLE {_table(name)} (v INT, p {kind}) PARTITIONED BY (p)")
        spark.sql(f"INSERT INTO {_table(name)} VALUES (1, {a}), (2, {b})")
    spark.sql("COMMIT")
    return spark, other


def _table(name: str) -> str:
    return f"lake.db.by_{name}"


def _static(name: str, literal: str, value: int) -> str:
    return f"INSERT OVERWRITE {_table(name)} PARTITION (p = {literal}) VALUES ({value})"


def _replace(name: str, literal: str, value: int) -> str:
    return f"INSERT INTO {_table(name)} REPLACE WHERE p = {literal} VALUES ({value}, {literal})"


def _dynamic(name: str, literal: str, value: int) -> str:
    return f"INSERT OVERWRITE {_table(name)} VALUES ({value}, {literal})"


def _insert(name: str, literal: str, value: int) -> str:
    return f"INSERT INTO {_table(name)} VALUES ({value}, {literal})"


def _run(
    session: SparkSession, names: Iterable[str], form: Callable[..., str], side: int, value: int
) -> None:
    mode = "dynamic" if form is _dynamic else "static"
    session.conf.set("spark.sql.sources.partitionOverwriteMode", mode)
    for name in names:
        session.sql(form(name, TYPES[name][side], value))


def _rows(session: SparkSession, names: Iterable[str]) -> Rows:
    union = " UNION ALL ".join(f"SELECT '{name}' AS name, v FROM {_table(name)}" for name in names)
    return {(name, value) for name, value in rows(session, union)}


A, B = 1, 2


@pytest.mark.parametrize(
    "mine",
    [
        _static,
        pytest.param(_replace, marks=pytest.mark.long),
        pytest.param(_dynamic, marks=pytest.mark.long),
    ],
    ids=["static", "where", "dynamic"],
)
def test_other_partitions_do_not_conflict(
    sessions: tuple[SparkSession, SparkSession], mine: Callable[..., str]
) -> None:
    """Overwriting one partition goes with an overwrite of another, and then with an INSERT."""
    spark, other = sessions
    # Spark itself refuses a static overwrite by a BOOLEAN.
    names = [name for name in TYPES if (mine, name) != (_static, "bool")]
    theirs = _replace if mine is _static else mine
    spark.sql("BEGIN")
    _run(spark, names, mine, A, 10)
    other.sql("BEGIN")
    _run(other, names, theirs, B, 20)
    other.sql("COMMIT")
    _run(other, names, _insert, B, 21)
    spark.sql("COMMIT")

    assert _rows(other, names) == {(name, value) for name in names for value in (10, 20, 21)}


@pytest.mark.long
def test_an_overwrite_replaces_what_came_into_its_partition(
    sessions: tuple[SparkSession, SparkSession],
) -> None:
    """IN, then OW of the same partition: the later result stands; the other partition is left."""
    spark, other = sessions
    _run(spark, TYPES, _replace, B, 30)
    spark.sql("BEGIN")
    _run(spark, TYPES, _replace, A, 31)
    _run(other, TYPES, _insert, A, 32)
    spark.sql("COMMIT")

    assert _rows(other, TYPES) == {(name, value) for name in TYPES for value in (30, 31)}


@pytest.mark.long
def test_an_insert_into_an_overwritten_partition_is_refused(
    sessions: tuple[SparkSession, SparkSession],
) -> None:
    """OW, then IN into the same partition: refused for every one of the types."""
    spark, other = sessions
    _run(spark, TYPES, _replace, B, 30)
    spark.sql("BEGIN")
    _run(spark, TYPES, _insert, A, 40)
    _run(other, TYPES, _replace, A, 41)
    with fails("TRINITYLAKE_COMMIT_CONFLICT") as caught:
        spark.sql("COMMIT")

    assert {name for name in TYPES if _table(name).removeprefix("lake.") in str(caught.value)} == (
        set(TYPES)
    )
    assert _rows(other, TYPES) == {(name, value) for name in TYPES for value in (30, 41)}
