"""Spark sessions as the engine knows them: their statements and their open transaction."""

from __future__ import annotations

import threading
from collections import defaultdict, deque
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

from trinitylake_spark.commit.rerun import reruns
from trinitylake_spark.errors import (
    CommitConflictError,
    Kind,
    TransactionStateError,
    TrinityLakeError,
)
from trinitylake_spark.lakehouse.transaction import TransactionState
from trinitylake_spark.spark.undo import Undo

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from trinitylake_spark.lakehouse.snapshot import Snapshot
    from trinitylake_spark.lakehouse.transaction import Transaction
    from trinitylake_spark.spark.lakes import Lake


class Statement:
    """A statement outside of BEGIN … COMMIT: a transaction of one statement.

    Its first look at the lake fixes its version; what it loads is its read set.

    Args:
        transaction: begun at that version.
    """

    def __init__(self, transaction: Transaction) -> None:
        self.transaction = transaction


class Session:
    """One catalog of one Spark session.

    Args:
        handle: its name.
        lake: the lakehouse behind the catalog.
        catalog: the catalog's name in SQL.
        isolation: level of its transactions, or None for the lakehouse's own.
        author: who commits.
        fail_fast: a statement of a transaction fails if COMMIT would be refused already.
    """

    def __init__(
        self,
        handle: str,
        lake: Lake,
        catalog: str,
        isolation: str | None,
        author: str,
        *,
        fail_fast: bool = False,
    ) -> None:
        self.handle = handle
        self.lake = lake
        self.catalog = catalog
        self.isolation = isolation
        self.author = author
        self._fail_fast = fail_fast
        self.transaction: Transaction | None = None
        self.committing: Transaction | None = None
        """The transaction whose COMMIT runs, under the lock; SHOW TRANSACTION does not wait."""
        self.undo = Undo()
        """What the statements of the open transaction can be taken back to."""
        self.lock = threading.RLock()
        """Held while the open transaction is changed."""
        self._statements: dict[str, Statement] = {}
        """Statements outside of a transaction that have not ended."""
        self._ended: deque[str] = deque()
        self._views: defaultdict[str, list[str]] = defaultdict(list)
        """Names of the views that running statements write through, by statement."""
        self._unwritten: dict[str, tuple[str, tuple[str, str]]] = {}
        """By view: statement and table of the open transaction's writes that left no entry yet."""

    # --- statements ------------------------------------------------------------------------------

    def new_transaction(self, at: Snapshot | None = None) -> Transaction:
        """Begin the transaction of one statement, at the newest version or at a given one."""
        return self.lake.lakehouse.begin(isolation=self.isolation, author=self.author, at=at)

    def statement(self, statement: str | None) -> Statement:
        """Return a statement, pinned from its first use until it ends; None is one of its own.

        A statement that has committed goes on at the version that it made.
        """
        if statement is None:
            return Statement(self.new_transaction())
        with self.lock:
            known = self._statements.get(statement)
            if known is None:
                known = self._statements[statement] = Statement(self.new_transaction())
            elif known.transaction.state is not TransactionState.OPEN:
                made = known.transaction.version
                base = None if made is None else self.lake.lakehouse.at(version=made)
                known = self._statements[statement] = Statement(self.new_transaction(base))
            return known

    @property
    def running_statements(self) -> int:
        """How many statements have begun and not ended."""
        return len(self._statements.keys() | self._views.keys())

    def note_view(self, view: str, statement: str | None) -> None:
        """Note that a statement is going to write through a view."""
        if statement is not None:
            with self.lock:
                self._views[statement].append(view)

    def end_statements(self, statements: Iterable[str]) -> list[str]:
        """Let go of statements that are over: their versions, and what they read.

        While a COMMIT runs they wait for a later call, so that nobody waits for it here.

        Returns:
            The names of the views that they wrote through.
        """
        self._ended.extend(statements)
        if not self._ended or not self.lock.acquire(blocking=False):
            return []
        try:
            return [view for _ in range(len(self._ended)) for view in self._end_next()]
        finally:
            self.lock.release()

    def _end_next(self) -> list[str]:
        statement = self._ended.popleft()
        ended = self._statements.pop(statement, None)
        if ended is not None and ended.transaction.state is TransactionState.OPEN:
            ended.transaction.release()
        views = self._views.pop(statement, [])
        for view in views:
            _, target = self._unwritten.pop(view, (None, None))
            self._note_unwritten(target)
        return views

    def view_of(self, statement: str | None) -> Transaction:
        """Return what a statement sees: the open transaction, or its own version."""
        return self.transaction or self.statement(statement).transaction

    def edit(self, statement: str | None, work: Callable[[Transaction], None]) -> int | None:
        """Change names and definitions: in the open transaction, or as a commit of its own.

        After a conflict it is run again on the newest version, for ``work`` depends on nothing
        older.

        Returns:
            The version committed; None inside a transaction, or if nothing changed.
        """
        with self.lock:
            if self.transaction is not None:
                self.undo.followed()
                savepoint = self.transaction.savepoint()
                try:
                    work(self.transaction)
                    self.refuse_early()
                except TrinityLakeError:
                    self.transaction.rollback_to(savepoint)
                    raise
                return None

        def once() -> int | None:
            transaction = self.statement(statement).transaction
            work(transaction)
            return transaction.commit()

        version: int | None = reruns(self.lake.lakehouse.services.clock)(once)
        return version

    @contextmanager
    def failing_early(self, transaction: Transaction) -> Iterator[None]:
        """Undo the block's work if the open transaction can then no longer commit (fail-fast).

        Raises:
            CommitConflictError: it cannot; it is still open, without the block's work.
        """
        if not self._fail_fast or transaction is not self.transaction:
            yield
            return
        savepoint = transaction.savepoint()
        yield
        try:
            transaction.check_commit()
        except CommitConflictError:
            transaction.rollback_to(savepoint)
            raise

    def refuse_early(self) -> None:
        """Fail if COMMIT would be refused (fail-fast), at best before anything is computed.

        Raises:
            CommitConflictError: it would be.
        """
        if self._fail_fast and self.transaction is not None:
            self.transaction.check_commit()

    # --- BEGIN … COMMIT --------------------------------------------------------------------------

    def begin(
        self, isolation: str | None, message: str | None, idempotency_key: str | None
    ) -> Transaction:
        """Open a transaction.

        Raises:
            TransactionStateError: kind ``TRANSACTION_ACTIVE``.
            InvalidInputError: an isolation level that does not exist.
        """
        with self.lock:
            self._require_none()
            self.transaction = self.lake.lakehouse.begin(
                isolation=isolation or self.isolation,
                author=self.author,
                message=message or "",
                idempotency_key=idempotency_key,
            )
            self.undo = Undo()
            return self.transaction

    def commit(self) -> tuple[int | None, str]:
        """Commit the open transaction; it is over, whatever comes out.

        Returns:
            The version (None if nothing changed) and the transaction's id.

        Raises:
            TransactionStateError: kind ``NO_TRANSACTION``.
            CommitConflictError: refused; nothing of it is visible.
            CommitUnknownError: the outcome could not be read.
        """
        with self.lock:
            transaction = self.committing = self._take("COMMIT")
            try:
                return transaction.commit(), transaction.id
            finally:
                self.committing = None

    def prepare(self, name: str) -> str:
        """Store the open transaction under a name and let go of it; return its id.

        Raises:
            TransactionStateError: kind ``NO_TRANSACTION``, or what ``Transaction.prepare`` raises;
                the transaction is still open then.
        """
        with self.lock:
            transaction = self._settled("PREPARE TRANSACTION")
            transaction.prepare(name)
            self.transaction = None
            return transaction.id

    def resume(self, name: str) -> Transaction:
        """Make a prepared transaction the open one.

        Raises:
            TransactionStateError: kind ``TRANSACTION_ACTIVE``, or what ``Lakehouse.resume`` raises.
        """
        with self.lock:
            self._require_none()
            self.transaction = self.lake.lakehouse.resume(name)
            self.undo = Undo()
            return self.transaction

    def expect_entry(self, view: str, statement: str | None, target: tuple[str, str]) -> None:
        """Note that a statement of the open transaction is going to write to a table.

        What it reads of the table will be in its log entry. If no row meets its condition there
        is no entry, and that nothing was found is a read of the whole table.
        """
        with self.lock:
            self.note_view(view, statement)
            if self.transaction is not None:
                self._unwritten[view] = (statement or view, target)

    def note_entry(self, view: str) -> None:
        """Note that an entry was written through a view, so that its statement needs no other."""
        with self.lock:
            written = self._unwritten.get(view)
            self._unwritten = {v: s for v, s in self._unwritten.items() if s != written}

    def take_back(self, statement: str, target: tuple[str, str]) -> None:
        """Undo what a failed statement did; the open transaction goes on without it.

        If other statements have built on it, as in another thread, the transaction is over.

        Args:
            statement: by which it was noted.
            target: the table that it wrote to. That it failed may depend on what it read there.
        """
        with self.lock:
            transaction = self.transaction
            if transaction is None or transaction.state is not TransactionState.OPEN:
                return
            if self.undo.undo(statement, transaction):
                transaction.note_read(*target)
            else:
                transaction.release()

    def rollback(self) -> str:
        """Undo the open transaction; return its id.

        Raises:
            TransactionStateError: kind ``NO_TRANSACTION``.
        """
        with self.lock:
            transaction = self._take("ROLLBACK")
            if transaction.state is TransactionState.OPEN:
                transaction.abort()
            return transaction.id

    def close(self) -> None:
        """End the session: what it did not commit is rolled back; what was prepared stays so."""
        with self.lock:
            if self.transaction is not None:
                with suppress(TrinityLakeError):
                    self._take("ROLLBACK").release()
            self._statements.clear()
            self._views.clear()

    def require_no_transaction(self, what: str) -> None:
        """Refuse what cannot be part of a transaction.

        Raises:
            TransactionStateError: kind ``TRANSACTION_ACTIVE``.
        """
        if self.transaction is not None:
            raise TransactionStateError(
                f"{what} makes a version of its own and cannot be part of a transaction."
                " COMMIT or ROLLBACK first.",
                kind=Kind.TRANSACTION_ACTIVE,
                catalog=self.catalog,
                transaction_id=self.transaction.id,
            )

    def _require_none(self) -> None:
        if self.transaction is not None:
            raise TransactionStateError(
                f"Transaction {self.transaction.id} is open on catalog '{self.catalog}' in this"
                " session. COMMIT or ROLLBACK it first; transactions do not nest.",
                kind=Kind.TRANSACTION_ACTIVE,
                catalog=self.catalog,
                transaction_id=self.transaction.id,
            )

    def _take(self, what: str) -> Transaction:
        """Return the open transaction, which is the session's no longer."""
        transaction = self._settled(what)
        self.transaction = None
        return transaction

    def _settled(self, what: str) -> Transaction:
        """Return the open transaction, with all reads of its statements taken down."""
        transaction = self.transaction
        if transaction is None:
            raise TransactionStateError(
                f"{what} without a transaction: catalog '{self.catalog}' has none open in this"
                " session. BEGIN opens one; a failed COMMIT has ended it.",
                kind=Kind.NO_TRANSACTION,
                catalog=self.catalog,
            )
        for _, target in self._unwritten.values():
            self._note_unwritten(target)
        self._unwritten = {}
        return transaction

    def _note_unwritten(self, target: tuple[str, str] | None) -> None:
        """Note the read of a statement that left no entry: nothing met its condition."""
        transaction = self.transaction
        if target and transaction and transaction.state is TransactionState.OPEN:
            transaction.note_read(*target)
