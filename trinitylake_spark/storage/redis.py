"""Redis and Valkey as a storage: a key is an object, ``SET … NX`` creates it (format.md §1.2)."""

from __future__ import annotations

from functools import partial
from importlib import import_module
from typing import TYPE_CHECKING, Any, TypeVar
from urllib.parse import unquote

from trinitylake_spark.errors import (
    AlreadyExistsError,
    InvalidInputError,
    Kind,
    NotFoundError,
    StorageError,
    UnsupportedError,
)
from trinitylake_spark.storage.attempts import Attempts, storage_failure
from trinitylake_spark.storage.base import Storage
from trinitylake_spark.storage.location import Location, split_url
from trinitylake_spark.storage.options import Options
from trinitylake_spark.storage.paths import check_path, check_prefix

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from types import ModuleType

T = TypeVar("T")

_FORM = "redis://<host>:<port>/<db>/<prefix>"
_PORT = 6379
_PAGE = 1000
_PRIMARY = "Give the primary's address."
_GLOB = str.maketrans({character: f"\\{character}" for character in "\\*?[]^-"})
# Answers that say that nothing was done, and that a moment later may be different.
_BUSY = ("LOADING", "BUSY", "CLUSTERDOWN", "MASTERDOWN", "TRYAGAIN", "max number of clients")


def open_storage(url: str, options: Mapping[str, Any] | None = None) -> Storage:
    """Open a database's prefix; ``redis://`` uses redis-py, ``valkey://`` uses valkey-py.

    Args:
        url: ``redis[s]://[user:password@]<host>[:<port>]/<db>/<prefix>``, or ``valkey[s]://…``;
            the second ``s`` means TLS.
        options: ``redis_username``, ``redis_password``, ``redis_ssl_ca_certs``, ``timeout``,
            ``connect_timeout``, ``max_retries``, ``retry_timeout``.

    Raises:
        InvalidInputError: a wrong URL or an unknown option.
    """
    location = split_url(url, _FORM)
    given = Options(options)
    user, _, password = location.user.partition(":")
    host, port, database, prefix = _address(url, location)
    valkey = location.scheme.startswith("valkey")
    library = import_module("valkey" if valkey else "redis")
    retry = import_module(f"{library.__name__}.retry")
    backoff = import_module(f"{library.__name__}.backoff")
    arguments: dict[str, Any] = {
        "host": host,
        "port": port,
        "db": database,
        "username": given.text("redis_username") or unquote(user) or None,
        "password": given.text("redis_password") or unquote(password) or None,
        "socket_timeout": given.seconds("timeout", 30.0),
        "socket_connect_timeout": given.seconds("connect_timeout", 5.0),
        # Repeated by Attempts, which remembers what may have been applied.
        "retry": retry.Retry(backoff.NoBackoff(), 0),
    }
    if location.scheme in ("rediss", "valkeys"):
        arguments |= {"ssl": True, "ssl_ca_certs": given.text("redis_ssl_ca_certs")}
    attempts = Attempts(given.integer("max_retries", 5), given.seconds("retry_timeout", 60.0))
    given.finish(location.scheme)
    client = getattr(library, "Valkey" if valkey else "Redis")(**arguments)
    return RedisStorage(location.url, prefix, client, attempts, library.exceptions)


