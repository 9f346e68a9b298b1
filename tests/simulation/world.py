"""A world in which several writers share a storage, and a seed decides everything that happens.

Each writer runs in a thread of its own, but only one thread runs at a time. At every storage call
the running one may have to hand over to another, so a seed stands for one interleaving of all
their calls. The storage fails before and after applying, loses replies, applies creates late,
and a writer may be killed at any call. The same seed always gives the same history.
"""

from __future__ import annotations

import random
import threading
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from trinitylake_spark.errors import AlreadyExistsError, Kind, StorageError, TrinityLakeError
from trinitylake_spark.storage.base import Storage

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

START = 1_700_000_000_000


class Killed(BaseException):
    """The writer's process is gone; nothing of it runs any more."""


class World:
    """Time, chance and whose turn it is.

    Args:
        seed: decides everything.
    """

    def __init__(self, seed: int) -> None:
        self.chance = random.Random(seed)
        self.millis = START
        self._baton = [threading.Semaphore(0)]
        self._alive: list[int] = []
        self._current = 0

    # --- the clock and the identifiers of all writers --------------------------------------------

    def now_millis(self) -> int:
        """Return the time; it moves on by itself now and then, sometimes far."""
        return self.millis

    def monotonic(self) -> float:
        """Return the time in seconds."""
        return self.millis / 1000

    def sleep(self, seconds: float) -> None:
        """Let others run for a while."""
        self.millis += int(seconds * 1000)
        for _ in range(3):
            self.step()

    def uuid4(self) -> str:
        """Return an identifier."""
        return f"{self.chance.getrandbits(128):032x}"

    def uniform(self, low: float, high: float) -> float:
        """Return a number."""
        return self.chance.uniform(low, high)

    # --- turns -----------------------------------------------------------------------------------

    def run(self, works: Iterable[Callable[[], None]]) -> None:
        """Run all works to their ends, one step of one of them at a time."""
        threads = []
        failures: list[BaseException] = []
        for number, work in enumerate(works, 1):
            self._baton.append(threading.Semaphore(0))
            self._alive.append(number)
            target = self._life(number, work, failures)
            threads.append(threading.Thread(target=target, daemon=True))
        for thread in threads:
            thread.start()
        if threads:
            self._hand_over(self.chance.choice(self._alive))
            self._baton[0].acquire()
        for thread in threads:
            thread.join()
        if failures:
            raise failures[0]

    def step(self) -> None:
        """A moment at which another writer may get its turn."""
        self.millis += self.chance.choice((0, 0, 0, 1, 5))
        if not self._alive:
            return
        chosen = self.chance.choice(self._alive)
        mine = self._current
        if chosen != mine:
            self._hand_over(chosen)
            self._baton[mine].acquire()
            self._current = mine

    def _hand_over(self, number: int) -> None:
        self._current = number
        self._baton[number].release()

    def _life(
        self, number: int, work: Callable[[], None], failures: list[BaseException]
    ) -> Callable[[], None]:
        def live() -> None:
            self._baton[number].acquire()
            self._current = number
            try:
                work()
            except Killed:
                pass
            except BaseException as error:  # noqa: BLE001 - reported by the main thread
                failures.append(error)
            self._alive.remove(number)
            self._hand_over(self.chance.choice(self._alive) if self._alive else 0)

        return live


@dataclass
class Disk:
    """What really is stored, and every object that ever was."""

    objects: dict[str, bytes] = field(default_factory=dict)
    ever: dict[str, bytes] = field(default_factory=dict)
    created_again: set[str] = field(default_factory=set)
    late: list[tuple[str, bytes]] = field(default_factory=list)
    """Creates that were sent, have not arrived, and may still do."""

    def create(self, path: str, data: bytes) -> bool:
        """Create unless it is there; tell whether it was created."""
        if path in self.objects:
            return False
        if path in self.ever:
            self.created_again.add(path)
        else:
            self.ever[path] = data
        self.objects[path] = data
        return True


@dataclass(frozen=True)
class Faults:
    """How likely what goes wrong at a call."""

    refuse: float = 0.0
    lose_request: float = 0.0
    lose_reply: float = 0.0
    repeat: float = 0.0
    late: float = 0.0
    kill: float = 0.0


class SimulatedStorage(Storage):
    """One writer's connection to the disk.

    Args:
        world: whose turn it is.
        disk: what is stored.
        faults: what goes wrong.
    """

    parallel = False

    def __init__(self, world: World, disk: Disk, faults: Faults, url: str = "sim://lake/") -> None:
        self.url = url
        self._world = world
        self._disk = disk
        self._faults = faults

    def read(self, path: str) -> bytes:
        """Read."""
        self._before("read", path)
        found = self._disk.objects.get(path)
        self._after("read", path)
        if found is None:
            raise _not_found(path)
        return found

    def write(self, path: str, data: bytes) -> None:
        """Replace."""
        self._before("write", path)
        self._disk.objects[path] = data
        self._after("write", path)

    def create(self, path: str, data: bytes) -> None:
        """Create, perhaps later than the caller waits."""
        self._before("create", path)
        chance = self._world.chance
        if chance.random() < self._faults.lose_request:
            raise _failure("create", path, unknown=True)
        if chance.random() < self._faults.late:
            self._disk.late.append((path, data))
            raise _failure("create", path, unknown=True)
        created = self._disk.create(path, data)
        if chance.random() < self._faults.repeat:
            created = False
        self._after("create", path)
        if not created:
            raise AlreadyExistsError(f"{path} exists", path=path)

    def delete(self, path: str) -> None:
        """Delete."""
        self._before("delete", path)
        self._disk.objects.pop(path, None)
        self._after("delete", path)

    def exists(self, path: str) -> bool:
        """Look."""
        self._before("exists", path)
        found = path in self._disk.objects
        self._after("exists", path)
        return found

    def list(self, prefix: str = "") -> list[str]:
        """List."""
        self._before("list", prefix)
        return sorted(path for path in self._disk.objects if path.startswith(prefix))

    def _before(self, operation: str, path: str) -> None:
        self._world.step()
        chance = self._world.chance
        if self._disk.late and chance.random() < 0.1:
            self._disk.create(*self._disk.late.pop(chance.randrange(len(self._disk.late))))
        if chance.random() < self._faults.kill / 2:
            raise Killed
        if chance.random() < self._faults.refuse:
            raise _failure(operation, path)

    def _after(self, operation: str, path: str) -> None:
        chance = self._world.chance
        if chance.random() < self._faults.kill / 2:
            raise Killed
        if chance.random() < self._faults.lose_reply:
            raise _failure(operation, path, unknown=operation == "create")


def _failure(operation: str, path: str, *, unknown: bool = False) -> StorageError:
    kind = Kind.CREATE_UNKNOWN if unknown else Kind.STORAGE
    return StorageError(f"injected: {operation} {path}", kind=kind, operation=operation, path=path)


def _not_found(path: str) -> TrinityLakeError:
    from trinitylake_spark.errors import NotFoundError

    return NotFoundError(f"no {path}", path=path)
