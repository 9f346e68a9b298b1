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

    def turn(self) -> AbstractContextManager[None]:
        """Wait for the turn and hold it."""


class NoTurns:
    """Everybody at any time: for tests that decide about every step themselves."""

    newest = -1

    @contextmanager
    def turn(self) -> Iterator[None]:
        """Go on at once."""
        yield


class FairTurns:
    """One holder at a time, in the order of asking."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._waiting: deque[threading.Event] = deque()
        self._taken = False
        self.newest = -1

    @contextmanager
    def turn(self) -> Iterator[None]:
        """Wait for all who asked before."""
        self._acquire()
        try:
            yield
        finally:
            self._release()

    def _acquire(self) -> None:
        with self._lock:
            if not self._taken:
                self._taken = True
                return
            mine = threading.Event()
            self._waiting.append(mine)
        mine.wait()

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