class RedisStorage(Storage):
    """The keys of one prefix in a database of one primary.

    Args:
        url: the root, for messages, without a password.
        prefix: what every key starts with; empty, or ends in ``/``.
        client: redis-py's or valkey-py's client, set to never repeat a request.
        attempts: how often requests are repeated.
        errors: the client's exceptions (``RedisError`` or ``ValkeyError`` and below).
    """

    def __init__(
        self,
        url: str,
        prefix: str,
        client: Any,  # noqa: ANN401 - two libraries with the same methods
        attempts: Attempts,
        errors: ModuleType,
    ) -> None:
        self.url = url
        self._prefix = prefix
        self._client = client
        self._attempts = attempts
        self._errors = errors
        self._base_error = getattr(errors, "RedisError", None) or errors.ValkeyError
        self._checked = False

    def read(self, path: str) -> bytes:
        """Return the key's value."""
        key = self._key(path)
        value = self._run("read", path, lambda: self._client.get(key))
        if value is None:
            raise NotFoundError(f"No object {path!r} in {self.url}.", path=path)
        return bytes(value)

    def write(self, path: str, data: bytes) -> None:
        """Set the key."""
        key = self._key(path)
        self._run("write", path, lambda: self._client.set(key, data))

    def create(self, path: str, data: bytes) -> None:
        """Set the key if it is absent."""
        key = self._key(path)
        self._check_server(path)

        def once() -> None:
            try:
                answer = self._client.set(key, data, nx=True)
            except self._base_error as error:
                raise self._failure("create", path, error) from error
            if not answer:
                raise AlreadyExistsError(
                    f"Object {path!r} exists already in {self.url}.", path=path
                )

        self._attempts.create(once)

    def delete(self, path: str) -> None:
        """Delete the key if it is there."""
        key = self._key(path)
        self._run("delete", path, lambda: self._client.delete(key))

    def exists(self, path: str) -> bool:
        """Ask whether the key is there."""
        key = self._key(path)
        return bool(self._run("exists", path, lambda: self._client.exists(key)))

    def list(self, prefix: str = "") -> list[str]:
        """Scan all keys for the prefix; a scan may return a key twice."""
        check_prefix(prefix)
        start = (self._prefix + prefix).encode()
        pattern = (self._prefix + prefix).translate(_GLOB) + "*"
        found: set[bytes] = set()
        for keys in self._pages(prefix, pattern):
            found.update(key for key in keys if key.startswith(start))
        cut = len(self._prefix.encode())
        return sorted(key[cut:].decode() for key in found)

    def close(self) -> None:
        """Release connections."""
        self._client.close()

    def _pages(self, prefix: str, pattern: str) -> Iterator[Any]:
        cursor = 0
        while True:
            scan = partial(self._client.scan, cursor=cursor, match=pattern, count=_PAGE)
            cursor, keys = self._run("list", prefix, scan)
            yield keys
            if cursor == 0:
                return

    def _check_server(self, path: str) -> None:
        """Refuse, before the first request, a replica and a server that may throw keys away."""
        if self._checked:
            return
        try:
            facts = self._repeat("ask for the role before", path, self._client.info)
        except StorageError as error:
            if not isinstance(error.__cause__, self._errors.NoPermissionError):
                raise
            facts = {}  # managed servers may hide it; a replica still refuses to be written to
        if facts.get("role", "master") != "master":
            raise UnsupportedError(
                f"The server of {self.url} is a replica, which may be behind. "
                "Give the primary's address."
            )
        policy = str(facts.get("maxmemory_policy", "noeviction"))
        if int(facts.get("maxmemory", 0)) > 0 and policy != "noeviction":
            raise UnsupportedError(
                f"The server of {self.url} evicts keys when its memory is full "
                f"(maxmemory-policy is {policy}). Set it to noeviction.",
                policy=policy,
            )
        self._checked = True

    def _run(self, operation: str, path: str, call: Callable[[], T]) -> T:
        self._check_server(path)
        return self._repeat(operation, path, call)

    def _repeat(self, operation: str, path: str, call: Callable[[], T]) -> T:
        def once() -> T:
            try:
                return call()
            except self._base_error as error:
                raise self._failure(operation, path, error) from error

        return self._attempts.run(once)

    def _failure(self, operation: str, path: str, error: Exception) -> StorageError:
        unknown, retryable = self._outcome(error)
        return storage_failure(
            operation,
            self.url,
            path,
            error,
            unknown=unknown and operation == "create",
            retryable=retryable,
            advice=_PRIMARY if isinstance(error, self._errors.ReadOnlyError) else "",
        )

    def _outcome(self, error: Exception) -> tuple[bool, bool]:
        """Tell whether a request may have been applied, and whether to send it again."""
        denied = (self._errors.AuthenticationError, self._errors.AuthorizationError)
        if isinstance(error, denied):
            return False, False
        if str(error).startswith(_BUSY):
            return False, True
        if isinstance(error, self._errors.ResponseError):
            return False, False
        connecting = "connecting to" in str(error)
        return not connecting, True

    def _key(self, path: str) -> str:
        check_path(path)
        return self._prefix + path


def _address(url: str, location: Location) -> tuple[str, int, int, str]:
    host, _, port = (
        location.host.rpartition(":") if ":" in location.host else (location.host, "", "")
    )
    database, _, prefix = location.prefix.partition("/")
    if (port and not port.isdigit()) or (database and not database.isdigit()):
        shown = url.replace(f"{location.user}@", "", 1)
        raise InvalidInputError(
            f"Invalid root URL {shown!r}: expected {_FORM}, port and db being numbers.",
            kind=Kind.INVALID_URL,
        )
    return host, int(port or _PORT), int(database or 0), prefix
