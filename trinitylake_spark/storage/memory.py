"""A storage in this process's memory, for tests: ``memory://name``."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any

from trinitylake_spark.errors import AlreadyExistsError, NotFoundError
from trinitylake_spark.storage.base import Storage
from trinitylake_spark.storage.location import split_url
from trinitylake_spark.storage.options import Options
from trinitylake_spark.storage.paths import check_path, check_prefix

if TYPE_CHECKING:
    from collections.abc import Mapping

_stores: dict[str, tuple[dict[str, bytes], threading.Lock]] = {}
_stores_lock = threading.Lock()


class MemoryStorage(Storage):
    """A dict with a lock; storages of the same name share it for as long as the process lives.

    Args:
        url: ``memory://<name>``, and folders below it if wanted.
    """

    parallel = False

    def __init__(self, url: str) -> None:
        location = split_url(url, "memory://<name>")
        self.url = location.url
        self._prefix = location.prefix
        with _stores_lock:
            store = _stores.setdefault(location.authority, ({}, threading.Lock()))
        self._objects, self._lock = store

    def read(self, path: str) -> bytes:
        """Return the object."""
        key = self._key(path)
        with self._lock:
            found = self._objects.get(key)
        if found is None:
            raise NotFoundError(f"No object {path!r} in {self.url}.", path=path)
        return found

    def write(self, path: str, data: bytes) -> None:
        """Replace the object."""
        key = self._key(path)
        with self._lock:
            self._objects[key] = bytes(data)

    def create(self, path: str, data: bytes) -> None:
        """Add the object unless there is one."""
        key = self._key(path)
        with self._lock:
            if key in self._objects:
                raise AlreadyExistsError(f"{path!r} exists already in {self.url}.", path=path)
            self._objects[key] = bytes(data)

    def delete(self, path: str) -> None:
        """Drop the object if it is there."""
        key = self._key(path)
        with self._lock:
            self._objects.pop(key, None)

    def exists(self, path: str) -> bool:
        """Look the path up."""
        key = self._key(path)
        with self._lock:
            return key in self._objects

    def list(self, prefix: str = "") -> list[str]:
        """Filter and sort all paths."""
        check_prefix(prefix)
        start = self._prefix + prefix
        with self._lock:
            found = [key for key in self._objects if key.startswith(start)]
        return sorted(key.removeprefix(self._prefix) for key in found)

    def clear(self) -> None:
        """Forget every object below this URL, also for others that share it."""
        for path in self.list():
            self.delete(path)

    def _key(self, path: str) -> str:
        check_path(path)
        return self._prefix + path


def open_storage(url: str, options: Mapping[str, Any] | None = None) -> Storage:
    """Open ``memory://<name>``; there are no options.

    Raises:
        InvalidInputError: an option, or a URL without a name.
    """
    Options(options).finish("memory://")
    return MemoryStorage(url)
