"""Storages in which something happens at one call: the process dies, or others act."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

from trinitylake_spark.storage.base import Storage

if TYPE_CHECKING:
    from collections.abc import Callable

_T = TypeVar("_T")


class Died(BaseException):
    """The process is gone: nothing that it would do next is done."""


def die() -> None:
    """End the process."""
    raise Died


class Moment:
    """One call among all that a process makes, and what happens around it.

    Args:
        at: which call, counted from 0.
        before: done before it.
        after: done after it.
    """

    def __init__(
        self,
        at: int,
        *,
        before: Callable[[], None] | None = None,
        after: Callable[[], None] | None = None,
    ) -> None:
        self._left = at
        self._before = before
        self._after = after
        self._dead = False

    @property
    def came(self) -> bool:
        """Whether the process made the call."""
        return self._left < 0

    def call(self, work: Callable[[], _T]) -> _T:
        """Make a call of the process."""
        if self._dead:
            raise Died
        this = self._left == 0
        self._left -= 1
        if this:
            self._happen(self._before)
        result = work()
        if this:
            self._happen(self._after)
        return result

    def _happen(self, what: Callable[[], None] | None) -> None:
        try:
            if what is not None:
                what()
        except Died:
            self._dead = True
            raise


class InterposedStorage(Storage):
    """Passes calls on through a moment.

    Args:
        inner: does the work.
        moment: shared by all storages of one process.
    """

    parallel = False
    """One call after the other, so that their numbers mean the same each time."""

    def __init__(self, inner: Storage, moment: Moment) -> None:
        self.inner = inner
        self.url = inner.url
        self._moment = moment

    def read(self, path: str) -> bytes:
        """Pass on."""
        return self._moment.call(lambda: self.inner.read(path))

    def write(self, path: str, data: bytes) -> None:
        """Pass on."""
        self._moment.call(lambda: self.inner.write(path, data))

    def create(self, path: str, data: bytes) -> None:
        """Pass on."""
        self._moment.call(lambda: self.inner.create(path, data))

    def delete(self, path: str) -> None:
        """Pass on."""
        self._moment.call(lambda: self.inner.delete(path))

    def exists(self, path: str) -> bool:
        """Pass on."""
        return self._moment.call(lambda: self.inner.exists(path))

    def list(self, prefix: str = "") -> list[str]:
        """Pass on."""
        return self._moment.call(lambda: self.inner.list(prefix))
