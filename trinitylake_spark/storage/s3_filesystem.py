"""A user's s3fs filesystem as a storage: plain S3 requests through its ``call_s3``.

s3fs names errors after Python's, and loses what matters here: 412 is ``OSError(EINVAL)`` unless
the server adds a hint, a missing bucket is ``FileNotFoundError`` like a missing object. The
service's own answer is the exception's cause, and is read there.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, NoReturn

from fsspec.asyn import sync

from trinitylake_spark.errors import AlreadyExistsError, NotFoundError, UnsupportedError
from trinitylake_spark.storage.attempts import Attempts, storage_failure
from trinitylake_spark.storage.base import Storage
from trinitylake_spark.storage.paths import check_path, check_prefix

if TYPE_CHECKING:
    from collections.abc import Iterator

_EXISTS = 412
_CONFLICT = 409
_TIMEOUT = 408
_ABSENT = 404
# The code of a missing object; a head's answer has no body, so its code is the status.
_NO_OBJECT = ("NoSuchKey", "404")


class S3FilesystemStorage(Storage):
    """A bucket's prefix, through s3fs.

    Args:
        fs: the ``S3FileSystem``; its caches are never asked.
        root: bucket and prefix, without ``/`` at its ends.
        attempts: how often a create is repeated that met another one (409).
        timeout: seconds for one call with all its repetitions; s3fs itself can wait for ever
            for the leave to send a body.
    """

    def __init__(
        self,
        fs: Any,  # noqa: ANN401 - fsspec has no types
        root: str,
        attempts: Attempts,
        timeout: float,
    ) -> None:
        self._fs = fs
        self._timeout = timeout
        self._bucket, _, prefix = root.partition("/")
        self._prefix = f"{prefix}/" if prefix else ""
        self.url = f"s3://{self._bucket}/{self._prefix}"
        self._attempts = attempts
        self._bucket_seen = False
        self._conditional = False

    def read(self, path: str) -> bytes:
        """Return the whole object."""
        key = self._key(path)
        try:
            data: bytes = sync(self._fs.loop, self._get, key, timeout=self._timeout)
        except Exception as error:
            self._check_absent("read", path, error)
            raise NotFoundError(f"No object {path!r} in {self.url}.", path=path) from error
        return data

    def write(self, path: str, data: bytes) -> None:
        """Put the object."""
        self._call("write", path, "put_object", Key=self._key(path), Body=data)

    def create(self, path: str, data: bytes) -> None:
        """Put the object on the condition that there is none."""
        key = self._key(path)
        self._check_conditional()
        self._attempts.create(lambda: self._create_once(path, key, data))

    def delete(self, path: str) -> None:
        """Delete the object if it is there."""
        self._call("delete", path, "delete_object", Key=self._key(path))

    def exists(self, path: str) -> bool:
        """Ask for the object's head; the first "no" is confirmed, as a head tells no reason."""
        key = self._key(path)
        try:
            self._request("head_object", Key=key)
        except Exception as error:  # noqa: BLE001 - s3fs raises what it likes
            self._check_absent("exists", path, error)
            if self._bucket_seen:
                return False
            try:
                self.read(path)
            except NotFoundError:
                self._bucket_seen = True
                return False
        return True

    def list(self, prefix: str = "") -> list[str]:
        """List the keys that start with the prefix."""
        check_prefix(prefix)
        cut = len(self._prefix)
        return sorted(key[cut:] for key in self._keys(prefix))

    def _keys(self, prefix: str) -> Iterator[str]:
        request = {"Prefix": self._prefix + prefix}
        while True:
            answer = self._call("list", prefix, "list_objects_v2", **request)
            yield from (entry["Key"] for entry in answer.get("Contents", ()))
            if not answer.get("IsTruncated"):
                return
            request["ContinuationToken"] = answer["NextContinuationToken"]

    async def _get(self, key: str) -> bytes:
        answer = await self._fs._call_s3("get_object", Bucket=self._bucket, Key=key)  # noqa: SLF001
        async with answer["Body"] as body:
            data: bytes = await body.read()
        return data

    def _check_conditional(self) -> None:
        """Refuse a client that knows no conditional put: s3fs would drop the condition."""
        if self._conditional:
            return
        sync(self._fs.loop, self._fs.set_session)
        if not self._fs._kwargs_helper.filter_dict("put_object", {"IfNoneMatch": "*"}):  # noqa: SLF001
            raise UnsupportedError(
                "The botocore below s3fs knows no conditional put. "
                "Install a newer one: pip install --upgrade s3fs"
            )
        self._conditional = True

    def _create_once(self, path: str, key: str, data: bytes) -> None:
        try:
            self._request("put_object", Key=key, Body=data, IfNoneMatch="*")
        except Exception as error:
            status, _ = _answer(error)
            if status == _EXISTS or (status == _CONFLICT and self.exists(path)):
                raise AlreadyExistsError(
                    f"Object {path!r} exists already in {self.url}.", path=path
                ) from error
            # s3fs has repeated the request by itself, so only a refusal is certain.
            refused = 400 <= status < 500 and status != _TIMEOUT  # noqa: PLR2004 - HTTP's numbers
            raise storage_failure(
                "create",
                self.url,
                path,
                error,
                unknown=not refused,
                retryable=status == _CONFLICT,
            ) from error

    def _call(self, operation: str, path: str, method: str, **request: Any) -> Any:  # noqa: ANN401
        try:
            return self._request(method, **request)
        except Exception as error:  # noqa: BLE001 - s3fs raises what it likes
            self._fail(operation, path, error)

    def _request(self, method: str, **request: Any) -> Any:  # noqa: ANN401
        call = partial(self._fs._call_s3, method, Bucket=self._bucket, **request)  # noqa: SLF001
        return sync(self._fs.loop, call, timeout=self._timeout)

    def _check_absent(self, operation: str, path: str, error: Exception) -> None:
        status, code = _answer(error)
        if status != _ABSENT or code not in _NO_OBJECT:
            self._fail(operation, path, error)

    def _fail(self, operation: str, path: str, error: Exception) -> NoReturn:
        raise storage_failure(operation, self.url, path, error) from error

    def _key(self, path: str) -> str:
        check_path(path)
        return self._prefix + path


def _answer(error: Exception) -> tuple[int, str]:
    """The service's status and code, or 0 if it gave no answer."""
    for one in (error, error.__cause__):
        response = getattr(one, "response", None)
        if isinstance(response, dict):
            status = response.get("ResponseMetadata", {}).get("HTTPStatusCode", 0)
            return int(status), str(response.get("Error", {}).get("Code", ""))
    return 0, ""
