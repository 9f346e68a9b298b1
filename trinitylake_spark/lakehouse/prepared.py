"""Prepared transactions of a lakehouse: resume, commit, roll back, list (format.md §6.7)."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING

from trinitylake_spark.errors import (
    Kind,
    NotFoundError,
    TransactionStateError,
    TrinityLakeError,
)
from trinitylake_spark.format.definitions_pb2 import IsolationLevel, TransactionState
from trinitylake_spark.format.names import validate_prepared_name
from trinitylake_spark.format.nodefile import decode_node
from trinitylake_spark.format.system import Isolation, parse_root_info
from trinitylake_spark.lakehouse.actions import describe_changes, parse_actions
from trinitylake_spark.lakehouse.committing import Commit
from trinitylake_spark.lakehouse.history import roots_down
from trinitylake_spark.lakehouse.maintenance import RevocationProposal
from trinitylake_spark.lakehouse.preparation import Preparation
from trinitylake_spark.lakehouse.proposal import (
    Header,
    base_expired,
    committed_already,
    rolled_back_already,
)
from trinitylake_spark.lakehouse.records import ABORTED, COMMITTED, COMMITTING, Records
from trinitylake_spark.lakehouse.running import restore
from trinitylake_spark.lakehouse.snapshot import Snapshot, to_datetime
from trinitylake_spark.lakehouse.transaction import Transaction

if TYPE_CHECKING:
    from datetime import datetime

    from trinitylake_spark.commit.versions import Root
    from trinitylake_spark.format.nodefile import NodeFile
    from trinitylake_spark.lakehouse.actions import Change
    from trinitylake_spark.lakehouse.records import Record
    from trinitylake_spark.lakehouse.services import Services

_EXPIRED = "expired"
_STATES = {
    TransactionState.OPEN: "prepared",
    TransactionState.COMMITTING: "committing",
    TransactionState.COMMITTED: "committed",
    TransactionState.ABORTED: "rolled back",
}


@dataclass(frozen=True, slots=True)
class PreparedInfo:
    """A prepared transaction, or what became of it, as ``system.transactions`` shows it.

    Args:
        name: the name it was prepared under.
        transaction_id: its id.
        state: ``prepared``, ``committing``, ``committed``, ``rolled back`` or ``expired``.
        version: the version it committed, if it did.
        isolation_level: ``SNAPSHOT`` or ``SERIALIZABLE``.
        base_version: the version it began at.
        author: who began it.
        message: what for.
        began_at: when it began, UTC.
        expires_at: when it can no longer be committed, UTC.
        changes: what a commit would change, or did.
    """

    name: str
    transaction_id: str
    state: str
    version: int | None
    isolation_level: str
    base_version: int
    author: str
    message: str
    began_at: datetime
    expires_at: datetime
    changes: list[Change]


class PreparedTransactions:
    """All prepared transactions of one lakehouse, by name.

    Args:
        services: of the open lakehouse.
    """

    def __init__(self, services: Services) -> None:
        self._services = services
        self._records = Records(services.storage, services.ids)

    def resume(self, name: str) -> Transaction:
        """Return the transaction as it was stored; see ``Lakehouse.resume``."""
        record = self._live(name)
        if record.state == COMMITTING:
            self._refuse_if_committed(record)
            raise TransactionStateError(
                f"Prepared transaction {name!r} is being committed, or whoever did so has failed. "
                "COMMIT PREPARED or ROLLBACK PREPARED ends it either way.",
                kind=Kind.TRANSACTION_MOVED,
                name=name,
                transaction_id=record.definition.id,
            )
        return self._restored(record)

    def commit(self, name: str) -> tuple[int | None, str]:
        """Commit the transaction as it was stored; see ``Lakehouse.commit_prepared``."""
        record = self._live(name)
        if record.state == COMMITTING:
            self._refuse_if_committed(record)
        transaction = self._restored(record)
        return transaction.commit(), transaction.id

    def rollback(self, name: str, author: str) -> str:
        """Give the transaction up; see ``Lakehouse.rollback_prepared``."""
        record = self._named(name)
        if record.state == COMMITTING:
            latest, is_revoked = self._refuse_if_committed(record)
            if not is_revoked:
                self._revoke(record, latest, author)
        self._records.follow(record, ABORTED)
        return record.definition.id

    def list(self) -> list[PreparedInfo]:
        """Return what there is, and what became of what there was, by name."""
        records = self._records.all()
        return [self._info(record) for record in records]

    # --- parts -----------------------------------------------------------------------------------

    def _named(self, name: str) -> Record:
        """Return the newest record of a transaction that is not over.

        Raises:
            NotFoundError: kind ``TRANSACTION_NOT_FOUND``.
            TransactionStateError: kind ``TRANSACTION_FINISHED``.
        """
        validate_prepared_name(name)
        record = self._records.newest(name)
        if record is None:
            raise NotFoundError(
                f"No transaction is prepared as {name!r}. SHOW TRANSACTIONS tells which are.",
                kind=Kind.TRANSACTION_NOT_FOUND,
                name=name,
            )
        definition = record.definition
        if record.state == COMMITTED:
            raise committed_already(definition.id, record.version)
        if record.state == ABORTED:
            raise rolled_back_already(definition.id)
        return record

    def _live(self, name: str) -> Record:
        """Return the newest record of a transaction that may still be committed.

        Raises:
            NotFoundError: kinds ``TRANSACTION_NOT_FOUND``, ``VERSION_EXPIRED``.
            TransactionStateError: kinds ``TRANSACTION_FINISHED``, ``TRANSACTION_EXPIRED``.
        """
        record = self._named(name)
        definition = record.definition
        if record.expired(self._services.clock.now_millis()):
            if record.state == COMMITTING:
                self._refuse_if_committed(record)
            raise TransactionStateError(
                f"Prepared transaction {name!r} expired at "
                f"{to_datetime(definition.expire_at_millis).isoformat()}, so the files it needs "
                "may be gone. Nothing was committed: run it again. ROLLBACK PREPARED frees its "
                "name.",
                kind=Kind.TRANSACTION_EXPIRED,
                name=name,
                transaction_id=definition.id,
            )
        return record

    def _restored(self, record: Record) -> Transaction:
        definition = record.definition
        base = self._base(record)
        path = definition.running_root_node_file_path
        node = self._running(path, base.layout.order)
        info = parse_root_info(node.system, path)
        header = Header(
            definition.id,
            Isolation(IsolationLevel.Name(definition.isolation_level)),
            info.message,
            info.author,
            info.idempotency_key,
        )
        preparation = Preparation(self._services, base, record, node)
        pending = restore(self._services, base, node, path)
        return Transaction.resumed(self._services, base, header, preparation, pending)

    def _base(self, record: Record) -> Snapshot:
        finder, version = self._services.finder, record.base_version
        floor = finder.floor()
        if version < floor:
            raise base_expired(record.definition.id, version, floor)
        try:
            return Snapshot(self._services, finder.root(version))
        except NotFoundError as error:
            raise base_expired(record.definition.id, version, finder.floor()) from error

    def _running(self, path: str, order: int | None) -> NodeFile:
        return decode_node(self._services.storage.read(path), path, order)

    def _refuse_if_committed(self, record: Record) -> tuple[Root, bool]:
        """Return a root up to which no version is the transaction's work; was it revoked there?

        Raises:
            TransactionStateError: kind ``TRANSACTION_FINISHED``; the record says so from now on.
            NotFoundError: kind ``VERSION_EXPIRED``: versions are gone that would tell.
        """
        latest = self._services.finder.latest()
        transaction_id, base = record.definition.id, record.base_version
        root = self._last_word(record, latest)
        if root is not None and root.info.txn_id == transaction_id:
            with suppress(TrinityLakeError):
                self._records.follow(record, COMMITTED, version=root.version)
            raise committed_already(transaction_id, root.version)
        floor = self._services.finder.floor()
        if root is None and base < floor:
            raise base_expired(transaction_id, base, floor)
        return latest, root is not None

    def _last_word(self, record: Record, latest: Root) -> Root | None:
        """Return the root that is the transaction's work, or that revoked it, if there is one."""
        mine = record.definition.id
        for root in roots_down(self._services.finder, latest, above=record.base_version):
            if mine in (root.info.txn_id, root.info.revoked_txn):
                return root
        return None

    def _revoke(self, record: Record, latest: Root, author: str) -> None:
        """Make a version that whoever may still be committing the transaction has to follow."""
        by = author or self._services.author
        header = Header(self._services.ids.uuid4(), Isolation.SNAPSHOT, author=by)
        proposal = RevocationProposal(
            self._services, header, record.definition.id, record.name, latest
        )
        Commit(self._services, proposal, latest).run()

    def _info(self, record: Record) -> PreparedInfo:
        definition = record.definition
        state, version = self._state(record)
        author = message = ""
        changes: list[Change] = []
        path = definition.running_root_node_file_path
        try:
            info = parse_root_info(self._running(path, None).system, path)
        except NotFoundError:
            pass
        else:
            author, message = info.author, info.message
            changes = describe_changes(parse_actions(info.actions, path))
        return PreparedInfo(
            name=record.name,
            transaction_id=definition.id,
            state=state,
            version=version,
            isolation_level=IsolationLevel.Name(definition.isolation_level),
            base_version=record.base_version,
            author=author,
            message=message,
            began_at=to_datetime(definition.began_at_millis),
            expires_at=to_datetime(definition.expire_at_millis),
            changes=changes,
        )

    def _state(self, record: Record) -> tuple[str, int | None]:
        """Say what a record means now; whether a commit went through is in the versions."""
        if record.state == COMMITTING:
            root = self._last_word(record, self._services.finder.latest())
            if root is not None and root.info.txn_id == record.definition.id:
                return _STATES[COMMITTED], root.version
        if not record.is_over and record.expired(self._services.clock.now_millis()):
            return _EXPIRED, None
        return _STATES[record.state], record.version
