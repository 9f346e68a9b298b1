"""Who of several racing commits tries next (format.md §6.5)."""

from __future__ import annotations

import pytest

from trinitylake_spark.clock import ManualClock
from trinitylake_spark.commit.versions import Root
from trinitylake_spark.format.nodefile import NodeFile
from trinitylake_spark.format.system import RootInfo
from trinitylake_spark.ids import SeededIds
from trinitylake_spark.lakehouse.contest import LONGEST_PAUSE_SECONDS, Contest


@pytest.fixture
def clock() -> ManualClock:
    """A clock that moves when told."""
    return ManualClock()


@pytest.fixture
def contest(clock: ManualClock) -> Contest:
    """A commit with a minute of time, which has not tried yet."""
    return Contest(clock, SeededIds(1), 60)


def winner(overtaken: int) -> Root:
    """Return a root whose commit was overtaken so often."""
    info = RootInfo(created_at_millis=0, lakehouse_def="_d", overtaken=overtaken)
    return Root(1, NodeFile({}, [], [], []), info)


def lose(contest: Contest, clock: ManualClock, overtaken: int, seconds: float = 0.1) -> None:
    """Try, and lose to a commit that was overtaken so often."""
    contest.attempt()
    clock.advance(int(seconds * 1000))
    contest.lost(winner(overtaken))


def test_two_rivals_need_no_queue(contest: Contest, clock: ManualClock) -> None:
    """Who loses to a commit that did not wait longer tries again at once."""
    lose(contest, clock, 0)
    assert contest.is_due()
    lose(contest, clock, 1)
    assert contest.is_due()
    assert (contest.attempts, contest.overtaken) == (2, 2)


def test_newcomer_lets_others_go_first(contest: Contest, clock: ManualClock) -> None:
    """Who loses to one that was overtaken forty times is in a queue of about forty."""
    lose(contest, clock, 40)
    assert not contest.is_due()
    waited = 1
    while not contest.is_due():
        clock.advance(100)
        contest.saw(winner(40), 1)
        waited += 1
    assert 30 <= waited < 40
    assert contest.overtaken == waited


def test_who_has_waited_longest_is_due(contest: Contest, clock: ManualClock) -> None:
    """One that was overtaken more often than the winners tries at every version."""
    contest.queued(50)
    for _ in range(5):
        lose(contest, clock, 40)
        assert contest.is_due()


def test_one_lucky_newcomer_ends_no_queue(contest: Contest, clock: ManualClock) -> None:
    """A winner that did not wait says nothing about all the others."""
    for _ in range(4):
        lose(contest, clock, 40)
    contest.saw(winner(0), 1)
    assert not contest.is_due()


def test_nobody_waits_for_the_dead(contest: Contest, clock: ManualClock) -> None:
    """If no version comes during a few attempts' time, whoever waits tries."""
    lose(contest, clock, 40)
    clock.advance(250)
    assert not contest.is_due()
    clock.advance(400)
    assert contest.is_due()


def test_pauses_are_half_of_the_way_and_capped(contest: Contest, clock: ManualClock) -> None:
    """A commit sleeps for at most half of the time until its turn, and never long."""
    lose(contest, clock, 40)
    assert 0.5 < contest.pause() <= 34 * 0.1 / 2
    lose(contest, clock, 400, seconds=2)
    assert 0.5 * LONGEST_PAUSE_SECONDS <= contest.pause() <= LONGEST_PAUSE_SECONDS
    contest.saw(winner(0), 1000)
    assert contest.pause() < LONGEST_PAUSE_SECONDS


def test_time_ends(contest: Contest, clock: ManualClock) -> None:
    """The race lasts as long as was said, from the moment the commit began."""
    clock.advance(59_999)
    assert contest.seconds_left > 0
    clock.advance(1)
    assert contest.seconds_left <= 0
