"""SQL's three-valued logic over what is known of many rows at once: which results are possible.

A column is known by its bounds in a partition or a data file. What a predicate can come to is a set
of results that is never too small: a row whose result is not in it does not exist.
"""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal

Value = int | str | bytes | Decimal | tuple[bool, float]
"""A value as it compares with others of its type."""
Results = frozenset[bool | None]
"""Results that some row may have: true, false, and None for NULL."""

ANYTHING: Results = frozenset((True, False, None))


@dataclass(frozen=True, slots=True)
class Range:
    """What is known of a column, or of a literal, in some rows.

    Args:
        low: no value is below it; None if that is not known.
        high: no value is above it; None if that is not known.
        has_values: whether a row may have a value.
        has_nulls: whether a row may have NULL.
        known: False for what cannot be compared here; nothing else is said then.
    """

    low: Value | None = None
    high: Value | None = None
    has_values: bool = True
    has_nulls: bool = True
    known: bool = True

    @classmethod
    def of(cls, value: Value) -> Range:
        """Return the range of one value that every row has."""
        return cls(value, value, has_nulls=False)

    @property
    def is_one(self) -> bool:
        """Whether all rows that have a value have the same."""
        return self.low is not None and self.low == self.high


UNKNOWN = Range(known=False)
NULL = Range(has_values=False)


def negated(results: Results) -> Results:
    """Return what NOT makes of some results."""
    return frozenset(None if one is None else not one for one in results)


def conjunction(left: Results, right: Results) -> Results:
    """Return what AND makes of the results of two operands."""
    return _results(
        true=True in left and True in right,
        false=bool((False in left and right) or (False in right and left)),
        null=bool((None in left and right - {False}) or (None in right and left - {False})),
    )


def disjunction(left: Results, right: Results) -> Results:
    """Return what OR makes of the results of two operands."""
    return negated(conjunction(negated(left), negated(right)))


def is_null(operand: Range) -> Results:
    """Return the results of IS NULL."""
    if not operand.known:
        return frozenset((True, False))
    return _results(true=operand.has_nulls, false=operand.has_values)


def compared(symbol: str, left: Range, right: Range) -> Results:
    """Return the results of a comparison of two operands of one type.

    Args:
        symbol: ``=``, ``<=>``, ``!=``, ``<``, ``<=``, ``>`` or ``>=``.
        left: its left operand.
        right: its right operand.
    """
    if not left.known or not right.known:
        return ANYTHING
    if symbol == "<=>":
        return _null_safe(left, right)
    nulls = _results(null=left.has_nulls or right.has_nulls)
    if not left.has_values or not right.has_values:
        return nulls
    if symbol in (">", "<="):
        less = _less(right, left)
        return nulls | (less if symbol == ">" else negated(less))
    if symbol in ("<", ">="):
        less = _less(left, right)
        return nulls | (less if symbol == "<" else negated(less))
    equal = _equal(left, right)
    return nulls | (equal if symbol == "=" else negated(equal))


def _null_safe(left: Range, right: Range) -> Results:
    found: Results = frozenset()
    if left.has_values and right.has_values:
        found |= _equal(left, right)
    if left.has_nulls and right.has_nulls:
        found |= {True}
    if (left.has_nulls and right.has_values) or (right.has_nulls and left.has_values):
        found |= {False}
    return found


def _less(left: Range, right: Range) -> Results:
    return _results(
        true=not _at_least(left.low, right.high), false=not _below(left.high, right.low)
    )


def _equal(left: Range, right: Range) -> Results:
    apart = _below(left.high, right.low) or _below(right.high, left.low)
    return _results(
        true=not apart, false=not (left.is_one and right.is_one and left.low == right.low)
    )


def _below(one: Value | None, other: Value | None) -> bool:
    """Tell whether a bound is surely below another; their types are the same."""
    return one is not None and other is not None and one < other  # type: ignore[operator]


def _at_least(one: Value | None, other: Value | None) -> bool:
    return one is not None and other is not None and one >= other  # type: ignore[operator]


def _results(*, true: bool = False, false: bool = False, null: bool = False) -> Results:
    return frozenset(
        result
        for result, is_possible in ((True, true), (False, false), (None, null))
        if is_possible
    )
