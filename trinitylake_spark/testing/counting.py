"""A storage that records what is asked of it, to test costs and the order of calls."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, NamedTuple

from trinitylake_spark.storage.base import Storage

if TYPE_CHECKING:
    from collections.abc import Callable


class Call(NamedTuple):
    """One call: ``operation`` is the method's name, ``path`` its path or prefix."""

    operation: str
    path: str


class CountingStorage(Storage):
    """Passes every call on and records it when it starts, in one order for all threads.

    ``create_all`` and ``read_all`` show as the single calls they consist of.

    Args:
        inner: does the work.
    """

    def __init__(self, inner: Storage) -> None:
        self.inner = inner
        self.url = inner.url
        self.parallel = inner.parallel
        self._calls: list[Call] = []
        self._lock = threading.Lock()

    @property
    def calls(self) -> list[Call]:
        """All calls since the last ``clear``, in order."""
        with self._lock:
            return list(self._calls)

    def count(self, operation: str | None = None, path: Callable[[str], bool] | None = None) -> int:
        """Return how many calls there were, of one operation and of paths that ``path`` accepts."""
        return sum(
            operation in (None, call.operation) and (path is None or path(call.path))
            for call in self.calls
        )

    def clear(self) -> None:
        """Forget the calls."""
        with self._lock:
            self._calls.clear()

    def read(self, path: str) -> bytes:
        """Record and pass on."""
        self._record("read", path)
        return self.inner.read(path)

    def write(self, path: str, data: bytes) -> None:
        """Record and pass on."""
        self._record("write", path)
        self.inner.write(path, data)

    def create(self, path: str, data: bytes) -> None:
        """Record and pass on."""
        self._record("create", path)
        self.inner.create(path, data)

    def delete(self, path: str) -> None:
        """Record and pass on."""
        self._record("delete", path)
        self.inner.delete(path)

    def exists(self, path: str) -> bool:
        """Record and pass on."""
        self._record("exists", path)
        return self.inner.exists(path)

    def list(self, prefix: str = "") -> list[str]:
        """Record and pass on."""
        self._record("list", prefix)
        return self.inner.list(prefix)

    def close(self) -> None:
        """Close the inner storage."""
        self.inner.close()

    def _record(self, operation: str, path: str) -> None:
        with self._lock:
            self._calls.append(Call(operation, path))
