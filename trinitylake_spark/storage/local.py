"""A storage in a local folder: ``file:///folder`` (format.md §1.2, first row).

An object is written to a temporary file, forced to disk, and given its name by ``link``, which
fails if the name is taken: one winner, and nobody ever sees half an object. (``O_EXCL`` on the
name itself would show half-written files, ``rename`` would replace the winner's.)

Paths are plain strings here, and a folder is made when it is found missing: ``pathlib`` and a
``mkdir`` for each object took a third of a commit's time.
"""

from __future__ import annotations

import errno
import os
from contextlib import suppress
from pathlib import Path
from stat import S_ISDIR
from typing import TYPE_CHECKING, Any

from trinitylake_spark.errors import AlreadyExistsError, InvalidInputError, Kind, NotFoundError
from trinitylake_spark.ids import SystemIds
from trinitylake_spark.storage.attempts import storage_failure
from trinitylake_spark.storage.base import Storage
from trinitylake_spark.storage.exclusive import publish
from trinitylake_spark.storage.options import Options
from trinitylake_spark.storage.paths import check_path, check_prefix, check_url_path

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from trinitylake_spark.errors import StorageError
    from trinitylake_spark.ids import Ids

_SCHEME = "file://"
_TEMPORARY = ".tmp"
_NEW_FILE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
_PERMISSIONS = 0o666
_ABSENT = frozenset({errno.ENOENT, errno.ENOTDIR, errno.EISDIR})
# Refusals: nothing was done. After any other failure of a create the name may be there.
_REFUSED = frozenset(
    {
        errno.EACCES,
        errno.EDQUOT,
        errno.EISDIR,
        errno.ELOOP,
        errno.EMLINK,
        errno.ENAMETOOLONG,
        errno.ENOENT,
        errno.ENOSPC,
        errno.ENOTDIR,
        errno.EPERM,
        errno.EROFS,
        errno.EXDEV,
    }
)


