"""The versions of a lakehouse, newest first: who, when, what (format.md §3.2, §5.4)."""

from __future__ import annotations

import threading
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

from trinitylake_spark.errors import NotFoundError
from trinitylake_spark.format.definitions_pb2 import ActionType
from trinitylake_spark.lakehouse.actions import Change, actions_of, describe_changes
from trinitylake_spark.lakehouse.snapshot import to_datetime

if TYPE_CHECKING:
    from collections.abc import Iterator
    from datetime import datetime

    from trinitylake_spark.commit.versions import Root, VersionFinder

_BATCH = 16


@dataclass(frozen=True, slots=True)
class VersionInfo:
    """One version, as ``system.versions`` shows it.

    Args:
        version: its number.
        created_at: when it was committed, UTC.
        time_version: when data last changed logically up to it, UTC (format.md §7.4).
        kind: ``logical``, ``physical``, ``definition`` or ``rollback``.
        transaction_id: of the transaction that made it.
        isolation_level: ``SNAPSHOT`` or ``SERIALIZABLE``.
        author: who committed it.
        message: what for.
        rolled_back_to: the version whose content a rollback took.
        changes: what it changed.
        idempotency_key: the key its transaction was given.
    """

    version: int
    created_at: datetime
    time_version: datetime | None
    kind: str | None
    transaction_id: str | None
    isolation_level: str | None
    author: str
    message: str
    rolled_back_to: int | None
    changes: list[Change]
    idempotency_key: str | None


class CommitState(StrEnum):
    """What is known about a transaction's commit."""

    COMMITTED = "committed"
    NOT_COMMITTED = "not committed"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class CommitStatus:
    """The outcome of a transaction.

    Args:
        state: ``committed``, ``not committed``, or ``unknown`` if it may have been in a version
            that is no longer kept.
        version: the version it committed, if it did.
    """

    state: CommitState
    version: int | None


def describe_version(root: Root) -> VersionInfo:
    """Return what a root says about its version.

    Raises:
        CorruptError: an action that cannot be read.
    """
    info = root.info
    actions = actions_of(root)
    changes = describe_changes(actions)
    if root.version == 0 and not changes:
        changes = [Change("lakehouse", "", "CREATE")]
    is_rollback = info.rollback_from_root is not None
    target = next((a for a in actions if is_rollback and a.type == ActionType.ROLLBACK), None)
    return VersionInfo(
        version=root.version,
        created_at=to_datetime(info.created_at_millis),
        time_version=None if info.time_version is None else to_datetime(info.time_version),
        kind=info.commit_kind,
        transaction_id=info.txn_id,
        isolation_level=info.isolation,
        author=info.author,
        message=info.message,
        rolled_back_to=None if target is None else int(target.object_def.namespaceObjectName),
        changes=changes,
        idempotency_key=info.idempotency_key,
    )


def roots_down(finder: VersionFinder, latest: Root, above: int = -1) -> Iterator[Root]:
    """Yield the roots from ``latest`` down to the floor, reading some at a time.

    Versions that are expired while this runs end it.

    Args:
        finder: reads roots.
        latest: the first one.
        above: stop before this version.
    """
    if latest.version > above:
        yield latest
    version = latest.version
    while version > (end := max(finder.known_floor, above + 1)):
        start = max(version - _BATCH, end)
        try:
            batch = finder.roots(range(start, version))
        except NotFoundError:
            if finder.floor() <= start:
                raise
            continue
        yield from reversed(batch)
        version = start


class IdempotencyKeys:
    """Which version used which idempotency key; each root is read once in a process's life.

    Args:
        finder: reads roots.
    """

    def __init__(self, finder: VersionFinder) -> None:
        self._finder = finder
        self._versions: dict[str, int] = {}
        self._read_up_to = -1
        self._lock = threading.Lock()

    def find(self, key: str, latest: Root) -> int | None:
        """Return the version at or below ``latest`` that used a key, if it is kept."""
        with self._lock:
            for root in roots_down(self._finder, latest, above=self._read_up_to):
                if root.info.idempotency_key is not None:
                    self._versions.setdefault(root.info.idempotency_key, root.version)
            self._read_up_to = max(self._read_up_to, latest.version)
            version = self._versions.get(key)
        is_kept = version is not None and self._finder.known_floor <= version <= latest.version
        return version if is_kept else None


def find_transaction(finder: VersionFinder, transaction_id: str, latest: Root) -> CommitStatus:
    """Return what became of a transaction, as far back as history is kept."""
    for root in roots_down(finder, latest):
        if root.info.txn_id == transaction_id:
            return CommitStatus(CommitState.COMMITTED, root.version)
    if finder.floor() > 0:
        return CommitStatus(CommitState.UNKNOWN, None)
    return CommitStatus(CommitState.NOT_COMMITTED, None)
