"""Prepared transactions when processes die, storages fail and others act at any storage call."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from itertools import count
from typing import TYPE_CHECKING

import pytest

from tests.support.interposed import Died, InterposedStorage, Moment, die
from tests.support.lakes import memory, new_lake, other
from tests.support.list_table import append, items, read
from trinitylake_spark.errors import CommitUnknownError, Kind, StorageError, TrinityLakeError
from trinitylake_spark.format.paths import parse_root_path
from trinitylake_spark.testing.faulty import Effect, Fault, FaultyStorage

if TYPE_CHECKING:
    from collections.abc import Callable

    from trinitylake_spark.lakehouse.lakehouse import Lakehouse
    from trinitylake_spark.storage.base import Storage

_TOLD = {Kind.TRANSACTION_MOVED, Kind.TRANSACTION_FINISHED}
_ENDS = {"committed", "rolled back"}


def new() -> Lakehouse:
    """Version 2: ``a`` is [1]."""
    lake = new_lake(memory("faults"), tables=["a", "b"])
    with lake.transaction() as tx:
        append(tx, "a", 1)
    return lake


def prepare(lake: Lakehouse) -> None:
    """Prepare an append of 2 to ``a`` and a table ``c``."""
    tx = lake.begin()
    append(tx, "a", 2)
    tx.create_table("s", "c", schema=None)
    tx.prepare("load")


def prepare_again(lake: Lakehouse) -> None:
    """Resume it, append 2 to ``b``, and prepare it."""
    tx = lake.resume("load")
    append(tx, "b", 2)
    tx.prepare("load")


def commit_more(lake: Lakehouse) -> None:
    """Resume it, append 2 to ``b``, and commit."""
    tx = lake.resume("load")
    append(tx, "b", 2)
    tx.commit()


def abort(lake: Lakehouse) -> None:
    """Resume it and abort."""
    lake.resume("load").abort()


def commit(lake: Lakehouse) -> None:
    """COMMIT PREPARED."""
    lake.commit_prepared("load")


def roll_back(lake: Lakehouse) -> None:
    """ROLLBACK PREPARED."""
    lake.rollback_prepared("load")


class BeforeRoot(InterposedStorage):
    """Does something before the first creation of a root.

    Args:
        inner: does the work.
        act: what happens.
    """

    def __init__(self, inner: Storage, act: Callable[[], None]) -> None:
        super().__init__(inner, Moment(-1))
        self._act: Callable[[], None] | None = act

    def create(self, path: str, data: bytes) -> None:
        """Act before the first root."""
        act = self._act
        if act is not None and parse_root_path(path) is not None:
            self._act = None
            act()
        super().create(path, data)


STEPS = [commit, commit_more, roll_back, abort, prepare_again]


def interposed(lake: Lakehouse, moment: Moment) -> Lakehouse:
    """Open the lake as another process, which something happens to."""
    services = lake.services
    assert services.warehouse is not None
    return other(
        lake,
        storage=InterposedStorage(services.storage, moment),
        warehouse=InterposedStorage(services.warehouse, moment),
    )


def committed(lake: Lakehouse) -> int:
    """Return how many versions the transaction made, and check that it shows whole or not."""
    now = lake.snapshot()
    a, b, c = (
        items(now.table("s", t).definition) if now.has_table("s", t) else None for t in "abc"
    )
    assert a in ([1], [1, 2], [1, 10], [1, 10, 2], [1, 2, 10]), a
    assert (c is not None) == (2 in a)
    assert b in ([], [2], [2, 2]), b
    assert b == [] or 2 in a
    assert lake.check(deep=True).problems == []
    own = [
        info
        for info in lake.versions()
        if ("s.c", "CREATE") in {(i.name, i.operation) for i in info.changes}
    ]
    return len(own)


def state(lake: Lakehouse) -> str | None:
    """Return the state of the prepared transaction, if there is one."""
    return next((info.state for info in lake.transactions()), None)


def told(error: TrinityLakeError, *more: Kind) -> None:
    """Check that an error says that somebody else was faster, or one of some other kinds."""
    assert error.kind in {*_TOLD, *more}, error


def settle(lake: Lakehouse) -> None:
    """Do what an operator does after a crash: commit what is prepared."""
    try:
        lake.commit_prepared("load")
    except TrinityLakeError as error:
        told(error)


def every_call(run: Callable[[int], bool]) -> int:
    """Run with something happening at call 0, 1, … until there is no such call; return how many."""
    for at in count():
        if not run(at):
            assert at > 2
            return at
    raise AssertionError("unreachable")


@pytest.mark.parametrize("late", [False, True], ids=["before", "after"])
def test_a_crash_while_preparing(late: bool) -> None:
    """At every call: nothing is prepared, or all of it is and can be read and committed."""
    outcomes = set()

    def run(at: int) -> bool:
        lake = new()
        moment = Moment(at, **{"after" if late else "before": die})
        with suppress(Died):
            prepare(interposed(lake, moment))
        fresh = other(lake)
        outcomes.add(state(fresh))
        if state(fresh) is None:
            assert committed(fresh) == 0
            prepare(fresh)
        assert read(fresh.resume("load"), "a") == [1, 2]
        fresh.commit_prepared("load")
        assert committed(fresh) == 1
        return moment.came

    every_call(run)
    assert outcomes == {None, "prepared"}


@pytest.mark.parametrize("late", [False, True], ids=["before", "after"])
@pytest.mark.parametrize("step", STEPS)
def test_a_crash_while_ending(step: Callable[[Lakehouse], object], late: bool) -> None:
    """At every call: afterwards it can be committed, or it is over; it commits at most once."""
    outcomes = set()

    def run(at: int) -> bool:
        lake = new()
        prepare(lake)
        moment = Moment(at, **{"after" if late else "before": die})
        with suppress(Died):
            step(interposed(lake, moment))
        fresh = other(lake)
        seen = state(fresh)
        outcomes.add(seen)
        assert committed(fresh) == (seen == "committed")
        settle(fresh)
        assert state(fresh) in _ENDS
        assert committed(fresh) == (state(fresh) == "committed")
        if step is commit_more and seen in ("committing", "committed"):
            assert items(fresh.snapshot().table("s", "b").definition) == [2]
        return moment.came

    every_call(run)
    assert "prepared" in outcomes
    if step in (commit, commit_more):
        assert outcomes == {"prepared", "committing", "committed"}


@pytest.mark.parametrize("late", [False, True], ids=["before", "after"])
def test_a_rollback_after_a_crash_while_committing(late: bool) -> None:
    """What was not committed yet can be given up, and what was committed says so."""

    def run(at: int) -> bool:
        lake = new()
        prepare(lake)
        moment = Moment(at, **{"after" if late else "before": die})
        with suppress(Died):
            commit(interposed(lake, moment))
        fresh = other(lake)
        was_committed = state(fresh) == "committed"
        try:
            fresh.rollback_prepared("load")
        except TrinityLakeError as error:
            told(error)
            assert was_committed
        assert committed(fresh) == was_committed
        assert state(fresh) == ("committed" if was_committed else "rolled back")
        return moment.came

    every_call(run)


@pytest.mark.parametrize("effect", [Effect.REFUSE, Effect.LOSE_REQUEST, Effect.LOSE_REPLY])
@pytest.mark.parametrize("step", [prepare, *STEPS])
def test_a_call_that_fails(step: Callable[[Lakehouse], object], effect: Effect) -> None:
    """At every call: the caller is told, and the same again, by the same process, succeeds."""

    def run(at: int) -> bool:
        lake = new()
        if step is not prepare:
            prepare(lake)
        fault = Fault(effect, skip=at, times=1)
        # One fault for both storages, so that its count runs over all calls of the process.
        services = lake.services
        assert services.warehouse is not None
        broken = other(
            lake,
            storage=FaultyStorage(services.storage, [fault]),
            warehouse=FaultyStorage(services.warehouse, [fault]),
        )
        try:
            step(broken)
        except (StorageError, CommitUnknownError):
            try:
                step(broken)
            except TrinityLakeError as error:
                # It did happen: the reply was lost.
                told(error, Kind.TRANSACTION_ALREADY_EXISTS)
        fresh = other(lake)
        settle(fresh)
        assert state(fresh) in _ENDS
        assert committed(fresh) == (state(fresh) == "committed")
        assert (state(fresh) == "rolled back") == (step in (roll_back, abort))
        return fault.hits > 0

    every_call(run)


@pytest.mark.parametrize("rival", STEPS)
@pytest.mark.parametrize("step", STEPS)
def test_another_acts_at_any_call(
    step: Callable[[Lakehouse], object], rival: Callable[[Lakehouse], object]
) -> None:
    """Two processes, one acting at every call of the other: one wins, the other is told."""

    def run(at: int) -> bool:
        lake = new()
        prepare(lake)
        wins: list[Callable[[Lakehouse], object]] = []

        def act(who: Callable[[Lakehouse], object], where: Lakehouse) -> None:
            try:
                who(where)
            except TrinityLakeError as error:
                told(error)
            else:
                wins.append(who)

        moment = Moment(at, before=lambda: act(rival, other(lake)))
        act(step, interposed(lake, moment))
        if not moment.came:
            return False
        enders = [who for who in wins if who is not prepare_again]
        assert len(enders) <= 1, wins
        assert wins
        fresh = other(lake)
        assert committed(fresh) == any(who in (commit, commit_more) for who in enders)
        b = items(fresh.snapshot().table("s", "b").definition)
        adding = [who for who in wins if who in (commit_more, prepare_again)]
        # Whoever takes a commit over commits what it was going to commit.
        is_taken_over = wins == [commit] and commit_more in (step, rival)
        allowed = {len(adding), int(is_taken_over)} if committed(fresh) else {0}
        assert b in ([2] * n for n in allowed)
        settle(fresh)
        assert committed(fresh) == (state(fresh) == "committed")
        return True

    every_call(run)


@pytest.mark.parametrize("rival", [commit, roll_back])
def test_a_slow_publisher_is_overtaken(rival: Callable[[Lakehouse], object]) -> None:
    """A third process commits an append at every call too; still once, or not at all."""

    def run(at: int) -> bool:
        lake = new()
        prepare(lake)

        def meanwhile() -> None:
            with other(lake).transaction() as theirs:
                append(theirs, "a", 10)
            try:
                rival(other(lake))
            except TrinityLakeError as error:
                told(error)

        moment = Moment(at, before=meanwhile)
        outcome = None
        try:
            outcome = interposed(lake, moment).commit_prepared("load")
        except TrinityLakeError as error:
            told(error)
        if not moment.came:
            return False
        fresh = other(lake)
        if rival is roll_back:
            assert committed(fresh) == (outcome is not None)
            assert state(fresh) == ("rolled back" if outcome is None else "committed")
        else:
            assert committed(fresh) == 1
            assert state(fresh) == "committed"
        return True

    every_call(run)


@pytest.mark.parametrize("late", [False, True], ids=["before", "after"])
def test_a_crash_while_giving_up_what_is_being_committed(late: bool) -> None:
    """At every call: the publisher who comes back to life commits nothing that was given up."""

    def run(at: int) -> bool:
        lake = new()
        prepare(lake)
        moment = Moment(at, **{"after" if late else "before": die})

        def give_up() -> None:
            with suppress(Died):
                roll_back(interposed(lake, moment))

        slow = other(lake, storage=BeforeRoot(lake.services.storage, give_up))
        try:
            commit(slow)
        except TrinityLakeError as error:
            told(error)
        fresh = other(lake)
        if moment.came:
            settle(fresh)
        assert state(fresh) in _ENDS
        assert committed(fresh) == (state(fresh) == "committed")
        return moment.came

    every_call(run)


def test_one_who_failed_does_not_speak_for_another() -> None:
    """A taker-over whose storage failed leaves it "committing", as the first may be alive."""
    lake = new()
    prepare(lake)

    def fail_and_give_up() -> None:
        refuse = Fault(Effect.REFUSE, ["create"], lambda path: parse_root_path(path) is not None)
        broken = other(lake, storage=FaultyStorage(lake.services.storage, [refuse]))
        with pytest.raises(StorageError):
            broken.commit_prepared("load")
        assert state(lake) == "committing"
        other(lake).rollback_prepared("load")

    slow = other(lake, storage=BeforeRoot(lake.services.storage, fail_and_give_up))
    with pytest.raises(TrinityLakeError) as caught:
        commit(slow)
    told(caught.value)
    assert (committed(other(lake)), state(lake)) == (0, "rolled back")


def test_a_commit_just_before_it_is_given_up() -> None:
    """Whoever gives it up looks again at every version that came while he did."""
    lake = new()
    prepare(lake)
    at_root, go_on = threading.Event(), threading.Event()

    def pause() -> None:
        at_root.set()
        assert go_on.wait(30)

    def publish() -> None:
        # Its root is created late, and it dies before it can say so.
        mute = Fault(Effect.REFUSE, ["create"], lambda path: path.startswith("_dtxn_"), skip=1)
        storage = BeforeRoot(FaultyStorage(lake.services.storage, [mute]), pause)
        commit(other(lake, storage=storage))

    with ThreadPoolExecutor(1) as pool:
        publisher = pool.submit(publish)
        assert at_root.wait(30)

        def let_it_go_on() -> None:
            go_on.set()
            publisher.result()

        late = BeforeRoot(lake.services.storage, let_it_go_on)
        with pytest.raises(TrinityLakeError) as caught:
            roll_back(other(lake, storage=late))
    told(caught.value)
    assert (committed(other(lake)), state(lake)) == (1, "committed")
