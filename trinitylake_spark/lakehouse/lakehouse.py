"""The lakehouse: open it, look at any version, change it in transactions (format.md §6 to §8)."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Self

from trinitylake_spark.clock import SystemClock
from trinitylake_spark.errors import InvalidInputError
from trinitylake_spark.format.definitions import new_lakehouse_definition
from trinitylake_spark.ids import SystemIds
from trinitylake_spark.lakehouse.check import CheckReport, LakehouseCheck
from trinitylake_spark.lakehouse.committing import Commit
from trinitylake_spark.lakehouse.contest import COMMIT_SECONDS
from trinitylake_spark.lakehouse.create import create_lakehouse
from trinitylake_spark.lakehouse.history import (
    CommitStatus,
    VersionInfo,
    describe_version,
    find_transaction,
    roots_down,
)
from trinitylake_spark.lakehouse.maintenance import CompactionProposal, RollbackProposal
from trinitylake_spark.lakehouse.prepared import PreparedInfo, PreparedTransactions
from trinitylake_spark.lakehouse.proposal import Header
from trinitylake_spark.lakehouse.services import Services
from trinitylake_spark.lakehouse.snapshot import Snapshot
from trinitylake_spark.lakehouse.timetravel import TimeTravel
from trinitylake_spark.lakehouse.transaction import Transaction, parse_isolation
from trinitylake_spark.storage.registry import open_storage

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from datetime import datetime
    from types import TracebackType

    from trinitylake_spark.clock import Clock
    from trinitylake_spark.ids import Ids
    from trinitylake_spark.lakehouse.formats import TableFormat


class Lakehouse:
    """One lakehouse, safe to share between threads; each transaction belongs to one of them.

    Args:
        services: storage, time, chance and formats; ``open`` and ``create`` make them from a URL.
    """

    def __init__(self, services: Services) -> None:
        self.services = services

    @classmethod
    def create(  # noqa: PLR0913 - the settings of a catalog
        cls,
        url: str,
        *,
        storage_options: Mapping[str, Any] | None = None,
        fs: Any = None,  # noqa: ANN401 - fsspec has no types
        warehouse: str | None = None,
        formats: Sequence[TableFormat] = (),
        clock: Clock | None = None,
        ids: Ids | None = None,
        author: str = "",
        commit_seconds: float = COMMIT_SECONDS,
        message: str = "",
        **definition_fields: Any,  # noqa: ANN401 - each field has its own type
    ) -> Self:
        """Make a new lakehouse.

        Args:
            url: where the tree goes.
            storage_options: options of that storage.
            fs: the caller's own fsspec filesystem.
            warehouse: URL of the data; default: ``data/`` below the root.
            formats: table formats; new tables get the first one.
            clock: time.
            ids: identifiers.
            author: who commits, where a transaction does not say.
            commit_seconds: how long a commit goes on while others are faster.
            message: stored in version 0.
            **definition_fields: fields of ``LakehouseDef`` by name, such as ``order=256``.

        Raises:
            AlreadyExistsError: kind ``LAKEHOUSE_ALREADY_EXISTS``.
            InvalidInputError: a URL or a field that can never work.
            StorageError: kind ``NOT_EXCLUSIVE``, or the storage failed.
        """
        definition = new_lakehouse_definition(**definition_fields)
        services = _services(
            url, storage_options, fs, warehouse, formats, clock, ids, author, commit_seconds
        )
        with _closed_if_it_fails(services):
            create_lakehouse(services, definition, message=message)
        return cls(services)

    @classmethod
    def open(  # noqa: PLR0913 - the settings of a catalog
        cls,
        url: str,
        *,
        storage_options: Mapping[str, Any] | None = None,
        fs: Any = None,  # noqa: ANN401 - fsspec has no types
        warehouse: str | None = None,
        formats: Sequence[TableFormat] = (),
        clock: Clock | None = None,
        ids: Ids | None = None,
        author: str = "",
        commit_seconds: float = COMMIT_SECONDS,
    ) -> Self:
        """Open a lakehouse; arguments as for ``create``.

        Raises:
            NotFoundError: kind ``LAKEHOUSE_NOT_FOUND``.
            InvalidInputError: kind ``INVALID_URL``.
            StorageError: the storage failed.
        """
        services = _services(
            url, storage_options, fs, warehouse, formats, clock, ids, author, commit_seconds
        )
        lakehouse = cls(services)
        with _closed_if_it_fails(services):
            lakehouse.snapshot()
        return lakehouse

    def __repr__(self) -> str:
        return f"Lakehouse({self.url!r})"

    def __enter__(self) -> Self:
        """Return itself."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Close it."""
        self.close()

    def close(self) -> None:
        """Release connections."""
        self.services.close()

    @property
    def url(self) -> str:
        """Where the tree is; ends in ``/``."""
        return self.services.storage.url

    # --- reading -----------------------------------------------------------------------------

    @property
    def version(self) -> int:
        """The newest version now; one storage call if nothing was committed."""
        return self.services.finder.latest().version

    def snapshot(self) -> Snapshot:
        """Return the newest version, to read from; one storage call if nothing was committed."""
        return Snapshot(self.services, self.services.finder.latest())

    def at(
        self,
        *,
        version: int | str | None = None,
        timestamp: datetime | int | str | None = None,
        snapshot: str | None = None,
        within: Snapshot | None = None,
    ) -> Snapshot:
        """Return an older version, read-only.

        Args:
            version: by its number.
            timestamp: the newest at that time (inclusive): a datetime, UTC epoch milliseconds, or
                ISO 8601 text; without a zone it is UTC.
            snapshot: by the name of an export.
            within: as seen from this version, for time travel inside a transaction.

        Raises:
            InvalidInputError: not exactly one of the three, or one that can never work.
            NotFoundError: ``VERSION_NOT_FOUND``, ``VERSION_EXPIRED``, ``TIMESTAMP_OUT_OF_RANGE``
                or ``SNAPSHOT_NOT_FOUND``; with the versions and exports there are.
        """
        travel = TimeTravel(self.services, within or self.snapshot())
        match version, timestamp, snapshot:
            case (None, None, str()):
                return travel.snapshot(snapshot)
            case (None, _, None) if timestamp is not None:
                return travel.timestamp(timestamp)
            case (_, None, None) if version is not None:
                return travel.version(version)
        raise InvalidInputError("Name exactly one of version, timestamp and snapshot.")

    def versions(self, limit: int | None = None) -> list[VersionInfo]:
        """Return the history, newest first, as far back as it is kept without gaps.

        Args:
            limit: at most so many; each costs a read.
        """
        found: list[VersionInfo] = []
        for root in roots_down(self.services.finder, self.services.finder.latest()):
            if limit is not None and len(found) >= limit:
                break
            found.append(describe_version(root))
        return found

    def namespaces(self) -> list[str]:
        """Return the names of all namespaces in the newest version."""
        return self.snapshot().namespaces()

    def tables(self, namespace: str) -> list[str]:
        """Return the names of a namespace's tables in the newest version."""
        return self.snapshot().tables(namespace)

    def views(self, namespace: str) -> list[str]:
        """Return the names of a namespace's views in the newest version."""
        return self.snapshot().views(namespace)

    def commit_status(self, transaction_id: str) -> CommitStatus:
        """Return what became of a transaction whose commit gave no answer."""
        finder = self.services.finder
        return find_transaction(finder, transaction_id, finder.latest())

    def check(self, *, deep: bool = False) -> CheckReport:
        """Check the newest version and the chain of versions; ``deep`` checks every version."""
        return LakehouseCheck(self.services, deep=deep).run()

    # --- changing ----------------------------------------------------------------------------

    def begin(
        self,
        *,
        isolation: str | None = None,
        message: str = "",
        author: str = "",
        idempotency_key: str | None = None,
        at: Snapshot | None = None,
    ) -> Transaction:
        """Begin a transaction; the caller commits or aborts it.

        Args:
            isolation: ``snapshot`` or ``serializable``; default: the lakehouse's.
            message: what it is for; stored in the version.
            author: who commits; stored in the version.
            idempotency_key: a second commit with the same key changes nothing and reports the
                first one's version, as far back as history is kept.
            at: the version to read, if not the newest one.

        Raises:
            InvalidInputError: no such isolation level.
        """
        base = at or self.snapshot()
        header = self._header(base, isolation, message, author, idempotency_key)
        return Transaction(self.services, base, header)

    def transaction(
        self,
        *,
        isolation: str | None = None,
        message: str = "",
        author: str = "",
        idempotency_key: str | None = None,
    ) -> Transaction:
        """Begin a transaction for a ``with`` block: commits on exit, aborts on an error.

        Arguments and errors are those of ``begin`` and ``Transaction.commit``.
        """
        return self.begin(
            isolation=isolation, message=message, author=author, idempotency_key=idempotency_key
        )

    def resume(self, name: str) -> Transaction:
        """Return a prepared transaction as it was stored, in this or any other process.

        It can be read, changed, committed, aborted or prepared again. Of several processes that
        have resumed it the first to do one of the last three wins. Used in a ``with`` block it
        commits on exit; an error leaves it prepared as it was.

        Args:
            name: the name it was prepared under.

        Raises:
            NotFoundError: kind ``TRANSACTION_NOT_FOUND``; or ``VERSION_EXPIRED``, as the version
                it began at is gone.
            TransactionStateError: it was committed or rolled back (``TRANSACTION_FINISHED``), is
                being committed (``TRANSACTION_MOVED``) or too old (``TRANSACTION_EXPIRED``).
        """
        return PreparedTransactions(self.services).resume(name)

    def commit_prepared(self, name: str) -> int | None:
        """Commit a prepared transaction as it was stored.

        It is put on top of what others committed meanwhile, as any transaction is. If that is
        refused it stays prepared. A commit that somebody began and did not end is taken over.

        Args:
            name: the name it was prepared under.

        Returns:
            the version, or None if it changed nothing.

        Raises:
            NotFoundError: kinds ``TRANSACTION_NOT_FOUND`` and ``VERSION_EXPIRED``.
            TransactionStateError: somebody else was faster (``TRANSACTION_MOVED``,
                ``TRANSACTION_FINISHED``), or it is too old (``TRANSACTION_EXPIRED``).
            CommitConflictError: another transaction got in the way; nothing was committed.
            CommitUnknownError: the storage gave no answer; calling this again settles it.
            StorageError: the storage failed; calling this again settles it.
        """
        return PreparedTransactions(self.services).commit(name)[0]

    def rollback_prepared(self, name: str, *, author: str = "") -> str:
        """Give a prepared transaction up for good; its name is free again.

        If somebody is committing it, or was when he failed, this makes a version of its own,
        which stops him.

        Args:
            name: the name it was prepared under.
            author: who does this.

        Returns:
            the transaction's id.

        Raises:
            NotFoundError: kinds ``TRANSACTION_NOT_FOUND`` and ``VERSION_EXPIRED``.
            TransactionStateError: it was committed or rolled back already
                (``TRANSACTION_FINISHED``), or somebody else was faster (``TRANSACTION_MOVED``).
            StorageError: the storage failed; calling this again settles it.
        """
        return PreparedTransactions(self.services).rollback(name, author)

    def transactions(self) -> list[PreparedInfo]:
        """Return all prepared transactions, and what became of earlier ones, by name."""
        return PreparedTransactions(self.services).list()

    def rollback(
        self,
        to_version: int | None = None,
        to_timestamp: datetime | int | str | None = None,
        *,
        message: str = "",
        author: str = "",
    ) -> int:
        """Commit a new version with the content of an older one; history stays.

        Args:
            to_version: the version wanted.
            to_timestamp: or the version that was the newest then.
            message: stored in the new version.
            author: stored in the new version.

        Returns:
            the new version.

        Raises:
            InvalidInputError: not exactly one target, or it is the newest version.
            NotFoundError: as ``at``.
            CommitConflictError: something else was committed meanwhile.
        """
        latest = self.snapshot()
        target = self.at(version=to_version, timestamp=to_timestamp, within=latest)
        proposal = RollbackProposal(
            self.services, latest, target, self._header(latest, None, message, author)
        )
        return Commit(self.services, proposal, latest.root).run().version

    def set_property(self, key: str, value: str | int | None) -> int | None:
        """Set a field of the lakehouse definition, or a property of one's own.

        Args:
            key: a field name of format.md §5.1, or any other name.
            value: None restores the default, or removes the property.

        Returns:
            the new version, or None if nothing changed.

        Raises:
            InvalidInputError: a value that the rules forbid.
        """
        with self.begin() as transaction:
            transaction.set_property(key, value)
        return transaction.version

    def compact_tree(self, *, message: str = "", author: str = "") -> int:
        """Flush what is pending in the tree's nodes; the content stays. Returns the new version."""
        latest = self.snapshot()
        proposal = CompactionProposal(self.services, self._header(latest, None, message, author))
        return Commit(self.services, proposal, latest.root).run().version

    def _header(
        self,
        base: Snapshot,
        isolation: str | None,
        message: str,
        author: str,
        idempotency_key: str | None = None,
    ) -> Header:
        return Header(
            self.services.ids.uuid4(),
            parse_isolation(isolation, base.layout.definition),
            message,
            author or self.services.author,
            idempotency_key,
        )


def _services(  # noqa: PLR0913, PLR0917 - the settings of a catalog
    url: str,
    storage_options: Mapping[str, Any] | None,
    fs: Any,  # noqa: ANN401 - fsspec has no types
    warehouse: str | None,
    formats: Sequence[TableFormat],
    clock: Clock | None,
    ids: Ids | None,
    author: str,
    commit_seconds: float,
) -> Services:
    return Services(
        open_storage(url, storage_options, fs=fs),
        formats=formats,
        warehouse_url=warehouse,
        storage_options=storage_options,
        fs=fs,
        clock=clock or SystemClock(),
        ids=ids or SystemIds(),
        author=author,
        commit_seconds=commit_seconds,
    )


@contextmanager
def _closed_if_it_fails(services: Services) -> Iterator[None]:
    """Release the connections of a lakehouse that nobody gets."""
    try:
        yield
    except BaseException:
        services.close()
        raise
