"""What a predicate that Delta recorded can come to in a partition or a data file.

Delta records the condition of UPDATE and DELETE as Spark prints expressions, in a JSON list
(``["((p#12 = x) AND (a#3 > 3))"]``), and that of an overwrite as SQL text (``p = 'x'``). Whatever
these two small grammars do not cover may come to anything, which is always a safe answer.

In print a text stands without quotes, so that it could look like anything. It is never mistaken:
every binary operation is in parentheses of its own, with exactly two operands, and whatever else a
text with parentheses pretends to be has more.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from trinitylake_spark.delta.truth import (
    ANYTHING,
    NULL,
    UNKNOWN,
    Range,
    Results,
    compared,
    conjunction,
    disjunction,
    is_null,
    negated,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from trinitylake_spark.delta.entry import Action

_SQL_TOKEN = re.compile(
    r"""\s*(?:
        (?P<string>'[^'\\]*'(?!'))
      | (?P<number>-?\d+(?![\w.]))
      | (?P<name>`[^`]+`|[A-Za-z_][\w.]*)
      | (?P<symbol><=>|<>|!=|<=|>=|==|=|<|>|\(|\)|,)
    )""",
    re.VERBOSE,
)
_SAME_SYMBOL = {"==": "=", "<>": "!="}
_COMPARISONS = ("<=>", "!=", "<=", ">=", "=", "<", ">")

_ATTRIBUTE = r"([A-Za-z_]\w*)\#\d+L?"
_PRINTED_COMPARISON = re.compile(rf"\({_ATTRIBUTE} (<=>|<=|>=|=|<|>) ([^()#]*)\)")
_PRINTED_NULL_TEST = re.compile(rf"(isnull|isnotnull)\({_ATTRIBUTE}\)")
_PRINTED_IN = re.compile(rf"{_ATTRIBUTE} IN \((-?\d+(?:,-?\d+)*)\)")
_INTEGER = re.compile(r"-?\d+")
_DATE = re.compile(r"\d{4}-\d\d-\d\d")

_INTEGERS = frozenset({"byte", "short", "integer", "long"})


class _NotUnderstoodError(Exception):
    """The text is outside of the small grammar."""


@dataclass(frozen=True, slots=True)
class Column:
    """A column that predicates may name.

    Args:
        name: physical name, the key in a file's ``partitionValues`` and statistics.
        kind: Delta's type; whole numbers, strings and dates are understood.
    """

    name: str
    kind: str


def bound(kind: str, value: object) -> int | str | None:
    """Return a value of a file's statistics or partition for comparisons; None for unknown.

    Args:
        kind: the column's type.
        value: as Delta wrote it.
    """
    text = str(value)
    if isinstance(value, bool | float) or value is None:
        return None
    if kind in _INTEGERS:
        return int(text) if _INTEGER.fullmatch(text) else None
    if kind == "date":
        return text if _DATE.fullmatch(text) else None
    if (
        kind == "string"
        and isinstance(value, str)
        and not any("\ud800" <= c < "\ue000" for c in text)
    ):
        return text
    return None


def possible(
    predicate: str, columns: Mapping[str, Column], facts: Callable[[Column], Range]
) -> Results:
    """Return the results that a predicate may have in some rows.

    Args:
        predicate: as Delta recorded it.
        columns: columns by lower-case logical name.
        facts: tells what is known of a column in those rows.
    """
    if not predicate.startswith("["):
        return _understood(_Sql(predicate, columns, facts).parse)
    texts = [str(text) for text in json.loads(predicate)]
    return conjunction(_understood(_Printed(text, columns, facts).parse) for text in texts)


def holds(
    predicate: str, columns: Mapping[str, Column], values: Mapping[str, str | None]
) -> bool | None:
    """Tell whether a predicate holds for all rows of one partition (True), for none (False).

    Args:
        predicate: as Delta recorded it.
        columns: partition columns by lower-case logical name.
        values: the partition's values as Delta writes them, by physical name.

    Returns:
        None if neither can be said.
    """
    results = possible(predicate, columns, lambda column: partition_range(column, values))
    if True not in results:
        return False
    return True if results == {True} else None


def file_facts(addition: Action) -> Callable[[Column], Range]:
    """Return what the addition of a data file tells about its columns.

    Bounds hold also where they are not tight: for texts that Delta cut, and for files of which
    rows were deleted.
    """
    partition = addition.get("partitionValues") or {}
    statistics = json.loads(addition.get("stats") or "{}")

    def facts(column: Column) -> Range:
        """Tell what is known of one column."""
        if column.name in partition:
            return partition_range(column, partition)
        return _statistics_range(column, statistics)

    return facts


def _statistics_range(column: Column, statistics: Action) -> Range:
    if column.kind not in (*_INTEGERS, "string", "date"):
        return UNKNOWN
    records = statistics.get("numRecords")
    low, high, nulls = (
        (statistics.get(name) or {}).get(column.name)
        for name in ("minValues", "maxValues", "nullCount")
    )
    return Range(
        bound(column.kind, low),
        bound(column.kind, high),
        has_values=nulls is None or records is None or nulls < records,
        has_nulls=nulls != 0,
    )


def partition_range(column: Column, values: Mapping[str, str | None]) -> Range:
    """Return what is known of a partition column; an empty text stands for NULL."""
    raw = values.get(column.name)
    if not raw:
        return NULL if column.name in values else UNKNOWN
    value = bound(column.kind, raw)
    return UNKNOWN if value is None else Range.of(value)


def _understood(parse: Callable[[], Results]) -> Results:
    try:
        return parse()
    except _NotUnderstoodError:
        return ANYTHING


class _Printed:
    """One condition as Spark prints it: a group of two in parentheses, NOT, or something small."""

    def __init__(
        self, text: str, columns: Mapping[str, Column], facts: Callable[[Column], Range]
    ) -> None:
        self._text = text
        self._at = 0
        self._columns = columns
        self._facts = facts

    def parse(self) -> Results:
        """Return the results of the whole text."""
        results = self._condition()
        if self._at != len(self._text):
            raise _NotUnderstoodError
        return results

    def _condition(self) -> Results:
        if self._take("NOT "):
            return negated(self._condition())
        for word, result in (("true", True), ("false", False)):
            if self._take(word):
                return frozenset({result})
        if found := self._match(_PRINTED_NULL_TEST):
            results = is_null(self._column(found[2])[1])
            return results if found[1] == "isnull" else negated(results)
        if found := self._match(_PRINTED_IN):
            return self._in(found[1], found[2].split(","))
        if found := self._match(_PRINTED_COMPARISON):
            return self._compare(found[2], found[1], found[3])
        return self._group()

    def _group(self) -> Results:
        self._expect("(")
        left = self._condition()
        joined = conjunction if self._take(" AND ") else disjunction
        if joined is disjunction:
            self._expect(" OR ")
        right = self._condition()
        self._expect(")")
        return joined((left, right))

    def _in(self, name: str, literals: list[str]) -> Results:
        if self._column(name)[0] not in _INTEGERS:
            # The commas between texts cannot be told from those inside of one.
            return ANYTHING
        return disjunction(self._compare("=", name, literal) for literal in literals)

    def _compare(self, symbol: str, name: str, literal: str) -> Results:
        kind, operand = self._column(name)
        if literal == "null" or literal[:1] == "'" or kind not in (*_INTEGERS, "string", "date"):
            return ANYTHING
        value = bound(kind, literal)
        if value is None:
            raise _NotUnderstoodError
        return compared(symbol, operand, Range.of(value))

    def _column(self, name: str) -> tuple[str, Range]:
        column = self._columns.get(name.lower())
        return ("", UNKNOWN) if column is None else (column.kind, self._facts(column))

    def _match(self, pattern: re.Pattern[str]) -> re.Match[str] | None:
        found = pattern.match(self._text, self._at)
        if found:
            self._at = found.end()
        return found

    def _take(self, word: str) -> bool:
        if self._text.startswith(word, self._at):
            self._at += len(word)
            return True
        return False

    def _expect(self, word: str) -> None:
        if not self._take(word):
            raise _NotUnderstoodError


@dataclass(frozen=True, slots=True)
class _Operand:
    """A column or a literal with its type; a literal of a number or text can take another."""

    kind: str
    range: Range
    literal: bool


class _Sql:
    """SQL text, by recursive descent over OR, AND, NOT, comparisons, IN and IS NULL."""

    def __init__(
        self, text: str, columns: Mapping[str, Column], facts: Callable[[Column], Range]
    ) -> None:
        self._text = text
        self._tokens: list[tuple[str, str]] = []
        self._at = 0
        self._columns = columns
        self._facts = facts

    def parse(self) -> Results:
        """Return the results of the whole text."""
        self._tokens = _tokens(self._text)
        results = self._or()
        if self._at != len(self._tokens):
            raise _NotUnderstoodError
        return results

    def _or(self) -> Results:
        results = [self._and()]
        while self._take_word("OR"):
            results.append(self._and())
        return disjunction(results)

    def _and(self) -> Results:
        results = [self._not()]
        while self._take_word("AND"):
            results.append(self._not())
        return conjunction(results)

    def _not(self) -> Results:
        if self._take_word("NOT"):
            return negated(self._not())
        return self._term()

    def _term(self) -> Results:
        if self._take("("):
            results = self._or()
            self._expect(")")
            return results
        for word, truth in (("TRUE", True), ("FALSE", False)):
            if self._take_word(word):
                return frozenset({truth})
        return self._comparison()

    def _comparison(self) -> Results:
        left = self._operand()
        if self._take_word("IS"):
            is_negated = self._take_word("NOT")
            if not self._take_word("NULL"):
                raise _NotUnderstoodError
            return negated(is_null(left.range)) if is_negated else is_null(left.range)
        is_negated = self._take_word("NOT")
        if self._take_word("IN"):
            return negated(self._in(left)) if is_negated else self._in(left)
        kind, symbol = self._next()
        symbol = _SAME_SYMBOL.get(symbol, symbol)
        if is_negated or kind != "symbol" or symbol not in _COMPARISONS:
            raise _NotUnderstoodError
        return _compared(symbol, left, self._operand())

    def _in(self, left: _Operand) -> Results:
        self._expect("(")
        results = []
        while True:
            results.append(_compared("=", left, self._operand()))
            if not self._take(","):
                break
        self._expect(")")
        return disjunction(results)

    def _operand(self) -> _Operand:
        kind, text = self._next()
        if kind == "string":
            return _Operand("string", Range.of(text[1:-1]), literal=True)
        if kind == "number":
            return _Operand("long", Range.of(int(text)), literal=True)
        if kind != "name":
            raise _NotUnderstoodError
        if text.upper() == "DATE" and self._at < len(self._tokens):
            kind, date = self._next()
            if kind != "string" or not _DATE.fullmatch(date[1:-1]):
                raise _NotUnderstoodError
            return _Operand("date", Range.of(date[1:-1]), literal=True)
        is_field = "." in text and not text.startswith("`")
        column = self._columns.get(text.strip("`").lower())
        if column is None or is_field or text.upper() == "NULL":
            return _Operand("", UNKNOWN, literal=False)
        return _Operand(column.kind, self._facts(column), literal=False)

    def _next(self) -> tuple[str, str]:
        if self._at >= len(self._tokens):
            raise _NotUnderstoodError
        self._at += 1
        return self._tokens[self._at - 1]

    def _take(self, symbol: str) -> bool:
        if self._at < len(self._tokens) and self._tokens[self._at] == ("symbol", symbol):
            self._at += 1
            return True
        return False

    def _take_word(self, word: str) -> bool:
        if self._at < len(self._tokens):
            kind, text = self._tokens[self._at]
            if kind == "name" and text.upper() == word:
                self._at += 1
                return True
        return False

    def _expect(self, symbol: str) -> None:
        if not self._take(symbol):
            raise _NotUnderstoodError


def _tokens(text: str) -> list[tuple[str, str]]:
    tokens, at = [], 0
    text = text.rstrip()
    while at < len(text):
        found = _SQL_TOKEN.match(text, at)
        if not found or not found.lastgroup:
            raise _NotUnderstoodError
        tokens.append((found.lastgroup, found.group(found.lastgroup)))
        at = found.end()
    return tokens


def _compared(symbol: str, left: _Operand, right: _Operand) -> Results:
    """Compare as Spark does: a literal of another type is cast to that of a number or date."""
    if _family(left.kind) != _family(right.kind):
        left, right = _cast(left, right.kind), _cast(right, left.kind)
    if _family(left.kind) != _family(right.kind) or not _family(left.kind):
        return ANYTHING
    return compared(symbol, left.range, right.range)


def _family(kind: str) -> str:
    if kind in _INTEGERS:
        return "long"
    return kind if kind in ("string", "date") else ""


def _cast(operand: _Operand, kind: str) -> _Operand:
    """Return a text literal as a number or date; anything else of another type is unknown."""
    if operand.kind != "string":
        return operand
    value = bound(kind, operand.range.low) if operand.literal else None
    return _Operand(kind, UNKNOWN if value is None else Range.of(value), literal=True)
