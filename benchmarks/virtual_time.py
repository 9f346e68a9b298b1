"""Many writers on a clock that only jumps: what a commit protocol does if nobody waits for a CPU.

Every writer runs in a thread of its own, but only one at a time: the one whose call to the
storage, or whose sleep, ends next. So a run shows what as many machines would do, takes no longer
than its work, and is the same each time.
"""

from __future__ import annotations

import heapq
import random
import threading
from typing import TYPE_CHECKING

from benchmarks.slow import SlowStorage
from trinitylake_spark.ids import SeededIds

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

_START = 1_700_000_000


class VirtualTime:
    """The clock and the scheduler of all writers.

    Args:
        seed: of latencies, and of identifiers.
    """

    def __init__(self, seed: int) -> None:
        self.chance = random.Random(seed)
        self.ids = SeededIds(seed)
        self._now = 0.0
        self._sleeping: list[tuple[float, int, threading.Semaphore]] = []
        self._order = 0
        self._done = threading.Semaphore(0)
        self._running = False

    def now_millis(self) -> int:
        """UTC epoch milliseconds of this world."""
        return int((_START + self._now) * 1000)

    def monotonic(self) -> float:
        """Seconds since this world began."""
        return self._now

    def sleep(self, seconds: float) -> None:
        """Let all those run whose time comes first."""
        if not self._running:
            self._now += seconds
            return
        mine = threading.Semaphore(0)
        self._add(self._now + seconds, mine)
        self._next()
        mine.acquire()

    def run(self, works: Sequence[Callable[[], None]]) -> None:
        """Run all works to their ends.

        Raises:
            BaseException: the first failure of any of them.
        """
        failures: list[BaseException] = []
        threads = []
        for work in works:
            turn = threading.Semaphore(0)
            self._add(self._now, turn)
            threads.append(threading.Thread(target=self._live, args=(turn, work, failures)))
        self._running = True
        for thread in threads:
            thread.start()
        self._next()
        self._done.acquire()
        self._running = False
        for thread in threads:
            thread.join()
        if failures:
            raise failures[0]

    def _live(
        self, turn: threading.Semaphore, work: Callable[[], None], failures: list[BaseException]
    ) -> None:
        turn.acquire()
        try:
            work()
        except BaseException as error:  # noqa: BLE001 - reported by the main thread
            failures.append(error)
        self._next()

    def _add(self, at: float, turn: threading.Semaphore) -> None:
        self._order += 1
        heapq.heappush(self._sleeping, (at, self._order, turn))

    def _next(self) -> None:
        if not self._sleeping:
            self._done.release()
            return
        at, _, turn = heapq.heappop(self._sleeping)
        self._now = max(self._now, at)
        turn.release()


class VirtualStorage(SlowStorage):
    """A slow storage of this world: calls take half to one and a half of the latency.

    Args:
        url: of the memory.
        time: the clock.
    """

    parallel = False

    def __init__(self, url: str, time: VirtualTime) -> None:
        super().__init__(url, time)
        self._chance = time.chance

    def half(self) -> float:
        """Return how long the way in one direction takes this time, seconds."""
        return super().half() * self._chance.uniform(0.5, 1.5)

    def create_all(self, objects: Mapping[str, bytes]) -> None:
        """Create all side by side, in the time of one."""
        if objects:
            self.travel(lambda: self.inner.create_all(objects))

    def read_all(self, paths: Iterable[str]) -> list[bytes]:
        """Read all side by side, in the time of one."""
        wanted = list(paths)
        return self.travel(lambda: self.inner.read_all(wanted)) if wanted else []
