"""Conditions on a partition column of each type against its one value: decided, and rightly.

A condition is printed as Spark prints it, in SQL and as an expression, over a partition as Delta
writes it, and evaluated by SQL's rules on the value itself. Every type but TIMESTAMP is decided
exactly, as all rows of a partition have one value. Times of a session whose zone nobody recorded
must at least never exclude what is true.
"""

from __future__ import annotations

import json
import math
import struct
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta, timezone
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trinitylake_spark.delta.predicate import holds, understand
from trinitylake_spark.delta.values import Column

if TYPE_CHECKING:
    from collections.abc import Callable

Truth = bool | None


@dataclass(frozen=True)
class Type:
    """How values of a type are written.

    Args:
        values: some of them.
        partition: as Delta writes a partition value.
        sql: as Spark prints a literal in SQL.
        printed: as Spark prints a literal in an expression; None if lists of it are not read.
        key: what it compares by.
    """

    values: list[Any]
    partition: Callable[[Any], str]
    sql: Callable[[Any], str]
    printed: Callable[[Any], str]
    key: Callable[[Any], Any] = lambda value: value


def _float32(value: float) -> float:
    return float(struct.unpack("<f", struct.pack("<f", value))[0])


def _order(value: float) -> tuple[bool, float]:
    """NaN is above all and equal to itself."""
    return (True, 0.0) if math.isnan(value) else (False, value)


# As Java prints them.
_DOUBLES = {
    1.5: "1.5",
    -2.25: "-2.25",
    0.0: "0.0",
    1.1: "1.1",
    1e20: "1.0E20",
    1e-5: "1.0E-5",
    math.inf: "Infinity",
    -math.inf: "-Infinity",
    math.nan: "NaN",
}
_FLOATS = {_float32(value): text for value, text in _DOUBLES.items()}


def _double_sql(value: float) -> str:
    text = _DOUBLES[value]
    return f"{text}D" if math.isfinite(value) else f"CAST('{text}' AS DOUBLE)"


