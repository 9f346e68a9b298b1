"""What queries and statements of programs do to rows: plain functions, without versions."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

Row = tuple[int, int]
"""``id`` and ``v``."""
Rows = dict[int, Row]
"""Rows by their identity: an UPDATE takes a row away and brings another."""

WRAP = 1000
"""Values stay below this."""


@dataclass(frozen=True)
class Pred:
    """A condition.

    Args:
        text: in SQL.
        holds: in Python.
    """

    text: str
    holds: Callable[[Row], bool]


def by_id(k: int) -> Pred:
    """Rows of one key."""
    return Pred(f"id = {k}", lambda row: row[0] == k)


def from_id(k: int) -> Pred:
    """Rows from a key on."""
    return Pred(f"id >= {k}", lambda row: row[0] >= k)


EVEN = Pred("v % 2 = 0", lambda row: row[1] % 2 == 0)
"""Rows that no statistics can exclude."""
EVERY = Pred("true", lambda _: True)
"""All rows."""


def only(where: Pred) -> Callable[[list[Row]], list[Row]]:
    """WHERE."""
    return lambda rows: [row for row in rows if where.holds(row)]


def adding(number: int) -> Callable[[list[Row]], list[Row]]:
    """``(v + number) % WRAP``."""
    return lambda rows: [added(row, number) for row in rows]


def added(row: Row, number: int) -> Row:
    """Return one row with something added to its value."""
    return row[0], (row[1] + number) % WRAP


def greatest(rows: list[Row]) -> list[Row]:
    """``SELECT id, max(v) … GROUP BY id``."""
    return list(dict(sorted(rows)).items())


def total(rows: list[Row]) -> list[Row]:
    """``SELECT count(*), sum(v) % WRAP``: one row."""
    return [(len(rows), sum(v for _, v in rows) % WRAP)]


def joined(left: list[Row], right: list[Row]) -> list[Row]:
    """``SELECT l.id, (l.v + r.v) % WRAP … ON l.id = r.id``."""
    return [added(one, two[1]) for one in left for two in right if one[0] == two[0]]


def united(left: list[Row], right: list[Row]) -> list[Row]:
    """UNION ALL."""
    return left + right


def among(left: list[Row], right: list[Row]) -> list[Row]:
    """``WHERE id IN (SELECT id …)``."""
    keys = {row[0] for row in right}
    return [row for row in left if row[0] in keys]
