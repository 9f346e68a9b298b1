"""Create the next root: who won, was it us, and did expiration play a trick (format.md §6.4).

An exclusive create can answer "exists" for an object that is our own, when a reply was lost and
a client below us repeated the request. So no such answer is final: every root carries the id of
its transaction, and what is found under the name decides.
"""

from __future__ import annotations

import contextlib
from dataclasses import dataclass
from typing import TYPE_CHECKING

from trinitylake_spark.commit.versions import Root
from trinitylake_spark.errors import (
    AlreadyExistsError,
    CommitUnknownError,
    Kind,
    NotFoundError,
    StorageError,
    TrinityLakeError,
)
from trinitylake_spark.format.nodefile import encode_node
from trinitylake_spark.format.paths import HINT_PATH, encode_version, root_path

if TYPE_CHECKING:
    from trinitylake_spark.commit.versions import VersionFinder
    from trinitylake_spark.format.nodefile import NodeFile
    from trinitylake_spark.format.system import RootInfo
    from trinitylake_spark.storage.base import Storage

_MAX_CREATES = 5


@dataclass(frozen=True, slots=True)
class Committed:
    """The root was created, and it is ours."""

    root: Root


@dataclass(frozen=True, slots=True)
class Lost:
    """Another transaction has the version; ours has no effect and may try the next one."""

    winner: Root


class Committer:
    """Creates roots of one lakehouse; knows nothing of what they hold.

    Args:
        storage: where the tree is.
        finder: learns every root that is met.
    """

    def __init__(self, storage: Storage, finder: VersionFinder) -> None:
        self._storage = storage
        self._finder = finder

    def create_root(
        self, version: int, node: NodeFile, info: RootInfo, order: int
    ) -> Committed | Lost:
        """Try to make ``node`` the root of ``version``.

        Args:
            version: the version wanted.
            node: the root; its system rows are those of ``info``.
            info: must carry ``txn_id``, by which an own root is recognised.
            order: N of the definition that the root names.

        Raises:
            CommitUnknownError: neither the create nor reading back gave an answer.
            StorageError: the storage failed and certainly created nothing.
            TrinityLakeError: kind ``VERSION_OVERFLOW``.
        """
        path = root_path(version)
        data = encode_node(node, order)
        doubtful = False
        for _ in range(_MAX_CREATES):
            try:
                self._storage.create(path, data)
                return self._won(Root(version, node, info), len(data))
            except AlreadyExistsError as error:
                reason: TrinityLakeError = error
            except StorageError as error:
                if error.kind is not Kind.CREATE_UNKNOWN and not doubtful:
                    raise
                reason = error
            doubtful = True
            found = self._read_back(version, info, reason)
            if found is None:
                continue
            if found.info.txn_id == info.txn_id:
                # What is stored counts: a prepared transaction may have two publishers (§6.7).
                return Committed(found)
            return Lost(found)
        raise _unknown(version, info, "the storage says neither that it stored it nor who did")

    def finish(self, version: int, txn_id: str) -> None:
        """Do what follows a commit: check the floor, and leave a hint for others.

        Raises:
            NotFoundError: kind ``VERSION_EXPIRED``: the name had been expired and used again, so
                nobody will ever see this commit; the file is deleted.
            CommitUnknownError: the floor could not be read, so that cannot be told.
        """
        try:
            floor, _ = self._storage.both(self._finder.floor, lambda: self._hint(version))
        except TrinityLakeError as error:
            raise CommitUnknownError(
                f"Version {version} was created, but reading the retention floor failed: "
                f"{error.message} Ask commit_status('{txn_id}') later.",
                transaction_id=txn_id,
                version=version,
            ) from error
        if floor > version:
            with contextlib.suppress(StorageError):
                self._storage.delete(root_path(version))
            raise NotFoundError(
                f"The transaction took so long that its version {version} has been expired; the "
                f"oldest one kept is {floor}. Nothing was committed: run the transaction again.",
                kind=Kind.VERSION_EXPIRED,
                version=version,
                oldest=floor,
            )

    def _hint(self, version: int) -> None:
        known = self._finder.known
        if known is not None and known.version > version:
            return
        with contextlib.suppress(TrinityLakeError):
            self._storage.write_hint(HINT_PATH, encode_version(version))

    def _won(self, root: Root, stored_bytes: int) -> Committed:
        self._finder.learn(root, stored_bytes)
        return Committed(root)

    def _read_back(self, version: int, info: RootInfo, reason: TrinityLakeError) -> Root | None:
        """Return the root that has the name, or None if there is none after all."""
        try:
            return self._finder.root(version)
        except NotFoundError:
            return None
        except TrinityLakeError as error:
            raise _unknown(version, info, error.message) from reason


def _unknown(version: int, info: RootInfo, said: str) -> CommitUnknownError:
    return CommitUnknownError(
        f"Version {version} may or may not be committed: {said} Ask commit_status("
        f"'{info.txn_id}') before running the transaction again.",
        transaction_id=info.txn_id,
        version=version,
    )