def _quoted(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace("'", "\\'")
    return f"'{escaped}'"


def _whole(suffix: str) -> Type:
    return Type([-7, 0, 5, 100], str, lambda value: f"{value}{suffix}", str)


def _shown(micros: int, zone: timezone = UTC) -> str:
    """A time as Spark shows it: without zeros at its end."""
    moment = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(microseconds=micros)
    text = f"{moment.astimezone(zone):%Y-%m-%d %H:%M:%S.%f}"
    return text.rstrip("0").rstrip(".")


_HOUR = 3_600_000_000
_MOMENTS = [1_767_225_600_000_000 + n for n in (0, 1, 500_000, _HOUR, 24 * _HOUR, -50 * _HOUR)]

TYPES = {
    "byte": _whole("Y"),
    "short": _whole("S"),
    "integer": _whole(""),
    "long": _whole("L"),
    "boolean": Type(
        [False, True],
        lambda value: str(value).lower(),
        lambda value: str(value).lower(),
        lambda value: str(value).lower(),
    ),
    "decimal(10,2)": Type(
        [Decimal(n) for n in ("-1.50", "0.00", "1.50", "1.51", "20.00")],
        str,
        lambda value: f"{value}BD",
        str,
    ),
    "float": Type(
        list(_FLOATS),
        _FLOATS.__getitem__,
        lambda v: f"CAST('{_FLOATS[v]}' AS FLOAT)",
        _FLOATS.__getitem__,
        _order,
    ),
    "double": Type(list(_DOUBLES), _DOUBLES.__getitem__, _double_sql, _DOUBLES.__getitem__, _order),
    "date": Type(
        ["2025-12-31", "2026-01-01", "2026-11-02"], str, lambda value: f"DATE '{value}'", str
    ),
    "timestamp_ntz": Type(
        _MOMENTS, _shown, lambda value: f"TIMESTAMP_NTZ '{_shown(value)}'", _shown
    ),
    "binary": Type(
        [b"a", b"ab", b"b", b"\xc3\xa9", b"\xff"],
        lambda value: value.decode(errors="replace"),
        lambda value: f"X'{value.hex().upper()}'",
        lambda value: f"0x{value.hex().upper()}",
    ),
    "string": Type(["", "x", "y", "7", "DATE '1'", "true"], str, _quoted, str),
}
_COMPARE: dict[str, Callable[[Any, Any], bool]] = {
    "=": lambda a, b: a == b,
    "<": lambda a, b: a < b,
    "<=": lambda a, b: a <= b,
    ">": lambda a, b: a > b,
    ">=": lambda a, b: a >= b,
}


@dataclass(frozen=True)
class Condition:
    """A condition in both forms, and what it comes to for a value."""

    sql: str
    printed: str
    value: Callable[[Any], Truth]


def _leaf(kind: Type, symbol: str, literal: Any) -> Condition:
    def value(found: Any) -> Truth:
        """NULL, where the value is."""
        if symbol == "<=>":
            return found is not None and kind.key(found) == kind.key(literal)
        return None if found is None else _COMPARE[symbol](kind.key(found), kind.key(literal))

    return Condition(
        f"(p {symbol} {kind.sql(literal)})", f"(p#1 {symbol} {kind.printed(literal)})", value
    )


def _in(kind: Type, literals: list[Any]) -> Condition:
    parts = [_leaf(kind, "=", literal) for literal in literals]
    printed = parts[0].printed
    for part in parts[1:]:
        printed = f"({printed} OR {part.printed})"
    return Condition(
        f"(p IN ({', '.join(map(kind.sql, literals))}))",
        printed,
        lambda found: None if found is None else any(part.value(found) for part in parts),
    )


def _is_null() -> Condition:
    return Condition("(p IS NULL)", "isnull(p#1)", lambda found: found is None)


def _not(one: Condition) -> Condition:
    def value(found: Any) -> Truth:
        """NULL stays NULL."""
        result = one.value(found)
        return None if result is None else not result

    return Condition(f"(NOT {one.sql})", f"NOT {one.printed}", value)


def _joined(word: str, one: Condition, other: Condition) -> Condition:
    decides = word == "OR"

    def value(found: Any) -> Truth:
        """One that decides is enough; else NULL if there is one."""
        results = {one.value(found), other.value(found)}
        if decides in results:
            return decides
        return None if None in results else not decides

    return Condition(
        f"({one.sql} {word} {other.sql})", f"({one.printed} {word} {other.printed})", value
    )


def _conditions(kind: Type) -> st.SearchStrategy[Condition]:
    literals = st.sampled_from(kind.values)
    leaves = st.one_of(
        st.builds(_leaf, st.just(kind), st.sampled_from([*_COMPARE, "<=>"]), literals),
        st.builds(_in, st.just(kind), st.lists(literals, min_size=1, max_size=3)),
        st.builds(_is_null),
    )
    return st.recursive(
        leaves,
        lambda inner: st.one_of(
            st.builds(_not, inner),
            st.builds(_joined, st.sampled_from(["AND", "OR"]), inner, inner),
        ),
        max_leaves=4,
    )


def _results(name: str, predicate: str, partition: str | None) -> frozenset[Truth]:
    """What the partition's rows may come to: one thing, or honestly more."""
    condition = understand(predicate, {"p": Column("c", name)})
    found = holds(condition, {"c": partition})
    # holds() knows TRUE from the rest; its negation knows FALSE from NULL.
    refuted = holds(understand(f"(NOT {predicate})", {"p": Column("c", name)}), {"c": partition})
    if found is None or refuted is None:
        return frozenset((True, False, None))
    return frozenset((True if found else False if refuted else None,))


@pytest.mark.parametrize("name", TYPES)
@given(data=st.data())
def test_conditions_on_a_partition_are_decided(name: str, data: Any) -> None:
    """SQL of any depth comes to exactly what it does for the partition's value."""
    kind = TYPES[name]
    value = data.draw(st.none() | st.sampled_from(kind.values), label="value")
    condition = data.draw(_conditions(kind), label="condition")
    partition = None if value is None else kind.partition(value)
    # An empty text is NULL in a partition, and other bytes than ASCII are not told apart there.
    value = None if partition == "" else value
    found = _results(name, condition.sql, partition)

    if name == "binary" and value is not None and not partition.isascii():
        assert condition.value(value) in found
    else:
        assert found == {condition.value(value)}


@pytest.mark.parametrize("name", TYPES)
@given(data=st.data())
def test_printed_conditions_on_a_partition_are_decided(name: str, data: Any) -> None:
    """So do expressions; texts that look like something else may be left undecided."""
    kind = TYPES[name]
    value = data.draw(st.none() | st.sampled_from(kind.values), label="value")
    condition = data.draw(_conditions(kind), label="condition")
    partition = None if value is None else kind.partition(value)
    value = None if partition == "" else value
    chosen = holds(
        understand(json.dumps([condition.printed]), {"p": Column("c", name)}), {"c": partition}
    )

    is_loose = name == "string" or (name == "binary" and partition and not partition.isascii())
    assert chosen == (condition.value(value) is True) or (is_loose and chosen is None)


@given(
    value=st.none() | st.sampled_from(_MOMENTS),
    minutes=st.integers(-18 * 60, 18 * 60),
    data=st.data(),
    is_printed=st.booleans(),
)
def test_times_of_an_unknown_zone_exclude_nothing_true(
    *, value: int | None, minutes: int, data: Any, is_printed: bool
) -> None:
    """Literals of a session in any zone: what holds there is never ruled out, nor the reverse."""
    zone = timezone(timedelta(minutes=minutes))
    kind = Type(
        _MOMENTS,
        str,
        lambda moment: f"TIMESTAMP '{_shown(moment, zone)}'",
        lambda moment: _shown(moment, zone),
    )
    condition = data.draw(_conditions(kind), label="condition")
    partition = None if value is None else _shown(value).replace(" ", "T")
    if partition is not None:
        partition = f"{partition.partition('.')[0]}.{value % 1_000_000:06d}Z"
    predicate = json.dumps([condition.printed]) if is_printed else condition.sql
    chosen = holds(understand(predicate, {"p": Column("c", "timestamp")}), {"c": partition})

    assert chosen is None or chosen == (condition.value(value) is True)


@given(apart=st.integers(37, 500), minutes=st.integers(-18 * 60, 18 * 60))
def test_times_of_an_unknown_zone_are_told_from_far_ones(apart: int, minutes: int) -> None:
    """Partitions of two days and more never meet, whatever the zone."""
    zone = timezone(timedelta(minutes=minutes))
    condition = f"(p <=> TIMESTAMP '{_shown(_MOMENTS[0], zone)}')"
    other = f"{_shown(_MOMENTS[0] + apart * _HOUR)}.000000Z"
    assert holds(understand(condition, {"p": Column("c", "timestamp")}), {"c": other}) is False
