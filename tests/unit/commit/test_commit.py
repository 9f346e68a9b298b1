"""Creating the next root: one winner, lost replies, reused names (format.md §6.4)."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

import pytest

from tests.support.lakes import memory
from tests.unit.commit.test_versions import write_roots
from trinitylake_spark.clock import ManualClock
from trinitylake_spark.commit.commit import Committed, Committer, Lost
from trinitylake_spark.commit.unique import create_unique
from trinitylake_spark.commit.versions import VersionFinder
from trinitylake_spark.errors import (
    AlreadyExistsError,
    CommitUnknownError,
    CorruptError,
    Kind,
    NotFoundError,
    StorageError,
    TrinityLakeError,
)
from trinitylake_spark.format.nodefile import NodeFile
from trinitylake_spark.format.paths import FLOOR_PATH, HINT_PATH, MAX_VERSION, root_path
from trinitylake_spark.format.system import RootInfo
from trinitylake_spark.storage.memory import MemoryStorage
from trinitylake_spark.testing.counting import CountingStorage
from trinitylake_spark.testing.faulty import Effect, Fault, FaultyStorage

if TYPE_CHECKING:
    from trinitylake_spark.storage.base import Storage


def committer(storage: Storage) -> Committer:
    """Return a committer with a finder of its own."""
    return Committer(storage, VersionFinder(storage, ManualClock()))


def create(to: Committer, version: int, txn: str) -> Committed | Lost:
    """Try to create an empty root."""
    info = RootInfo(created_at_millis=1, lakehouse_def="d", version=version, txn_id=txn)
    return to.create_root(version, NodeFile(info.to_rows(), [], [], []), info, 3)


def test_of_many_creators_one_wins_and_all_know_who() -> None:
    """Of 16 threads one commits; the others learn whose root is there."""
    storage, outcomes = memory("race"), {}
    barrier = threading.Barrier(16)

    def run(number: int) -> None:
        mine = committer(storage)
        barrier.wait()
        outcomes[number] = create(mine, 3, f"t{number}")

    threads = [threading.Thread(target=run, args=(n,)) for n in range(16)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    winners = [f"t{n}" for n, outcome in outcomes.items() if isinstance(outcome, Committed)]
    losers = [o.winner.info.txn_id for o in outcomes.values() if isinstance(o, Lost)]
    assert len(winners) == 1
    assert losers == winners * 15


@pytest.mark.parametrize(
    "effects",
    [
        [Effect.LOSE_REPLY],
        [Effect.REPEAT],
        [Effect.LOSE_REQUEST],
        [Effect.LOSE_REQUEST, Effect.LOSE_REPLY],
        [Effect.LOSE_REQUEST, Effect.LOSE_REQUEST, Effect.REPEAT],
    ],
)
def test_a_lost_reply_is_no_lost_commit(effects: list[Effect]) -> None:
    """Whatever happened to request or reply, our own root under the name is our commit."""
    storage = memory("lost-reply")
    faults = [Fault(effect, ["create"], times=1) for effect in effects]

    assert isinstance(create(committer(FaultyStorage(storage, faults)), 3, "mine"), Committed)


@pytest.mark.parametrize("effect", [Effect.LOSE_REPLY, Effect.LOSE_REQUEST, Effect.REPEAT])
def test_an_unknown_outcome_can_be_a_loss(effect: Effect) -> None:
    """If another's root is under the name, ours was not created, whatever the storage said."""
    storage = memory("unknown-lost")
    create(committer(storage), 3, "theirs")
    faulty = FaultyStorage(storage, [Fault(Effect.LOSE_REQUEST, ["create"], times=1)])
    faulty.faults[0].effect = Effect.LOSE_REQUEST if effect is Effect.REPEAT else effect

    outcome = create(committer(faulty), 3, "mine")
    assert isinstance(outcome, Lost)
    assert outcome.winner.info.txn_id == "theirs"


@pytest.mark.parametrize("effect", [Effect.LOSE_REPLY, Effect.LOSE_REQUEST, Effect.REPEAT])
def test_what_cannot_be_read_back_is_unknown(effect: Effect) -> None:
    """Without an answer the caller gets the id to ask with, and nothing is deleted."""
    storage = memory("unreadable")
    faults = [Fault(effect, ["create"], times=1), Fault(Effect.REFUSE, ["read"])]

    with pytest.raises(CommitUnknownError, match="commit_status") as caught:
        create(committer(FaultyStorage(storage, faults)), 3, "mine")
    assert caught.value.fields["transaction_id"] == "mine"
    assert storage.exists(root_path(3)) == (effect is not Effect.LOSE_REQUEST)


def test_a_storage_that_never_says_is_unknown() -> None:
    """Creating is repeated a few times, then the outcome is told as unknown."""
    faulty = FaultyStorage(memory("never"), [Fault(Effect.LOSE_REQUEST, ["create"])])

    with pytest.raises(CommitUnknownError):
        create(committer(faulty), 3, "mine")


