"""Reads the condition of an UPDATE or DELETE, as Spark prints expressions.

``((p#12 = x) AND (a#3L > 3))``: a text stands there without quotes, so that it could look like
anything. It is never mistaken: every binary operation is in parentheses of its own, with exactly
two operands, and whatever else a text with parentheses pretends to be has more.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from trinitylake_spark.delta.condition import (
    Comparison,
    Condition,
    Constant,
    NullTest,
    Operand,
    Operator,
)
from trinitylake_spark.delta.sql_condition import NotUnderstoodError
from trinitylake_spark.delta.truth import ANYTHING, UNKNOWN, Range
from trinitylake_spark.delta.values import read

if TYPE_CHECKING:
    from collections.abc import Mapping

    from trinitylake_spark.delta.condition import Term
    from trinitylake_spark.delta.values import Column

_ATTRIBUTE = r"([A-Za-z_]\w*)\#\d+L?"
_COMPARISON = re.compile(rf"\({_ATTRIBUTE} (<=>|<=|>=|=|<|>) ([^()#]*)\)")
_NULL_TEST = re.compile(rf"(isnull|isnotnull)\({_ATTRIBUTE}\)")
_LITERAL = r"-?\d[\d.:E+-]*(?: \d\d:[\d:.]+)?"
_END = r"(?=$|\)| AND | OR )"
_IN = re.compile(rf"{_ATTRIBUTE} IN \(({_LITERAL}(?:,{_LITERAL})*)\)")
# An IN of more than ten literals, once Spark has optimised it.
_IN_SET = re.compile(rf"{_ATTRIBUTE} INSET ({_LITERAL}(?:, {_LITERAL})*){_END}")
_FLAG = re.compile(rf"{_ATTRIBUTE}{_END}")
_BINARY = re.compile(r"0x((?:[0-9A-F]{2})*)")

_NOT, _OPENED = "NOT", "("


def read_printed(text: str, columns: Mapping[str, Column]) -> Condition:
    """Read a condition that Spark printed.

    Args:
        text: the condition.
        columns: columns by lower-case logical name; any other is unknown.

    Raises:
        NotUnderstoodError: it holds something that the grammar does not cover.
    """
    return _Reader(text, columns).condition()


class _Reader:
    """Puts terms and operators in the order of evaluation, with a stack of what is not complete."""

    def __init__(self, text: str, columns: Mapping[str, Column]) -> None:
        self._text = text
        self._at = 0
        self._columns = columns
        self._steps: list[Term | Operator] = []
        self._open: list[str] = []
        """NOT, a parenthesis, or the operator in a parenthesis that has its left operand."""

    def condition(self) -> Condition:
        """Read the whole text."""
        while True:
            if self._take("NOT "):
                self._open.append(_NOT)
            elif not self._term():
                self._expect("(")
                self._open.append(_OPENED)
            elif self._complete():
                break
        if self._at != len(self._text):
            raise NotUnderstoodError
        return Condition(tuple(self._steps))

    def _complete(self) -> bool:
        """Go on after an operand; return whether nothing is open any longer."""
        while self._open:
            last = self._open.pop()
            if last == _OPENED:
                self._open.append(self._operator())
                return False
            if last != _NOT:
                self._expect(")")
            self._steps.append(Operator(last))
        return True

    def _operator(self) -> str:
        if self._take(" AND "):
            return Operator.AND
        self._expect(" OR ")
        return Operator.OR

    def _term(self) -> bool:
        """Read what has no operands of its own; return whether there is such a thing."""
        for word, truth in (("true", True), ("false", False)):
            if self._take(word):
                self._steps.append(Constant(frozenset({truth})))
                return True
        if found := self._match(_NULL_TEST):
            self._steps.append(NullTest(self._column(found[2])))
            if found[1] == "isnotnull":
                self._steps.append(Operator.NOT)
        elif found := self._match(_IN) or self._match(_IN_SET):
            self._in(self._column(found[1]), re.split(", ?", found[2]))
        elif found := self._match(_COMPARISON):
            column = self._column(found[1])
            self._steps.append(_comparison(found[2], column, found[3]))
        elif found := self._match(_FLAG):
            self._steps.append(_comparison("=", self._flag(found[1]), "true"))
        else:
            return False
        return True

    def _in(self, column: Operand, literals: list[str]) -> None:
        if column.kind in ("", "string"):
            # What stands between texts cannot be told from what is in one.
            raise NotUnderstoodError
        self._steps.append(_comparison("=", column, literals[0]))
        for literal in literals[1:]:
            self._steps += (_comparison("=", column, literal), Operator.OR)

    def _flag(self, name: str) -> Operand:
        column = self._column(name)
        if column.kind != "boolean":
            raise NotUnderstoodError
        return column

    def _column(self, name: str) -> Operand:
        column = self._columns.get(name.lower())
        return Operand("", UNKNOWN) if column is None else Operand(column.kind, column)

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
            raise NotUnderstoodError


def _comparison(symbol: str, column: Operand, literal: str) -> Term:
    if literal == "null" or literal[:1] == "'" or not column.kind:
        return Constant(ANYTHING)
    value = _literal(column.kind, literal)
    if value is None:
        raise NotUnderstoodError
    return Comparison(symbol, column, Operand(column.kind, value))


def _literal(kind: str, text: str) -> Range | None:
    if kind != "binary":
        return read(kind, text)
    found = _BINARY.fullmatch(text)
    return Range.of(bytes.fromhex(found[1])) if found else None
