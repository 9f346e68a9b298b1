"""A condition that was read once and is asked of many files: comparisons, joined by NOT, AND, OR.

It is kept in the order in which a stack evaluates it, so however deep its text was nested, asking
takes one step for each comparison and operator.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from functools import cache
from typing import TYPE_CHECKING, Protocol, TypeAlias

from trinitylake_spark.delta.truth import (
    ANYTHING,
    Range,
    Results,
    compared,
    conjunction,
    disjunction,
    is_null,
    negated,
)
from trinitylake_spark.delta.values import are_comparable

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from trinitylake_spark.delta.values import Column

Facts: TypeAlias = "Callable[[Column], Range]"
"""Tells what is known of a column in some rows."""


class Operator(StrEnum):
    """What joins the steps before it."""

    NOT = "NOT"
    AND = "AND"
    OR = "OR"


@dataclass(frozen=True, slots=True)
class Operand:
    """One side of a comparison.

    Args:
        kind: its type in Delta's schema; empty if values of it are not understood.
        source: the column, or what is known of a literal.
    """

    kind: str
    source: Column | Range

    def range(self, facts: Facts) -> Range:
        """Return what is known of it in some rows."""
        return self.source if isinstance(self.source, Range) else facts(self.source)


class Term(Protocol):
    """What has results of its own."""

    def results(self, facts: Facts) -> Results:
        """Return the results it may have in some rows."""


@dataclass(frozen=True, slots=True)
class Constant:
    """TRUE, FALSE, or what nothing is known of."""

    possible: Results

    def results(self, facts: Facts) -> Results:
        """Return them, whatever the rows."""
        del facts
        return self.possible


@dataclass(frozen=True, slots=True)
class Comparison:
    """Two operands and ``=``, ``<=>``, ``!=``, ``<``, ``<=``, ``>`` or ``>=``."""

    symbol: str
    left: Operand
    right: Operand

    def results(self, facts: Facts) -> Results:
        """Compare what is known of both sides."""
        if not are_comparable(self.left.kind, self.right.kind):
            return ANYTHING
        return compared(self.symbol, self.left.range(facts), self.right.range(facts))


@dataclass(frozen=True, slots=True)
class NullTest:
    """IS NULL."""

    operand: Operand

    def results(self, facts: Facts) -> Results:
        """Tell whether there may be NULLs, and values."""
        return is_null(self.operand.range(facts))


@dataclass(frozen=True, slots=True)
class Condition:
    """A condition in postfix order: each operator follows its operands.

    Args:
        steps: terms and operators.
    """

    steps: tuple[Term | Operator, ...]

    def results(self, facts: Facts) -> Results:
        """Return the results that the condition may have in some rows.

        Args:
            facts: tells what is known of a column in those rows; asked once for each.
        """
        known = cache(facts)
        stack: list[Results] = []
        for step in self.steps:
            if not isinstance(step, Operator):
                stack.append(step.results(known))
            elif step is Operator.NOT:
                stack.append(negated(stack.pop()))
            else:
                join = conjunction if step is Operator.AND else disjunction
                stack.append(join(stack.pop(), stack.pop()))
        (results,) = stack
        return results


def joined(operator: Operator, conditions: Iterable[Condition]) -> Condition:
    """Join conditions, at least one, by AND or OR."""
    steps: list[Term | Operator] = []
    for number, condition in enumerate(conditions):
        steps += condition.steps
        if number:
            steps.append(operator)
    return Condition(tuple(steps))
