"""Reads the condition of an overwrite: SQL text, as users write it and as Spark prints it.

Understood are comparisons of columns and literals, IN, IS NULL, NOT, AND, OR and parentheses.
Literals of every type are read in the form in which Spark prints them (``1L``, ``1.50BD``,
``DATE '…'``, ``CAST('1.5' AS FLOAT)``).
"""

from __future__ import annotations

import re
from decimal import Decimal
from typing import TYPE_CHECKING

from trinitylake_spark.delta.condition import (
    Comparison,
    Condition,
    NullTest,
    Operand,
    Operator,
)
from trinitylake_spark.delta.truth import NULL, UNKNOWN, Range
from trinitylake_spark.delta.values import INTEGERS, NOTHING, decimal_kind, read

if TYPE_CHECKING:
    from collections.abc import Mapping

    from trinitylake_spark.delta.condition import Term
    from trinitylake_spark.delta.values import Column

_TOKEN = re.compile(
    r"""\s*(?:
        (?P<string>'(?:[^'\\]|\\['\\])*'(?!'))
      | (?P<number>-?\d+(?:\.\d+)?(?:E[+-]?\d{1,3})?(?:BD|[LSYDF])?(?![\w.]))
      | (?P<name>`[^`]+`|[A-Za-z_][\w.]*)
      | (?P<symbol><=>|<>|!=|<=|>=|==|=|<|>|\(|\)|,)
    )""",
    re.VERBOSE | re.ASCII,
)
_SUFFIXES = {"L": "long", "S": "short", "Y": "byte", "D": "double", "F": "float"}
_TYPED = {"DATE": "date", "TIMESTAMP": "timestamp", "TIMESTAMP_NTZ": "timestamp_ntz"}
_CAST_TO = {"FLOAT": "float", "DOUBLE": "double"}
_CAST_FROM_TEXT = frozenset({*INTEGERS, "date", "timestamp", "timestamp_ntz"})
_SAME_SYMBOL = {"==": "=", "<>": "!="}
_COMPARISONS = frozenset({"<=>", "!=", "<=", ">=", "=", "<", ">"})
_BINDS = {"(": 0, "OR": 1, "AND": 2, "NOT": 3}

_UNKNOWN = Operand("", UNKNOWN)
_CONSTANTS = {
    "NULL": Operand(NOTHING, NULL),
    "TRUE": Operand("boolean", Range.of(1)),
    "FALSE": Operand("boolean", Range.of(0)),
}


class NotUnderstoodError(Exception):
    """A text is outside of the small grammar."""


def read_sql(text: str, columns: Mapping[str, Column]) -> Condition:
    """Read a condition in SQL.

    Args:
        text: the condition.
        columns: columns by lower-case logical name; any other is unknown.

    Raises:
        NotUnderstoodError: it holds something that the grammar does not cover.
    """
    return _Reader(text, columns).condition()


