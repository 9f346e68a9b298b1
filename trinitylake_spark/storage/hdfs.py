"""HDFS through WebHDFS: a temporary file, then a rename that never replaces (format.md §1.2)."""

from __future__ import annotations

import contextlib
import getpass
import os
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any, TypeVar

from trinitylake_spark.errors import AlreadyExistsError, Kind, NotFoundError, StorageError
from trinitylake_spark.ids import Ids, SystemIds
from trinitylake_spark.storage.attempts import Attempts, storage_failure
from trinitylake_spark.storage.base import Storage
from trinitylake_spark.storage.location import split_url
from trinitylake_spark.storage.namenodes import web_addresses
from trinitylake_spark.storage.options import Options
from trinitylake_spark.storage.paths import check_path, check_prefix, escape, unescape
from trinitylake_spark.storage.webhdfs import Outcome, WebHdfs, WebHdfsError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

T = TypeVar("T")

_TEMPORARY = ".tmp/"
_FORBIDDEN = ":"
_PARALLEL_LISTINGS = 16
_DENIED = "Check hdfs_user (or HADOOP_USER_NAME) and the folder's permissions."


def open_storage(url: str, options: Mapping[str, Any] | None = None) -> Storage:
    """Open a folder.

    Args:
        url: ``hdfs://<namenode or nameservice>/<prefix>``, ``webhdfs://<host>:<port>/<prefix>``
            or ``swebhdfs://…`` (TLS).
        options: ``hdfs_http_address``, ``hdfs_user``, ``hdfs_delegation_token``, ``hdfs_https``,
            ``timeout``, ``connect_timeout``, ``max_retries``, ``retry_timeout``. The variables
            ``HADOOP_CONF_DIR`` and ``HADOOP_USER_NAME`` apply.

    Raises:
        InvalidInputError: a wrong URL or an unknown option.
    """
    location = split_url(url, "hdfs://<namenode>/<prefix>")
    given = Options(options)
    https = given.flag("hdfs_https", default=location.scheme == "swebhdfs")
    addresses = web_addresses(location, given.text("hdfs_http_address"), https=https)
    user = given.text("hdfs_user") or os.environ.get("HADOOP_USER_NAME") or getpass.getuser()
    token = given.text("hdfs_delegation_token")
    timeouts = (given.seconds("connect_timeout", 5.0), given.seconds("timeout", 30.0))
    attempts = Attempts(given.integer("max_retries", 5), given.seconds("retry_timeout", 60.0))
    given.finish(location.scheme)
    client = WebHdfs(addresses, {"delegation": token} if token else {"user.name": user}, timeouts)
    return HdfsStorage(location.url, location.prefix, client, attempts)


class HdfsStorage(Storage):
    """A folder of an HDFS.

    Args:
        url: the root, for messages.
        prefix: the folder, without leading and with trailing ``/``.
        client: speaks to the NameNode.
        attempts: how often requests are repeated.
        ids: names of temporary files.
    """

    def __init__(
        self,
        url: str,
        prefix: str,
        client: WebHdfs,
        attempts: Attempts,
        ids: Ids | None = None,
    ) -> None:
        self.url = url
        self._prefix = prefix
        self.client = client
        self._attempts = attempts
        self._ids = ids or SystemIds()
        self._folders: set[str] = set()

    def read(self, path: str) -> bytes:
        """Return the whole file."""
        check_path(path)
        return self.run("read", path, lambda: self.client.open(self.key(path)))

    def write(self, path: str, data: bytes) -> None:
        """Write a temporary file and rename it over the old one."""
        check_path(path)
        rename = _Rename(self, "write", self._upload("write", path, data), path)
        self._attempts.run(rename.once)

    def write_hint(self, path: str, data: bytes) -> None:
        """Write the file in place, without the rename; a reader may find it empty."""
        check_path(path)
        self.run("write", path, lambda: self.client.upload(self.key(path), data))

    def create(self, path: str, data: bytes) -> None:
        """Write a temporary file and rename it, unless there is a file of the name."""
        check_path(path)
        rename = _Rename(self, "create", self._upload("create", path, data), path)
        try:
            self._attempts.create(rename.once)
        except StorageError as error:
            if error.kind is Kind.CREATE_UNKNOWN:
                rename.settle(error)
                return
            rename.discard()
            raise
        except AlreadyExistsError:
            rename.discard()
            raise

    def delete(self, path: str) -> None:
        """Delete the file if it is there; a folder of that name stays."""
        check_path(path)
        if self.exists(path):
            self.run("delete", path, lambda: self.remove(self.key(path)))

    def exists(self, path: str) -> bool:
        """Tell whether there is a file of that name."""
        check_path(path)
        try:
            found = self.run("exists", path, lambda: self.status(self.key(path)))
        except NotFoundError:
            return False
        return bool(found["type"] == "FILE")

    def list(self, prefix: str = "") -> list[str]:
        """List one folder and, of its subfolders, those that start with the prefix."""
        check_prefix(prefix)
        parent, _, start = prefix.rpartition("/")
        found: list[str] = []
        with ThreadPoolExecutor(_PARALLEL_LISTINGS) as pool:
            folders = [parent]
            while folders:
                levels = list(pool.map(lambda folder: self._entries(prefix, folder), folders))
                below: list[str] = []
                for folder, entries in zip(folders, levels, strict=True):
                    for name, kind in entries:
                        path = f"{folder}/{name}" if folder else name
                        if not name.startswith(start) or f"{path}/" == _TEMPORARY:
                            continue
                        (found if kind == "FILE" else below).append(path)
                folders, start = below, ""
        return sorted(found)

    def close(self) -> None:
        """Release the connections."""
        self.client.close()

    def _entries(self, prefix: str, folder: str) -> Iterable[tuple[str, str]]:
        key = self.key(folder).removesuffix("/")
        try:
            answer = self.run("list", prefix, lambda: self.client.ask("GET", "LISTSTATUS", key))
        except NotFoundError:
            return []
        # The status of a file has one entry without a name.
        return [
            (unescape(one["pathSuffix"], _FORBIDDEN), one["type"])
            for one in answer["FileStatuses"]["FileStatus"]
            if one["pathSuffix"]
        ]

    def _upload(self, operation: str, path: str, data: bytes) -> str:
        temporary = f"{_TEMPORARY}{self._ids.uuid4()}"
        self.run(operation, path, lambda: self.client.upload(self.key(temporary), data))
        return temporary

    def make_folder(self, folder: str) -> None:
        """Make a folder unless it was made before."""
        if folder not in self._folders:
            self.client.ask("PUT", "MKDIRS", folder)
            self._folders.add(folder)

    def forget_folder(self, folder: str) -> None:
        """Somebody deleted the folder: make it again next time."""
        self._folders.discard(folder)

    def remove(self, key: str) -> bool:
        """Delete a file once; tell whether it was there."""
        answer = self.client.ask("DELETE", "DELETE", key, recursive="false")
        return bool(answer["boolean"])

    def status(self, key: str) -> dict[str, Any]:
        """Ask for a file's status once."""
        answer: dict[str, Any] = self.client.ask("GET", "GETFILESTATUS", key)["FileStatus"]
        return answer

    def run(self, operation: str, path: str, call: Callable[[], T]) -> T:
        """Repeat a request that may be repeated, and name its failure."""

        def once() -> T:
            try:
                return call()
            except WebHdfsError as error:
                if error.exception == "FileNotFoundException":
                    raise NotFoundError(f"No object {path!r} in {self.url}.", path=path) from error
                raise self.failure(operation, path, error) from error

        return self._attempts.run(once)

    def failure(
        self, operation: str, path: str, error: WebHdfsError, *, unknown: bool = False
    ) -> StorageError:
        """Build the error of a failed request."""
        denied = error.exception in ("AccessControlException", "SecurityException")
        return storage_failure(
            operation,
            self.url,
            path,
            error,
            unknown=unknown,
            retryable=error.retryable,
            advice=_DENIED if denied else "",
        )

    def key(self, path: str) -> str:
        """The object's path from the file system's root."""
        return self._prefix + escape(path, _FORBIDDEN)


