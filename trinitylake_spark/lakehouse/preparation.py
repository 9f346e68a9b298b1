"""What one transaction has stored of itself: a record, and a running root (format.md §6.7)."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING

from trinitylake_spark.commit.unique import create_unique
from trinitylake_spark.errors import (
    AlreadyExistsError,
    CommitUnknownError,
    InvalidInputError,
    Kind,
    TransactionStateError,
    TrinityLakeError,
)
from trinitylake_spark.format.definitions_pb2 import DistributedTransactionDef
from trinitylake_spark.format.names import validate_prepared_name
from trinitylake_spark.format.nodefile import encode_node
from trinitylake_spark.format.paths import node_path, root_path
from trinitylake_spark.lakehouse.committing import store
from trinitylake_spark.lakehouse.records import ABORTED, COMMITTED, COMMITTING, OPEN, Records
from trinitylake_spark.lakehouse.running import running_root

if TYPE_CHECKING:
    from collections.abc import Callable

    from trinitylake_spark.format.nodefile import NodeFile
    from trinitylake_spark.lakehouse.pending import Pending
    from trinitylake_spark.lakehouse.proposal import TransactionProposal
    from trinitylake_spark.lakehouse.records import Record
    from trinitylake_spark.lakehouse.services import Services
    from trinitylake_spark.lakehouse.snapshot import Snapshot


class Preparation:
    """Stores one transaction, and ends what was stored.

    Args:
        services: of the open lakehouse.
        base: what the transaction saw.
        record: the record that it was resumed from, if it was.
        running: the running root that the record names.
    """

    def __init__(
        self,
        services: Services,
        base: Snapshot,
        record: Record | None = None,
        running: NodeFile | None = None,
    ) -> None:
        self._services = services
        self._base = base
        self._records = Records(services.storage, services.ids)
        self._running = running
        self.record = record
        self._doubtful: str | None = None
        """A name under which it may be stored, though the storage did not say so."""

    def save(
        self, name: str, pending: Pending, proposal: TransactionProposal, times: tuple[int, int]
    ) -> None:
        """Store the transaction under a name.

        Args:
            name: the name.
            pending: its work; from then on it knows that its files are stored.
            proposal: says what a version would record of it.
            times: when it began and when it expires.

        Raises:
            InvalidInputError: kind ``INVALID_NAME``, or it is stored under another name.
            AlreadyExistsError: kind ``TRANSACTION_ALREADY_EXISTS``.
            TransactionStateError: kind ``TRANSACTION_MOVED``.
            UnsupportedError: it changes the layout of the tree.
            StorageError: the storage failed; it may be stored only if the kind is
                ``CREATE_UNKNOWN``. Saving again settles that.
        """
        validate_prepared_name(name)
        before = self._before(name, proposal.transaction_id)
        path = self._store(pending, proposal)
        self._doubtful = name
        if before is not None and before.definition.id == proposal.transaction_id:
            self.record = self._records.follow(before, OPEN, running=path)
        else:
            definition = self._definition(proposal, path, times)
            sequence = 0 if before is None else before.sequence + 1
            try:
                self.record = self._records.create(name, sequence, definition)
            except TransactionStateError as error:
                raise _exists(name) from error
        self._doubtful = None

    def publish(
        self,
        record: Record,
        pending: Pending,
        proposal: TransactionProposal,
        commit: Callable[[str], int | None],
    ) -> int | None:
        """Commit the transaction, unless somebody else does, did or rolled it back.

        Args:
            record: the last one as it was seen.
            pending: the transaction's work.
            proposal: says what a version would record of it.
            commit: commits; gets the mark by which the version is known as the work of this
                call.

        Raises:
            TransactionStateError: kind ``TRANSACTION_MOVED`` or ``TRANSACTION_FINISHED``.
            CommitConflictError: refused; the transaction stays prepared.
            CommitUnknownError: the storage gave no answer.
            StorageError: the storage failed; the transaction stays prepared.
        """
        path = self._store(pending, proposal)
        mine = self._records.follow(record, COMMITTING, running=path)
        try:
            version = commit(mine.writer)
        except CommitUnknownError:
            raise
        except TrinityLakeError as error:
            self._give_back(mine, error, sole=record.state == OPEN)
            raise
        with suppress(TrinityLakeError):
            self._records.follow(mine, COMMITTED, version=version)
        return version

    def end(self, transaction_id: str) -> None:
        """Roll back what is stored, if anything is.

        Raises:
            TransactionStateError: kind ``TRANSACTION_MOVED``.
            StorageError: the storage failed; the transaction may still be prepared.
        """
        if self.record is not None:
            self._records.follow(self.record, ABORTED)
        elif self._doubtful is not None:
            with suppress(TrinityLakeError):
                found = self._records.newest(self._doubtful)
                if found is not None and found.definition.id == transaction_id:
                    self._records.follow(found, ABORTED)

    def _give_back(self, mine: Record, error: TrinityLakeError, *, sole: bool) -> None:
        """Take note of how a commit ended, as far as the storage allows.

        "Prepared" again means that nobody is committing it any more. That is so if this call was
        the only one that ever did, or if what stands against it would stop anybody.
        """
        with suppress(TrinityLakeError):
            if error.kind is Kind.TRANSACTION_FINISHED:
                version = error.fields.get("version")
                is_committed = error.fields.get("state") == "committed"
                state = COMMITTED if is_committed else ABORTED
                self._records.follow(mine, state, version=version)
            elif sole or error.kind is Kind.COMMIT_CONFLICT:
                self._records.follow(mine, OPEN)

    def _before(self, name: str, transaction_id: str) -> Record | None:
        """Return the record to go after: the transaction's own, or one that is over."""
        if self.record is not None:
            if self.record.name != name:
                raise InvalidInputError(
                    f"The transaction is prepared as {self.record.name!r}: store it under that "
                    "name again.",
                    name=name,
                )
            return self.record
        newest = self._records.newest(name)
        if newest is None or newest.is_over:
            return newest
        is_own = newest.definition.id == transaction_id
        if not is_own and not newest.expired(self._services.clock.now_millis()):
            raise _exists(name)
        return newest

    def _definition(
        self, proposal: TransactionProposal, path: str, times: tuple[int, int]
    ) -> DistributedTransactionDef:
        began, expires = times
        return DistributedTransactionDef(
            id=proposal.transaction_id,
            isolation_level=proposal.isolation.value,
            beginning_root_node_file_path=root_path(self._base.version),
            running_root_node_file_path=path,
            began_at_millis=began,
            expire_at_millis=expires,
            state=OPEN,
        )

    def _store(self, pending: Pending, proposal: TransactionProposal) -> str:
        """Write everything that the record will name; return the running root's path."""
        node = running_root(self._base, pending, proposal)
        if self.record is not None and node == self._running:
            return self.record.definition.running_root_node_file_path
        store(self._services, proposal.definitions(), proposal.files())
        path = node_path(self._services.ids.uuid4())
        create_unique(self._services.storage, {path: encode_node(node, self._base.layout.order)})
        self._running = node
        # What is stored now must outlive a commit that fails.
        pending.stored |= set(proposal.definitions())
        pending.files = {}
        pending.steps = [
            replace(step, change=replace(step.change, files={})) for step in pending.steps
        ]
        return path


def _exists(name: str) -> AlreadyExistsError:
    return AlreadyExistsError(
        f"A transaction is prepared as {name!r} already. Choose another name, or end that one with "
        f"COMMIT PREPARED or ROLLBACK PREPARED.",
        kind=Kind.TRANSACTION_ALREADY_EXISTS,
        name=name,
    )
