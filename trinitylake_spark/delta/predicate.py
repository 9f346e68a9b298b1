"""Does a predicate hold for a partition? True, False, or None where that cannot be told.

Delta records predicates as Spark prints them (``((p#12 = 1) AND (a#3 > 3))``) or as the user wrote
them (``p = 'x'``). Only partition columns have known values here, so everything else is unknown,
and unknown is always a safe answer: the caller then assumes the worst.
"""

from __future__ import annotations

import operator
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

Value = str | int | None

_TOKEN = re.compile(
    r"""\s*(?:
        (?P<string>'(?:[^'\\]|''|\\.)*')
      | (?P<number>-?\d+(?![\w.]))
      | (?P<name>`[^`]+`(?:\#\d+)?|[A-Za-z_][\w.]*(?:\#\d+)?)
      | (?P<symbol><=>|<>|!=|<=|>=|==|=|<|>|\(|\)|,)
    )""",
    re.VERBOSE,
)
_COMPARE: Mapping[str, Callable[[Value, Value], bool]] = {
    "=": operator.eq,
    "==": operator.eq,
    "<=>": operator.eq,
    "!=": operator.ne,
    "<>": operator.ne,
    "<": operator.lt,  # type: ignore[dict-item]
    "<=": operator.le,  # type: ignore[dict-item]
    ">": operator.gt,  # type: ignore[dict-item]
    ">=": operator.ge,  # type: ignore[dict-item]
}


class _NotUnderstoodError(Exception):
    """The text is outside of the small grammar."""


class _Unknown:
    """A value that cannot be known here."""


_UNKNOWN = _Unknown()
_Operand = Value | _Unknown


@dataclass(frozen=True, slots=True)
class Column:
    """A partition column.

    Args:
        name: physical name, the key in a file's ``partitionValues``.
        kind: Delta's type; whole numbers, strings, dates and booleans are understood.
    """

    name: str
    kind: str


_INTEGERS = frozenset({"byte", "short", "integer", "long"})
_TEXTS = frozenset({"string", "date"})


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
    try:
        return _Parser(predicate, columns, values).parse()
    except _NotUnderstoodError:
        return None


class _Parser:
    """Recursive descent over OR, AND, NOT, comparisons, IN and IS NULL."""

    def __init__(
        self, text: str, columns: Mapping[str, Column], values: Mapping[str, str | None]
    ) -> None:
        self._tokens = _tokens(text)
        self._at = 0
        self._columns = columns
        self._values = values

    def parse(self) -> bool | None:
        """Return the predicate's truth; None if the values do not decide it."""
        result = self._or()
        if self._at != len(self._tokens):
            raise _NotUnderstoodError
        return result

    def _or(self) -> bool | None:
        result = self._and()
        while self._take_word("OR"):
            other = self._and()
            if result is True or other is True:
                result = True
            elif result is None or other is None:
                result = None
        return result

    def _and(self) -> bool | None:
        result = self._not()
        while self._take_word("AND"):
            other = self._not()
            if result is False or other is False:
                result = False
            elif result is None or other is None:
                result = None
        return result

    def _not(self) -> bool | None:
        if self._take_word("NOT"):
            result = self._not()
            return None if result is None else not result
        return self._term()

    def _term(self) -> bool | None:
        start = self._at
        if self._take("("):
            try:
                result = self._or()
                self._expect(")")
            except _NotUnderstoodError:
                self._at = start
            else:
                if not self._compares_next():
                    return result
                self._at = start
        for word, truth in (("TRUE", True), ("FALSE", False)):
            if self._take_word(word):
                return truth
        return self._comparison()

    def _comparison(self) -> bool | None:
        left = self._operand()
        if self._take_word("IS"):
            negated = self._take_word("NOT")
            if not self._take_word("NULL"):
                raise _NotUnderstoodError
            return None if left is _UNKNOWN else (left is None) != negated
        negated = self._take_word("NOT")
        if self._take_word("IN"):
            found = self._in(left)
            return found if found is None or not negated else not found
        if negated or self._at >= len(self._tokens):
            raise _NotUnderstoodError
        kind, symbol = self._tokens[self._at]
        if kind != "symbol" or symbol not in _COMPARE:
            raise _NotUnderstoodError
        self._at += 1
        return _compare(symbol, left, self._operand(), null_safe=symbol == "<=>")

    def _in(self, left: _Operand) -> bool | None:
        self._expect("(")
        results = []
        while True:
            results.append(_compare("=", left, self._operand(), null_safe=False))
            if not self._take(","):
                break
        self._expect(")")
        if any(result is True for result in results):
            return True
        return None if any(result is None for result in results) else False

    def _operand(self) -> _Operand:
        if self._at >= len(self._tokens):
            raise _NotUnderstoodError
        kind, text = self._tokens[self._at]
        self._at += 1
        if kind == "string":
            return _unquote(text)
        if kind == "number":
            return int(text)
        if kind != "name":
            raise _NotUnderstoodError
        if text.upper() in ("DATE", "CAST") or self._next_is("("):
            return self._typed_literal(text)
        return self._column(text)

    def _typed_literal(self, word: str) -> _Operand:
        """``DATE '2026-01-01'`` is its text; functions and casts are not understood."""
        if word.upper() == "DATE" and self._at < len(self._tokens):
            kind, text = self._tokens[self._at]
            if kind == "string":
                self._at += 1
                return _unquote(text)
        raise _NotUnderstoodError

    def _column(self, text: str) -> _Operand:
        name = text.partition("#")[0] if not text.startswith("`") else text.split("`")[1]
        column = self._columns.get(name.lower())
        if column is None:
            return _UNKNOWN
        raw = self._values.get(column.name)
        if raw is None:
            return None
        if column.kind in _INTEGERS:
            return int(raw)
        return raw if column.kind in _TEXTS else _UNKNOWN

    def _compares_next(self) -> bool:
        if self._at >= len(self._tokens):
            return False
        kind, text = self._tokens[self._at]
        return (kind == "symbol" and text in _COMPARE) or text.upper() in ("IS", "IN")

    def _next_is(self, symbol: str) -> bool:
        return self._at < len(self._tokens) and self._tokens[self._at] == ("symbol", symbol)

    def _take(self, symbol: str) -> bool:
        if self._next_is(symbol):
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
        found = _TOKEN.match(text, at)
        if not found or not found.lastgroup:
            raise _NotUnderstoodError
        tokens.append((found.lastgroup, found.group(found.lastgroup)))
        at = found.end()
    return tokens


def _unquote(text: str) -> str:
    if "\\" in text:
        raise _NotUnderstoodError
    return text[1:-1].replace("''", "'")


def _compare(symbol: str, left: _Operand, right: _Operand, *, null_safe: bool) -> bool | None:
    if isinstance(left, _Unknown) or isinstance(right, _Unknown):
        return None
    if left is None or right is None:
        # A comparison with NULL is never true; callers treat "not true" and "false" alike, but
        # under NOT the two differ, so it stays unknown unless the comparison is null-safe.
        return (left is None) == (right is None) if null_safe else None
    if type(left) is not type(right):
        left, right = _same_type(left, right)
    return _COMPARE[symbol](left, right)


def _same_type(left: str | int, right: str | int) -> tuple[int, int]:
    """Spark prints ``p = 1`` for a text column that was compared with a number, and ``'1'``."""
    try:
        return int(left), int(right)
    except ValueError:
        raise _NotUnderstoodError from None
