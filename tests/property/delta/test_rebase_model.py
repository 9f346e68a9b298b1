"""Rebase against a model: whatever two writers did, a rebased log means theirs, then mine.

Writers work on a table of files with known rows. After a rebase the log is replayed file by file,
strictly (nothing absent is removed, nothing present is added), and its rows must be those of their
table with my statements applied to them. With row tracking, every fresh row id is given out once.
"""

from __future__ import annotations

import itertools
import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from hypothesis import given
from hypothesis import strategies as st

from tests.support.delta_tables import (
    Bench,
    add,
    entry,
    insert,
    optimize,
    overwrite,
    remove,
    update,
)
from trinitylake_spark.delta.entry import Entry, file_key
from trinitylake_spark.delta.table import read_table
from trinitylake_spark.errors import CommitConflictError

if TYPE_CHECKING:
    from collections.abc import Callable

Row = tuple[int, str]
"""A row's id and who wrote it last."""
Rows = frozenset[Row]
_benches = itertools.count()
_PARTITIONS = ("x", "y")
_FIRST_IDS = {"mine": 1000, "theirs": 2000, **{f"w{n}": 1000 * n for n in range(9)}}
_PROTOCOL = {
    "minReaderVersion": 1,
    "minWriterVersion": 7,
    "writerFeatures": ["rowTracking", "domainMetadata", "appendOnly", "invariants"],
}


@dataclass(frozen=True)
class Step:
    """What a writer wants to do next; numbers choose among what its table holds then."""

    kind: str
    a: int
    b: int


STEPS = st.builds(
    Step,
    st.sampled_from(
        [
            *("insert", "update", "delete", "delete all"),
            *("compact", "zorder", "overwrite", "truncate"),
        ]
    ),
    st.integers(0, 7),
    st.integers(0, 7),
)
WRITERS = st.lists(STEPS, min_size=1, max_size=4)
REWRITES = [
    "update",
    "compact",
    "zorder",
    "update",
    "compact",
    "zorder",
    "delete",
    "insert",
    "overwrite",
    "delete all",
    "truncate",
]
REWRITERS = st.lists(
    st.builds(Step, st.sampled_from(REWRITES), st.integers(0, 3), st.integers(0, 1)),
    min_size=1,
    max_size=2,
)


