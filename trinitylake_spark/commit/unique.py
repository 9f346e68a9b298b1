"""Write files whose names nobody else can have, or take them back (format.md §2.1, §6.4)."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

from trinitylake_spark.errors import (
    AlreadyExistsError,
    CorruptError,
    Kind,
    StorageError,
    TrinityLakeError,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from trinitylake_spark.storage.base import Storage

_MAX_CREATES = 5
_DELETERS = 16


def create_unique(storage: Storage, objects: Mapping[str, bytes]) -> None:
    """Create objects named by a fresh UUID; return when all are there.

    As nobody else knows such a name, "exists" can only mean that a lost reply was a success; the
    bytes are compared all the same.

    Raises:
        StorageError: the storage failed; some of them may be there.
        CorruptError: a name holds other bytes.
    """
    try:
        storage.create_all(objects)
    except AlreadyExistsError:
        pass
    except StorageError as error:
        if error.kind is not Kind.CREATE_UNKNOWN:
            raise
    else:
        return
    for path, data in objects.items():
        _settle(storage, path, data)


def discard_unique(storage: Storage, paths: Iterable[str]) -> None:
    """Delete files that no version reaches, side by side and as far as the storage lets us.

    What stays is garbage and harms nobody. So a failure is no error and does not end it; but a
    storage that fails again and again, after all the retries of each call, is left alone.
    """
    failures: list[TrinityLakeError] = []

    def delete(path: str) -> None:
        if len(failures) < _DELETERS:
            try:
                storage.delete(path)
            except TrinityLakeError as error:
                failures.append(error)

    wanted = list(paths)
    if len(wanted) <= 1 or not storage.parallel:
        for path in wanted:
            delete(path)
        return
    with ThreadPoolExecutor(min(_DELETERS, len(wanted))) as pool:
        list(pool.map(delete, wanted))


def _settle(storage: Storage, path: str, data: bytes) -> None:
    for attempt in range(1, _MAX_CREATES + 1):
        try:
            storage.create(path, data)
        except AlreadyExistsError as error:
            if storage.read(path) != data:
                raise CorruptError(
                    f"{path!r} should be new, yet it exists with other content. Is the source of "
                    "random identifiers shared by two machines?",
                    path=path,
                    rule="format.md §2.1: files are named by a new UUID",
                    found="other content",
                ) from error
        except StorageError as error:
            if error.kind is not Kind.CREATE_UNKNOWN or attempt == _MAX_CREATES:
                raise
            continue
        return
