"""Which module opens which URL; a module is imported only when its scheme is used."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any, NamedTuple

from trinitylake_spark.errors import InvalidInputError, Kind
from trinitylake_spark.storage.options import missing_client

if TYPE_CHECKING:
    from collections.abc import Mapping

    from trinitylake_spark.storage.base import Storage

_PACKAGE = "trinitylake_spark.storage"
_FSSPEC = "fsspec"


class _Opener(NamedTuple):
    module: str
    extra: str | None


_OPENERS: Mapping[str, _Opener] = {
    "file": _Opener("local", None),
    "memory": _Opener("memory", None),
    "s3": _Opener("s3", "s3"),
    "s3a": _Opener("s3", "s3"),
    "gs": _Opener("gcs", "gcs"),
    "gcs": _Opener("gcs", "gcs"),
    "abfs": _Opener("azure", "azure"),
    "abfss": _Opener("azure", "azure"),
    "az": _Opener("azure", "azure"),
    "azure": _Opener("azure", "azure"),
    "hdfs": _Opener("hdfs", "hdfs"),
    "webhdfs": _Opener("hdfs", "hdfs"),
    "swebhdfs": _Opener("hdfs", "hdfs"),
    "dynamodb": _Opener("dynamodb", "dynamodb"),
    "redis": _Opener("redis", "redis"),
    "rediss": _Opener("redis", "redis"),
    "valkey": _Opener("redis", "redis"),
    "valkeys": _Opener("redis", "redis"),
}


def open_storage(
    url: str,
    options: Mapping[str, Any] | None = None,
    *,
    fs: Any = None,  # noqa: ANN401 - fsspec has no types
) -> Storage:
    """Open the storage behind a URL.

    Args:
        url: one of the known schemes, or a plain absolute path for ``file://``.
        options: options of that storage; ``client=fsspec`` uses fsspec's client for the scheme.
        fs: the caller's own fsspec filesystem to use instead of a client of ours.

    Raises:
        InvalidInputError: kind ``INVALID_URL`` for a URL that cannot be a root (a relative path,
            an unknown scheme, a path that normalising would change), or a bad option.
        UnsupportedError: the client library of this storage is not installed.
    """
    if fs is not None or (options or {}).get("client") == _FSSPEC:
        from trinitylake_spark.storage.filesystem import open_filesystem  # noqa: PLC0415

        return open_filesystem(url, options, fs=fs)
    opener = _opener(url)
    try:
        module = import_module(f"{_PACKAGE}.{opener.module}")
    except ModuleNotFoundError as error:
        if opener.extra is None or (error.name or "").startswith("trinitylake_spark"):
            raise
        raise missing_client(error.name or opener.module, opener.extra) from error
    storage: Storage = module.open_storage(url, options)
    return storage


def _opener(url: str) -> _Opener:
    scheme, separator, _ = url.partition("://")
    if not separator and url.startswith("/"):
        return _OPENERS["file"]
    opener = _OPENERS.get(scheme.lower()) if separator else None
    if opener is None:
        raise InvalidInputError(
            f"Invalid root URL {url!r}: expected an absolute path or a URL that starts with one of"
            f" {', '.join(f'{known}://' for known in _OPENERS)}.",
            kind=Kind.INVALID_URL,
            url=url,
        )
    return opener