@dataclass
class Writer:
    """One writer's view of the table.

    Args:
        name: marks its rows and files.
        files: its files by path.
        contents: rows of every file that any writer ever wrote.
        partitions: partition of every file, or None in a table without.
        changed: partitions in which it changed rows.
        replaced: partitions that it overwrote.
    """

    name: str
    files: set[str]
    contents: dict[str, Rows]
    partitions: dict[str, str | None]
    entries: list[Entry] = field(default_factory=list)
    effects: list[Callable[[Rows], Rows]] = field(default_factory=list)
    kinds: list[str] = field(default_factory=list)
    changed: set[str | None] = field(default_factory=set)
    replaced: set[str | None] = field(default_factory=set)
    next_id: itertools.count[int] = field(default_factory=lambda: itertools.count(1))

    def run(self, step: Step, *, partitioned: bool) -> None:
        """Do one step, if the table allows it."""
        partition = _PARTITIONS[step.a % 2] if partitioned else None
        if step.kind == "insert":
            rows = self._new_rows(step.b % 3 + 1, partition)
            self._log("insert", insert(self._add(rows, partition)), lambda t: t | rows)
            self.changed.add(partition)
        elif step.kind == "overwrite":
            self._overwrite(partition)
        elif step.kind in ("compact", "zorder"):
            self._compact(step, partition)
        elif not self.files:
            return
        elif step.kind in ("delete all", "truncate"):
            self._empty(truncates=step.kind == "truncate")
        else:
            self._change(step)

    def _overwrite(self, partition: str | None) -> None:
        rows = self._new_rows(1, partition)
        gone = [f for f in sorted(self.files) if partition in (None, self.partitions[f])]
        filters = {"predicate": f"(p = '{partition}')"} if partition else {}
        removed = [self._remove(f) for f in gone]
        self.changed.add(partition)
        self.replaced.add(partition)
        self._log(
            "overwrite",
            overwrite(self._add(rows, partition), *removed, **filters),
            lambda table: frozenset(r for r in table if not self._is_in(r, partition)) | rows,
        )

    def _is_in(self, row: Row, partition: str | None) -> bool:
        return partition is None or _partition_of(row) == partition

    def _compact(self, step: Step, partition: str | None) -> None:
        group = [f for f in sorted(self.files) if self.partitions[f] == partition]
        chosen = group[step.b % 2 :][:4]
        if len(chosen) < 2:
            return
        bins = [chosen] if step.a % 4 < 2 or len(chosen) < 4 else [chosen[:2], chosen[2:]]
        actions = []
        for files in bins:
            rows = frozenset().union(*(self.contents[f] for f in files))
            removed = [self._remove(f) for f in files]
            actions += [self._add(rows, partition), *removed]
        if step.b % 3 == 0:
            # Others than Delta may write in any order.
            actions.sort(key=lambda action: action[0])
        ordered = {"zOrderBy": '["k"]'} if step.kind == "zorder" else {}
        job = optimize(*actions, **ordered)
        if step.b % 3:
            info = {**job.commit_info, "engineInfo": "Apache-Spark/4.2.0 Delta-Lake/4.4.0"}
            job = Entry((("commitInfo", info), *job.actions[1:]))
        self._log(step.kind, job, lambda t: t)

    def _change(self, step: Step) -> None:
        path = sorted(self.files)[step.a % len(self.files)]
        rows, partition = self.contents[path], self.partitions[path]
        self.changed.add(partition)
        ids = {i for i, _ in sorted(rows)[: step.b % len(rows) + 1]}
        if step.kind == "delete":
            kept = frozenset(r for r in rows if r[0] not in ids)
            actions = [self._remove(path)] + ([self._add(kept, partition)] if kept else [])
            self._log(
                "delete",
                update(*actions, operation="DELETE"),
                lambda table: frozenset(r for r in table if r[0] not in ids),
            )
            return
        changed = frozenset((i, self.name) if i in ids else (i, w) for i, w in rows)
        self._log(
            "update",
            update(self._add(changed, partition), self._remove(path)),
            lambda table: frozenset((i, self.name) if i in ids else (i, w) for i, w in table),
        )

    def _empty(self, *, truncates: bool) -> None:
        """DELETE without WHERE deletes the rows it saw; TRUNCATE leaves none."""
        ids = {i for file in self.files for i, _ in self.contents[file]}
        self.changed |= {self.partitions[file] for file in self.files}
        gone = [self._remove(f) for f in sorted(self.files)]
        if truncates:
            self.replaced |= {None, *_PARTITIONS}
            self._log("truncate", entry("TRUNCATE", *gone), lambda _: frozenset())
        else:
            self._log(
                "delete",
                update(*gone, operation="DELETE", predicate="true"),
                lambda table: frozenset(r for r in table if r[0] not in ids),
            )

    def _new_rows(self, count: int, partition: str | None) -> Rows:
        # An id tells its partition by being even or odd.
        base = _FIRST_IDS[self.name] + (partition == _PARTITIONS[1])
        return frozenset((base + 2 * next(self.next_id), self.name) for _ in range(count))

    def _add(self, rows: Rows, partition: str | None) -> tuple[str, dict[str, Any]]:
        path = f"{self.name}-{next(self.next_id)}"
        self.files.add(path)
        self.contents[path] = rows
        self.partitions[path] = partition
        return add(path, partition, stats=json.dumps({"numRecords": len(rows)}))

    def _remove(self, path: str) -> tuple[str, dict[str, Any]]:
        self.files.discard(path)
        stats = json.dumps({"numRecords": len(self.contents[path])})
        return remove(path, self.partitions[path], stats=stats)

    def _log(self, kind: str, log_entry: Entry, effect: Callable[[Rows], Rows]) -> None:
        self.kinds.append(kind)
        self.entries.append(log_entry)
        self.effects.append(effect)