def test_a_refusal_is_a_failure() -> None:
    """A create that was certainly not done is a storage error, not an unknown outcome."""
    faulty = FaultyStorage(memory("refused"), [Fault(Effect.REFUSE, ["create"])])

    with pytest.raises(StorageError) as caught:
        create(committer(faulty), 3, "mine")
    assert caught.value.kind is Kind.STORAGE


def test_a_refusal_after_an_unknown_outcome_stays_unknown() -> None:
    """The first attempt may still have been done, so a later refusal does not settle it."""
    faults = [Fault(Effect.LOSE_REQUEST, ["create"], times=1), Fault(Effect.REFUSE, ["create"])]

    with pytest.raises(CommitUnknownError):
        create(committer(FaultyStorage(memory("doubt"), faults)), 3, "mine")


def test_exists_with_nothing_stored_is_tried_again() -> None:
    """Some clients report a conflict of two requests as "exists"; then the create is repeated."""

    class Conflicting(MemoryStorage):
        lies = 2

        def create(self, path: str, data: bytes) -> None:
            if self.lies:
                self.lies -= 1
                raise AlreadyExistsError("exists", path=path)
            super().create(path, data)

    storage = Conflicting("memory://conflicting")
    storage.clear()
    assert isinstance(create(committer(storage), 3, "mine"), Committed)


def test_a_version_above_the_last_one_is_refused() -> None:
    """The format names 2^32 versions."""
    with pytest.raises(TrinityLakeError) as caught:
        create(committer(memory("overflow")), MAX_VERSION + 1, "mine")
    assert caught.value.kind is Kind.VERSION_OVERFLOW


def test_an_expired_and_reused_name_is_no_commit() -> None:
    """A root created below the floor is deleted, and the commit fails."""
    storage = memory("reused")
    mine = committer(storage)
    assert isinstance(create(mine, 3, "mine"), Committed)
    storage.write(FLOOR_PATH, b"7")

    with pytest.raises(NotFoundError, match="run the transaction again") as caught:
        mine.finish(3, "mine")
    assert caught.value.kind is Kind.VERSION_EXPIRED
    assert not storage.exists(root_path(3))


def test_an_unreadable_floor_leaves_the_outcome_unknown() -> None:
    """Whether the name was reused cannot be told then; the root stays."""
    storage = memory("floor-unread")
    mine = committer(FaultyStorage(storage, [Fault(Effect.REFUSE, ["read"])]))
    create(mine, 3, "mine")

    with pytest.raises(CommitUnknownError):
        mine.finish(3, "mine")
    assert storage.exists(root_path(3))


def test_the_hint_follows_and_may_fail() -> None:
    """The hint names the version; a hint that cannot be written changes nothing."""
    storage = memory("hint")
    mine = committer(storage)
    create(mine, 3, "mine")
    mine.finish(3, "mine")
    assert storage.read(HINT_PATH) == b"3"

    broken = committer(FaultyStorage(storage, [Fault(Effect.REFUSE, ["write"])]))
    assert isinstance(create(broken, 4, "mine"), Committed)
    broken.finish(4, "mine")
    assert storage.read(HINT_PATH) == b"3"


def test_the_hint_never_goes_back_by_what_is_known() -> None:
    """A commit that knows of a newer version leaves the hint alone."""
    storage = memory("hint-back")
    mine = committer(storage)
    create(mine, 3, "a")
    create(mine, 4, "b")
    mine.finish(4, "b")
    mine.finish(3, "a")

    assert storage.read(HINT_PATH) == b"4"


def test_unique_files_survive_lost_replies() -> None:
    """A file with a fresh name that "exists" is our own; one with other bytes is corruption."""
    storage = memory("unique")
    for number, effect in enumerate([Effect.REPEAT, Effect.LOSE_REPLY, Effect.LOSE_REQUEST]):
        faulty = FaultyStorage(storage, [Fault(effect, ["create"], times=1)])
        objects = {f"{number}-{n}": b"x" for n in range(3)}
        create_unique(faulty, objects)
        assert storage.read_all(objects) == [b"x"] * 3

    storage.create("taken", b"theirs")
    with pytest.raises(CorruptError):
        create_unique(storage, {"taken": b"mine"})
    with pytest.raises(StorageError):
        create_unique(FaultyStorage(storage, [Fault(Effect.REFUSE, ["create"])]), {"new": b"x"})
    with pytest.raises(StorageError):
        create_unique(FaultyStorage(storage, [Fault(Effect.LOSE_REQUEST)]), {"new": b"x"})


def test_a_won_root_is_known_without_reading() -> None:
    """The next look at the lake after an own commit is one read."""
    storage = CountingStorage(memory("won"))
    write_roots(storage.inner, 0)
    finder = VersionFinder(storage, ManualClock())
    finder.latest()
    create(Committer(storage, finder), 1, "mine")
    storage.clear()

    assert finder.latest().version == 1
    assert storage.count() == 1
