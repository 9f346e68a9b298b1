"""A storage with a latency, and the clock that its callers wait on."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Protocol, TypeVar

from trinitylake_spark.clock import Clock, SystemClock
from trinitylake_spark.format.paths import parse_root_path
from trinitylake_spark.storage.base import Storage
from trinitylake_spark.storage.memory import MemoryStorage

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

T = TypeVar("T")


class Stage(Clock, Protocol):
    """A clock, and what runs many writers on it."""

    def run(self, works: Sequence[Callable[[], None]]) -> None:
        """Run all works side by side to their ends."""


class RealTime(SystemClock):
    """The machine's clock; every writer is a thread."""

    def run(self, works: Sequence[Callable[[], None]]) -> None:
        """Run all works side by side to their ends."""
        with ThreadPoolExecutor(len(works)) as pool:
            for future in [pool.submit(work) for work in works]:
                future.result()


class SlowStorage(Storage):
    """Memory behind a network: a call takes half of the latency to get there, half to come back.

    Args:
        url: of the memory.
        clock: what a call waits on.
    """

    def __init__(self, url: str, clock: Clock) -> None:
        self.inner = MemoryStorage(url)
        self.clock = clock
        self.url = self.inner.url
        self.seconds = 0.0
        """The latency; it may be changed at any time."""
        self.roots = 0
        """Roots that somebody tried to create."""

    def read(self, path: str) -> bytes:
        """Go there, read, come back."""
        return self.travel(lambda: self.inner.read(path))

    def write(self, path: str, data: bytes) -> None:
        """Go there, write, come back."""
        self.travel(lambda: self.inner.write(path, data))

    def create(self, path: str, data: bytes) -> None:
        """Go there, create, come back."""
        if parse_root_path(path) is not None:
            self.roots += 1
        self.travel(lambda: self.inner.create(path, data))

    def delete(self, path: str) -> None:
        """Go there, delete, come back."""
        self.travel(lambda: self.inner.delete(path))

    def exists(self, path: str) -> bool:
        """Go there, look, come back."""
        return self.travel(lambda: self.inner.exists(path))

    def list(self, prefix: str = "") -> list[str]:
        """Go there, list, come back."""
        return self.travel(lambda: self.inner.list(prefix))

    def travel(self, work: Callable[[], T]) -> T:
        """Wait for half of the latency before and after a piece of work."""
        self._wait()
        try:
            return work()
        finally:
            self._wait()

    def clear(self) -> None:
        """Forget everything."""
        self.inner.clear()

    def half(self) -> float:
        """Return how long the way in one direction takes this time, seconds."""
        return self.seconds / 2

    def _wait(self) -> None:
        if self.seconds:
            self.clock.sleep(self.half())
