"""Who tries next when several commits want the same version: first come, first served.

Commits of several processes know nothing of each other but the roots they create. So every root
says how often its commit had been overtaken (format.md §3.2). With k commits that always wait
beside each other each is overtaken k - 1 times on average, whatever their order. So the mean of
the last roots tells how many are waiting, and a commit that was overtaken less often than that
lets the others go first: it looks on, and sleeps for half of the time until its turn. Who has
waited as long as the others tries at every version.

This is courtesy alone; what makes a commit correct is the exclusive create. So nobody depends on
anybody: if no version comes for some time, whoever waits tries.
"""

from __future__ import annotations

from collections import deque
from statistics import fmean
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from trinitylake_spark.clock import Clock
    from trinitylake_spark.commit.versions import Root
    from trinitylake_spark.ids import Ids

COMMIT_SECONDS = 300.0
"""How long a commit goes on while others are faster."""
LONGEST_PAUSE_SECONDS = 2.0
"""A commit that waits looks at least this often."""

_REMEMBERED = 8
_EARLY = 2
_EARLY_SHARE = 1 / 8
_PATIENCE = 3
_SMOOTHING = 0.5


class Contest:
    """One commit's part in the race for versions.

    Args:
        clock: time.
        ids: jitter.
        seconds: how long to go on.
    """

    def __init__(self, clock: Clock, ids: Ids, seconds: float) -> None:
        self._clock = clock
        self._ids = ids
        self._began = clock.monotonic()
        self._seconds = seconds
        self._attempt_at = self._moved_at = self._began
        self._interval = self._patience = 0.0
        self._winners: deque[int] = deque(maxlen=_REMEMBERED)
        self.overtaken = 0
        """Versions that others committed since this commit began."""
        self.attempts = 0
        """Roots that it has tried to create."""

    @property
    def seconds_left(self) -> float:
        """How long it may go on."""
        return self._began + self._seconds - self._clock.monotonic()

    def queued(self, ahead: int) -> None:
        """Count those of the same process that were served before."""
        self.overtaken += ahead

    def attempt(self) -> None:
        """Take down that an attempt begins."""
        self.attempts += 1
        self._attempt_at = self._moved_at = self._clock.monotonic()

    def lost(self, winner: Root) -> None:
        """Take down that the attempt was too late; how long it took tells how quick others are."""
        self._interval = self._clock.monotonic() - self._attempt_at
        self._patience = self._interval * _PATIENCE * self._ids.uniform(1, 2)
        self.saw(winner, 1)

    def saw(self, latest: Root, versions: int) -> None:
        """Take down that others committed.

        Args:
            latest: the newest version.
            versions: how many there were.
        """
        now = self._clock.monotonic()
        self._interval += ((now - self._moved_at) / versions - self._interval) * _SMOOTHING
        self._moved_at = now
        self._winners.append(latest.info.overtaken)
        self.overtaken += versions

    def is_due(self) -> bool:
        """Tell whether to try now: nobody is known to have waited longer, or nobody moves."""
        if self._versions_to_wait() <= 0:
            return True
        return self._clock.monotonic() - self._moved_at >= self._patience

    def pause(self) -> float:
        """Return for how many seconds to sleep before looking again."""
        half = self._interval * max(1.0, self._versions_to_wait() / 2)
        return min(half, LONGEST_PAUSE_SECONDS) * self._ids.uniform(0.5, 1)

    def _versions_to_wait(self) -> float:
        if not self._winners:
            return 0.0
        usual = fmean(self._winners)
        return usual - max(_EARLY, usual * _EARLY_SHARE) - self.overtaken