def _partition_of(row: Row) -> str:
    return _PARTITIONS[row[0] % 2]


def _replay(entries: list[Entry], contents: dict[str, Rows]) -> list[Row]:
    """Return the rows of a log; nothing absent may be removed and nothing present added."""
    live: set[str] = set()
    for log_entry in entries:
        removed = {file_key(r) for r in log_entry.removes}
        assert removed <= live, f"removes what is not there: {removed - live}"
        live -= removed
        added = [file_key(a) for a in log_entry.adds]
        assert live.isdisjoint(added), f"adds what is there: {live & set(added)}"
        live |= set(added)
    return [row for path in sorted(live) for row in contents[path]]


def _tracked(
    entries: list[Entry], version: int, mark: int, known: dict[str, dict[str, int]]
) -> list[Entry]:
    """Give row ids to the files that entries add, as their writer would; removals repeat them."""
    result = []
    for log_entry in entries:
        version += 1
        actions = []
        for kind, body in log_entry.actions:
            if kind == "add":
                records = json.loads(body["stats"])["numRecords"]
                ids = {"baseRowId": mark + 1, "defaultRowCommitVersion": version}
                known[body["path"]] = ids
                mark += records
            facts = known[body["path"]] if kind in ("add", "remove") else {}
            actions.append((kind, {**body, **facts}))
        domain = {
            "domain": "delta.rowTracking",
            "configuration": json.dumps({"rowIdHighWaterMark": mark}),
            "removed": False,
        }
        result.append(Entry((*actions, ("domainMetadata", domain))))
    return result


def _check_row_ids(entries: list[Entry], base_count: int) -> None:
    """Every file that a commit adds first has row ids of its own and names that commit."""
    given_out: dict[int, str] = {}
    known: dict[str, int] = {}
    mark = -1
    for version, log_entry in enumerate(entries):
        for body in log_entry.adds:
            path = body["path"]
            if path in known:
                assert known[path] == body["baseRowId"], "an old file changed its row ids"
                continue
            known[path] = body["baseRowId"]
            assert body["defaultRowCommitVersion"] == version or version < base_count
            for row_id in range(
                body["baseRowId"], body["baseRowId"] + json.loads(body["stats"])["numRecords"]
            ):
                assert row_id not in given_out, f"{path} and {given_out[row_id]} share {row_id}"
                given_out[row_id] = path
        moved = log_entry.row_id_high_water_mark
        if moved is not None:
            assert moved >= mark
            mark = moved
    assert not given_out or mark >= max(given_out)


