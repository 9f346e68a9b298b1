"""Versions that no ordinary transaction makes: rollback, compaction (format.md §8.3, §3.5)."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from trinitylake_spark.errors import InvalidInputError, Kind
from trinitylake_spark.format.definitions import serialise
from trinitylake_spark.format.definitions_pb2 import ActionType, LakehouseDef
from trinitylake_spark.format.nodefile import NodeFile
from trinitylake_spark.format.paths import lakehouse_definition_path, root_path
from trinitylake_spark.format.system import CommitKind, RootInfo
from trinitylake_spark.lakehouse.actions import lakehouse_action, revocation_action, type_name
from trinitylake_spark.lakehouse.committing import Candidate, emitter
from trinitylake_spark.lakehouse.conflicts import conflict_error, lakehouse_conflict
from trinitylake_spark.lakehouse.proposal import committed_already
from trinitylake_spark.tree.write import compact

if TYPE_CHECKING:
    from collections.abc import Mapping

    from trinitylake_spark.commit.versions import Root
    from trinitylake_spark.lakehouse.committing import WriteNodes
    from trinitylake_spark.lakehouse.proposal import Header
    from trinitylake_spark.lakehouse.services import Services
    from trinitylake_spark.lakehouse.snapshot import Snapshot

_KEPT_BY_ROLLBACK = (
    "maximum_version_age_millis",
    "minimum_versions_to_keep",
    "maximum_version_age_millis_overrides",
    "exported_snapshots",
    "txn_ttl_millis",
)
"""Fields of the definition that rule what is kept; a rollback must not loosen them."""


@dataclass(slots=True)
class RollbackProposal:
    """A new version with the content of an older one.

    Args:
        services: of the open lakehouse.
        latest: the newest version; the rollback stands on it or fails.
        target: the version whose content is wanted.
        header: who, and why.

    Raises:
        InvalidInputError: kind ``INVALID_VERSION``: the target is not older than the newest.
    """

    services: Services
    latest: Snapshot
    target: Snapshot
    header: Header
    _definition: LakehouseDef = field(init=False)
    _path: str = field(init=False)

    def __post_init__(self) -> None:
        if self.target.version >= self.latest.version:
            raise InvalidInputError(
                f"Version {self.target.version} is the newest one already. Choose an older one.",
                kind=Kind.INVALID_VERSION,
                version=self.target.version,
                latest=self.latest.version,
            )
        old = self.target.layout.definition
        self._definition = LakehouseDef()
        self._definition.CopyFrom(old)
        for name in _KEPT_BY_ROLLBACK:
            self._definition.ClearField(name)
        kept = LakehouseDef()
        kept.CopyFrom(self.latest.layout.definition)
        for descriptor, _ in kept.ListFields():
            if descriptor.name not in _KEPT_BY_ROLLBACK:
                kept.ClearField(descriptor.name)
        self._definition.MergeFrom(kept)
        self._path = (
            self.target.layout.path
            if self._definition == old
            else lakehouse_definition_path(self.services.ids.uuid4())
        )

    @property
    def transaction_id(self) -> str:
        """By which the root is recognised."""
        return self.header.transaction_id

    def follow(self, latest: Root) -> None:
        """Refuse: what came after was not seen by whoever asked for the rollback."""
        rule = "a rollback replaces the newest version it saw, and no other (format.md §8.3)"
        names = type_name(ActionType.ROLLBACK)
        conflict = lakehouse_conflict(latest, "COMMIT", rule, my_operation=names)
        raise conflict_error(self.transaction_id, [conflict])

    def definitions(self) -> Mapping[str, bytes]:
        """Return the merged definition if it is a new file."""
        if self._path == self.target.layout.path:
            return {}
        return {self._path: serialise(self._definition)}

    def files(self) -> Mapping[str, bytes]:
        """Return nothing: no data changes."""
        return {}

    def candidate(self, base: Root, created_at_millis: int, _write: WriteNodes) -> Candidate:
        """Copy table and buffer of the target's root."""
        action = lakehouse_action(ActionType.ROLLBACK, str(self.target.version))
        info = RootInfo(
            created_at_millis=created_at_millis,
            lakehouse_def=self._path,
            version=base.version + 1,
            previous_root=root_path(base.version),
            rollback_from_root=root_path(base.version),
            txn_id=self.transaction_id,
            time_version=created_at_millis,
            commit_kind=CommitKind.ROLLBACK,
            isolation=self.header.isolation,
            actions=[serialise(action)],
            author=self.header.author,
            message=self.header.message,
        )
        old = self.target.root.node
        node = NodeFile(info.to_rows(), old.keys, old.values, old.children, old.buffer)
        return Candidate(node, info, self.target.layout.order, {})


