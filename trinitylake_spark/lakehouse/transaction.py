"""A transaction: one version to read, own changes on top, one commit or none (format.md §6)."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from enum import StrEnum
from typing import TYPE_CHECKING, Self

from trinitylake_spark.errors import (
    InvalidInputError,
    Kind,
    TransactionStateError,
)
from trinitylake_spark.format.definitions_pb2 import ActionType, IsolationLevel
from trinitylake_spark.format.paths import lakehouse_definition_path
from trinitylake_spark.format.system import Isolation
from trinitylake_spark.lakehouse.committing import AlreadyCommitted, Commit
from trinitylake_spark.lakehouse.edits import Edits
from trinitylake_spark.lakehouse.pending import DefinitionChange, Pending
from trinitylake_spark.lakehouse.preparation import Preparation
from trinitylake_spark.lakehouse.properties import changed_definition
from trinitylake_spark.lakehouse.proposal import (
    TransactionProposal,
    base_expired,
    committed_already,
)

if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import TracebackType

    from trinitylake_spark.format.definitions_pb2 import LakehouseDef
    from trinitylake_spark.lakehouse.actions import Change
    from trinitylake_spark.lakehouse.catalog import TableEntry
    from trinitylake_spark.lakehouse.proposal import Header
    from trinitylake_spark.lakehouse.services import Services
    from trinitylake_spark.lakehouse.snapshot import Snapshot


class TransactionState(StrEnum):
    """Where a transaction is in its life."""

    OPEN = "open"
    COMMITTED = "committed"
    ABORTED = "aborted"
    PREPARED = "prepared"


def parse_isolation(level: str | None, definition: LakehouseDef) -> Isolation:
    """Return an isolation level by its name in any case, or the lakehouse's default.

    Raises:
        InvalidInputError: there is no such level.
    """
    if level is None:
        return Isolation(IsolationLevel.Name(definition.txn_isolation_level))
    return isolation_named(level)


def isolation_named(level: str) -> Isolation:
    """Return an isolation level by its name in any case.

    Raises:
        InvalidInputError: there is no such level.
    """
    try:
        return Isolation(level.upper())
    except ValueError as error:
        raise InvalidInputError(
            f"There is no isolation level {level!r}. Use 'snapshot' or 'serializable'.",
            isolation=level,
        ) from error


class Transaction(Edits):
    """Reads the version it began at, overlaid with its own changes; commits all or nothing.

    Used as a context manager it commits on exit and lets go on an error. One thread at a time.

    Args:
        services: of the open lakehouse.
        base: the version to read.
        header: its id and level, and what the version will say about it.
    """

    def __init__(self, services: Services, base: Snapshot, header: Header) -> None:
        self._services = services
        self._pending = Pending()
        self._header = header
        self._preparation = Preparation(services, base)
        self.base = base
        self._found: tuple[str, str | None] = ("", None)
        """The last lookup in the base: a statement looks for its target several times."""
        self.layout = base.layout
        self.began_at_millis = services.clock.now_millis()
        self.expires_at_millis = self.began_at_millis + base.layout.definition.txn_ttl_millis
        """When a commit will be refused, UTC epoch milliseconds."""
        self.version: int | None = None
        self.left_out = 0
        """Files that its compactions left out, as others had changed them; known once committed."""
        self.state = TransactionState.OPEN

    @classmethod
    def resumed(
        cls,
        services: Services,
        base: Snapshot,
        header: Header,
        preparation: Preparation,
        pending: Pending,
    ) -> Self:
        """Return a transaction that was prepared.

        Args:
            services: of the open lakehouse.
            base: the version it began at.
            header: as it was.
            preparation: holds its record.
            pending: its work.
        """
        transaction = cls(services, base, header)
        transaction._pending = pending
        transaction._preparation = preparation
        if preparation.record is not None:
            definition = preparation.record.definition
            transaction.began_at_millis = definition.began_at_millis
            transaction.expires_at_millis = definition.expire_at_millis
        return transaction

    def __repr__(self) -> str:
        return f"Transaction({self.id}, {self.state}, base={self.base.version}, {self.isolation})"

    @property
    def id(self) -> str:
        """Its id, a UUID4; ``commit_status`` takes it."""
        return self._header.transaction_id

    @property
    def isolation(self) -> Isolation:
        """Its isolation level."""
        return self._header.isolation

    @property
    def message(self) -> str:
        """What it is for."""
        return self._header.message

    @property
    def author(self) -> str:
        """Who commits."""
        return self._header.author

    @property
    def at_version(self) -> int:
        """The version that reads show, before own changes."""
        return self.base.version

    @property
    def prepared_as(self) -> str | None:
        """The name under which it was prepared, if it was resumed."""
        record = self._preparation.record
        return None if record is None else record.name

    @property
    def has_changes(self) -> bool:
        """Whether a commit would make a version."""
        return not self._pending.is_empty

    def changes(self) -> list[Change]:
        """Return what a commit would change, in order."""
        return self._proposal().changes()

    def read_table(self, namespace: str, name: str) -> TableEntry:
        """Return a table whose data is going to be read, and take that down.

        Raises:
            NotFoundError: kind ``NAMESPACE_NOT_FOUND`` or ``TABLE_NOT_FOUND``.
        """
        entry = self.table(namespace, name)
        self.note_read(namespace, name)
        return entry

    def note_read(self, namespace: str, name: str) -> None:
        """Take down that a table's data was read: what was committed, not what is own work.

        So it counts for a table that was written here, too, but not for one that was made here,
        and not for no table at all.
        """
        key = self.layout.keys.table_key(namespace, name)
        if self._base_path(key) is not None:
            self._pending.reads.add_key(key, ActionType.TABLE_SELECT)

    @property
    def definition(self) -> LakehouseDef:
        """The definition of the lakehouse, own changes included."""
        pending = self._pending.definition
        return self.layout.definition if pending is None else pending.definition

    def set_property(self, key: str, value: str | int | None) -> None:
        """Set a field of the lakehouse definition, or a property of one's own.

        Args:
            key: a field name of format.md §5.1, or any other name.
            value: None restores the default, or removes the property.

        Raises:
            InvalidInputError: a value that the rules forbid.
        """
        self._check_open()
        pending, old = self._pending.definition, self.definition
        new = changed_definition(old, key, value)
        if new != old:
            names = (key,) if pending is None else (*pending.names, key)
            path = lakehouse_definition_path(self._services.ids.uuid4())
            self._pending.definition = DefinitionChange(new, path, names)

    def savepoint(self) -> Pending:
        """Return the work so far, to come back to if a statement fails half-way."""
        return self._pending.copy()

    def rollback_to(self, savepoint: Pending) -> None:
        """Forget what was done since a savepoint; what was read stays read."""
        self._check_open()
        reads = self._pending.reads
        self._pending = savepoint.copy()
        self._pending.reads = reads

    def check_commit(self) -> None:
        """Check whether a commit now would be refused; a later one may be refused all the same.

        Raises:
            CommitConflictError: it would be, whatever happens later.
            StorageError: the storage failed; nothing is known.
        """
        self._check_open()
        latest = self._services.finder.latest()
        if latest.version > self.base.version:
            with suppress(AlreadyCommitted):
                self._proposal().follow(latest)

    def commit(self) -> int | None:
        """Make all changes visible as one new version; the transaction is over either way.

        Returns:
            the version, or None if there was nothing to commit.

        Raises:
            TransactionStateError: it is over already (``TRANSACTION_FINISHED``) or took longer
                than the lakehouse allows (``TRANSACTION_EXPIRED``).
            CommitConflictError: another transaction got in the way; nothing was committed.
            CommitUnknownError: the storage gave no answer; ``commit_status`` tells later.
            NotFoundError: kind ``VERSION_EXPIRED``: the version it began at is gone.
            StorageError: the storage failed; nothing was committed.

        A transaction that was resumed stays prepared if it is refused, as it was stored last. It
        may also raise TransactionStateError of kind ``TRANSACTION_MOVED``: somebody else was
        faster.
        """
        self._check_open()
        self.state = TransactionState.ABORTED
        record = self._preparation.record
        if record is not None:
            self._check_expiry()
            proposal = self._proposal()
            self.version = self._preparation.publish(record, self._pending, proposal, self._publish)
            self.state = TransactionState.COMMITTED
            return self.version
        if self._pending.is_empty:
            self.state = TransactionState.COMMITTED
            return None
        self._check_expiry()
        self.version = self._commit()
        self.state = TransactionState.COMMITTED
        return self.version

    def abort(self) -> None:
        """Forget all changes; nothing was visible, so nothing has to be undone.

        A transaction that was resumed is rolled back for good: nobody can resume it again.

        Raises:
            TransactionStateError: it is over already, or (``TRANSACTION_MOVED``) somebody else
                has moved the prepared transaction.
        """
        self._check_open()
        self.state = TransactionState.ABORTED
        self._pending = Pending()
        self._preparation.end(self.id)

    def prepare(self, name: str) -> None:
        """Store the transaction durably and let go of it: any process can resume or end it.

        Args:
            name: 1 to 64 of the letters A-Z and a-z, digits, ``.``, ``_`` and ``-``.

        Raises:
            InvalidInputError: kind ``INVALID_NAME``, or it was resumed under another name.
            AlreadyExistsError: kind ``TRANSACTION_ALREADY_EXISTS``.
            TransactionStateError: it is over, has expired, or (``TRANSACTION_MOVED``) somebody
                else has moved it since it was resumed.
            UnsupportedError: it changes the layout of the tree.
            StorageError: the storage failed; the transaction is still open.
        """
        self._check_open()
        self._check_expiry()
        times = (self.began_at_millis, self.expires_at_millis)
        self._preparation.save(name, self._pending, self._proposal(), times)
        self.state = TransactionState.PREPARED

    def release(self) -> None:
        """Let go of it: a resumed transaction stays prepared as it was, any other is aborted."""
        self._check_open()
        if self._preparation.record is None:
            self.abort()
        else:
            self.state = TransactionState.PREPARED

    def __enter__(self) -> Self:
        """Return itself."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Commit, or let go if the block failed; nothing if it is over already."""
        if self.state is not TransactionState.OPEN:
            return
        if kind is None:
            self.commit()
        else:
            self.release()

    def _publish(self, publication: str) -> int | None:
        """Commit a prepared transaction; the mark tells its version from another publisher's."""
        self._header = replace(self._header, publication=publication)
        return None if self._pending.is_empty else self._commit()

    def _commit(self) -> int:
        key = self._header.idempotency_key
        if key is not None:
            earlier = self._services.idempotency_keys.find(key, self.base.root)
            if earlier is not None:
                return earlier
        proposal = self._proposal()
        try:
            root = Commit(self._services, proposal, self.base.root).run()
        except AlreadyCommitted as found:
            return found.version
        self.left_out = proposal.left_out
        if root.info.publication != self._header.publication:
            raise committed_already(self.id, root.version)
        return root.version

    def _proposal(self) -> TransactionProposal:
        return TransactionProposal(self._services, self.base, self._pending, self._header)

    def _check_open(self) -> None:
        if self.state is not TransactionState.OPEN:
            raise TransactionStateError(
                f"Transaction {self.id} is over: it was {self.state}. Begin a new one.",
                kind=Kind.TRANSACTION_FINISHED,
                transaction_id=self.id,
            )

    def _check_expiry(self) -> None:
        if self._services.clock.now_millis() >= self.expires_at_millis:
            raise TransactionStateError(
                f"Transaction {self.id} is older than txn_ttl_millis "
                f"{self.base.layout.definition.txn_ttl_millis} allows, so the files it needs may "
                "be gone. Nothing was committed: run it again, or raise that property first.",
                kind=Kind.TRANSACTION_EXPIRED,
                transaction_id=self.id,
            )
        finder = self._services.finder
        # What was prepared may be old, and nothing may have been read since it was resumed.
        oldest = finder.known_floor if self.prepared_as is None else finder.floor()
        if self.base.version < oldest:
            raise base_expired(self.id, self.base.version, oldest)

    # --- reading through own changes -----------------------------------------------------------

    def _path(self, key: str) -> str | None:
        self._check_open()
        write = self._pending.writes.get(key)
        return self._base_path(key) if write is None else write.path

    def _base_path(self, key: str) -> str | None:
        write = self._pending.writes.get(key)
        if write is not None:
            return write.base_path
        if key != self._found[0]:
            self._found = key, self.base._path(key)  # noqa: SLF001 - own kind
        return self._found[1]

    def _pairs(self, low: str, high: str) -> Iterator[tuple[str, str]]:
        self._check_open()
        own = {key: w.path for key, w in self._pending.writes.items() if low <= key < high}
        pairs = self.base._pairs(low, high)  # noqa: SLF001 - own kind
        if not own:
            return pairs
        merged = {**dict(pairs), **own}
        return iter([(key, path) for key, path in sorted(merged.items()) if path is not None])

    def _bytes(self, path: str) -> bytes:
        own = self._pending.definitions.get(path)
        return self.base._bytes(path) if own is None else own  # noqa: SLF001 - own kind

    def _note_key(self, key: str, action: ActionType) -> None:
        write = self._pending.writes.get(key)
        # What is under a key that was written here is partly the base version's.
        if write is None or write.base_path is not None:
            self._pending.reads.add_key(key, action)

    def _note_range(self, low: str, high: str, action: ActionType) -> None:
        self._pending.reads.add_range(low, high, action)
