"""Write files whose names nobody else can have (format.md §2.1, §6.4 step 3)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from trinitylake_spark.errors import AlreadyExistsError, CorruptError, Kind, StorageError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from trinitylake_spark.storage.base import Storage

_MAX_CREATES = 5


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
