"""What each step asks of the storage, and in which order (format.md §6.4)."""

from __future__ import annotations

import threading

import pytest

from tests.support.lakes import memory, new_lake, other
from tests.support.list_table import append, read, rewrite
from trinitylake_spark.clock import ManualClock
from trinitylake_spark.commit.versions import FRESH_MILLIS
from trinitylake_spark.errors import CommitConflictError, StorageError
from trinitylake_spark.format.paths import FLOOR_PATH, HINT_PATH, root_path
from trinitylake_spark.lakehouse.lakehouse import Lakehouse
from trinitylake_spark.lakehouse.turns import FairTurns
from trinitylake_spark.storage.memory import MemoryStorage
from trinitylake_spark.testing.counting import CountingStorage
from trinitylake_spark.testing.faulty import Effect, Fault, FaultyStorage

Counted = tuple[Lakehouse, CountingStorage, CountingStorage]


@pytest.fixture
def counted() -> Counted:
    """A lakehouse with 20 tables; its storage and its warehouse are watched."""
    tree = CountingStorage(memory("costs"))
    data = CountingStorage(MemoryStorage("memory://costs/data"))
    lake = new_lake(tree, warehouse=data, tables=[f"t{n:02}" for n in range(20)])
    lake.snapshot()
    tree.clear()
    data.clear()
    return lake, tree, data


def shown(storage: CountingStorage) -> list[tuple[str, str]]:
    """Return the calls with files named by their kind."""

    def kind(path: str) -> str:
        for each in ("table", "namespace", "view", "node"):
            if f"-{each}-" in path:
                return each
        return path

    return [(call.operation, kind(call.path)) for call in storage.calls]


def test_a_statement_on_an_unmoved_lake_is_one_probe(counted: Counted) -> None:
    """Names and definitions that were read before cost nothing again."""
    lake, tree, _ = counted
    lake.snapshot().table("s", "t03")
    tree.clear()
    snapshot = lake.snapshot()
    snapshot.table("s", "t03")
    snapshot.tables("s")
    tx = lake.begin()
    read(tx, "t03")
    assert shown(tree) == [("read", root_path(2)), ("read", root_path(2))]


@pytest.mark.parametrize("tables", [1, 2, 7])
def test_a_commit_of_k_tables(counted: Counted, tables: int) -> None:
    """K definitions and k log entries, one root, then the floor and the hint; nothing else."""
    lake, tree, data = counted
    tx = lake.begin()
    for number in range(tables):
        append(tx, f"t{number:02}", number)
    tree.clear()
    tx.commit()
    calls = shown(tree)
    assert calls == [
        *[("create", "table")] * tables,
        ("create", root_path(2)),
        ("read", FLOOR_PATH),
        ("write", HINT_PATH),
    ]
    assert data.count() == data.count("create") == tables


class Together(CountingStorage):
    """Definitions of tables arrive only when sixteen are on their way."""

    def __init__(self, inner: CountingStorage) -> None:
        super().__init__(inner)
        self.parallel = True
        self._barrier = threading.Barrier(16)

    def create(self, path: str, data: bytes) -> None:
        """Wait for the others."""
        if "-table-" in path:
            self._barrier.wait(30)
        super().create(path, data)


def test_the_tables_of_a_commit_are_written_side_by_side(counted: Counted) -> None:
    """Sixteen definitions at a time: the tables of a transaction take the time of a few."""
    lake, tree, _ = counted
    tx = other(lake, storage=Together(tree)).begin()
    for number in range(16):
        append(tx, f"t{number:02}", number)
    assert tx.commit() == 2


