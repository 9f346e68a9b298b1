"""What a storage must do: five operations and exclusive creation (format.md §1.1)."""

from __future__ import annotations

from abc import ABC, abstractmethod
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Self, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from types import TracebackType

_PARALLELISM = 16

_Contents = list[bytes]
_T = TypeVar("_T")
_S = TypeVar("_S")


class Storage(ABC):
    """A flat map from relative paths to bytes, below one root URL.

    Paths are relative, ``/`` is the only separator, and there is no empty, ``.`` or ``..``
    segment (format.md §2.1). Every method is safe to call from several threads.
    """

    url: str
    """The root's URL; always ends in ``/``."""

    parallel: bool = True
    """Whether many calls at once are quicker than one after the other, because each waits."""

    @abstractmethod
    def read(self, path: str) -> bytes:
        """Return the whole object.

        Raises:
            NotFoundError: kind ``OBJECT_NOT_FOUND``; only when the storage truly says so.
            StorageError: anything else; never reported as "not found", as probing for the
                latest version depends on the difference.
        """

    @abstractmethod
    def write(self, path: str, data: bytes) -> None:
        """Replace the object unconditionally; only for the few overwritable files.

        Raises:
            StorageError: the storage failed.
        """

    def write_hint(self, path: str, data: bytes) -> None:
        """Replace an object of which readers believe nothing: half of it or none will do.

        A storage that replaces atomically at a price can do this more cheaply.

        Raises:
            StorageError: the storage failed.
        """
        self.write(path, data)

    @abstractmethod
    def create(self, path: str, data: bytes) -> None:
        """Create the object if and only if it is absent; readers see nothing or all of it.

        Raises:
            AlreadyExistsError: kind ``OBJECT_ALREADY_EXISTS``: an object is there. It may be our
                own from an attempt whose reply was lost, so the caller reads it back.
            StorageError: kind ``CREATE_UNKNOWN`` if the request may have been applied,
                kind ``STORAGE`` if it certainly was not.
        """

    @abstractmethod
    def delete(self, path: str) -> None:
        """Delete the object; deleting an absent one succeeds."""

    @abstractmethod
    def exists(self, path: str) -> bool:
        """Tell whether the object exists."""

    @abstractmethod
    def list(self, prefix: str = "") -> list[str]:
        """Return all paths that start with the string ``prefix``, sorted by code point."""

    def create_all(self, objects: Mapping[str, bytes]) -> None:
        """Create several objects in parallel; return when all exist, or raise the first failure."""
        if len(objects) <= 1 or not self.parallel:
            for path, data in objects.items():
                self.create(path, data)
            return
        with ThreadPoolExecutor(min(_PARALLELISM, len(objects))) as pool:
            for future in [pool.submit(self.create, path, data) for path, data in objects.items()]:
                future.result()

    def read_all(self, paths: Iterable[str]) -> _Contents:
        """Read several objects in parallel, in the order given."""
        wanted = list(paths)
        if len(wanted) <= 1 or not self.parallel:
            return [self.read(path) for path in wanted]
        with ThreadPoolExecutor(min(_PARALLELISM, len(wanted))) as pool:
            return list(pool.map(self.read, wanted))

    def both(self, first: Callable[[], _T], second: Callable[[], _S]) -> tuple[_T, _S]:
        """Do two things that call this storage, side by side where that is quicker.

        Both are done when it returns or raises; of two failures the first one's is raised.
        """
        if not self.parallel:
            return first(), second()
        with ThreadPoolExecutor(1) as pool:
            other = pool.submit(second)
            return first(), other.result()

    def close(self) -> None:  # noqa: B027 - most storages hold nothing
        """Release connections."""

    def __enter__(self) -> Self:
        """Return itself."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Close it."""
        self.close()
