"""Make a new lakehouse, on a storage whose exclusive create was seen to be exclusive (§6.1)."""

from __future__ import annotations

import contextlib
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

from trinitylake_spark.commit.commit import Lost
from trinitylake_spark.commit.unique import create_unique
from trinitylake_spark.errors import (
    AlreadyExistsError,
    Kind,
    StorageError,
    TrinityLakeError,
)
from trinitylake_spark.format.definitions import serialise
from trinitylake_spark.format.definitions_pb2 import IsolationLevel
from trinitylake_spark.format.nodefile import NodeFile
from trinitylake_spark.format.paths import lakehouse_definition_path, parse_root_path
from trinitylake_spark.format.system import CommitKind, Isolation, RootInfo

if TYPE_CHECKING:
    from trinitylake_spark.format.definitions_pb2 import LakehouseDef
    from trinitylake_spark.ids import Ids
    from trinitylake_spark.lakehouse.services import Services
    from trinitylake_spark.storage.base import Storage

_ROUNDS = 4
_CREATORS = 8


def create_lakehouse(
    services: Services, definition: LakehouseDef, *, message: str = "", probe: bool = True
) -> None:
    """Write version 0.

    Args:
        services: of the storage to use.
        definition: a checked definition.
        message: what the lakehouse is for.
        probe: try first whether exclusive create is exclusive.

    Raises:
        AlreadyExistsError: kind ``LAKEHOUSE_ALREADY_EXISTS``.
        StorageError: kind ``NOT_EXCLUSIVE``, or the storage failed.
    """
    storage = services.storage
    if any(parse_root_path(path) is not None for path in storage.list("_")):
        raise _exists(storage)
    if probe:
        probe_exclusive_create(storage, services.ids)
    path = lakehouse_definition_path(services.ids.uuid4())
    create_unique(storage, {path: serialise(definition)})
    now = services.clock.now_millis()
    info = RootInfo(
        created_at_millis=now,
        lakehouse_def=path,
        version=0,
        txn_id=services.ids.uuid4(),
        time_version=now,
        commit_kind=CommitKind.DEFINITION,
        isolation=Isolation(IsolationLevel.Name(definition.txn_isolation_level)),
        author=services.author,
        message=message,
    )
    node = NodeFile(info.to_rows(), [], [], [])
    outcome = services.committer.create_root(0, node, info, definition.order)
    if isinstance(outcome, Lost):
        with contextlib.suppress(TrinityLakeError):
            storage.delete(path)
        raise _exists(storage)
    services.committer.finish(0, info.txn_id or "")


def probe_exclusive_create(storage: Storage, ids: Ids) -> None:
    """Try whether of several creators of one object exactly one wins, and keeps what it wrote.

    A storage can lie in ways that a few rounds do not show; what they show is certain.

    Raises:
        StorageError: kind ``NOT_EXCLUSIVE``, or the storage failed.
    """
    with ThreadPoolExecutor(_CREATORS) as pool:
        for _ in range(_ROUNDS):
            path = f"_exclusive_create_probe_{ids.uuid4()}"
            tokens = [ids.uuid4().encode() for _ in range(_CREATORS)]
            try:
                outcomes = pool.map(lambda token: _try_create(storage, path, token), tokens)  # noqa: B023 - used up in this round
                created = [t for t, done in zip(tokens, outcomes, strict=True) if done]
                late = _try_create(storage, path, b"late")
                stored = storage.read(path)
            finally:
                with contextlib.suppress(TrinityLakeError):
                    storage.delete(path)
            if late or len(created) > 1 or stored not in tokens or created not in ([], [stored]):
                raise StorageError(
                    f"Exclusive create in {storage.url} is not exclusive: {_CREATORS} creators of "
                    f"one object, {len(created) + late} were told that they made it. Commits could "
                    "overwrite each other there. Use a storage or an endpoint that honours "
                    "conditional writes.",
                    kind=Kind.NOT_EXCLUSIVE,
                    url=storage.url,
                    winners=len(created) + late,
                )


def _try_create(storage: Storage, path: str, data: bytes) -> bool:
    """Tell whether the storage says that this create made the object."""
    try:
        storage.create(path, data)
    except AlreadyExistsError:
        return False
    except StorageError as error:
        if error.kind is not Kind.CREATE_UNKNOWN:
            raise
        return False
    return True


def _exists(storage: Storage) -> AlreadyExistsError:
    return AlreadyExistsError(
        f"There is a lakehouse at {storage.url} already. Open it, or choose another URL.",
        kind=Kind.LAKEHOUSE_ALREADY_EXISTS,
        url=storage.url,
    )
