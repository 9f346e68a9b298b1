"""What an ordinary transaction puts forward at its commit (format.md §6.4 to §6.6)."""

from __future__ import annotations

import contextlib
from dataclasses import dataclass
from typing import TYPE_CHECKING

from trinitylake_spark.errors import (
    Kind,
    NotFoundError,
    StorageError,
    TransactionStateError,
    UnsupportedError,
)
from trinitylake_spark.format.definitions import LAYOUT_FIELDS, serialise
from trinitylake_spark.format.definitions_pb2 import ActionType
from trinitylake_spark.format.nodefile import Message
from trinitylake_spark.format.paths import root_path
from trinitylake_spark.format.system import CommitKind, RootInfo
from trinitylake_spark.lakehouse.actions import (
    describe_changes,
    lakehouse_action,
    object_action,
    read_actions,
)
from trinitylake_spark.lakehouse.changes import changes_of
from trinitylake_spark.lakehouse.committing import AlreadyCommitted, Candidate, emitter
from trinitylake_spark.lakehouse.conflicts import Judge, conflict_error, lakehouse_conflict
from trinitylake_spark.lakehouse.definitions import Layout, layout_of
from trinitylake_spark.lakehouse.properties import key_changer
from trinitylake_spark.lakehouse.rebase import Rebaser
from trinitylake_spark.lakehouse.snapshot import Snapshot
from trinitylake_spark.tree.read import newest_txn
from trinitylake_spark.tree.rebuild import rebuild
from trinitylake_spark.tree.write import TreeChange, apply

if TYPE_CHECKING:
    from collections.abc import Mapping

    from trinitylake_spark.commit.versions import Root
    from trinitylake_spark.format.definitions_pb2 import ActionDef
    from trinitylake_spark.format.system import Isolation
    from trinitylake_spark.lakehouse.actions import Change
    from trinitylake_spark.lakehouse.committing import WriteNodes
    from trinitylake_spark.lakehouse.conflicts import Conflict
    from trinitylake_spark.lakehouse.pending import Pending
    from trinitylake_spark.lakehouse.services import Services


@dataclass(frozen=True, slots=True)
class Header:
    """What a version records of the transaction that made it.

    Args:
        transaction_id: a UUID4.
        isolation: its level.
        message: what it is for.
        author: who commits.
        idempotency_key: a second commit with the same key changes nothing.
        publication: which attempt to commit a prepared transaction this is.
    """

    transaction_id: str
    isolation: Isolation
    message: str = ""
    author: str = ""
    idempotency_key: str | None = None
    publication: str | None = None


def base_expired(transaction_id: str, version: int, oldest: int) -> NotFoundError:
    """Return the error of a transaction whose version is kept no longer."""
    return NotFoundError(
        f"Version {version}, which transaction {transaction_id} stands on, has been expired; the "
        f"oldest one kept is {oldest}. Nothing was committed: run the transaction again.",
        kind=Kind.VERSION_EXPIRED,
        version=version,
        oldest=oldest,
    )


def committed_already(transaction_id: str, version: int | None) -> TransactionStateError:
    """Return the error of a prepared transaction that somebody else has committed."""
    made = "without a version, as it changed nothing" if version is None else f"as {version}"
    return TransactionStateError(
        f"Transaction {transaction_id} is over: it was committed already, {made}.",
        kind=Kind.TRANSACTION_FINISHED,
        transaction_id=transaction_id,
        state="committed",
        version=version,
    )


def rolled_back_already(transaction_id: str) -> TransactionStateError:
    """Return the error of a prepared transaction that somebody has rolled back."""
    return TransactionStateError(
        f"Transaction {transaction_id} is over: it was rolled back. Begin a new one.",
        kind=Kind.TRANSACTION_FINISHED,
        transaction_id=transaction_id,
        state="rolled back",
    )


