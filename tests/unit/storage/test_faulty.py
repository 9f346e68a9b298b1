"""Faults happen where they should, repeatably, and leave the storage as they say."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from trinitylake_spark.clock import ManualClock
from trinitylake_spark.errors import AlreadyExistsError, Kind, StorageError
from trinitylake_spark.storage.memory import MemoryStorage
from trinitylake_spark.testing.faulty import Effect, Fault, FaultyStorage, Injected

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture
def inner() -> Iterator[MemoryStorage]:
    """An empty store."""
    storage = MemoryStorage("memory://faulty")
    storage.clear()
    yield storage
    storage.clear()


@pytest.mark.parametrize(
    ("effect", "kind", "applied"),
    [
        (Effect.REFUSE, Kind.STORAGE, False),
        (Effect.LOSE_REQUEST, Kind.CREATE_UNKNOWN, False),
        (Effect.LOSE_REPLY, Kind.CREATE_UNKNOWN, True),
    ],
)
def test_failed_create(inner: MemoryStorage, effect: Effect, kind: Kind, applied: bool) -> None:
    """The kind says what the caller may know; whether it was done is the effect's."""
    storage = FaultyStorage(inner, [Fault(effect)])
    with pytest.raises(StorageError) as caught:
        storage.create("a", b"x")
    assert caught.value.kind is kind
    assert inner.exists("a") is applied


def test_repeated_create_meets_itself(inner: MemoryStorage) -> None:
    """The client below repeats a create whose reply was lost, and hears of its own object."""
    storage = FaultyStorage(inner, [Fault(Effect.REPEAT, ["create"])])
    with pytest.raises(AlreadyExistsError):
        storage.create("a", b"mine")
    assert inner.read("a") == b"mine"


def test_repeated_others_succeed(inner: MemoryStorage) -> None:
    """Calls that may be repeated are, without the caller noticing."""
    storage = FaultyStorage(inner, [Fault(Effect.REPEAT)])
    storage.write("a", b"x")
    assert storage.read("a") == b"x"
    storage.delete("a")
    assert storage.list() == []


@pytest.mark.parametrize("operation", ["read", "write", "delete", "exists", "list"])
def test_lost_reply_of_others_is_a_plain_failure(inner: MemoryStorage, operation: str) -> None:
    """Only a create may be unknown."""
    storage = FaultyStorage(inner, [Fault(Effect.LOSE_REPLY, [operation])])
    inner.create("a", b"x")
    arguments = ("a", b"y") if operation == "write" else ("a",)
    with pytest.raises(StorageError) as caught:
        getattr(storage, operation)(*arguments)
    assert caught.value.kind is Kind.STORAGE


def test_a_fault_chooses_its_calls(inner: MemoryStorage) -> None:
    """Operation, path, how many to let pass and how many to hit."""
    fault = Fault(Effect.REFUSE, ["create"], path=lambda p: p.startswith("_"), skip=1, times=2)
    storage = FaultyStorage(inner, [fault])
    storage.create("node", b"")
    storage.create("_0", b"")
    for path in ("_1", "_2"):
        with pytest.raises(StorageError):
            storage.create(path, b"")
    storage.create("_3", b"")
    storage.write("_4", b"")
    assert inner.list() == ["_0", "_3", "_4", "node"]
    assert storage.injected == [
        Injected(Effect.REFUSE, "create", "_1"),
        Injected(Effect.REFUSE, "create", "_2"),
    ]


def test_same_seed_same_faults(inner: MemoryStorage) -> None:
    """A failure that a seed found can be found again."""

    def hits(seed: int) -> list[str]:
        """Return which of fifty calls failed."""
        storage = FaultyStorage(inner, [Fault(Effect.REFUSE, probability=0.3)], seed=seed)
        for number in range(50):
            try:
                storage.exists(str(number))
            except StorageError:
                continue
        return [fault.path for fault in storage.injected]

    assert hits(1) == hits(1)
    assert hits(1) != hits(2)
    assert 5 < len(hits(1)) < 25


def test_delay_waits_and_succeeds(inner: MemoryStorage) -> None:
    """A late call is a good call; the wait is the clock's."""
    clock = ManualClock(0)
    storage = FaultyStorage(inner, [Fault(Effect.DELAY, seconds=60)], clock=clock)
    storage.create("a", b"x")
    assert inner.read("a") == b"x"
    assert 0 < clock.millis <= 60_000


def test_misspelt_operation_is_refused() -> None:
    """A fault that can never happen would prove nothing."""
    with pytest.raises(ValueError, match="craete"):
        Fault(Effect.REFUSE, ["craete"])
