"""The queue of one process's commits to one lakehouse: first come, first served.

Two commits of a process that race for the same version only make work for each other; a queue
gives each its version at the first attempt, and nobody starves. Other processes are still met
by the exclusive create alone: a turn is a courtesy, never what makes a commit correct.
"""

from __future__ import annotations

import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING, Protocol
from weakref import WeakValueDictionary

if TYPE_CHECKING:
    from collections.abc import Iterator
    from contextlib import AbstractContextManager
    from types import TracebackType


class TurnTimeoutError(Exception):
    """The turn did not come in time."""


class Turns(Protocol):
    """Who may create the next root now."""

    newest: int
    """The newest version that a holder has committed, so that the next one knows of it."""

    def turn(self, seconds: float) -> AbstractContextManager[int]:
        """Wait for the turn and hold it; tells how many were served before.

        Args:
            seconds: how long to wait at most.

        Raises:
            TurnTimeoutError: the turn did not come in time.
        """


class NoTurns:
    """Everybody at any time: for tests that decide about every step themselves."""

    newest = -1

    @contextmanager
    def turn(self, seconds: float) -> Iterator[int]:  # noqa: ARG002 - nobody waits
        """Go on at once."""
        yield 0


class FairTurns:
    """One holder at a time, in the order of asking; who is interrupted leaves the line."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._line: list[threading.Lock] = []
        self.newest = -1

    def turn(self, seconds: float) -> AbstractContextManager[int]:
        """Wait for all who asked before, ``seconds`` at most."""
        return _Place(self._lock, self._line, seconds)


class _Place:
    """A place in a line, whose first has the turn.

    An exception may strike a waiting thread at any moment: Ctrl-C, or one from another thread.
    So all that takes a place is inside the ``try`` that gives it back, and the locks are plain
    ones, which `with` takes in one step; `threading.Condition` takes its own in several.

    Args:
        lock: guards the line.
        line: for each place a lock, which is released when its turn comes.
        seconds: how long to wait at most.
    """

    def __init__(self, lock: threading.Lock, line: list[threading.Lock], seconds: float) -> None:
        self._lock = lock
        self._line = line
        self._seconds = seconds
        self._turn = threading.Lock()

    def __enter__(self) -> int:
        try:
            return self._wait()
        except BaseException:
            self._leave()
            raise

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._leave()

    def _wait(self) -> int:
        with self._lock:
            ahead = len(self._line)
            if ahead:
                self._turn.acquire()
            self._line.append(self._turn)
        if not self._turn.acquire(timeout=max(self._seconds, 0)):
            raise TurnTimeoutError
        return ahead

    def _leave(self) -> None:
        with self._lock:
            if self._turn not in self._line:
                return
            has_turn = self._line[0] is self._turn
            self._line.remove(self._turn)
            if has_turn and self._line:
                self._line[0].release()


_shared: WeakValueDictionary[str, FairTurns] = WeakValueDictionary()
_shared_lock = threading.Lock()


def shared_turns(url: str) -> FairTurns:
    """Return the queue of this process for the lakehouse at ``url``."""
    with _shared_lock:
        turns = _shared.get(url)
        if turns is None:
            turns = _shared[url] = FairTurns()
        return turns