class _Reader:
    """Puts terms and operators in the order of evaluation, with a stack of open operators."""

    def __init__(self, text: str, columns: Mapping[str, Column]) -> None:
        self._tokens = _tokens(text)
        self._at = 0
        self._columns = columns
        self._steps: list[Term | Operator] = []
        self._open: list[str] = []
        """Operators and parentheses whose operands are not complete."""

    def condition(self) -> Condition:
        """Read the whole text."""
        while True:
            self._before_a_term()
            self._term()
            while self._take_symbol(")"):
                self._close(_BINDS["("])
                if not self._open:
                    raise NotUnderstoodError
                self._open.pop()
            if self._at == len(self._tokens):
                break
            self._binary()
        self._close(_BINDS["("])
        if self._open:
            raise NotUnderstoodError
        return Condition(tuple(self._steps))

    def _before_a_term(self) -> None:
        while True:
            if self._take_word("NOT"):
                self._open.append("NOT")
            elif self._take_symbol("("):
                self._open.append("(")
            else:
                return

    def _binary(self) -> None:
        word = "AND" if self._take_word("AND") else "OR"
        if word == "OR" and not self._take_word("OR"):
            raise NotUnderstoodError
        self._close(_BINDS[word] - 1)
        self._open.append(word)

    def _close(self, weaker: int) -> None:
        """Put out the open operators that bind stronger than ``weaker``."""
        while self._open and _BINDS[self._open[-1]] > weaker:
            self._steps.append(Operator(self._open.pop()))

    # --- terms -----------------------------------------------------------------------------------

    def _term(self) -> None:
        left = self._operand()
        if self._is_over():
            if left.kind != "boolean":
                raise NotUnderstoodError
            self._steps.append(Comparison("=", left, _CONSTANTS["TRUE"]))
            return
        if self._take_word("IS"):
            is_negated = self._take_word("NOT")
            self._expect_word("NULL")
            self._steps.append(NullTest(left))
        else:
            is_negated = self._take_word("NOT")
            if self._take_word("IN"):
                self._in(left)
            elif is_negated:
                raise NotUnderstoodError
            else:
                self._steps.append(_comparison(self._symbol(), left, self._operand()))
        if is_negated:
            self._steps.append(Operator.NOT)

    def _is_over(self) -> bool:
        """Tell whether a term ends here."""
        following = self._tokens[self._at : self._at + 1]
        return not following or following[0][1].upper() in (")", "AND", "OR")

    def _in(self, left: Operand) -> None:
        self._expect_symbol("(")
        self._steps.append(_comparison("=", left, self._operand()))
        while self._take_symbol(","):
            self._steps += (_comparison("=", left, self._operand()), Operator.OR)
        self._expect_symbol(")")

    def _symbol(self) -> str:
        kind, symbol = self._next()
        symbol = _SAME_SYMBOL.get(symbol, symbol)
        if kind != "symbol" or symbol not in _COMPARISONS:
            raise NotUnderstoodError
        return symbol

    # --- operands --------------------------------------------------------------------------------

    def _operand(self) -> Operand:
        kind, text = self._next()
        if kind == "string":
            return Operand("string", _unquoted(text))
        if kind == "number":
            return _number(text)
        if kind != "name":
            raise NotUnderstoodError
        return self._word(text)

    def _word(self, text: str) -> Operand:
        """Return what a word begins or names."""
        word = text.upper()
        if word in _CONSTANTS:
            return _CONSTANTS[word]
        if word == "CAST" and self._take_symbol("("):
            return self._cast()
        if word in (*_TYPED, "X") and self._peek() == "string":
            return self._typed(word)
        return self._column(text)

    def _column(self, text: str) -> Operand:
        is_field = "." in text and not text.startswith("`")
        column = self._columns.get(text.strip("`").lower())
        return _UNKNOWN if column is None or is_field else Operand(column.kind, column)

    def _typed(self, word: str) -> Operand:
        _, quoted = self._next()
        text = quoted[1:-1]
        if word in _TYPED:
            return _literal(_TYPED[word], text)
        try:
            return Operand("binary", Range.of(bytes.fromhex(text)))
        except ValueError as error:
            raise NotUnderstoodError from error

    def _cast(self) -> Operand:
        kind, text = self._next()
        self._expect_word("AS")
        _, target = self._next()
        if self._take_symbol("("):
            while not self._take_symbol(")"):
                self._next()
        self._expect_symbol(")")
        if text.upper() == "NULL":
            return _CONSTANTS["NULL"]
        if kind != "string" or target.upper() not in _CAST_TO:
            return _UNKNOWN
        return _literal(_CAST_TO[target.upper()], text[1:-1])

    # --- tokens ----------------------------------------------------------------------------------

    def _peek(self) -> str:
        """Return what kind of token comes next; empty at the end."""
        return self._tokens[self._at][0] if self._at < len(self._tokens) else ""

    def _next(self) -> tuple[str, str]:
        if self._at >= len(self._tokens):
            raise NotUnderstoodError
        self._at += 1
        return self._tokens[self._at - 1]

    def _take(self, kind: str, text: str) -> bool:
        if self._at < len(self._tokens):
            found, found_text = self._tokens[self._at]
            if found == kind and found_text.upper() == text:
                self._at += 1
                return True
        return False

    def _take_symbol(self, symbol: str) -> bool:
        return self._take("symbol", symbol)

    def _take_word(self, word: str) -> bool:
        return self._take("name", word)

    def _expect_symbol(self, symbol: str) -> None:
        if not self._take_symbol(symbol):
            raise NotUnderstoodError

    def _expect_word(self, word: str) -> None:
        if not self._take_word(word):
            raise NotUnderstoodError


def _comparison(symbol: str, left: Operand, right: Operand) -> Comparison:
    """Compare as Spark does: a text is cast to the type of the column that it is compared with."""
    return Comparison(symbol, _cast_like(left, right), _cast_like(right, left))


def _cast_like(operand: Operand, other: Operand) -> Operand:
    value = operand.source
    if operand.kind != "string" or other.kind not in _CAST_FROM_TEXT:
        return operand
    if not isinstance(value, Range) or not isinstance(value.low, str) or not value.is_one:
        return _UNKNOWN
    return _literal(other.kind, value.low)


def _literal(kind: str, text: str) -> Operand:
    return Operand(kind, read(kind, text) or UNKNOWN)


def _unquoted(text: str) -> Range:
    """Return the value of a text in quotes.

    A session may be told to take backslashes for what they are, so then it is one of two.
    """
    escaped = text[1:-1]
    plain = re.sub(r"\\(.)", r"\1", escaped)
    if read("string", escaped) is None:
        return UNKNOWN
    return Range(min(escaped, plain), max(escaped, plain), has_nulls=False)


def _number(text: str) -> Operand:
    end = len(text.rstrip("LSYDFB"))
    digits, suffix = text[:end], text[end:]
    if suffix == "BD" or (not suffix and "." in digits and "E" not in digits):
        return _decimal(digits)
    if not suffix and "E" not in digits:
        kind = next((k for k in ("integer", "long") if read(k, digits)), "")
        return _literal(kind, digits) if kind else _decimal(digits)
    return _literal(_SUFFIXES[suffix], digits) if suffix else _UNKNOWN


def _decimal(digits: str) -> Operand:
    return _literal(decimal_kind(Decimal(digits)), digits)


def _tokens(text: str) -> list[tuple[str, str]]:
    tokens, at = [], 0
    text = text.rstrip()
    while at < len(text):
        found = _TOKEN.match(text, at)
        if not found or not found.lastgroup:
            raise NotUnderstoodError
        tokens.append((found.lastgroup, found.group(found.lastgroup)))
        at = found.end()
    return tokens
