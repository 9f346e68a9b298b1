"""Creating and opening a lakehouse (format.md §6.1)."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

import pytest

from tests.support.lakes import memory, new_lake, open_lake
from trinitylake_spark.errors import (
    AlreadyExistsError,
    InvalidInputError,
    Kind,
    NotFoundError,
    StorageError,
    UnsupportedError,
)
from trinitylake_spark.format.paths import HINT_PATH, root_path
from trinitylake_spark.ids import SystemIds
from trinitylake_spark.lakehouse.create import probe_exclusive_create
from trinitylake_spark.lakehouse.lakehouse import Lakehouse
from trinitylake_spark.storage.memory import MemoryStorage
from trinitylake_spark.testing.faulty import Effect, Fault, FaultyStorage

if TYPE_CHECKING:
    from collections.abc import Callable


def test_a_new_lakehouse_is_version_0() -> None:
    """It has one version, a hint, and nothing in it; nothing of the probe is left."""
    memory("create")
    lake = Lakehouse.create("memory://create", order=5, author="ana", message="hello")

    assert lake.version == 0
    assert lake.namespaces() == []
    storage = lake.services.storage
    assert storage.read(HINT_PATH) == b"0"
    assert [p for p in storage.list() if not p.startswith("_lakehouse_def")] == [
        root_path(0),
        HINT_PATH,
    ]
    (info,) = lake.versions()
    assert (info.author, info.message, info.kind) == ("ana", "hello", "definition")
    assert [change.operation for change in info.changes] == ["CREATE"]
    assert Lakehouse.open("memory://create").snapshot().layout.order == 5


def test_a_second_create_is_refused() -> None:
    """Also after version 0 has been expired."""
    storage = memory("twice")
    lake = new_lake(storage, tables=["t"])
    with pytest.raises(AlreadyExistsError) as caught:
        Lakehouse.create("memory://twice")
    assert caught.value.kind is Kind.LAKEHOUSE_ALREADY_EXISTS

    storage.delete(root_path(0))
    with pytest.raises(AlreadyExistsError):
        Lakehouse.create("memory://twice")
    assert lake.version == 1


@pytest.mark.parametrize("call", [Lakehouse.open, Lakehouse.create], ids=["open", "create"])
def test_what_cannot_be_opened_is_closed(
    call: Callable[..., Lakehouse], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nobody holds the lakehouse, so nobody else could release its connections."""
    new_lake(memory("taken"))
    closed: list[str] = []
    monkeypatch.setattr(MemoryStorage, "close", lambda storage: closed.append(storage.url))
    missing = "memory://taken" if call == Lakehouse.create else "memory://missing"
    with pytest.raises((NotFoundError, AlreadyExistsError)):
        call(missing)
    assert missing + "/" in closed
    closed.clear()
    call("memory://fresh" if call == Lakehouse.create else "memory://taken")
    assert closed == []


def test_of_many_creators_one_wins() -> None:
    """Racing creators: one lakehouse, the others are told, no definition is left over."""
    storage = memory("create-race")
    barrier, outcomes = threading.Barrier(8), []

    def run(seed: int) -> None:
        barrier.wait()
        try:
            new_lake(storage, ids=SystemIds())
            outcomes.append(seed)
        except AlreadyExistsError:
            outcomes.append(None)

    threads = [threading.Thread(target=run, args=(n,)) for n in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert len(outcomes) == 8
    assert len([o for o in outcomes if o is not None]) == 1
    assert len(storage.list("_lakehouse_def")) == 1


class Overwriting(MemoryStorage):
    """A storage that ignores the condition of a create."""

    def create(self, path: str, data: bytes) -> None:
        """Write."""
        self.write(path, data)


class Racing(MemoryStorage):
    """A storage that looks, then writes: two at once may both win."""

    def __init__(self, url: str) -> None:
        super().__init__(url)
        self.barrier = threading.Barrier(2)

    def create(self, path: str, data: bytes) -> None:
        """Wait between looking and writing, as a slow client would."""
        if self.exists(path):
            super().create(path, data)
        try:
            self.barrier.wait(0.5)
        except threading.BrokenBarrierError:
            self.barrier.reset()
        self.write(path, data)


@pytest.mark.parametrize("liar", [Overwriting, Racing])
def test_a_storage_that_is_not_exclusive_is_refused(liar: type[MemoryStorage]) -> None:
    """Creating a lakehouse finds out, and says so by a kind of its own."""
    with pytest.raises(StorageError, match="not exclusive") as caught:
        probe_exclusive_create(liar("memory://liar"), SystemIds())
    assert caught.value.kind is Kind.NOT_EXCLUSIVE


def test_a_storage_with_lost_replies_passes_the_probe() -> None:
    """What nobody can know is no lie."""
    storage = FaultyStorage(
        memory("shaky"), [Fault(Effect.LOSE_REPLY, ["create"], probability=0.3)], seed=3
    )
    probe_exclusive_create(storage, SystemIds())


def test_no_lakehouse_at_the_url() -> None:
    """Opening says where it looked, and what to do."""
    memory("absent")
    with pytest.raises(NotFoundError, match="memory://absent/") as caught:
        Lakehouse.open("memory://absent")
    assert caught.value.kind is Kind.LAKEHOUSE_NOT_FOUND


def test_bad_arguments_change_nothing() -> None:
    """A URL or a field that can never work is refused before anything is written."""
    storage = memory("bad")
    for fields in ({"order": 2}, {"order": "x"}, {"no_such_field": 1}, {"order": 10_000}):
        with pytest.raises(InvalidInputError):
            Lakehouse.create("memory://bad", **fields)
    with pytest.raises(InvalidInputError) as caught:
        Lakehouse.create("nosuch://bad")
    assert caught.value.kind is Kind.INVALID_URL
    assert storage.list() == []


def test_a_format_from_the_future_is_refused() -> None:
    """An unknown major version stops readers and writers."""
    storage = memory("future")
    lake = new_lake(storage)
    (path,) = storage.list("_lakehouse_def")
    storage.write(path, storage.read(path) + b"\x10\x09")

    with pytest.raises(UnsupportedError, match="newer release"):
        open_lake(storage).snapshot()
    with pytest.raises(UnsupportedError):
        open_lake(storage).begin()
    assert lake.version == 0


def test_tables_need_a_format_and_a_place() -> None:
    """Without a table format, or on a key-value store without a warehouse, tables are refused."""
    with new_lake(memory("formats"), formats=[]).transaction() as tx:
        tx.create_namespace("s")
        with pytest.raises(UnsupportedError, match="there is: none"):
            tx.create_table("s", "t", schema=None)

    storage = memory("kv")
    storage.url = "redis://somewhere/0/"
    with new_lake(storage, warehouse=None).transaction() as tx:
        tx.create_namespace("s")
        with pytest.raises(InvalidInputError, match="name a warehouse"):
            tx.create_table("s", "t", schema=None)