class _Rename:
    """The rename that makes a temporary file the object, attempt by attempt.

    Args:
        storage: whose paths and client these are.
        operation: ``create`` refuses an existing target, ``write`` replaces it.
        temporary: the temporary file's path.
        path: the object's path.
    """

    def __init__(self, storage: HdfsStorage, operation: str, temporary: str, path: str) -> None:
        self._storage = storage
        self._operation = operation
        self._path = path
        self._source = storage.key(temporary)
        self._target = storage.key(path)
        self._doubtful = False

    def once(self) -> None:
        """Send the rename; succeed as well if an earlier attempt turns out to be applied."""
        folder = self._target.rpartition("/")[0]
        # With rename options, even NONE, the NameNode refuses by an exception; without them it
        # answers false, or moves the file into a folder that has the target's name.
        option = "NONE" if self._operation == "create" else "OVERWRITE"
        try:
            self._storage.make_folder(folder)
            answer = self._storage.client.ask(
                "PUT",
                "RENAME",
                self._source,
                destination=f"/{self._target}",
                renameoptions=option,
            )
        except WebHdfsError as error:
            if error.exception == "FileAlreadyExistsException":
                raise self._exists_already() from error
            if error.exception != "FileNotFoundException":
                self._doubtful = self._doubtful or error.outcome is Outcome.UNKNOWN
                raise self._failure(error) from error
            if not self._was_applied():
                self._storage.forget_folder(folder)
                raise self._failure(error, retryable=True) from error
            return
        if answer is not None and answer.get("boolean") is False:
            raise self._exists_already()

    def settle(self, error: StorageError) -> None:
        """Find out what became of a rename whose answer was lost.

        The temporary file can be deleted or renamed, never both: if the delete finds it, the
        rename was not applied and never will be; if not, the rename was.
        """
        try:
            was_there = self._storage.run(
                "create", self._path, lambda: self._storage.remove(self._source)
            )
        except StorageError:
            raise error from None
        if was_there:
            raise StorageError(error.message, kind=Kind.STORAGE, **error.fields) from error

    def discard(self) -> None:
        """Delete the temporary file; if that fails it lies in ``.tmp/``, where nobody sees it."""
        with contextlib.suppress(WebHdfsError):
            self._storage.remove(self._source)

    def _was_applied(self) -> bool:
        """Tell whether the source is gone because an earlier attempt of ours moved it."""
        if not self._doubtful:
            return False
        try:
            self._storage.status(self._source)
        except WebHdfsError as error:
            if error.exception == "FileNotFoundException":
                return True
            raise self._failure(error) from error
        return False

    def _failure(self, error: WebHdfsError, *, retryable: bool | None = None) -> StorageError:
        failure = self._storage.failure(
            self._operation,
            self._path,
            error,
            unknown=self._doubtful and self._operation == "create",
        )
        if retryable is not None:
            failure.fields["retryable"] = retryable
        return failure

    def _exists_already(self) -> AlreadyExistsError:
        return AlreadyExistsError(
            f"Object {self._path!r} exists already in {self._storage.url}.", path=self._path
        )
