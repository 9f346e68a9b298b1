"""Commits of one process to one lakehouse take turns, first come first served.

Two commits of a process that race for the same version only make work for each other; a queue
gives each its version at the first attempt, and nobody starves. Other processes are still met
by the exclusive create alone: a turn is a courtesy, never what makes a commit correct.
"""

from __future__ import annotations

import threading
from collections import deque
from contextlib import contextmanager
from typing import TYPE_CHECKING, Protocol
from weakref import WeakValueDictionary

if TYPE_CHECKING:
    from collections.abc import Iterator
    from contextlib import AbstractContextManager


class Turns(Protocol):
    """Who may create the next root now."""

    newest: int
    """The newest version that a holder has committed, so that the next one knows of it."""

    def turn(self) -> AbstractContextManager[int]:
        """Wait for the turn and hold it; tells how many were served before."""


class NoTurns:
    """Everybody at any time: for tests that decide about every step themselves."""

    newest = -1

    @contextmanager
    def turn(self) -> Iterator[int]:
        """Go on at once."""
        yield 0


class FairTurns:
    """One holder at a time, in the order of asking."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._waiting: deque[threading.Event] = deque()
        self._taken = False
        self.newest = -1

    @contextmanager
    def turn(self) -> Iterator[int]:
        """Wait for all who asked before."""
        ahead = self._acquire()
        try:
            yield ahead
        finally:
            self._release()

    def _acquire(self) -> int:
        with self._lock:
            if not self._taken:
                self._taken = True
                return 0
            mine = threading.Event()
            self._waiting.append(mine)
            ahead = len(self._waiting)
        mine.wait()
        return ahead

    def _release(self) -> None:
        with self._lock:
            if self._waiting:
                self._waiting.popleft().set()
            else:
                self._taken = False


_shared: WeakValueDictionary[str, FairTurns] = WeakValueDictionary()
_shared_lock = threading.Lock()


def shared_turns(url: str) -> FairTurns:
    """Return the queue of this process for the lakehouse at ``url``."""
    with _shared_lock:
        turns = _shared.get(url)
        if turns is None:
            turns = _shared[url] = FairTurns()
        return turns