class TransactionProposal:
    """The commit of a transaction's work, derived anew for each version it has to follow.

    Args:
        services: of the open lakehouse.
        base: what the transaction saw.
        pending: its own work; stays as it is.
        header: who commits, and why.
    """

    def __init__(
        self, services: Services, base: Snapshot, pending: Pending, header: Header
    ) -> None:
        self._services = services
        self._base = base
        self._own = pending
        self._derived = pending
        self._header = header
        self._followed = base.root
        self._judge = Judge(pending, header.isolation, base.layout.keys)
        self._rebaser = Rebaser(services, base, pending, header.isolation)
        self._actions: list[bytes] | None = None

    @property
    def transaction_id(self) -> str:
        """By which the root is recognised."""
        return self._header.transaction_id

    @property
    def isolation(self) -> Isolation:
        """The transaction's level."""
        return self._header.isolation

    @property
    def left_out(self) -> int:
        """How many files its compactions do not replace, as others changed them meanwhile."""
        return sum(step.change.left_out for step in self._derived.steps)

    def changes(self) -> list[Change]:
        """Return what a commit would change, in order."""
        return describe_changes(self._writing_actions())

    def follow(self, latest: Root) -> None:
        """Check every version up to ``latest``, then derive the work anew on it.

        Raises:
            CommitConflictError: with all conflicts of all tables, up to the newest version.
            AlreadyCommitted: one of them did this transaction's work under the same key.
            TransactionStateError: kind ``TRANSACTION_FINISHED``: the transaction was prepared,
                and somebody else has committed it or rolled it back.
        """
        conflicts: list[Conflict] = []
        refused = self._follow(latest, conflicts)
        if not conflicts and not refused:
            return
        with contextlib.suppress(NotFoundError, StorageError):
            newest = self._services.finder.latest()
            if newest.version > latest.version:
                refused = self._follow(newest, conflicts) or refused
        raise conflict_error(self.transaction_id, conflicts + refused)

    def _follow(self, latest: Root, conflicts: list[Conflict]) -> list[Conflict]:
        """Add the conflicts with versions up to ``latest``; return the tables that refuse it."""
        for root in self._roots_after(self._followed, latest):
            if root.info.txn_id == self.transaction_id:
                raise committed_already(self.transaction_id, root.version)
            if root.info.revoked_txn == self.transaction_id:
                raise rolled_back_already(self.transaction_id)
            if self._header.idempotency_key is not None and (
                root.info.idempotency_key == self._header.idempotency_key
            ):
                raise AlreadyCommitted(root.version)
            previous, self._followed = self._followed, root
            changes = changes_of(root, previous, self._base.layout.keys, self._services.definitions)
            conflicts += self._judge.check(changes)
            if changes.is_rollback or changes.layout_changed:
                raise conflict_error(self.transaction_id, conflicts)
        lost = frozenset(conflict.key for conflict in conflicts if conflict.key is not None)
        on_top = Snapshot(self._services, latest)
        self._derived, refused = self._rebaser.derive(on_top, self._judge, lost)
        self._actions = None
        return refused

    def definitions(self) -> Mapping[str, bytes]:
        """Return the definition files that the next candidate names and that are new."""
        change, stored = self._derived.definition, self._derived.stored
        found = dict(self._derived.definitions)
        if change is not None:
            found[change.path] = serialise(change.definition)
        return {path: data for path, data in found.items() if path not in stored}

    def files(self) -> Mapping[str, bytes]:
        """Return the warehouse files that must exist before the root does."""
        return self._derived.files

    def candidate(self, base: Root, created_at_millis: int, write: WriteNodes) -> Candidate:
        """Build the root that follows ``base``."""
        info = self.info(base, created_at_millis)
        system = info.to_rows()
        old = self._services.layout(base)
        new = self._new_layout(old)
        if any(getattr(old.definition, f) != getattr(new.definition, f) for f in LAYOUT_FIELDS):
            change = self._rebuilt(base, old, new, system, write)
        else:
            change = self._applied(base, new, system)
        return Candidate(change.root, info, new.order, change.nodes)

    def _applied(self, base: Root, layout: Layout, system: dict[str, str]) -> TreeChange:
        writes = self._derived.writes
        messages = [Message(key, write.path, self.transaction_id) for key, write in writes.items()]
        return apply(
            self._services.nodes,
            base.node,
            messages,
            layout.limits,
            self._services.ids,
            self._services.clock,
            system=system,
            keep_txn=self.transaction_id if messages else newest_txn(base.node),
        )

    def _rebuilt(
        self, base: Root, old: Layout, new: Layout, system: dict[str, str], write: WriteNodes
    ) -> TreeChange:
        """Write the whole tree in another layout (format.md §3.3, §4)."""
        if self._derived.writes:
            raise UnsupportedError(
                "The layout of the tree cannot change in a transaction that changes objects. "
                "Use one transaction for each."
            )

        return rebuild(
            self._services.nodes,
            base.node,
            old.order,
            new.limits,
            self._services.ids,
            self._services.clock,
            system=system,
            rekey=key_changer(self._services, base, old, new),
            emit=emitter(write, new.order),
        )

    def _new_layout(self, old: Layout) -> Layout:
        change = self._derived.definition
        return old if change is None else layout_of(change.path, change.definition)

    def info(self, base: Root, stamp: int) -> RootInfo:
        """Return what the system rows of the root that follows ``base`` would say."""
        kind = self._kind()
        change = self._derived.definition
        is_new_time = kind is CommitKind.LOGICAL or base.info.time_version is None
        return RootInfo(
            created_at_millis=stamp,
            lakehouse_def=base.info.lakehouse_def if change is None else change.path,
            version=base.version + 1,
            previous_root=root_path(base.version),
            txn_id=self.transaction_id,
            time_version=stamp if is_new_time else base.info.time_version,
            commit_kind=kind,
            isolation=self._header.isolation,
            actions=self._recorded_actions(),
            author=self._header.author,
            message=self._header.message,
            idempotency_key=self._header.idempotency_key,
            publication=self._header.publication,
        )

    def _kind(self) -> CommitKind:
        if not self._derived.writes:
            return CommitKind.DEFINITION
        if not self._derived.is_physical():
            return CommitKind.LOGICAL
        return CommitKind.PHYSICAL if self._derived.definition is None else CommitKind.DEFINITION

    def _writing_actions(self) -> list[ActionDef]:
        actions = [
            object_action(step.key, step.target, step.change.operation, step.change.detail)
            for step in self._derived.steps
        ]
        if self._derived.definition is not None:
            names = self._derived.definition.names
            actions += [lakehouse_action(ActionType.LAKEHOUSE_ALTER, name) for name in names]
        return actions

    def _recorded_actions(self) -> list[bytes]:
        if self._actions is None:
            reads = read_actions(self._own.reads, self._base.layout.keys)
            self._actions = [serialise(a) for a in [*self._writing_actions(), *reads]]
        return self._actions

    def _roots_after(self, followed: Root, latest: Root) -> list[Root]:
        """Return the roots to check.

        Raises:
            CommitConflictError: one is gone, so nothing can be proved.
            NotFoundError: kind ``VERSION_EXPIRED``.
        """
        finder = self._services.finder
        try:
            return finder.roots(range(followed.version + 1, latest.version + 1), keep=True)
        except NotFoundError as error:
            oldest = finder.floor()
            if followed.version < oldest:
                raise base_expired(self.transaction_id, followed.version, oldest) from error
            rule = "a version between is missing, so nothing can be proved (format.md §6.5)"
            raise conflict_error(
                self.transaction_id, [lakehouse_conflict(latest, "UNKNOWN", rule)]
            ) from error
