"""Random programs over SQL, DataFrames, caches, handles and views, in two or three sessions.

A seed stands for one program: its tables, its sessions and its steps. The author knows which names
there are and in which sessions transactions are open, but no rows and no versions: what a step must
do is the model's to say.
"""

from __future__ import annotations

import random
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tests.support import program_steps as steps
from tests.support import program_writes as writes
from tests.support.program_commits import Layout
from tests.support.program_model import SERIALIZABLE, SNAPSHOT
from tests.support.program_rows import EVEN, Pred, Row, by_id, from_id

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from tests.support.program_steps import Step

LAYOUTS = {"a": Layout(), "b": Layout(vectors=True), "c": Layout(partitioned=True)}
"""The tables that there may be; each program has two of them."""
_KEYS = 5
_STEPS = 18
_TOLD = 0.7
"""How many of the steps belong to a story."""
_SHARED = "global_temp."


@dataclass(frozen=True)
class Program:
    """One program.

    Args:
        seed: that made it.
        sessions: how many it has.
        rows: of each of its tables, when it starts.
        steps: in order.
    """

    seed: int
    sessions: int
    rows: Mapping[str, list[Row]]
    steps: tuple[Step, ...]

    @property
    def layouts(self) -> dict[str, Layout]:
        """The layout of each of its tables."""
        return {table: LAYOUTS[table] for table in self.rows}


def program(seed: int, *, transactions: bool) -> Program:
    """Make the program of a seed.

    Args:
        seed: of all choices.
        transactions: whether it has any; without them it means the same on plain Delta tables.
    """
    return _Author(seed, transactions=transactions).program()


