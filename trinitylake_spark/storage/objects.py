"""Amazon S3, Google Cloud Storage and Azure through ``obstore``: one storage, three openers.

The exclusive create is a conditional put (format.md §1.2). The client repeats requests by itself
and then reports its own object as "exists"; so creates go through a second client that never
repeats, and ``Attempts`` repeats them with the outcome in view.
"""

from __future__ import annotations

import re
from datetime import timedelta
from typing import TYPE_CHECKING, Any, NoReturn, TypeVar

import obstore
from obstore.exceptions import AlreadyExistsError as ObjectExistsError
from obstore.exceptions import (
    BaseError,
    PermissionDeniedError,
    UnauthenticatedError,
    UnknownConfigurationKeyError,
)

from trinitylake_spark.errors import (
    AlreadyExistsError,
    InvalidInputError,
    Kind,
    NotFoundError,
    StorageError,
)
from trinitylake_spark.storage.attempts import Attempts, storage_failure
from trinitylake_spark.storage.base import Storage
from trinitylake_spark.storage.paths import check_path, check_prefix, escape, unescape

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from obstore.store import ObjectStore

    from trinitylake_spark.storage.location import Location
    from trinitylake_spark.storage.options import Options

T = TypeVar("T")

# What the client says in its second paragraph; there is no other way to learn it.
_STATUS = re.compile(r"inner: Status \{\s*status: (\d{3})")
_TRANSPORT = re.compile(r"HttpError \{\s*kind: (\w+)")
_CODE = re.compile(r"<Code>(\w+)</Code>")
_TOKEN_REQUEST = "TokenRequest {"  # noqa: S105 - the name of an error, no secret

# The place that holds the objects is missing, or something else answered in its stead.
_NO_CONTAINER = re.compile(
    r"NoSuchBucket|ContainerNotFound|FilesystemNotFound|AccountNotFound"
    r"|bucket does not exist|<html|<!doctype",
    re.IGNORECASE,
)
# Refused before anything was done; every other 5xx may come after the object was stored.
_THROTTLED = re.compile(r"SlowDown|ServerBusy|TooManyRequests|RequestLimitExceeded|\b429 ")
_LOST_FOR_CERTAIN = ("412", "BlobAlreadyExists")

_CONNECT_TIMEOUT = 5.0
_TIMEOUT = 30.0
_RETRIES = 5
_RETRY_TIMEOUT = 60.0
_CLIENT_TEXTS = (
    "pool_max_idle_per_host",
    "proxy_ca_certificate",
    "proxy_excludes",
    "proxy_url",
    "root_certificate",
    "user_agent",
)


