"""Time as a service, so that tests decide what time it is."""

from __future__ import annotations

import time
from typing import Protocol


class Clock(Protocol):
    """What the library asks of time."""

    def now_millis(self) -> int:
        """UTC epoch milliseconds."""

    def monotonic(self) -> float:
        """Seconds since some moment, to measure how long something takes; never goes back."""

    def sleep(self, seconds: float) -> None:
        """Wait; tests advance their own clock instead."""


class SystemClock:
    """The machine's clock."""

    def now_millis(self) -> int:
        """UTC epoch milliseconds of the machine."""
        return time.time_ns() // 1_000_000

    def monotonic(self) -> float:
        """Seconds of the machine's steady clock."""
        return time.monotonic()

    def sleep(self, seconds: float) -> None:
        """Block this thread for ``seconds``."""
        time.sleep(seconds)


class ManualClock:
    """A clock that moves only when told, or when somebody sleeps on it."""

    def __init__(self, millis: int = 1_700_000_000_000) -> None:
        self.millis = millis

    def now_millis(self) -> int:
        """The time it was set to."""
        return self.millis

    def monotonic(self) -> float:
        """The time it was set to, in seconds."""
        return self.millis / 1000

    def sleep(self, seconds: float) -> None:
        """Move on by ``seconds`` at once."""
        self.millis += int(seconds * 1000)

    def advance(self, millis: int) -> None:
        """Move on by ``millis``."""
        self.millis += millis
