"""Values of Delta's types as they compare: read from partition values, statistics and literals.

Each type is read in the one form that Spark and Delta write; any other text is unknown, which is
always a safe answer. What is read compares as Spark compares it: numbers exactly, NaN above all
other numbers and equal to itself, texts and binaries by their bytes.
"""

from __future__ import annotations

import re
import struct
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from functools import partial
from math import isinf, isnan
from typing import TYPE_CHECKING

from trinitylake_spark.delta.truth import Range

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from trinitylake_spark.delta.truth import Value

INTEGERS: Mapping[str, int] = {"byte": 3, "short": 5, "integer": 10, "long": 20}
"""Whole numbers by Delta's names, with the decimal digits that Spark gives them."""
NOTHING = "void"
"""The type of NULL itself, which compares with every type."""

_MAX_DIGITS = 38
_FAR_ZONE = timedelta(hours=18)
"""No time zone is further from UTC; Spark allows none."""
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)
_SPARED_FLOAT_BITS = 29
"""Bits of a double's fraction that a float has no room for."""
_LEAST_FLOAT = 2.0**-126
"""Floats nearer to zero have fewer bits than others."""

_INTEGER = re.compile(r"-?\d{1,19}", re.ASCII)
_DECIMAL = re.compile(r"-?\d+(?:\.\d+)?(?:E[+-]?\d{1,3})?", re.ASCII)
_DECIMAL_TYPE = re.compile(r"decimal\((\d+),(\d+)\)")
_FLOATING = re.compile(r"-?\d+\.\d+(?:E-?\d{1,3})?|NaN|-?Infinity", re.ASCII)
_DATE = re.compile(r"\d{4}-\d\d-\d\d", re.ASCII)
_TIMESTAMP = re.compile(
    r"(\d{4}-\d\d-\d\d)[ T](\d\d:\d\d:\d\d(?:\.\d{1,6})?)(Z|[+-]\d\d:\d\d)?", re.ASCII
)


@dataclass(frozen=True, slots=True)
class Column:
    """A column that conditions may name.

    Args:
        name: physical name, the key in a file's ``partitionValues`` and statistics.
        kind: its type in Delta's schema; empty if it does not compare like that type.
    """

    name: str
    kind: str


def are_comparable(one: str, other: str) -> bool:
    """Tell whether values of two types, as they are read here, compare as Spark compares them.

    Args:
        one: Delta's name of a type, ``NOTHING``, or empty for one that is not understood.
        other: another one.
    """
    if not one or not other:
        return False
    if one == other or NOTHING in (one, other):
        return True
    if {one, other} == {"float", "double"}:
        return True
    first, second = _digits(one), _digits(other)
    if first is None or second is None:
        return False
    # Spark casts both to one type with room for both; past 38 digits it would round.
    return max(first[0], second[0]) + max(first[1], second[1]) <= _MAX_DIGITS


def _digits(kind: str) -> tuple[int, int] | None:
    """Return the digits of a number's type before and after the point."""
    if kind in INTEGERS:
        return INTEGERS[kind], 0
    found = _DECIMAL_TYPE.fullmatch(kind)
    return (int(found[1]) - int(found[2]), int(found[2])) if found else None


def decimal_kind(value: Decimal) -> str:
    """Return the type that Spark gives a decimal literal."""
    _, digits, exponent = value.as_tuple()
    scale = max(0, -int(exponent))
    return f"decimal({max(len(digits) + int(exponent), 0) + scale},{scale})"


def read(kind: str, text: str) -> Range | None:
    """Return the value in a text, as Spark writes it in a partition or prints a literal.

    Args:
        kind: Delta's name of the type.
        text: the value.

    Returns:
        None if the text, or the type, is not understood.
    """
    reader = _READERS.get("decimal" if _DECIMAL_TYPE.fullmatch(kind) else kind)
    value = reader(text) if reader else None
    return value if value is None or isinstance(value, Range) else Range.of(value)


def _integer(text: str, bits: int) -> int | None:
    value = int(text) if _INTEGER.fullmatch(text) else None
    return value if value is not None and -(2**bits) <= value < 2**bits else None


def _decimal(text: str) -> Decimal | None:
    return Decimal(text) if _DECIMAL.fullmatch(text) else None


def _double(text: str) -> tuple[bool, float] | None:
    """NaN is above all other numbers, and equal to itself."""
    if not _FLOATING.fullmatch(text):
        return None
    number = float(text)
    return (True, 0.0) if isnan(number) else (False, number)


def _float(text: str) -> tuple[bool, float] | None:
    """Read as Java does: rounded once, to the nearest float.

    By way of a double it is rounded twice, which differs where the double is half-way.
    """
    found = _double(text)
    if found is None or isinf(found[1]):
        return found
    bits = struct.unpack("<q", struct.pack("<d", found[1]))[0]
    is_halfway = bits % (1 << _SPARED_FLOAT_BITS) == 1 << (_SPARED_FLOAT_BITS - 1)
    if is_halfway or 0 < abs(found[1]) < _LEAST_FLOAT:
        return None
    try:
        return found[0], struct.unpack("<f", struct.pack("<f", found[1]))[0]
    except OverflowError:
        return None


def _boolean(text: str) -> int | None:
    return {"true": 1, "false": 0}.get(text)


def _date(text: str) -> str | None:
    return text if _DATE.fullmatch(text) else None


def _string(text: str) -> str | None:
    """Half a surrogate pair has no bytes to compare by."""
    return None if any("\ud800" <= c < "\ue000" for c in text) else text


def _binary(text: str) -> bytes | None:
    """Writers differ in what they make of other bytes than ASCII."""
    return text.encode() if text.isascii() and "\\" not in text else None


def _timestamp(text: str) -> Range | None:
    """Return an instant in microseconds; without a zone it is one within 18 hours to either side.

    Delta writes partition values in UTC, Spark prints literals in the session's zone.
    """
    found = _TIMESTAMP.fullmatch(text)
    if found is None:
        return None
    try:
        moment = datetime.fromisoformat(f"{found[1]}T{found[2]}{found[3] or 'Z'}")
    except ValueError:
        return None
    low = high = (moment - _EPOCH) // _MICROSECOND
    if found[3] is None:
        low, high = low - _FAR_ZONE // _MICROSECOND, high + _FAR_ZONE // _MICROSECOND
    return Range(low, high, has_nulls=False)


def _timestamp_without_zone(text: str) -> int | None:
    """Return microseconds since 1970 on the clock that it shows."""
    found = _timestamp(f"{text}Z")
    return None if found is None else found.low  # type: ignore[return-value]


_READERS: Mapping[str, Callable[[str], Value | Range | None]] = {
    "byte": partial(_integer, bits=7),
    "short": partial(_integer, bits=15),
    "integer": partial(_integer, bits=31),
    "long": partial(_integer, bits=63),
    "decimal": _decimal,
    "float": _float,
    "double": _double,
    "boolean": _boolean,
    "date": _date,
    "string": _string,
    "binary": _binary,
    "timestamp": _timestamp,
    "timestamp_ntz": _timestamp_without_zone,
}
