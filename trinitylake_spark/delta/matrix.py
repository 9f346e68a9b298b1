"""The table-operation matrix as data: what happens to a later job after an earlier one.

The 25 cells are MaxCompute's (format.md §7.2); the rules beside them say how the ``optimised``
mode reaches the cell's outcome or a better one (format.md §7.3). This table is the only place
where they are written down: the code reads it, and the documentation is printed from it.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

from trinitylake_spark.delta.change import Kind

if TYPE_CHECKING:
    from collections.abc import Mapping


class Code(StrEnum):
    """Outcomes of the matrix."""

    OVERWRITES = "O"
    ERROR = "E"
    COMPACTS = "C"
    NEW_DATA = "N"


class Rule(StrEnum):
    """How the later job gets on top of the earlier one; the values are for the documentation."""

    PASS = "nothing to reconcile"  # noqa: S105 - not a password
    DISJOINT = "if no file that it removes was removed meanwhile"
    ROWS = "if no row (with deletion vectors; else no file) that it removes was removed meanwhile"
    OVERWRITE = "also removes what was added meanwhile"
    LEAVE_OUT = "leaves out groups of files of which one was removed meanwhile"
    UNDO = "undoes the compaction where both touched the same files"
    REFUSE = "refused"


@dataclass(frozen=True, slots=True)
class Cell:
    """One cell of the matrix.

    Args:
        code: the outcome to the letter, for ``strict``.
        rule: how that outcome is reached; ``REFUSE`` for an error.
        optimised: the rule in ``optimised`` mode.
    """

    code: Code
    rule: Rule
    optimised: Rule


COLUMNS = (Kind.OVERWRITE, Kind.INSERT, Kind.CHANGE, Kind.MINOR, Kind.MAJOR)
"""Kinds of the matrix, in its order."""

_O = Cell(Code.OVERWRITES, Rule.OVERWRITE, Rule.OVERWRITE)


def _error(optimised: Rule) -> Cell:
    return Cell(Code.ERROR, Rule.REFUSE, optimised)


_E = _error(Rule.REFUSE)

MATRIX: Mapping[Kind, Mapping[Kind, Cell]] = {
    # Rows: the job that committed earlier. Columns: the later one.
    Kind.OVERWRITE: dict(zip(COLUMNS, (_O, _E, _E, _E, _E), strict=True)),
    Kind.INSERT: dict(
        zip(
            COLUMNS,
            (
                _O,
                _error(Rule.PASS),
                _error(Rule.DISJOINT),
                Cell(Code.COMPACTS, Rule.PASS, Rule.PASS),
                _error(Rule.DISJOINT),
            ),
            strict=True,
        )
    ),
    Kind.CHANGE: dict(
        zip(
            COLUMNS,
            (
                _O,
                _error(Rule.PASS),
                _error(Rule.ROWS),
                Cell(Code.COMPACTS, Rule.LEAVE_OUT, Rule.LEAVE_OUT),
                _error(Rule.DISJOINT),
            ),
            strict=True,
        )
    ),
    Kind.MINOR: dict(
        zip(
            COLUMNS,
            (
                _O,
                Cell(Code.NEW_DATA, Rule.PASS, Rule.PASS),
                Cell(Code.NEW_DATA, Rule.UNDO, Rule.UNDO),
                _error(Rule.DISJOINT),
                Cell(Code.COMPACTS, Rule.UNDO, Rule.UNDO),
            ),
            strict=True,
        )
    ),
    Kind.MAJOR: dict(
        zip(
            COLUMNS,
            (
                _O,
                Cell(Code.NEW_DATA, Rule.PASS, Rule.PASS),
                Cell(Code.NEW_DATA, Rule.UNDO, Rule.UNDO),
                _error(Rule.DISJOINT),
                _error(Rule.DISJOINT),
            ),
            strict=True,
        )
    ),
}

# Clustering is no column of the matrix: it changes the layout and not the state of the data, so
# it goes with INSERT INTO either way, and by files with the rest. After OVERWRITE and before it,
# it is like a major compaction. An UPDATE that meets a clustered file undoes the clustering of it
# instead of failing, as with the compactions: logically that is exact, and nobody loses work.
_CLUSTER_AFTER: Mapping[Kind, Rule] = {
    Kind.OVERWRITE: Rule.REFUSE,
    Kind.INSERT: Rule.PASS,
    Kind.CHANGE: Rule.DISJOINT,
    Kind.MINOR: Rule.DISJOINT,
    Kind.MAJOR: Rule.DISJOINT,
    Kind.CLUSTER: Rule.DISJOINT,
}
_CLUSTER_BEFORE: Mapping[Kind, Rule] = {
    Kind.OVERWRITE: Rule.OVERWRITE,
    Kind.INSERT: Rule.PASS,
    Kind.CHANGE: Rule.UNDO,
    Kind.MINOR: Rule.DISJOINT,
    Kind.MAJOR: Rule.DISJOINT,
    Kind.CLUSTER: Rule.DISJOINT,
}


def rule(earlier: Kind, later: Kind, *, strict: bool) -> Rule:
    """Return how a later job gets on top of an earlier one in the same partition.

    Args:
        earlier: kind of the job that committed first.
        later: kind of the job that wants to commit now.
        strict: the table asks for the matrix to the letter.
    """
    if Kind.METADATA in (earlier, later):
        return Rule.PASS
    if Kind.OTHER in (earlier, later):
        return Rule.REFUSE
    if later is Kind.CLUSTER:
        return _CLUSTER_AFTER[earlier]
    if earlier is Kind.CLUSTER:
        return _CLUSTER_BEFORE[later]
    cell = MATRIX[earlier][later]
    return cell.rule if strict else cell.optimised
