"""Run a whole transaction again after a conflict: which errors, how often, with which pauses."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tenacity import Retrying, retry_if_exception, stop_after_attempt, wait_random_exponential

from trinitylake_spark.errors import CommitConflictError, Kind

if TYPE_CHECKING:
    from trinitylake_spark.clock import Clock

RERUNS = 5
"""How often a transaction is run again if nobody says otherwise."""
FIRST_PAUSE_SECONDS = 0.05
LONGEST_PAUSE_SECONDS = 5.0


def reruns(clock: Clock, times: int = RERUNS) -> Retrying:
    """Return what runs a function again while its commit is refused; call it with the function.

    Pauses are random; their upper end starts at 50 ms, doubles, and stops at 5 s.

    Args:
        clock: waits.
        times: runs after the first one.
    """
    return Retrying(
        retry=retry_if_exception(can_rerun),
        stop=stop_after_attempt(times + 1),
        wait=wait_random_exponential(FIRST_PAUSE_SECONDS, LONGEST_PAUSE_SECONDS),
        sleep=clock.sleep,
        reraise=True,
    )


def can_rerun(error: BaseException) -> bool:
    """Tell whether the same work may succeed on a newer version.

    One that was merely slower than others has been repeated for its time already
    (``COMMIT_RETRIES_EXHAUSTED``), and of one that is unknown nobody knows whether it committed.
    """
    return isinstance(error, CommitConflictError) and error.kind is Kind.COMMIT_CONFLICT