def test_all_files_are_there_before_the_root() -> None:
    """Definitions, nodes and warehouse files first, the root next, the hint last."""
    tree = CountingStorage(memory("order"))
    lake = new_lake(tree, tables=[], definition={"order": 3, "node_file_max_size_bytes": 4096})
    for batch in range(6):
        tree.clear()
        with lake.transaction() as tx:
            for number in range(20):
                tx.create_namespace(f"n{batch}-{number}")
        calls = shown(tree)
        root = calls.index(("create", root_path(batch + 1)))
        creates = [call for call in calls if call[0] == "create"]
        assert set(creates[:-1]) <= {("create", "namespace"), ("create", "node")}
        assert creates[-1] == calls[root]
        assert calls[root + 1 :] == [("read", FLOOR_PATH), ("write", HINT_PATH)]
    assert ("create", "node") in creates


def test_a_conflict_costs_one_more_round(counted: Counted) -> None:
    """A commit that lost reads the winner's root and creates the next, without probing.

    It writes no definition again unless its table was changed too. One that began long ago asks
    first how far behind it is.
    """
    lake, tree, data = counted
    clock = lake.services.clock
    assert isinstance(clock, ManualClock)
    mine, same = other(lake).begin(), other(lake).begin()
    append(mine, "t01", 1)
    append(same, "t02", 1)
    with lake.transaction() as theirs:
        append(theirs, "t02", 2)
    tree.clear()
    mine.commit()
    assert shown(tree) == [
        ("create", "table"),
        ("create", root_path(2)),
        ("read", root_path(2)),
        ("create", root_path(3)),
        ("read", FLOOR_PATH),
        ("write", HINT_PATH),
    ]
    tree.clear()
    data.clear()
    clock.advance(FRESH_MILLIS)
    same.commit()
    creates = [path for operation, path in shown(tree) if operation == "create"]
    assert creates == ["table", root_path(2), "table", root_path(4)]
    assert data.count("create") == 1
    assert data.count("read") == 0


def test_a_refused_commit_leaves_no_file(counted: Counted) -> None:
    """Definitions and warehouse files of a conflict are deleted."""
    lake, tree, data = counted
    tx = other(lake).begin()
    append(tx, "t02", 5)
    rewrite(tx, "t01", [1])
    with lake.transaction() as theirs:
        append(theirs, "t01", 2)
    before = tree.inner.list()
    with pytest.raises(CommitConflictError):
        tx.commit()
    assert tree.inner.list() == before
    assert data.count("delete") == 1


def test_a_delete_that_fails_keeps_no_other_file(counted: Counted) -> None:
    """Of the files of a refused commit only the one stays that cannot be deleted."""
    lake, tree, data = counted
    faulty = FaultyStorage(tree, [Fault(Effect.REFUSE, ["delete"], times=1)])
    tx = other(lake, storage=faulty).begin()
    for number in range(2, 8):
        append(tx, f"t{number:02}", 5)
    rewrite(tx, "t01", [1])
    with lake.transaction() as theirs:
        append(theirs, "t01", 2)
    before, files = tree.inner.list(), data.inner.list()
    with pytest.raises(CommitConflictError):
        tx.commit()
    assert [path for path in tree.inner.list() if path not in before] == [faulty.injected[0].path]
    assert data.inner.list() == files


@pytest.mark.parametrize("call", range(4))
def test_a_storage_failure_before_the_root_leaves_nothing(counted: Counted, call: int) -> None:
    """Whichever create is refused: no version, no file, and the transaction is over."""
    lake, tree, _ = counted
    faulty = FaultyStorage(tree.inner)
    mine = other(lake, storage=faulty)
    tx = mine.begin()
    for number in range(3):
        append(tx, f"t{number:02}", number)
    before = tree.inner.list("0") + tree.inner.list("1") + tree.inner.list("_")
    faulty.faults.append(Fault(Effect.REFUSE, ["create"], skip=call))
    with pytest.raises(StorageError):
        tx.commit()
    assert tree.inner.list("0") + tree.inner.list("1") + tree.inner.list("_") == before
    assert tx.state == "aborted"
    assert lake.version == 1


