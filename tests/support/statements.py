"""Random statements of every kind, and a model that says what each of them means on its own.

The model has neither versions nor transactions: a table is a list of rows, and a statement is a
function of it. What the engine lets a transaction see and do is then compared with what the model
does from the same rows.
"""

from __future__ import annotations

import random
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from tests.support.row_tables import (
    ALL,
    TRUE,
    Conflict,
    Row,
    Session,
    Where,
    row,
    where,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from tests.support.row_tables import Tables

State = dict[str, list[Row]]
"""Rows by table."""

LAYOUTS: Mapping[str, dict[str, Any]] = {
    "flat": {},
    "parts": {"partitioned": True},
    "strict": {"properties": {"trinitylake.conflict-detection": "strict"}},
}
_KEYS = 6
_VALUES = 8
_LONGEST = 2


@dataclass(frozen=True)
class Stmt:
    """One statement.

    Args:
        text: for reports.
        run: does it in a session; returns what its client sees.
        mean: does it to rows; returns what its client must see.
    """

    text: str
    run: Callable[[Session], Any]
    mean: Callable[[State], Any]


@dataclass
class Run:
    """A transaction as its client saw it.

    Args:
        base: the version it saw.
        done: each statement with what its client saw.
        version: the version it committed; None if it was refused or changed nothing.
        committed: whether its commit was acknowledged.
    """

    base: int
    done: list[tuple[Stmt, Any]] = field(default_factory=list)
    version: int | None = None
    committed: bool = False

    def __str__(self) -> str:
        return f"[{self.base}→{self.version}: {'; '.join(s.text for s, _ in self.done)}]"


def create_tables(tables: Tables) -> None:
    """Create a table of each layout with a file for each row."""
    session = tables.session()
    session.create_namespace()
    for table, options in LAYOUTS.items():
        rows = [row(k, k, "xy"[k % 2]) for k in range(_KEYS)]
        session.create(table, *rows, **options)


def state_at(session: Session, version: int) -> State:
    """Return all rows at a version."""
    return {table: _sorted(session.select(table, version=str(version))) for table in LAYOUTS}


class Client:
    """A session that runs random transactions of random statements.

    Args:
        tables: the lakehouse.
        seed: of all choices.
        number: makes keys of its own.
        level: isolation of its transactions.
    """

    def __init__(self, tables: Tables, seed: int, number: int, level: str) -> None:
        self.session = tables.session()
        self._chance = random.Random(f"{seed}-{number}")
        self._next = (number + 1) * 100_000
        self._level = level
        self.runs: list[Run] = []

    def steps(self) -> Iterator[None]:
        """Run transactions for ever; others may run wherever this yields."""
        while True:
            run = Run(self.session.begin(self._level))
            self.runs.append(run)
            try:
                yield
                for _ in range(self._chance.randint(1, _LONGEST)):
                    statement = self._statement()
                    run.done.append((statement, statement.run(self.session)))
                    yield
                run.version = self.session.commit()
                run.committed = True
            except Conflict:
                pass

    def _statement(self) -> Stmt:
        makers = (
            (3, self._select),
            (6, self._update),
            (8, self._insert),
            (2, self._delete),
            (2, self._merge),
            (2, self._insert_select),
            (1, self._overwrite),
            (1, self._truncate),
            (2, self._compact),
        )
        weights, functions = zip(*makers, strict=True)
        make: Callable[[str], Stmt] = self._chance.choices(functions, weights)[0]
        return make(self._chance.choices(list(LAYOUTS), (3, 3, 1))[0])

    def _where(self) -> Where:
        """A condition that some rows meet, or none until somebody adds one."""
        by_value = where(v=self._chance.randrange(_VALUES))
        by_key = where(k=self._chance.randrange(_KEYS))
        by_partition = where(p=self._chance.choice("xy"))
        return self._chance.choice([ALL, TRUE, by_partition, by_key, by_value, by_value])

    def _new(self, value: int) -> Row:
        self._next += 1
        return row(self._next, value, self._chance.choice("xy"))

    def _select(self, table: str) -> Stmt:
        condition = self._where()
        return Stmt(
            f"SELECT {table} WHERE {condition.text}",
            lambda session: _sorted(session.select(table, condition)),
            lambda state: _sorted([r for r in state[table] if condition.matches(r)]),
        )

    def _update(self, table: str) -> Stmt:
        condition, number = self._where(), self._chance.randrange(1, _VALUES)

        def change(before: Row) -> Row:
            """SET v = (v + number) % _VALUES."""
            return {"v": (before["v"] + number) % _VALUES}

        def mean(state: State) -> int:
            """Do it to rows."""
            hit = [r for r in state[table] if condition.matches(r)]
            for one in hit:
                one.update(change(one))
            return len(hit)

        return Stmt(
            f"UPDATE {table} SET v = v + {number} WHERE {condition.text}",
            lambda session: session.update(table, condition, change),
            mean,
        )

    def _insert(self, table: str) -> Stmt:
        new = self._new(self._chance.randrange(_VALUES))
        return Stmt(
            f"INSERT {table} {new}",
            lambda session: session.insert(table, new),
            lambda state: state[table].append(dict(new)),
        )

    def _delete(self, table: str) -> Stmt:
        condition = where(k=self._chance.randrange(_KEYS)) if self._often() else self._where()

        def run(session: Session) -> None:
            """Do it in a session."""
            session.delete(table, condition)

        def mean(state: State) -> None:
            """Do it to rows."""
            state[table] = [r for r in state[table] if not condition.matches(r)]

        return Stmt(f"DELETE {table} WHERE {condition.text}", run, mean)

    def _merge(self, table: str) -> Stmt:
        key = self._chance.randrange(_KEYS)
        new = [row(key, self._chance.randrange(_VALUES), "xy"[key % 2])]

        def run(session: Session) -> None:
            """Do it in a session."""
            session.merge(table, *new)

        def mean(state: State) -> None:
            """Do it to rows."""
            if not any(r["k"] == key for r in state[table]):
                state[table] += [dict(r) for r in new]
            state[table] = [dict(new[0]) if r["k"] == key else r for r in state[table]]

        return Stmt(f"MERGE {table} {new}", run, mean)

    def _insert_select(self, table: str) -> Stmt:
        source, new = self._chance.choice(list(LAYOUTS)), self._new(0)

        def compute(rows: list[Row]) -> list[Row]:
            """One new row made of all rows of the source."""
            return [{**new, "v": sum(r["v"] for r in rows) % _VALUES}]

        def mean(state: State) -> None:
            """Do it to rows."""
            state[table] += compute(state[source])

        def run(session: Session) -> None:
            """Do it in a session."""
            session.insert_select(table, source, compute)

        return Stmt(f"INSERT {table} SELECT {source}", run, mean)

    def _overwrite(self, table: str) -> Stmt:
        partition = self._chance.choice(["x", "y", None]) if table == "parts" else None
        keys = [k for k in range(_KEYS) if partition in (None, "xy"[k % 2])]
        new = [row(k, self._chance.randrange(_VALUES), "xy"[k % 2]) for k in keys]

        def run(session: Session) -> None:
            """Do it in a session."""
            session.overwrite(table, *new, partition=partition)

        def mean(state: State) -> None:
            """Do it to rows."""
            kept = [r for r in state[table] if partition not in (None, r["p"])]
            state[table] = kept + [dict(r) for r in new]

        return Stmt(f"OVERWRITE {table} {partition or ''}", run, mean)

    def _truncate(self, table: str) -> Stmt:
        def run(session: Session) -> None:
            """Do it in a session."""
            session.truncate(table)

        return Stmt(f"TRUNCATE {table}", run, lambda state: state[table].clear())

    def _compact(self, table: str) -> Stmt:
        condition, major = self._where(), self._often()

        def run(session: Session) -> None:
            """Do it in a session."""
            session.compact(table, condition, major=major)

        return Stmt(f"OPTIMIZE {table} WHERE {condition.text}", run, lambda _: None)

    def _often(self) -> bool:
        return self._chance.random() < 0.7


def replay(run: Run, state: State) -> tuple[State, list[str]]:
    """Do a transaction's statements to some rows; return the rows, and where clients saw others."""
    now = {table: [dict(one) for one in rows] for table, rows in state.items()}
    wrong = []
    for statement, seen in run.done:
        meant = statement.mean(now)
        if seen != meant and not statement.text.startswith("INSERT"):
            wrong.append(f"{statement.text}: saw {seen}, should see {meant}")
    return {table: _sorted(rows) for table, rows in now.items()}, wrong


def _sorted(rows: list[Row]) -> list[Row]:
    return sorted(rows, key=lambda one: (one["k"], one["v"], one["p"]))