class _Author:
    def __init__(self, seed: int, *, transactions: bool) -> None:
        self._seed = seed
        self._chance = random.Random(f"{seed}-{transactions}")
        self._transactions = transactions
        self._sessions = self._chance.choice([2, 2, 2, 3])
        self._tables = sorted(self._chance.sample(sorted(LAYOUTS), 2))
        self._open = [False] * self._sessions
        self._frames: list[tuple[int, str]] = []
        self._handles: list[tuple[int, str]] = []
        self._views: list[tuple[int | None, str]] = []
        self._marks: list[str] = []
        self._iterators: list[tuple[int, str]] = []
        self._cached_names: list[tuple[int, str]] = []
        self._names = 0

    def program(self) -> Program:
        """Make all of it: two stories, told between steps that come as they come."""
        rows = {t: [(k, self._value()) for k in range(1, _KEYS)] for t in self._tables}
        stories = [self._story(), self._story()]
        done: list[Step | None] = []
        while sum(step is not None for step in done) < _STEPS:
            story = self._chance.choice(stories)
            if self._chance.random() < _TOLD and (step := next(story, None)) is not None:
                done.append(step)
            else:
                done.append(self._step(self._chance.randrange(self._sessions)))
        done += [steps.commit(s) for s in range(self._sessions) if self._open[s]]
        made = tuple(step for step in done if step is not None)
        return Program(self._seed, self._sessions, rows, made)

    # --- stories ---------------------------------------------------------------------------------

    def _story(self) -> Iterator[Step]:
        """Tell of one object, and of what happens between its making and its use."""
        s, other = self._chance.sample(range(self._sessions), 2)
        alone = [self._old_plan, self._overwritten, self._cached]
        both = [
            *alone,
            *[self._old_plan, self._rolled_back] * 2,
            self._made_before,
            self._handle_read,
        ]
        return self._chance.choice(both if self._transactions else alone)(s, other)

    def _old_plan(self, s: int, other: int) -> Iterator[Step]:
        """Run a DataFrame again that keeps its plan."""
        frame = self._new("d")
        yield steps.table(s, frame, self._source(s), text=False)
        yield self._again(s, frame)
        for writer in (s, other):
            if self._often():
                yield self._turn(s)
            if self._often():
                yield self._write(writer, self._table())
        yield self._again(s, frame)

    def _rolled_back(self, s: int, _: int) -> Iterator[Step]:
        """Use what was made in a transaction that is rolled back."""
        table = self._table()
        if not self._open[s]:
            yield self._begin(s)
        yield self._write(s, table)
        name = self._new("d")
        yield steps.table(s, name, table, text=self._often())
        view = self._new(f"{_SHARED}g" if self._often() else "w")
        if self._often():
            yield steps.frame_view(s, view, name, shared=view.startswith(_SHARED))
            self._views.append((None if view.startswith(_SHARED) else s, view))
        if self._open[s]:
            yield self._end(s, kept=False)
        if self._often():
            derived = self._new("d")
            yield self._derived(s, derived, name)
            name = derived
        yield self._use(s, name)
        yield steps.select(s, self._source(s), self._where())

    def _made_before(self, s: int, other: int) -> Iterator[Step]:
        """Use in a transaction what was made before it, and commit."""
        table, frame = self._table(), self._new("d")
        yield steps.table(s, frame, table, text=False)
        if self._often():
            yield self._write(other, table)
        if not self._open[s]:
            yield self._begin(s)
        if self._often():
            yield self._write(other, table)
        yield self._use(s, frame)
        yield self._insert_or(s)
        if self._often():
            yield self._write(other, table)
        if self._open[s]:
            yield self._end(s, kept=True)

    def _overwritten(self, s: int, other: int) -> Iterator[Step]:
        """Overwrite a table by what was computed from it, others' rows between."""
        table, frame, new = self._table(), self._new("d"), self._new("d")
        yield steps.table(s, frame, table, text=False)
        yield steps.transformed(s, new, frame, "add", self._where(), self._value())
        yield self._write(other, table)
        doors = [
            "overwrite",
            "overwritePartitions",
            "saveAsTable overwrite",
            "insertInto overwrite",
        ]
        yield writes.frame_write(s, new, table, self._chance.choice(doors), 0, held=False)
        yield steps.select(other, table, self._where())

    def _cached(self, s: int, other: int) -> Iterator[Step]:
        """Read a table of which there is a cache, after a change."""
        table, frame = self._table(), self._new("d")
        yield steps.table(s, frame, table, text=False)
        if self._often():
            yield steps.cache_frame(s, frame, "cache")
        else:
            yield steps.cache_name(s, table, "CACHE TABLE")
        yield steps.fetch(s, frame, "count")
        yield self._write(self._chance.choice([s, other]), table)
        if self._often() and self._transactions:
            yield self._turn(s)
        yield steps.select(self._chance.choice([s, other]), table, from_id(0))
        yield self._use(s, frame)

    def _handle_read(self, s: int, other: int) -> Iterator[Step]:
        """Read by a handle that was made before the transaction, and go by what it said."""
        table, handle, frame = self._table(), self._new("h"), self._new("d")
        yield steps.handle(s, handle, table)
        self._handles.append((s, handle))
        if not self._open[s]:
            yield self._begin(s)
        if self._often():
            yield self._write(s, table)
        yield steps.handle_frame(s, frame, handle)
        yield steps.fetch(s, frame, "count")
        yield self._insert_or(s)
        yield self._write(other, table)
        if self._open[s]:
            yield self._end(s, kept=True)

    def _again(self, s: int, frame: str) -> Step:
        return steps.collect(s, frame, self._chance.choice(["collect", "toLocalIterator"]))

    def _use(self, s: int, frame: str) -> Step:
        if self._often():
            door = self._chance.choice(["append", "append", *writes.FRAME_DOORS])
            return writes.frame_write(s, frame, self._table(), door, self._key(), held=False)
        return steps.fetch(s, frame, self._chance.choice(["select", "count"]))

    def _write(self, s: int, table: str) -> Step:
        """Change a table, mostly in the cheapest way."""
        if self._chance.random() < 0.7:
            return writes.insert(s, table, [(self._key(), self._value())], None, overwrite=False)
        if self._often():
            return writes.update(s, table, self._where(), self._value())
        return writes.delete(s, table, by_id(self._key()))

    def _insert_or(self, s: int) -> Step:
        source = self._source(s)
        return self._insert(s) or steps.select(s, source, self._where())

    def _turn(self, s: int) -> Step:
        """Begin or end a transaction; without any, read something."""
        if not self._transactions:
            return steps.select(s, self._table(), self._where())
        return self._end(s, kept=self._often()) if self._open[s] else self._begin(s)

    def _begin(self, s: int) -> Step:
        self._open[s] = True
        return steps.begin(s, self._chance.choice([SNAPSHOT, SERIALIZABLE]))

    def _end(self, s: int, *, kept: bool) -> Step:
        self._open[s] = False
        return steps.commit(s) if kept else steps.rollback(s)

    def _often(self) -> bool:
        return self._chance.random() < 0.5

    # --- choices ---------------------------------------------------------------------------------

    def _step(self, s: int) -> Step | None:
        if self._transactions and self._chance.random() < (0.25 if self._open[s] else 0.15):
            return self._turn(s)
        makers = (
            (8, self._frame),
            (14, self._question),
            (4, self._view),
            (5, self._cache),
            (3, self._handle),
            (7, self._insert),
            (10, self._frame_write),
            (7, self._change),
            (2, self._held),
        )
        weights, functions = zip(*makers, strict=True)
        make: Callable[[int], Step | None] = self._chance.choices(functions, weights)[0]
        return make(s)

    def _frame(self, s: int) -> Step | None:
        old = self._pick(self._frames, s)
        handle = self._pick(self._handles, s)
        frame = self._new("d")
        if handle and self._chance.random() < 0.3:
            step = steps.handle_frame(s, frame, handle)
        elif self._marks and self._chance.random() < 0.15:
            step = steps.pinned(s, frame, self._table(), self._chance.choice(self._marks))
        elif old is None or self._chance.random() < 0.4:
            step = steps.table(s, frame, self._source(s), text=self._chance.random() < 0.4)
        else:
            step = self._derived(s, frame, old)
        self._frames.append((s, frame))
        return step

    def _derived(self, s: int, frame: str, old: str) -> Step:
        how = self._chance.choice(
            ["same", "filter", "add", "add", "max", "total", "two", "two", "among", "keep"]
        )
        if how == "keep":
            return steps.checkpoint(s, frame, old)
        if how == "two":
            other = self._pick(self._frames, s) or old
            return steps.combined(s, frame, old, other, self._chance.choice(["join", "union"]))
        if how == "among":
            return steps.among(s, frame, old, self._source(s))
        return steps.transformed(s, frame, old, how, self._where(), self._value())

    def _question(self, s: int) -> Step | None:
        frame = self._pick(self._frames, s)
        if frame is None or self._chance.random() < 0.25:
            return steps.select(s, self._source(s), self._where())
        if self._chance.random() < 0.15:
            return self._iterator(s, frame)
        if self._chance.random() < 0.4:
            return steps.collect(s, frame, self._chance.choice(["collect", "toLocalIterator"]))
        return steps.fetch(s, frame, self._chance.choice(["select", "count", "take"]))

    def _iterator(self, s: int, frame: str) -> Step:
        waiting = self._pick(self._iterators, s)
        if waiting is not None:
            self._iterators.remove((s, waiting))
            return steps.drain(s, waiting)
        name = self._new("i")
        self._iterators.append((s, name))
        return steps.iterate(s, name, frame)

    def _view(self, s: int) -> Step | None:
        frame = self._pick(self._frames, s)
        shared = self._chance.random() < 0.4
        # What all sessions know may not be made of what only one of them knows.
        local = self._source(s) if not shared else self._shared_source()
        view = self._new(f"{_SHARED}g" if shared else "w")
        self._views.append((None if shared else s, view))
        if frame is not None and self._chance.random() < 0.6:
            return steps.frame_view(s, view, frame, shared=shared)
        form = "GLOBAL TEMP" if shared else self._chance.choice(["TEMP", "CACHE TABLE"])
        return steps.sql_view(s, view, local, self._where(), form)

    def _cache(self, s: int) -> Step | None:
        frame = self._pick(self._frames, s)
        if frame is not None and self._chance.random() < 0.6:
            return steps.cache_frame(
                s, frame, self._chance.choice(["cache", "cache", "persist", "unpersist"])
            )
        statement = self._chance.choice(["CACHE TABLE", "CACHE LAZY TABLE", "UNCACHE TABLE"])
        if statement == "UNCACHE TABLE":
            name = self._pick(self._cached_names, s)
            return None if name is None else steps.cache_name(s, name, statement)
        name = self._source(s)
        self._cached_names.append((s, name))
        return steps.cache_name(s, name, statement)

    def _handle(self, s: int) -> Step | None:
        if self._transactions and not self._open[s] and self._chance.random() < 0.3:
            self._marks.append(self._new("m"))
            return steps.mark(s, self._marks[-1])
        handle = self._new("h")
        self._handles.append((s, handle))
        return steps.handle(s, handle, self._table())

    def _insert(self, s: int) -> Step | None:
        table, overwrite = self._table(), self._chance.random() < 0.35
        where = by_id(self._key()) if overwrite and self._chance.random() < 0.3 else None
        if self._chance.random() < 0.5:
            source = table if self._chance.random() < 0.4 else self._source(s)
            return writes.insert_select(
                s, table, source, self._value(), where, overwrite=overwrite, held=False
            )
        keys = [self._key() for _ in range(self._chance.randint(1, 2))]
        if where is not None:
            keys = [int(where.text.rpartition(" ")[2])]
        rows = [(key, self._value()) for key in keys]
        return writes.insert(s, table, rows, where, overwrite=overwrite)

    def _frame_write(self, s: int) -> Step | None:
        frame = self._pick(self._frames, s)
        if frame is None:
            return None
        door = self._chance.choice([*writes.FRAME_DOORS, "append"])
        return writes.frame_write(s, frame, self._table(), door, self._key(), held=False)

    def _change(self, s: int) -> Step | None:
        kind = self._chance.choice(["update", "update", "delete", "delete", "merge", "optimize"])
        if kind == "optimize":
            # Plain Delta has no TRUNCATE.
            whole = writes.truncate if self._transactions else writes.optimize
            return self._chance.choice([writes.optimize, whole])(s, self._table())
        handle = self._pick(self._handles, s) if self._chance.random() < 0.6 else None
        if kind == "merge":
            return self._merge(s, handle)
        where = None if self._chance.random() < 0.25 else self._where()
        if kind == "update":
            if handle is not None:
                return writes.handle_update(s, handle, where, self._value())
            return writes.update(s, self._table(), where, self._value())
        if handle is not None:
            return writes.handle_delete(s, handle, where)
        return writes.delete(s, self._table(), where)

    def _merge(self, s: int, handle: str | None) -> Step:
        frame = self._pick(self._frames, s)
        form = self._chance.choice(["upsert", "insert", "delete"])
        if handle is not None and frame is not None:
            return writes.handle_merge(s, handle, frame, form)
        return writes.merge(s, self._table(), self._source(s), form)

    def _held(self, s: int) -> Step | None:
        """A statement outside of a transaction, held while other sessions commit."""
        others = [o for o in range(self._sessions) if o != s]
        if self._open[s] or not self._transactions:
            return None
        table, overwrite = self._table(), self._chance.random() < 0.5
        frame = self._pick(self._frames, s)
        if frame is not None and self._chance.random() < 0.5:
            door = self._chance.choice(["append", "overwrite", "saveAsTable overwrite"])
            step = writes.frame_write(s, frame, table, door, 0, held=True)
        else:
            step = writes.insert_select(
                s, table, self._table(), self._value(), None, overwrite=overwrite, held=True
            )
        other = self._chance.choice(others)
        first = writes.insert(other, self._table(), [(self._key(), 7)], None, overwrite=False)
        second = writes.update(other, self._table(), self._where(), 5)
        meanwhile = (first, second) if self._chance.random() < 0.5 else (first,)
        return steps.Step(step.session, step.code, step.mean, meanwhile)

    # --- names and values ------------------------------------------------------------------------

    def _new(self, letter: str) -> str:
        self._names += 1
        return f"{letter}{self._names}"

    def _pick(self, pool: list[tuple[int, str]], s: int) -> str | None:
        mine = [name for owner, name in pool if owner == s]
        # The newest objects are the likeliest, so that stories come about.
        return self._chance.choice(mine[-4:]) if mine else None

    def _table(self) -> str:
        return self._chance.choice(self._tables)

    def _source(self, s: int) -> str:
        views = [name for owner, name in self._views if owner in (None, s)]
        if views and self._chance.random() < 0.5:
            return self._chance.choice(views[-4:])
        return self._table()

    def _shared_source(self) -> str:
        views = [name for owner, name in self._views if owner is None]
        if views and self._chance.random() < 0.3:
            return self._chance.choice(views)
        return self._table()

    def _where(self) -> Pred:
        return self._chance.choice([by_id(self._key()), by_id(self._key()), from_id(2), EVEN])

    def _key(self) -> int:
        return self._chance.randrange(1, _KEYS + 1)

    def _value(self) -> int:
        return self._chance.randrange(1, 100)