def test_a_commit_far_behind_catches_up_at_once(counted: Counted) -> None:
    """Fifty versions are met in a few probes, read side by side and checked; then it commits."""
    lake, tree, _ = counted
    mine = other(lake)
    tx = mine.begin()
    append(tx, "t01", 1)
    for number in range(50):
        with lake.transaction() as theirs:
            append(theirs, "t02", number)
    clock = lake.services.clock
    assert isinstance(clock, ManualClock)
    clock.advance(FRESH_MILLIS)
    tree.clear()

    assert tx.commit() == 52
    roots = [call for call in shown(tree) if call[1].startswith("_") and call[1].endswith(".ipc")]
    assert [path for operation, path in roots if operation == "create"] == [
        root_path(2),
        root_path(52),
    ]
    assert len([path for operation, path in roots if operation == "read"]) <= 50 + 2
    assert mine.services.finder.root(52).info.overtaken == 1


class Sniped(CountingStorage):
    """Another writer commits just before each root, which takes a second."""

    def __init__(self, lake: Lakehouse, table: str) -> None:
        super().__init__(lake.services.storage)
        self._lake = lake
        self._table = table

    def create(self, path: str, data: bytes) -> None:
        """Let the other one commit first."""
        if path.startswith("_"):
            clock = self._lake.services.clock
            assert isinstance(clock, ManualClock)
            clock.advance(1000)
            with self._lake.transaction() as theirs:
                append(theirs, self._table, 1)
        super().create(path, data)


def test_a_race_ends(counted: Counted) -> None:
    """A writer that is always too late gives up after the time it has, and says so."""
    lake, _, _ = counted
    mine = other(lake, storage=Sniped(lake, "t09"), commit_seconds=12)
    tx = mine.begin()
    append(tx, "t01", 1)
    with pytest.raises(CommitConflictError, match="faster for 12 seconds") as caught:
        tx.commit()
    assert caught.value.kind == "TRINITYLAKE_COMMIT_RETRIES_EXHAUSTED"
    assert caught.value.fields["attempts"] == 12
    assert lake.version == 13
    assert read(lake.snapshot(), "t01") == []


def test_a_real_conflict_ends_the_race_at_once(counted: Counted) -> None:
    """What can never succeed is tried once: no second root, no pause."""
    lake, _, _ = counted
    sniped = Sniped(lake, "t01")
    tx = other(lake, storage=sniped).begin()
    rewrite(tx, "t01", [1])
    with pytest.raises(CommitConflictError) as caught:
        tx.commit()
    assert caught.value.kind == "TRINITYLAKE_COMMIT_CONFLICT"
    assert sniped.count("create", lambda path: path.startswith("_")) == 1
    assert lake.version == 2


def test_commits_of_one_process_take_turns(counted: Counted) -> None:
    """Handles that share a queue know of each other's commits, so no create is lost."""
    lake, tree, _ = counted
    turns = FairTurns()
    handles = [other(lake, turns=turns) for _ in range(3)]
    transactions = [handle.begin() for handle in handles]
    for number, tx in enumerate(transactions):
        append(tx, f"t{number:02}", number)
    tree.clear()
    assert [tx.commit() for tx in transactions] == [2, 3, 4]
    roots = [call for call in shown(tree) if call[1].endswith(".ipc")]
    assert [path for operation, path in roots if operation == "create"] == [
        root_path(2),
        root_path(3),
        root_path(4),
    ]
    assert [path for operation, path in roots if operation == "read"] == [
        root_path(2),
        root_path(2),
        root_path(3),
    ], "each reads what was committed before it, and probes for nothing"
    assert [lake.services.finder.root(v).info.overtaken for v in (2, 3, 4)] == [0, 0, 0]


def test_a_queue_that_outlives_its_lakehouse(counted: Counted) -> None:
    """A queue that knows of versions which are gone (a lakehouse made anew) disturbs nobody."""
    lake, _, _ = counted
    turns = FairTurns()
    turns.newest = 99
    tx = other(lake, turns=turns).begin()
    append(tx, "t01", 1)
    assert tx.commit() == 2
