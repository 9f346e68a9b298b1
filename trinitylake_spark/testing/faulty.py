"""A storage that fails on purpose and repeatably: before, after, late, or by a lost reply."""

from __future__ import annotations

import threading
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, NamedTuple, TypeVar

from trinitylake_spark.clock import SystemClock
from trinitylake_spark.errors import AlreadyExistsError, Kind, StorageError
from trinitylake_spark.ids import SeededIds
from trinitylake_spark.storage.base import Storage

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from trinitylake_spark.clock import Clock
    from trinitylake_spark.ids import Ids

_T = TypeVar("_T")

OPERATIONS = frozenset({"read", "write", "create", "delete", "exists", "list"})


class Effect(StrEnum):
    """What goes wrong with a call."""

    REFUSE = "refuse"
    """Nothing is done; ``StorageError`` of kind ``STORAGE``."""
    LOSE_REQUEST = "lose request"
    """Nothing is done, but nobody can know: a create raises ``CREATE_UNKNOWN``."""
    LOSE_REPLY = "lose reply"
    """The call is done, but nobody can know: a create raises ``CREATE_UNKNOWN``."""
    REPEAT = "repeat"
    """A create is done, its reply is lost and the client below repeats it: the caller hears
    ``OBJECT_ALREADY_EXISTS`` of its own object. Other calls are done twice and succeed."""
    DELAY = "delay"
    """The call is done after a pause."""


@dataclass(slots=True)
class Fault:
    """A rule that says which calls go wrong.

    Args:
        effect: what happens to them.
        operations: names of ``Storage`` methods; all if left out.
        path: accepts the paths (prefixes of ``list``) to hit; all if left out.
        probability: share of these calls that are hit, 0 to 1.
        times: stop after so many hits; None for no end.
        skip: let so many of these calls pass first.
        seconds: longest pause of ``DELAY``; each is a random share of it.
    """

    effect: Effect
    operations: Iterable[str] = OPERATIONS
    path: Callable[[str], bool] | None = None
    probability: float = 1.0
    times: int | None = None
    skip: int = 0
    seconds: float = 0.01
    hits: int = field(default=0, init=False)

    def __post_init__(self) -> None:
        """Refuse a misspelt operation, which would never be hit."""
        self.operations = frozenset(self.operations)
        unknown = self.operations - OPERATIONS
        if unknown:
            raise ValueError(f"no storage operations: {sorted(unknown)}")

    def takes(self, operation: str, path: str, chance: Ids) -> bool:
        """Decide about one call, and count it."""
        if operation not in self.operations or (self.path is not None and not self.path(path)):
            return False
        if self.skip > 0:
            self.skip -= 1
            return False
        if self.times is not None and self.hits >= self.times:
            return False
        if self.probability < 1.0 and chance.uniform(0, 1) >= self.probability:
            return False
        self.hits += 1
        return True


class Injected(NamedTuple):
    """A fault that happened."""

    effect: Effect
    operation: str
    path: str


class FaultyStorage(Storage):
    """Passes calls on, except those that a fault takes; the first fault that does decides.

    Args:
        inner: does the work.
        faults: rules, tried in order.
        seed: of every random choice; the same calls in the same order fail the same way.
        clock: who waits in a ``DELAY``.
    """

    def __init__(
        self,
        inner: Storage,
        faults: Iterable[Fault] = (),
        *,
        seed: int = 0,
        clock: Clock | None = None,
    ) -> None:
        self.inner = inner
        self.url = inner.url
        self.parallel = inner.parallel
        self.faults = list(faults)
        self._chance = SeededIds(seed)
        self._clock = clock or SystemClock()
        self._injected: list[Injected] = []
        self._lock = threading.Lock()

    @property
    def injected(self) -> list[Injected]:
        """The faults so far, in order."""
        with self._lock:
            return list(self._injected)

    def read(self, path: str) -> bytes:
        """Pass on, or fail."""
        return self._call("read", path, lambda: self.inner.read(path))

    def write(self, path: str, data: bytes) -> None:
        """Pass on, or fail before or after."""
        self._call("write", path, lambda: self.inner.write(path, data))

    def create(self, path: str, data: bytes) -> None:
        """Pass on, or fail before or after."""
        self._call("create", path, lambda: self.inner.create(path, data))

    def delete(self, path: str) -> None:
        """Pass on, or fail before or after."""
        self._call("delete", path, lambda: self.inner.delete(path))

    def exists(self, path: str) -> bool:
        """Pass on, or fail."""
        return self._call("exists", path, lambda: self.inner.exists(path))

    def list(self, prefix: str = "") -> list[str]:
        """Pass on, or fail."""
        return self._call("list", prefix, lambda: self.inner.list(prefix))

    def close(self) -> None:
        """Close the inner storage."""
        self.inner.close()

    def _call(self, operation: str, path: str, apply: Callable[[], _T]) -> _T:
        with self._lock:
            fault = next((f for f in self.faults if f.takes(operation, path, self._chance)), None)
            pause = self._chance.uniform(0, fault.seconds) if fault else 0.0
            if fault is not None:
                self._injected.append(Injected(fault.effect, operation, path))
        if fault is None:
            return apply()
        if fault.effect is Effect.DELAY:
            self._clock.sleep(pause)
            return apply()
        if fault.effect in (Effect.LOSE_REPLY, Effect.REPEAT):
            result = apply()
            if fault.effect is Effect.REPEAT:
                return self._repeated(operation, path, result, apply)
        raise _failure(fault.effect, operation, path)

    def _repeated(self, operation: str, path: str, result: _T, apply: Callable[[], _T]) -> _T:
        if operation == "create":
            raise AlreadyExistsError(f"{path!r} exists already in {self.url}.", path=path)
        apply()
        return result


def _failure(effect: Effect, operation: str, path: str) -> StorageError:
    unknown = operation == "create" and effect is not Effect.REFUSE
    return StorageError(
        f"Storage failed to {operation} {path!r}: fault {effect.value!r} was injected.",
        kind=Kind.CREATE_UNKNOWN if unknown else Kind.STORAGE,
        operation=operation,
        path=path,
        retryable=False,
    )