class ObjectStorage(Storage):
    """A prefix of a bucket or container.

    Args:
        location: the root, for its URL and prefix.
        client: the client for everything but ``create``; repeats requests by itself.
        creator: the same store, opened to never repeat a request.
        attempts: how often a create is repeated.
        denied_advice: what to check when access is denied.
        replaced: characters that the service replaces by others, so they are escaped.
    """

    def __init__(
        self,
        location: Location,
        client: ObjectStore,
        creator: ObjectStore,
        attempts: Attempts,
        denied_advice: str,
        replaced: str,
    ) -> None:
        self.url = location.url
        self._prefix = location.prefix
        self._client = client
        self._creator = creator
        self._attempts = attempts
        self._denied_advice = denied_advice
        self._replaced = replaced
        self._container_seen = False

    def read(self, path: str) -> bytes:
        """Return the whole object; "not found" only if the service says so of the object."""
        key = self._key(path)
        try:
            data = bytes(obstore.get(self._client, key).bytes())
        except FileNotFoundError as error:
            self._check_container("read", path, error)
            raise NotFoundError(f"No object {path!r} in {self.url}.", path=path) from error
        except BaseError as error:
            self._fail("read", path, error)
        self._container_seen = True
        return data

    def write(self, path: str, data: bytes) -> None:
        """Replace the object."""
        key = self._key(path)
        self._guard(
            "write",
            path,
            lambda: obstore.put(self._client, key, data, use_multipart=False),
        )

    def write_hint(self, path: str, data: bytes) -> None:
        """Replace the object, or fail at once: services throttle writes of one object."""
        key = self._key(path)
        self._guard(
            "write",
            path,
            lambda: obstore.put(self._creator, key, data, use_multipart=False),
        )

    def create(self, path: str, data: bytes) -> None:
        """Put the object on the condition that there is none."""
        key = self._key(path)
        self._attempts.create(lambda: self._create_once(path, key, data))

    def delete(self, path: str) -> None:
        """Delete the object if it is there."""
        key = self._key(path)
        try:
            obstore.delete(self._client, key)
        except FileNotFoundError as error:
            self._check_container("delete", path, error)
        except BaseError as error:
            self._fail("delete", path, error)

    def exists(self, path: str) -> bool:
        """Ask for the object's head; the first "no" is confirmed, as a head tells no reason."""
        key = self._key(path)
        try:
            obstore.head(self._client, key)
        except FileNotFoundError:
            return not self._container_seen and self._exists_by_read(path)
        except BaseError as error:
            self._fail("exists", path, error)
        self._container_seen = True
        return True

    def list(self, prefix: str = "") -> list[str]:
        """List one folder and, of its subfolders, those that start with the prefix."""
        check_prefix(prefix)
        folder, _, start = prefix.rpartition("/")
        parent = self._prefix + escape(folder, self._replaced)
        keys = self._keys(parent, escape(start, self._replaced))
        found = self._guard("list", prefix, lambda: list(keys))
        self._container_seen = True
        cut = len(self._prefix)
        return sorted(unescape(key[cut:], self._replaced) for key in found)

    def _keys(self, parent: str, start: str) -> Iterator[str]:
        inside = parent.removesuffix("/")
        if not start:
            yield from self._keys_below(inside)
            return
        # The client lists whole segments only, so a part of a name is matched here.
        level = obstore.list_with_delimiter(self._client, prefix=inside or None)
        for entry in level["objects"]:
            if entry["path"].rpartition("/")[2].startswith(start):
                yield entry["path"]
        for subfolder in level["common_prefixes"]:
            if subfolder.rstrip("/").rpartition("/")[2].startswith(start):
                yield from self._keys_below(subfolder.rstrip("/"))

    def _keys_below(self, folder: str) -> Iterator[str]:
        for chunk in obstore.list(self._client, prefix=folder or None):
            for entry in chunk:
                yield entry["path"]

    def _create_once(self, path: str, key: str, data: bytes) -> None:
        try:
            obstore.put(self._creator, key, data, mode="create", use_multipart=False)
        except ObjectExistsError as error:
            said = str(error)
            if any(sign in said for sign in _LOST_FOR_CERTAIN) or self.exists(path):
                raise AlreadyExistsError(
                    f"Object {path!r} exists already in {self.url}.", path=path
                ) from error
            # 409 without an object: two creates met; the service asks to send it again.
            raise self._failure("create", path, error, retryable=True) from error
        except FileNotFoundError as error:
            self._fail("create", path, error)
        except BaseError as error:
            unknown, retryable = _create_outcome(error)
            raise self._failure(
                "create", path, error, unknown=unknown, retryable=retryable
            ) from error

    def _exists_by_read(self, path: str) -> bool:
        try:
            self.read(path)
        except NotFoundError:
            self._container_seen = True
            return False
        return True

    def _check_container(self, operation: str, path: str, error: FileNotFoundError) -> None:
        if _NO_CONTAINER.search(str(error)):
            self._fail(operation, path, error)

    def _guard(self, operation: str, path: str, call: Callable[[], T]) -> T:
        try:
            return call()
        except (BaseError, FileNotFoundError) as error:
            self._fail(operation, path, error)

    def _fail(self, operation: str, path: str, error: Exception) -> NoReturn:
        raise self._failure(operation, path, error) from error

    def _failure(
        self,
        operation: str,
        path: str,
        error: Exception,
        *,
        unknown: bool = False,
        retryable: bool = False,
    ) -> StorageError:
        denied = isinstance(error, (PermissionDeniedError, UnauthenticatedError))
        return storage_failure(
            operation,
            self.url,
            path,
            _summary(error),
            unknown=unknown,
            retryable=retryable,
            advice=self._denied_advice if denied else "",
        )

    def _key(self, path: str) -> str:
        check_path(path)
        return self._prefix + escape(path, self._replaced)


