"""Finding the latest version: right whatever the hint says, and cheap (format.md §6.1)."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

import pytest

from tests.support.lakes import memory
from trinitylake_spark.clock import ManualClock
from trinitylake_spark.commit.commit import Committer
from trinitylake_spark.commit.versions import TRUST_MILLIS, VersionFinder
from trinitylake_spark.errors import CorruptError, Kind, NotFoundError, StorageError
from trinitylake_spark.format.nodefile import NodeFile, encode_node
from trinitylake_spark.format.paths import FLOOR_PATH, HINT_PATH, root_path
from trinitylake_spark.format.system import RootInfo
from trinitylake_spark.storage.memory import MemoryStorage
from trinitylake_spark.testing.counting import CountingStorage
from trinitylake_spark.testing.faulty import Effect, Fault, FaultyStorage

if TYPE_CHECKING:
    from trinitylake_spark.storage.base import Storage


def write_roots(storage: Storage, *versions: int) -> None:
    """Write empty roots."""
    for version in versions:
        info = RootInfo(created_at_millis=version, lakehouse_def="d", version=version)
        data = encode_node(NodeFile(info.to_rows(), [], [], []), 3)
        storage.create(root_path(version), data)


def counted(name: str, versions: int, hint: bytes | None = None) -> CountingStorage:
    """Return a storage with some versions from 0 on."""
    storage = CountingStorage(memory(name))
    write_roots(storage, *range(versions))
    if hint is not None:
        storage.write(HINT_PATH, hint)
    storage.clear()
    return storage


@pytest.mark.parametrize("hint", [None, b"4", b"2", b"0", b" 3\n", b"junk", b"", b"-1", b"99"])
def test_any_hint_leads_to_the_latest_version(hint: bytes | None) -> None:
    """A hint that is right, stale, missing, garbage or too high makes no difference."""
    storage = counted("any-hint", 5, hint)
    finder = VersionFinder(storage, ManualClock())

    assert finder.latest().version == 4


def test_an_unmoved_lake_costs_one_read() -> None:
    """Once known, the latest version costs the one read that finds nothing after it."""
    storage = counted("unmoved", 5, b"4")
    finder = VersionFinder(storage, ManualClock())
    finder.latest()
    storage.clear()

    assert finder.latest().version == 4
    assert [(c.operation, c.path) for c in storage.calls] == [("read", root_path(5))]


def test_one_new_version_costs_two_reads() -> None:
    """A lake that moved by one costs the new root and the missing one after it."""
    storage = counted("moved", 5, b"4")
    finder = VersionFinder(storage, ManualClock())
    finder.latest()
    write_roots(storage.inner, 5)
    storage.clear()

    assert finder.latest().version == 5
    assert storage.count() == 2


@pytest.mark.parametrize("hint", [None, b"0", b"5000", b"9999"])
def test_ten_thousand_missed_versions_cost_few_probes(hint: bytes | None) -> None:
    """Far behind, it finds the latest in at most 40 calls, whatever the hint says."""
    storage = counted("far", 1)
    finder = VersionFinder(storage, ManualClock())
    finder.latest()
    write_roots(storage.inner, *range(1, 10_001))
    if hint is not None:
        storage.write(HINT_PATH, hint)
    storage.clear()

    assert finder.latest().version == 10_000
    assert storage.count() <= 40
    fresh = VersionFinder(storage, ManualClock())
    storage.clear()
    assert fresh.latest().version == 10_000
    assert storage.count() <= 40


def test_old_versions_may_be_gone() -> None:
    """Without hint and root 0, a listing finds where to start."""
    storage = counted("expired", 0)
    write_roots(storage.inner, 7, 8, 9)
    storage.write(FLOOR_PATH, b"7")
    assert VersionFinder(storage, ManualClock()).latest().version == 9

    storage.write(FLOOR_PATH, b"junk")
    storage.write(HINT_PATH, b"3")
    assert VersionFinder(storage, ManualClock()).latest().version == 9


def test_versions_kept_below_the_floor_do_not_mislead() -> None:
    """An old root that an export keeps is no place to stop at."""
    storage = counted("override", 1, b"0")
    write_roots(storage.inner, 7, 8, 9)
    storage.write(FLOOR_PATH, b"7")

    assert VersionFinder(storage, ManualClock()).latest().version == 9


def test_a_known_version_may_be_expired() -> None:
    """A process that slept while its version and the next ones expired finds the latest."""
    storage, clock = counted("slept", 3, b"2"), ManualClock()
    finder = VersionFinder(storage, clock)
    assert finder.latest().version == 2
    write_roots(storage.inner, *range(3, 9))
    storage.write(FLOOR_PATH, b"6")
    for version in range(6):
        storage.delete(root_path(version))
    clock.advance(TRUST_MILLIS)

    assert finder.latest().version == 8


def test_the_floor_is_read_again_when_time_has_passed() -> None:
    """Trust in "there is nothing above" ends; then a missing root is checked against the floor."""
    storage, clock = counted("trust", 3, b"2"), ManualClock()
    finder = VersionFinder(storage, clock)
    finder.latest()
    storage.clear()
    clock.advance(TRUST_MILLIS - 1)
    finder.latest()
    assert storage.count() == 1

    clock.advance(TRUST_MILLIS)
    finder.latest()
    assert storage.count() == 3


def test_no_lakehouse_is_told_as_such() -> None:
    """An empty storage is no lakehouse."""
    with pytest.raises(NotFoundError, match="create a lakehouse") as caught:
        VersionFinder(memory("nothing"), ManualClock()).latest()
    assert caught.value.kind is Kind.LAKEHOUSE_NOT_FOUND


@pytest.mark.parametrize("operation", ["read", "exists"])
def test_a_failure_is_never_taken_for_absence(operation: str) -> None:
    """A storage that fails makes the search fail; it never ends the search early."""
    storage = memory("failing")
    write_roots(storage, *range(12))
    finder = VersionFinder(
        FaultyStorage(storage, [Fault(Effect.REFUSE, [operation], skip=4)]), ManualClock()
    )

    with pytest.raises(StorageError):
        [finder.latest() for _ in range(2)]


def test_a_root_under_a_wrong_name_is_corrupt() -> None:
    """The version row must say what the name says."""
    storage = memory("renamed")
    write_roots(storage, 0, 1)
    storage.create(root_path(2), storage.read(root_path(1)))

    with pytest.raises(CorruptError):
        VersionFinder(storage, ManualClock()).latest()


def test_roots_by_number_are_read_once() -> None:
    """A root that was read is kept; reading many does not evict what is known."""
    storage = counted("numbers", 5, b"4")
    finder = VersionFinder(storage, ManualClock())
    finder.latest()
    assert finder.root(2).version == 2
    storage.clear()
    assert finder.root(2).version == 2
    assert storage.count() == 0

    assert [root.version for root in finder.roots([4, 2, 1])] == [4, 2, 1]
    assert storage.count() == 1
    with pytest.raises(NotFoundError):
        finder.roots([4, 5])


class Meeting(MemoryStorage):
    """A storage far away, where two calls wait for each other: one alone would wait for ever."""

    parallel = True

    def __init__(self, url: str, *paths: str) -> None:
        super().__init__(url)
        self._paths = paths
        self._barrier = threading.Barrier(2, timeout=20)

    def read(self, path: str) -> bytes:
        """Wait for the other call."""
        self._meet(path)
        return super().read(path)

    def write(self, path: str, data: bytes) -> None:
        """Wait for the other call."""
        self._meet(path)
        super().write(path, data)

    def _meet(self, path: str) -> None:
        if path in self._paths:
            self._barrier.wait()


@pytest.mark.parametrize(
    "paths", [(HINT_PATH, FLOOR_PATH), (root_path(4), root_path(5))], ids=["numbers", "roots"]
)
def test_a_first_look_asks_two_things_at_a_time(paths: tuple[str, str]) -> None:
    """On a storage far away hint and floor are one round trip, the root and the next another."""
    storage = counted("side-by-side", 5, b"4")
    finder = VersionFinder(Meeting(storage.url, *paths), ManualClock())
    assert finder._first().version == 4


def test_floor_and_hint_after_a_commit_are_one_round_trip() -> None:
    """What follows a commit does not wait for each other."""
    storage = counted("finish", 5, b"3")
    far = Meeting(storage.url, HINT_PATH, FLOOR_PATH)
    finder = VersionFinder(far, ManualClock())
    Committer(far, finder).finish(4, "me")
    assert storage.inner.read(HINT_PATH) == b"4"