@given(
    mine=WRITERS,
    theirs=WRITERS,
    partitioned=st.booleans(),
    strict=st.booleans(),
    tracked=st.booleans(),
    reads=st.booleans(),
)
def test_rebased_log_means_theirs_then_mine(
    *,
    mine: list[Step],
    theirs: list[Step],
    partitioned: bool,
    strict: bool,
    tracked: bool,
    reads: bool,
) -> None:
    """Any two histories: the rebase succeeds with exactly the right rows, or it is refused.

    It is always refused if mine read the table and overwrites rows that theirs changed.
    """
    bench = Bench(f"model-{next(_benches)}")
    properties = {"trinitylake.conflict-detection": "strict"} if strict else {}
    make = bench.partitioned if partitioned else bench.create
    changes = {"protocol": _PROTOCOL} if tracked else {}
    contents: dict[str, Rows] = {}
    partitions: dict[str, str | None] = {}
    first = Writer("base", set(), contents, partitions)
    for number in range(4):
        partition = _PARTITIONS[number % 2] if partitioned else None
        rows = frozenset((number + 10 * k, "base") for k in range(2))
        first._log("insert", insert(first._add(rows, partition)), lambda t: t)
    known: dict[str, dict[str, int]] = {}
    setup = _tracked(first.entries, 0, -1, known) if tracked else first.entries
    base = bench.commit(
        make(properties or None, **changes) if properties or changes else make(), *setup
    )

    writers = {}
    for name, steps in (("mine", mine), ("theirs", theirs)):
        writers[name] = writer = Writer(name, set(first.files), contents, partitions)
        for step in steps:
            writer.run(step, partitioned=partitioned)
        if tracked:
            counters = read_table(base).counters
            writer.entries = _tracked(
                writer.entries, counters.version, counters.row_ids or 0, known
            )
    if not writers["mine"].entries or not writers["theirs"].entries:
        return
    loses = reads and bool(writers["mine"].replaced & writers["theirs"].changed)
    must_succeed = (
        not strict
        and not loses
        and set(writers["theirs"].kinds) <= {"insert", "compact", "zorder"}
        and set(writers["mine"].kinds) <= {"insert", "update", "delete", "overwrite", "truncate"}
    )
    try:
        definition, _ = bench.rebase(
            base, writers["mine"].entries, writers["theirs"].entries, reads=reads
        )
    except CommitConflictError:
        assert not must_succeed, "refused without need"
        return
    assert not loses, "an update was lost"

    entries = bench.entries(definition)
    found = _replay(entries, contents)
    expected = frozenset(
        _replay(bench.entries(bench.commit(base, *writers["theirs"].entries)), contents)
    )
    for effect in writers["mine"].effects:
        expected = effect(expected)
    assert sorted(found) == sorted(expected)
    if tracked:
        _check_row_ids(entries, base_count=5)


@given(
    writers=st.lists(st.tuples(st.integers(0, 5), REWRITERS), min_size=3, max_size=6),
    partitioned=st.booleans(),
)
def test_many_writers_one_after_the_other(
    *, writers: list[tuple[int, list[Step]]], partitioned: bool
) -> None:
    """Writers who began at any earlier moment: each adds exactly its own work, or is refused.

    So rebases meet what earlier rebases left behind: undone compactions, and the undoing of those.
    """
    bench = Bench(f"model-{next(_benches)}")
    contents: dict[str, Rows] = {}
    partitions: dict[str, str | None] = {}
    first = Writer("w0", set(), contents, partitions)
    for number in range(4):
        partition = _PARTITIONS[number % 2] if partitioned else None
        rows = frozenset((number + 10 * k, "w0") for k in range(2))
        first._log("insert", insert(first._add(rows, partition)), lambda t: t)
    base = bench.commit(bench.partitioned() if partitioned else bench.create(), *first.entries)
    created = bench.entries(base)
    log: list[Entry] = []
    moments = [0]

    for number, (start, steps) in enumerate(writers, 1):
        began = moments[start % len(moments)]
        files = _live([*created, *log[:began]])
        writer = Writer(f"w{number}", files, contents, partitions)
        for step in steps:
            writer.run(step, partitioned=partitioned)
        if not writer.entries:
            continue
        expected = frozenset(_replay([*created, *log], contents))
        for effect in writer.effects:
            expected = effect(expected)
        if began == len(log):
            log += writer.entries
        else:
            seen = bench.commit(base, *log[:began]) if began else base
            try:
                definition, _ = bench.rebase(seen, writer.entries, log[began:])
            except CommitConflictError:
                continue
            log = bench.entries(definition)[len(created) :]
        moments.append(len(log))
        assert sorted(_replay([*created, *log], contents)) == sorted(expected)


def _live(entries: list[Entry]) -> set[str]:
    """Return the files that are there after some entries."""
    live: set[str] = set()
    for log_entry in entries:
        live -= {file_key(r) for r in log_entry.removes}
        live |= {file_key(a) for a in log_entry.adds}
    return live
