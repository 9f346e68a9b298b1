"""What is run again after a refused commit, how often, and with which pauses."""

from __future__ import annotations

import pytest

from trinitylake_spark.clock import ManualClock
from trinitylake_spark.commit.rerun import FIRST_PAUSE_SECONDS, LONGEST_PAUSE_SECONDS, reruns
from trinitylake_spark.errors import (
    AlreadyExistsError,
    CommitConflictError,
    CommitUnknownError,
    Kind,
    StorageError,
    TrinityLakeError,
)


class Pauses(ManualClock):
    """A clock that remembers for how long it was slept on."""

    def __init__(self) -> None:
        super().__init__()
        self.seconds: list[float] = []

    def sleep(self, seconds: float) -> None:
        """Remember, and go on at once."""
        self.seconds.append(seconds)


class Work:
    """Fails with each of some errors in turn, then succeeds."""

    def __init__(self, *errors: TrinityLakeError) -> None:
        self.errors = list(errors)
        self.runs = 0

    def __call__(self) -> str:
        """Run once."""
        self.runs += 1
        if self.errors:
            raise self.errors.pop(0)
        return "done"


def test_a_conflict_is_run_again() -> None:
    """The work is run until it commits, with a pause before each rerun."""
    work, clock = Work(*[CommitConflictError("theirs")] * 3), Pauses()
    assert reruns(clock)(work) == "done"
    assert work.runs == 4
    assert len(clock.seconds) == 3


def test_reruns_are_capped() -> None:
    """After the last rerun the conflict surfaces as it is."""
    work = Work(*[CommitConflictError("theirs", table="s.t")] * 9)
    with pytest.raises(CommitConflictError) as caught:
        reruns(Pauses(), 2)(work)
    assert work.runs == 3
    assert caught.value.fields == {"table": "s.t"}


@pytest.mark.parametrize(
    "error",
    [
        CommitConflictError("slow", kind=Kind.COMMIT_RETRIES_EXHAUSTED),
        CommitUnknownError("who knows"),
        StorageError("no"),
        AlreadyExistsError("there"),
    ],
    ids=lambda error: str(error.kind),
)
def test_nothing_else_is_run_again(error: TrinityLakeError) -> None:
    """What would fail again, or may have committed, surfaces at once."""
    work, clock = Work(error), Pauses()
    with pytest.raises(type(error)):
        reruns(clock)(work)
    assert (work.runs, clock.seconds) == (1, [])


def test_pauses_are_random_grow_and_are_capped() -> None:
    """The upper end doubles from pause to pause; the pauses themselves differ."""
    longest = [0.0] * 12
    for _ in range(200):
        clock = Pauses()
        reruns(clock, 12)(Work(*[CommitConflictError("theirs")] * 12))
        longest = [max(pair) for pair in zip(longest, clock.seconds, strict=True)]
    limits = [min(FIRST_PAUSE_SECONDS * 2**n, LONGEST_PAUSE_SECONDS) for n in range(12)]
    assert all(0.8 * limit < most <= limit for most, limit in zip(longest, limits, strict=True))
    assert len(set(clock.seconds)) == 12
