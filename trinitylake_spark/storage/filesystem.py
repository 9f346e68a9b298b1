"""A user's own fsspec filesystem as a storage, where its exclusive create can be made right.

| filesystem | what happens |
|---|---|
| local, memory | our own storage of the same place (fsspec's creates are exists-then-write) |
| s3fs | conditional put through its ``call_s3``, the service's own error read |
| gcsfs, adlfs | its ``pipe_file(mode="create")``, one conditional request for objects below 50 MB |
| webhdfs | our own HDFS storage with its address, user and session |
| dir | whatever it wraps |
| any other | refused by name: its create is exists-then-write, or unknown to us |
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from trinitylake_spark.errors import InvalidInputError, Kind, UnsupportedError
from trinitylake_spark.storage.attempts import Attempts
from trinitylake_spark.storage.options import Options, missing_client
from trinitylake_spark.storage.paths import check_url_path

if TYPE_CHECKING:
    from collections.abc import Mapping

    from trinitylake_spark.storage.base import Storage

_CLIENT = "client"
_TIMEOUT = "request_timeout"
_TIMEOUT_SECONDS = 120.0
_OURS = (_CLIENT, _TIMEOUT)
_EXTRAS = {"s3": "s3", "s3a": "s3"}
_CONDITIONAL = frozenset({"gs", "gcs", "abfs", "abfss", "az"})


def open_filesystem(
    url: str,
    options: Mapping[str, Any] | None = None,
    *,
    fs: Any = None,  # noqa: ANN401 - fsspec has no types
) -> Storage:
    """Open a URL with an fsspec filesystem.

    Args:
        url: the root as fsspec reads it.
        options: ``client=fsspec``, ``request_timeout`` (s3fs only: of a call with all its
            repetitions, 2m), and the filesystem's storage options, when it is to be made here;
            text that is JSON (``{…}``, ``[…]``, ``true``, ``false``) is read as JSON.
        fs: a filesystem that the user made; then there are no storage options.

    Raises:
        InvalidInputError: options besides ``fs``.
        UnsupportedError: a filesystem without an exclusive create, or an asynchronous one.
    """
    given = {name: value for name, value in (options or {}).items() if name not in _OURS}
    ours = Options({name: value for name, value in (options or {}).items() if name == _TIMEOUT})
    timeout = ours.seconds(_TIMEOUT, _TIMEOUT_SECONDS)
    if fs is None:
        fs = _make(url, given)
    elif given:
        raise InvalidInputError(
            f"Storage options besides an fsspec filesystem: {', '.join(sorted(given))}. "
            "Give them to the filesystem itself."
        )
    root = str(fs._strip_protocol(url)).strip("/")  # noqa: SLF001 - fsspec's documented hook
    check_url_path(url, root)
    return _adapt(fs, root, timeout)


def _make(url: str, given: Mapping[str, Any]) -> Any:  # noqa: ANN401 - fsspec has no types
    import fsspec  # noqa: PLC0415 - this module is also asked about filesystems made elsewhere

    scheme = url.partition("://")[0]
    try:
        return fsspec.filesystem(scheme, **{name: _value(text) for name, text in given.items()})
    except ImportError as error:
        extra = _EXTRAS.get(scheme)
        if extra is None:
            raise UnsupportedError(f"fsspec cannot open {scheme}:// here: {error}.") from error
        raise missing_client(error.name or "s3fs", extra) from error
    except ValueError as error:
        raise InvalidInputError(
            f"fsspec cannot open {url!r}: {error}", kind=Kind.INVALID_URL, url=url
        ) from error


def _value(given: Any) -> Any:  # noqa: ANN401 - whatever JSON says
    if isinstance(given, str) and (given[:1] in ("{", "[") or given in ("true", "false")):
        return json.loads(given)
    return given


def _adapt(fs: Any, root: str, timeout: float) -> Storage:  # noqa: ANN401 - fsspec has no types
    protocols = {fs.protocol} if isinstance(fs.protocol, str) else set(fs.protocol)
    if "dir" in protocols:
        below = "/".join(part for part in (fs.path.strip("/"), root) if part)
        return _adapt(fs.fs, below, timeout)
    if protocols & {"file", "local"}:
        from trinitylake_spark.storage.local import LocalStorage  # noqa: PLC0415

        return LocalStorage(f"/{root}")
    if "memory" in protocols:
        from trinitylake_spark.storage.memory import MemoryStorage  # noqa: PLC0415

        return MemoryStorage(f"memory://{root or 'fsspec'}")
    if "webhdfs" in protocols:
        return _webhdfs(fs, root)
    if getattr(fs, "asynchronous", False):
        raise UnsupportedError(
            f"{type(fs).__name__} was made with asynchronous=True; make it without."
        )
    if "s3" in protocols and hasattr(fs, "call_s3"):
        from trinitylake_spark.storage.s3_filesystem import S3FilesystemStorage  # noqa: PLC0415

        return S3FilesystemStorage(fs, root, Attempts(), timeout)
    if protocols & _CONDITIONAL and hasattr(fs, "_pipe_file"):
        from trinitylake_spark.storage.conditional_filesystem import (  # noqa: PLC0415
            ConditionalFilesystemStorage,
        )

        return ConditionalFilesystemStorage(fs, root, Attempts())
    raise UnsupportedError(
        f"{type(fs).__name__} ({', '.join(sorted(protocols))}) has no exclusive create that we "
        "know to be one. Use a storage of ours: file://, s3://, gs://, abfs://, hdfs://, "
        "dynamodb://, redis://.",
        filesystem=type(fs).__name__,
    )


def _webhdfs(fs: Any, root: str) -> Storage:  # noqa: ANN401 - fsspec has no types
    from trinitylake_spark.storage.hdfs import HdfsStorage  # noqa: PLC0415
    from trinitylake_spark.storage.webhdfs import WebHdfs  # noqa: PLC0415

    address = str(fs.url).removesuffix("/webhdfs/v1")
    client = WebHdfs([address], fs.pars, (5.0, 30.0), session=getattr(fs, "session", None))
    prefix = f"{root}/" if root else ""
    host = address.partition("://")[2]
    return HdfsStorage(f"webhdfs://{host}/{prefix}", prefix, client, Attempts())
