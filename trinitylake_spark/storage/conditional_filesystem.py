"""A user's gcsfs or adlfs filesystem as a storage: their ``pipe_file(mode="create")`` is right."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NoReturn

from trinitylake_spark.errors import AlreadyExistsError, NotFoundError, UnsupportedError
from trinitylake_spark.storage.attempts import Attempts, storage_failure
from trinitylake_spark.storage.base import Storage
from trinitylake_spark.storage.paths import check_path, check_prefix, escape, unescape

if TYPE_CHECKING:
    from collections.abc import Iterator

# Larger ones go up in several requests, which are not all conditional.
_MAX_BYTES = 50 * 2**20 - 1
# A character that a filesystem reads as the start of something else than a name, and characters
# that its service replaces by others (`azure.py` escapes the same).
_MISREAD = {"abfs": "?", "gs": "#"}
_REPLACED = {"abfs": "\\", "gs": ""}


class ConditionalFilesystemStorage(Storage):
    """A bucket's or container's prefix, through gcsfs or adlfs.

    Args:
        fs: the filesystem; its listing cache is emptied before it is asked for names.
        root: bucket and prefix, without ``/`` at its ends.
        attempts: how often a create is repeated that met another one.
    """

    def __init__(self, fs: Any, root: str, attempts: Attempts) -> None:  # noqa: ANN401 - fsspec has no types
        self._fs = fs
        self._root = f"{root}/"
        self._container = root.partition("/")[0]
        self._scheme = "abfs" if "abfs" in fs.protocol else "gs"
        self._misread, self._replaced = _MISREAD[self._scheme], _REPLACED[self._scheme]
        self.url = f"{self._scheme}://{self._root}"
        self._attempts = attempts
        self._container_seen = False

    def read(self, path: str) -> bytes:
        """Return the whole object."""
        key = self._key(path)
        try:
            return bytes(self._fs.cat_file(key))
        except FileNotFoundError as error:
            self._check_container("read", path, error)
            raise NotFoundError(f"No object {path!r} in {self.url}.", path=path) from error
        except Exception as error:  # noqa: BLE001 - the clients raise what they like
            self._fail("read", path, error)

    def write(self, path: str, data: bytes) -> None:
        """Put the object."""
        key = self._key(path)
        try:
            self._fs.pipe_file(key, data)
        except Exception as error:  # noqa: BLE001 - the clients raise what they like
            self._fail("write", path, error)

    def create(self, path: str, data: bytes) -> None:
        """Put the object on the condition that there is none."""
        key = self._key(path)
        if len(data) > _MAX_BYTES:
            raise UnsupportedError(
                f"Object {path!r} has {len(data)} bytes; through fsspec the limit is {_MAX_BYTES}. "
                "Set the lakehouse's node_file_max_size_bytes below it.",
                path=path,
            )
        self._attempts.create(lambda: self._create_once(path, key, data))

    def delete(self, path: str) -> None:
        """Delete the object if it is there."""
        key = self._key(path)
        try:
            self._fs.rm_file(key)
        except FileNotFoundError as error:
            self._check_container("delete", path, error)
        except Exception as error:  # noqa: BLE001 - the clients raise what they like
            self._fail("delete", path, error)

    def exists(self, path: str) -> bool:
        """Look for the object in a fresh listing of its name."""
        key = self._key(path)
        return key in self._names("exists", path, key)

    def list(self, prefix: str = "") -> list[str]:
        """List one folder and, of its subfolders, those that start with the prefix."""
        check_prefix(prefix)
        cut = len(self._root)
        found = self._names("list", prefix, self._root + escape(prefix, self._replaced))
        return sorted(unescape(key[cut:], self._replaced) for key in found)

    def _names(self, operation: str, path: str, start: str) -> Iterator[str]:
        try:
            return iter([*self._below(start)])
        except FileNotFoundError as error:
            self._check_container(operation, path, error)
            return iter(())
        except Exception as error:  # noqa: BLE001 - the clients raise what they like
            self._fail(operation, path, error)

    def _below(self, start: str) -> Iterator[str]:
        self._fs.invalidate_cache()
        parent = start.rpartition("/")[0]
        for entry in self._fs.ls(parent, detail=True):
            name = str(entry["name"]).rstrip("/")
            if not name.startswith(start):
                continue
            if entry["type"] == "directory":
                yield from (str(found) for found in self._fs.find(name))
            else:
                yield name

    def _create_once(self, path: str, key: str, data: bytes) -> None:
        try:
            self._fs.pipe_file(key, data, mode="create")
        except FileExistsError as error:
            if self.exists(path):
                raise AlreadyExistsError(
                    f"Object {path!r} exists already in {self.url}.", path=path
                ) from error
            self._fail("create", path, error, retryable=True)
        except (FileNotFoundError, PermissionError) as error:
            self._fail("create", path, error)
        except Exception as error:  # noqa: BLE001 - the clients raise what they like
            self._fail("create", path, error, unknown=True)

    def _check_container(self, operation: str, path: str, error: Exception) -> None:
        """The clients say "file not found" of a missing bucket too: make sure once."""
        if self._container_seen:
            return
        try:
            self._container_seen = bool(self._fs.exists(self._container))
        except Exception as failure:  # noqa: BLE001 - the clients raise what they like
            self._fail(operation, path, failure)
        if not self._container_seen:
            self._fail(operation, path, error)

    def _fail(
        self,
        operation: str,
        path: str,
        error: Exception,
        *,
        unknown: bool = False,
        retryable: bool = False,
    ) -> NoReturn:
        raise storage_failure(
            operation, self.url, path, error, unknown=unknown, retryable=retryable
        ) from error

    def _key(self, path: str) -> str:
        check_path(path)
        if self._misread in path:
            raise UnsupportedError(
                f"{type(self._fs).__name__} takes {self._misread!r} in {path!r} for something "
                f"else than a part of the name. Open {self._scheme}:// without fsspec.",
                path=path,
            )
        return self._root + escape(path, self._replaced)
