"""Deletion vectors against a model: many writers delete, insert, compact and overwrite rows.

Each writer began at any earlier moment and commits on top of all others. Whatever it met, the table
then holds exactly the rows of before with the writer's own work done to them, or it was refused;
and it is only refused if another one changed the same row, or rewrote the file.
"""

from __future__ import annotations

import itertools
import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from hypothesis import given
from hypothesis import strategies as st
from pyroaring import BitMap64

from tests.support.delta_tables import Bench, add, insert, optimize, overwrite, remove, update
from trinitylake_spark.delta.table import read_table
from trinitylake_spark.delta.vectors import new_vector, read_vector
from trinitylake_spark.errors import CommitConflictError

if TYPE_CHECKING:
    from trinitylake_spark.delta.entry import Action, Entry
    from trinitylake_spark.format.definitions_pb2 import TableDef

_benches = itertools.count()
_FILES = [tuple(range(6)), tuple(range(6, 10)), tuple(range(10, 12))]

JOBS = st.one_of(
    st.tuples(st.just("delete"), st.sets(st.integers(0, 11), min_size=1, max_size=4)),
    st.tuples(st.just("delete"), st.sets(st.integers(0, 11), min_size=1, max_size=2)),
    st.tuples(st.just("insert"), st.just(set())),
    st.tuples(st.just("compact"), st.just(set())),
    st.tuples(st.just("overwrite"), st.just(set())),
)
WRITERS = st.lists(
    st.tuples(st.integers(0, 9), st.lists(JOBS, min_size=1, max_size=3)), min_size=2, max_size=5
)


@dataclass
class Table:
    """A table's files as some definition has them.

    Args:
        bench: where vectors are.
        definition: the table.
        contents: the rows of every data file there ever was, by path and position.
    """

    bench: Bench
    definition: TableDef
    contents: dict[str, tuple[int, ...]]

    def __post_init__(self) -> None:
        self.location = read_table(self.definition).segment.location
        self.files: dict[str, Action] = {}
        for log_entry in self.bench.entries(self.definition):
            for gone in log_entry.removes:
                there = self.files.pop(gone["path"])
                assert there.get("deletionVector") == gone.get("deletionVector")
            for each in log_entry.adds:
                assert each["path"] not in self.files
                self.files[each["path"]] = each

    def deleted(self, path: str) -> set[int]:
        """The positions that are deleted in a file."""
        vector = self.files[path].get("deletionVector")
        return set(read_vector(self.bench.context, self.location, vector))

    def rows_of(self, path: str) -> list[int]:
        """The rows of a file."""
        gone = self.deleted(path)
        return [row for at, row in enumerate(self.contents[path]) if at not in gone]

    def rows(self) -> list[int]:
        """All rows, in order."""
        return sorted(row for path in self.files for row in self.rows_of(path))

    def after(self, *entries: Entry) -> Table:
        """The table with more entries of the same writer."""
        return Table(self.bench, self.bench.commit(self.definition, *entries), self.contents)

    # --- jobs ------------------------------------------------------------------------------------

    def entry(self, kind: str, rows: set[int], fresh: int) -> Entry | None:
        """Return the entry of a job, or None if there is nothing to do; ``fresh`` is a new row."""
        if kind == "insert":
            return insert(self._new((fresh,), f"i{fresh}"))
        if kind == "overwrite":
            return overwrite(self._new((fresh,), f"o{fresh}"), *map(self._removal, self.files))
        if kind == "compact":
            chosen = [path for path in sorted(self.files) if self.rows_of(path)][:2]
            kept = tuple(row for path in chosen for row in self.rows_of(path))
            return optimize(self._new(kept, f"c{fresh}"), *map(self._removal, chosen))
        actions = []
        for path in sorted(self.files):
            gone = {at for at, row in enumerate(self.contents[path]) if row in rows}
            gone -= self.deleted(path)
            if gone:
                actions += self._deletion(path, gone | self.deleted(path))
        return update(*actions, operation="DELETE") if actions else None

    def _deletion(self, path: str, gone: set[int]) -> list[tuple[str, Any]]:
        if len(gone) == len(self.contents[path]):
            return [self._removal(path)]
        made = new_vector(self.bench.context, self.location, BitMap64(gone))
        self.bench.storage.create(made.path, made.data)
        body = {**self.files[path], "deletionVector": made.descriptor, "dataChange": True}
        return [self._removal(path), ("add", body)]

    def _removal(self, path: str) -> tuple[str, Any]:
        facts = {
            n: self.files[path][n] for n in ("deletionVector", "stats") if n in self.files[path]
        }
        return remove(path, **facts)

    def _new(self, rows: tuple[int, ...], path: str) -> tuple[str, Any]:
        self.contents[path] = rows
        return add(path, stats=json.dumps({"numRecords": len(rows)}))


def _meaning(rows: list[int], kind: str, chosen: set[int], fresh: int) -> list[int]:
    """Return what a job makes of the rows of a table."""
    if kind == "delete":
        return [row for row in rows if row not in chosen]
    if kind == "compact":
        return rows
    return sorted([*(rows if kind == "insert" else []), fresh])


@given(writers=WRITERS)
def test_many_writers_delete_rows(writers: list[tuple[int, list[tuple[str, set[int]]]]]) -> None:
    """Each adds exactly its own work to what the others did, or is refused for a reason."""
    bench = Bench(f"rows-model-{next(_benches)}")
    contents: dict[str, tuple[int, ...]] = {}
    empty = Table(bench, bench.create(), contents)
    files = [empty._new(rows, f"f{n}") for n, rows in enumerate(_FILES)]
    history = [empty.after(insert(*files))]
    numbers = itertools.count(100)
    deletes_only = True
    for began, jobs in writers:
        base = mine = history[min(began, len(history) - 1)]
        entries, expected = [], history[-1].rows()
        changed: set[int] = set()
        for kind, chosen in jobs:
            fresh = next(numbers)
            entry = mine.entry(kind, chosen, fresh)
            if entry is None:
                continue
            changed |= chosen & set(mine.rows()) if kind == "delete" else set()
            deletes_only &= kind in ("delete", "insert")
            chosen_rows = chosen & set(mine.rows())
            entries.append(entry)
            mine = mine.after(entry)
            expected = _meaning(expected, kind, chosen_rows, fresh)
        if not entries:
            continue
        if base is history[-1]:
            history.append(mine)
            continue
        theirs = bench.entries(history[-1].definition, read_table(base.definition).segment.version)
        try:
            definition, _ = bench.rebase(base.definition, entries, theirs)
        except CommitConflictError:
            same = changed - set(history[-1].rows())
            assert same or not deletes_only, "refused without need"
            continue
        history.append(Table(bench, definition, contents))
        assert history[-1].rows() == expected