@dataclass(slots=True)
class RevocationProposal:
    """A new version of the same content that stops a prepared transaction from committing.

    Whoever is committing it, however late, has to follow this version and reads there that the
    transaction was given up (format.md §6.7).

    Args:
        services: of the open lakehouse.
        header: who, and why.
        revoked: id of the prepared transaction.
        name: the name it was prepared under.
        followed: up to this version no root is the transaction's work.
    """

    services: Services
    header: Header
    revoked: str
    name: str
    followed: Root

    @property
    def transaction_id(self) -> str:
        """By which the root is recognised."""
        return self.header.transaction_id

    def follow(self, latest: Root) -> None:
        """Check that the transaction was not committed after all.

        Raises:
            TransactionStateError: kind ``TRANSACTION_FINISHED``: it was.
        """
        versions = range(self.followed.version + 1, latest.version + 1)
        for root in self.services.finder.roots(versions):
            if root.info.txn_id == self.revoked:
                raise committed_already(self.revoked, root.version)
        self.followed = latest

    def definitions(self) -> Mapping[str, bytes]:
        """Return nothing: no definition changes."""
        return {}

    def files(self) -> Mapping[str, bytes]:
        """Return nothing: no data changes."""
        return {}

    def candidate(self, base: Root, created_at_millis: int, _write: WriteNodes) -> Candidate:
        """Take over the base's tree."""
        layout = self.services.layout(base)
        info = RootInfo(
            created_at_millis=created_at_millis,
            lakehouse_def=base.info.lakehouse_def,
            version=base.version + 1,
            previous_root=root_path(base.version),
            txn_id=self.transaction_id,
            time_version=base.info.time_version or base.info.created_at_millis,
            commit_kind=CommitKind.PHYSICAL,
            isolation=self.header.isolation,
            actions=[serialise(revocation_action(self.name))],
            author=self.header.author,
            message=self.header.message,
            revoked_txn=self.revoked,
        )
        old = base.node
        node = NodeFile(info.to_rows(), old.keys, old.values, old.children, old.buffer)
        return Candidate(node, info, layout.order, {})


@dataclass(frozen=True, slots=True)
class CompactionProposal:
    """A new version of the same content with every message flushed that may be.

    Args:
        services: of the open lakehouse.
        header: who, and why.
    """

    services: Services
    header: Header

    @property
    def transaction_id(self) -> str:
        """By which the root is recognised."""
        return self.header.transaction_id

    def follow(self, latest: Root) -> None:
        """Do nothing: any version can be compacted."""

    def definitions(self) -> Mapping[str, bytes]:
        """Return nothing: no definition changes."""
        return {}

    def files(self) -> Mapping[str, bytes]:
        """Return nothing: no data changes."""
        return {}

    def candidate(self, base: Root, created_at_millis: int, write: WriteNodes) -> Candidate:
        """Flush the base's tree."""
        layout = self.services.layout(base)
        action = lakehouse_action(ActionType.MAJOR_COMPACT, "tree")
        info = RootInfo(
            created_at_millis=created_at_millis,
            lakehouse_def=base.info.lakehouse_def,
            version=base.version + 1,
            previous_root=root_path(base.version),
            txn_id=self.transaction_id,
            time_version=base.info.time_version or base.info.created_at_millis,
            commit_kind=CommitKind.PHYSICAL,
            isolation=self.header.isolation,
            actions=[serialise(action)],
            author=self.header.author,
            message=self.header.message,
        )
        change = compact(
            self.services.nodes,
            base.node,
            layout.limits,
            self.services.ids,
            self.services.clock,
            system=info.to_rows(),
            emit=emitter(write, layout.order),
        )
        return Candidate(change.root, info, layout.order, change.nodes)