class LocalStorage(Storage):
    """Objects as files below one folder, which is made when the first object is.

    Temporary files live in ``.tmp/`` below it, which listings leave out. A listing does not
    descend into folders that are symbolic links.

    Args:
        folder: absolute path.
        fsync: force every object and its name to disk before reporting success; without it a
            power failure may undo commits (for tests and benchmarks).
        ids: names of temporary files.
    """

    def __init__(self, folder: str, *, fsync: bool = True, ids: Ids | None = None) -> None:
        self._root = f"{Path(folder).as_posix().rstrip('/')}/"
        self.url = f"{_SCHEME}{self._root}"
        self._fsync = fsync
        self.parallel = fsync
        self._ids = ids or SystemIds()
        self._durable_folders: set[str] = set()

    def read(self, path: str) -> bytes:
        """Return the file's bytes."""
        try:
            with open(self._file(path), "rb", buffering=0) as file:
                return file.readall()
        except OSError as error:
            if error.errno in _ABSENT:
                raise NotFoundError(f"No object {path!r} in {self.url}.", path=path) from error
            raise self._failure("read", path, error) from error

    def write(self, path: str, data: bytes) -> None:
        """Replace the file by renaming a complete one over it."""
        target = self._file(path)
        temporary = self._write_temporary("write", path, data)
        try:
            _give_name(os.replace, temporary, target)
            self._sync_name(target)
        except OSError as error:
            raise self._failure("write", path, error) from error
        finally:
            _discard(temporary)

    def write_hint(self, path: str, data: bytes) -> None:
        """Overwrite the file in place: renaming over a file makes ext4 write it out at once."""
        try:
            with open(self._file(path), "r+b", buffering=0) as file:
                file.write(data)
                file.truncate(len(data))
        except FileNotFoundError:
            self.write(path, data)
        except OSError as error:
            raise self._failure("write", path, error) from error

    def create(self, path: str, data: bytes) -> None:
        """Give a complete temporary file its name, unless the name is taken."""
        target = self._file(path)
        temporary = self._write_temporary("create", path, data)
        try:
            _give_name(publish, temporary, target)
        except OSError as error:
            if error.errno == errno.EEXIST and _is_object(target):
                raise AlreadyExistsError(
                    f"{path!r} exists already in {self.url}.", path=path
                ) from error
            unknown = error.errno not in _REFUSED
            raise self._failure("create", path, error, unknown=unknown) from error
        finally:
            _discard(temporary)
        try:
            self._sync_name(target)
        except OSError as error:
            raise self._failure("create", path, error, unknown=True) from error

    def delete(self, path: str) -> None:
        """Unlink the file if it is there; a power failure may bring it back."""
        try:
            os.unlink(self._file(path))
        except OSError as error:
            if error.errno not in _ABSENT:
                raise self._failure("delete", path, error) from error

    def exists(self, path: str) -> bool:
        """Ask for the file's status; a folder is no object."""
        try:
            return _is_object(self._file(path))
        except OSError as error:
            raise self._failure("exists", path, error) from error

    def list(self, prefix: str = "") -> list[str]:
        """Walk the folder that the prefix names, and those below it that begin with the rest."""
        check_prefix(prefix)
        folder, slash, _ = prefix.rpartition("/")
        try:
            return sorted(self._walk(folder + slash, prefix))
        except OSError as error:
            raise self._failure("list", prefix, error) from error

    def _walk(self, folder: str, prefix: str) -> Iterator[str]:
        """Yield the files below ``folder`` (relative; empty, or ending in ``/``) with a prefix."""
        try:
            with os.scandir(self._root + folder) as entries:
                found = [
                    (entry.name, entry.is_dir(), entry.is_symlink())
                    for entry in entries
                    if (folder + entry.name).startswith(prefix)
                ]
        except OSError as error:
            if error.errno in _ABSENT:
                return
            raise
        for name, is_folder, is_link in found:
            path = folder + name
            if not is_folder:
                yield path
            elif not is_link and path != _TEMPORARY:
                yield from self._walk(path + "/", prefix)

    def _file(self, path: str) -> str:
        check_path(path)
        if path.partition("/")[0] == _TEMPORARY:
            raise InvalidInputError(f"Invalid storage path {path!r}: {_TEMPORARY} is reserved.")
        return self._root + path

    def _write_temporary(self, operation: str, path: str, data: bytes) -> str:
        """Write a complete file under a name that nobody knows."""
        temporary = f"{self._root}{_TEMPORARY}/{self._ids.uuid4()}"
        try:
            descriptor = self._open_new(temporary)
            try:
                rest = memoryview(data)
                while rest:
                    rest = rest[os.write(descriptor, rest) :]
                if self._fsync:
                    os.fsync(descriptor)
            finally:
                os.close(descriptor)
        except OSError as error:
            _discard(temporary)
            raise self._failure(operation, path, error) from error
        return temporary

    def _open_new(self, temporary: str) -> int:
        try:
            return os.open(temporary, _NEW_FILE, _PERMISSIONS)
        except FileNotFoundError:
            os.makedirs(_folder_of(temporary), exist_ok=True)
            return os.open(temporary, _NEW_FILE, _PERMISSIONS)

    def _sync_name(self, target: str) -> None:
        """Force a file's name to disk, and once in this storage's life those of its folders."""
        if not self._fsync:
            return
        folder = _folder_of(target)
        _sync_folder(folder)
        while folder not in self._durable_folders and len(folder) >= len(self._root) - 1:
            _sync_folder(_folder_of(folder))
            self._durable_folders.add(folder)
            folder = _folder_of(folder)

    def _failure(
        self, operation: str, path: str, error: OSError, *, unknown: bool = False
    ) -> StorageError:
        return storage_failure(operation, self.url, path, error.strerror or error, unknown=unknown)


def open_storage(url: str, options: Mapping[str, Any] | None = None) -> Storage:
    """Open ``file:///folder`` or a plain absolute path.

    Args:
        url: nothing in it is percent-decoded.
        options: ``fsync`` (default true).

    Raises:
        InvalidInputError: kind ``INVALID_URL``: another host, or a relative path.
    """
    is_url = url[: len(_SCHEME)].lower() == _SCHEME
    folder = url[len(_SCHEME) :] if is_url else url
    if not folder.startswith("/"):
        raise InvalidInputError(
            f"Invalid root URL {url!r}: expected file:///<absolute folder>.",
            kind=Kind.INVALID_URL,
            url=url,
        )
    check_url_path(url, folder)
    given = Options(options)
    fsync = given.flag("fsync", default=True)
    given.finish(_SCHEME)
    return LocalStorage(folder, fsync=fsync)


def _folder_of(file: str) -> str:
    return file.rpartition("/")[0] or "/"


def _give_name(method: Callable[[str, str], None], temporary: str, target: str) -> None:
    try:
        method(temporary, target)
    except FileNotFoundError:
        os.makedirs(_folder_of(target), exist_ok=True)
        method(temporary, target)


def _is_object(file: str) -> bool:
    try:
        return not S_ISDIR(os.stat(file).st_mode)
    except OSError as error:
        if error.errno in _ABSENT:
            return False
        raise


def _discard(temporary: str) -> None:
    # What became of the object is decided; a temporary file that stays harms nobody.
    with suppress(OSError):
        os.unlink(temporary)


def _sync_folder(folder: str) -> None:
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