def open_objects(
    location: Location,
    options: Options,
    opener: Callable[[dict[str, Any]], ObjectStore],
    *,
    allow_http: bool,
    denied_advice: str,
    replaced: str = "",
) -> ObjectStorage:
    """Open a bucket twice, with and without the client's own retries.

    Args:
        location: the root.
        options: the options that the service's module left; the service's own go to the client.
        opener: opens the store from keyword arguments.
        allow_http: the endpoint is plain HTTP, as its URL says.
        denied_advice: what to check when access is denied.
        replaced: characters that the service replaces by others.

    Raises:
        InvalidInputError: an option that neither we nor the client know.
    """
    retries = options.integer("max_retries", _RETRIES)
    retry_timeout = options.seconds("retry_timeout", _RETRY_TIMEOUT)
    client_options: dict[str, Any] = {
        "allow_http": options.flag("allow_http", default=allow_http),
        "allow_invalid_certificates": options.flag("allow_invalid_certificates"),
        "connect_timeout": timedelta(seconds=options.seconds("connect_timeout", _CONNECT_TIMEOUT)),
        "timeout": timedelta(seconds=options.seconds("timeout", _TIMEOUT)),
    }
    for name in _CLIENT_TEXTS:
        value = options.text(name)
        if value is not None:
            client_options[name] = value
    config = options.rest()

    def build(repetitions: int) -> ObjectStore:
        return opener(
            {
                "config": config,
                "client_options": client_options,
                "retry_config": {
                    "max_retries": repetitions,
                    "retry_timeout": timedelta(seconds=retry_timeout),
                },
            }
        )

    try:
        client, creator = build(retries), build(0)
    except UnknownConfigurationKeyError as error:
        raise InvalidInputError(
            f"Storage option of {location.url}: {_first_line(error)}"
        ) from error
    except (BaseError, ValueError, TypeError) as error:
        raise InvalidInputError(
            f"Cannot open {location.url}: {_first_line(error)}",
            kind=Kind.INVALID_URL,
            url=location.url,
        ) from error
    attempts = Attempts(retries, retry_timeout)
    return ObjectStorage(location, client, creator, attempts, denied_advice, replaced)


def _create_outcome(error: BaseError) -> tuple[bool, bool]:
    """Tell of a failed create whether it may have been applied, and whether to send it again."""
    said = str(error)
    status = _STATUS.search(said)
    if status is not None:
        code = int(status.group(1))
        if _THROTTLED.search(said):
            return False, True
        if code >= 500 or code == 408:  # noqa: PLR2004 - HTTP's own numbers
            return _TOKEN_REQUEST not in said, True
        return False, False
    transport = _TRANSPORT.search(said)
    if transport is not None:
        never_sent = transport.group(1) == "Connect" or _TOKEN_REQUEST in said
        return not never_sent, True
    return True, False


def _first_line(error: Exception) -> str:
    return str(error).strip().splitlines()[0]


def _summary(error: Exception) -> str:
    """What the client says, without the body of an answer, and with the kind of a broken one."""
    first = _first_line(error)
    code = _CODE.search(first)
    if code is not None:
        return f"{first.partition('<')[0].rstrip(' :')} ({code.group(1)})"
    transport = _TRANSPORT.search(str(error))
    return f"{first} ({transport.group(1)})" if transport is not None else first
