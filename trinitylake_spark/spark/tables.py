"""Opening, staging, dropping and renaming tables for Spark."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

from trinitylake_spark.errors import (
    AlreadyExistsError,
    InvalidInputError,
    Kind,
    NotFoundError,
    ReadOnlyError,
    UnsupportedError,
)
from trinitylake_spark.lakehouse.edits import RESERVED_NAMESPACE
from trinitylake_spark.lakehouse.timetravel import parse_reference

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from trinitylake_spark.lakehouse.catalog import Catalog, TableEntry
    from trinitylake_spark.lakehouse.snapshot import Snapshot
    from trinitylake_spark.lakehouse.transaction import Transaction
    from trinitylake_spark.spark.sessions import Session
    from trinitylake_spark.spark.views import View, Views

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_READ, _WRITE, _REWRITE, _LIVE = "read", "write", "rewrite", "live"
_CREATE, _REPLACE, _CREATE_OR_REPLACE = "create", "replace", "create_or_replace"


class Tables:
    """Table calls of the bridge.

    Args:
        views: all views of this process.
    """

    def __init__(self, views: Views) -> None:
        self._views = views

    def load(
        self,
        session: Session,
        statement: str | None,
        target: tuple[str, str],
        mode: str,
        *,
        version: str | None = None,
        timestamp_micros: int | None = None,
        definition_only: bool = False,
    ) -> dict[str, Any]:
        """Open a table for a statement.

        What the statement then depends on at SERIALIZABLE (format.md §6.5): with ``read`` the
        table's data, with ``live`` its definition, with ``write`` what its log entry says, and
        that there is none is a read of the data. With ``rewrite``, for a compaction, it is not.

        Args:
            session: whose statement it is.
            statement: the statement, or None for one of its own.
            target: namespace and name.
            mode: ``read``, ``write``, ``rewrite`` or ``live``.
            version: ``VERSION AS OF``: a number or the name of an exported snapshot.
            timestamp_micros: ``TIMESTAMP AS OF``, UTC epoch microseconds.
            definition_only: with ``read``: the statement looks at the table and reads no rows.

        Returns:
            the paths by which Delta finds the table, and what is known of it without reading.

        Raises:
            NotFoundError: no such namespace, table, version, snapshot or time.
            InvalidInputError: a mode or version that can never be.
        """
        _refuse_reserved(target, writing=mode in (_WRITE, _REWRITE))
        if version is not None or timestamp_micros is not None:
            past = _past(session, version, timestamp_micros)
            entry = past.table(*target)
            return self._opened(session, past, entry, self._read_view(session, entry))
        if mode == _LIVE:
            return self._load_live(session, statement, target)
        if mode in (_WRITE, _REWRITE):
            # A compaction that finds nothing to do has learnt nothing of the rows.
            return self._load_for_writing(session, statement, target, is_read=mode == _WRITE)
        if mode != _READ:
            raise InvalidInputError(f"There is no mode {mode!r}.", mode=mode)
        with session.lock:
            catalog = session.view_of(statement)
            entry = _looked_up(catalog, target, definition_only=definition_only)
        return self._opened(session, catalog, entry, self._read_view(session, entry))

    def open_all(
        self,
        session: Session,
        statement: str | None,
        targets: Sequence[tuple[str, str]],
        *,
        definition_only: bool,
        committed_only: bool,
    ) -> list[dict[str, Any]]:
        """Open the tables of a plan that is about to run, all at one version.

        Args:
            session: whose plan it is.
            statement: the command that runs the plan, or None for a query on its own.
            targets: namespaces and names.
            definition_only: the plan is only shown, so no rows are read.
            committed_only: show nothing of the session's open transaction, for the plan runs in
                another session that has no catalog of its own here.

        Returns:
            what ``load`` returns, in the order of ``targets``.

        Raises:
            NotFoundError: no such namespace or table.
        """
        with session.lock:
            catalog = session.new_transaction() if committed_only else session.view_of(statement)
            entries = [_looked_up(catalog, t, definition_only=definition_only) for t in targets]
        return [
            self._opened(session, catalog, entry, self._read_view(session, entry))
            for entry in entries
        ]

    def stage(
        self, session: Session, statement: str | None, target: tuple[str, str], mode: str
    ) -> dict[str, Any]:
        """Prepare CREATE or REPLACE: give the path that Delta writes the table through.

        The name is bound, in the same version, when Delta writes the log entry.

        Args:
            session: whose statement it is.
            statement: the statement.
            target: namespace and name.
            mode: ``create``, ``replace`` or ``create_or_replace``.

        Raises:
            NotFoundError: no such namespace; with ``replace`` no such table.
            AlreadyExistsError: with ``create``, a table or view of that name.
            InvalidInputError: a name that breaks the rules.
            ReadOnlyError: the namespace is reserved.
        """
        if mode not in (_CREATE, _REPLACE, _CREATE_OR_REPLACE):
            raise InvalidInputError(f"There is no mode {mode!r}.", mode=mode)
        _refuse_reserved(target, writing=True)
        with session.lock:
            session.refuse_early()
            catalog = session.view_of(statement)
            exists = catalog.has_table(*target)
            if exists and mode != _CREATE:
                return {
                    **self._load_for_writing(session, statement, target, is_read=True),
                    "exists": True,
                }
            if mode == _REPLACE:
                catalog.table(*target)
            _check_new(catalog, target)
            view = self._views.write(
                session,
                target,
                session.lake.context.new_location(),
                catalog,
                None,
                None,
            )
            session.note_view(view.name, statement)
        return {"path": view.path, "exists": False}

    def unstage(self, path: str) -> None:
        """Give up what ``stage`` prepared; nothing of it was visible."""
        self._views.drop(path)

    def drop(self, session: Session, statement: str | None, target: tuple[str, str]) -> bool:
        """Drop a table; tell whether there was one.

        Raises:
            ReadOnlyError: the namespace is reserved.
        """
        _refuse_reserved(target, writing=True)
        if not session.view_of(statement).has_table(*target):
            return False
        session.edit(statement, lambda transaction: transaction.drop_table(*target))
        return True

    def rename(
        self,
        session: Session,
        statement: str | None,
        target: tuple[str, str],
        to: tuple[str, str],
    ) -> None:
        """Give a table another name.

        Raises:
            NotFoundError: no such table or namespace.
            AlreadyExistsError: the new name is taken.
        """
        session.edit(statement, lambda transaction: transaction.rename_table(*target, *to))

    def restore_point(
        self,
        session: Session,
        statement: str | None,
        target: tuple[str, str],
        *,
        version: str | None = None,
        timestamp_micros: int | None = None,
    ) -> int:
        """Return the table's own number of the state that RESTORE goes back to.

        Args:
            session: whose statement it is.
            statement: the statement.
            target: namespace and name.
            version: a lake version, or the name of an exported snapshot.
            timestamp_micros: a time, UTC epoch microseconds.

        Raises:
            NotFoundError: no such table, version, snapshot or time.
            UnsupportedError: the table's log does not lead there, so Delta cannot go back.
        """
        then = session.lake.table(_past(session, version, timestamp_micros).table(*target)).segment
        with session.lock:
            entry = session.view_of(statement).table(*target, record=False)
        now = session.lake.table(entry).segment
        context = session.lake.context
        if now.location == then.location and now.version >= then.version:
            commit = session.lake.delta.logs.commits_from(context, now, then.version)[0]
            if commit.unique == then.commits[-1].unique:
                return then.version
        name = ".".join(target)
        raise UnsupportedError(
            f"RESTORE cannot take {name} there: since then it was created anew, or the lakehouse"
            " was rolled back behind that version. CREATE OR REPLACE TABLE, from the same table"
            " VERSION AS OF that version, does it.",
            table=name,
        )

    # --- parts -----------------------------------------------------------------------------------

    def _load_live(
        self, session: Session, statement: str | None, target: tuple[str, str]
    ) -> dict[str, Any]:
        with session.lock:
            catalog = session.view_of(statement)
            entry = catalog.table(*target)
        view = self._views.live(session, target, session.lake.table(entry).segment)
        return self._opened(session, catalog, entry, view)

    def _load_for_writing(
        self, session: Session, statement: str | None, target: tuple[str, str], *, is_read: bool
    ) -> dict[str, Any]:
        with session.lock:
            session.refuse_early()
            catalog = session.view_of(statement)
            # What the statement reads of its target is in its log entry: no read of its own.
            entry = catalog.table(*target, record=False)
            table = session.lake.table(entry)
            view = self._views.write(
                session,
                target,
                table.segment.location,
                catalog,
                table,
                entry.definition,
            )
            if is_read:
                session.expect_entry(view.name, statement, target)
            else:
                session.note_view(view.name, statement)
        return self._opened(session, catalog, entry, view)

    def _read_view(self, session: Session, entry: TableEntry) -> View:
        return self._views.read(session.lake, session.lake.table(entry), entry.path)

    def _opened(
        self, session: Session, catalog: Catalog, entry: TableEntry, view: View
    ) -> dict[str, Any]:
        table = session.lake.table(entry)
        target = (entry.namespace, entry.name)
        stream = self._views.stream(session, target, table.segment)
        return {
            "path": view.path,
            "stream_path": stream.path,
            "physical": session.lake.hadoop_url(table.segment.location),
            "table_id": table.segment.table_id,
            "lake_version": catalog.at_version,
            "delta_version": table.segment.version,
            "properties": dict(table.configuration),
            "schema_json": table.schema_json,
            "partition_columns": table.partition_columns,
        }


def _looked_up(
    catalog: Transaction, target: tuple[str, str], *, definition_only: bool
) -> TableEntry:
    return catalog.table(*target) if definition_only else catalog.read_table(*target)


def _past(session: Session, version: str | None, timestamp_micros: int | None) -> Snapshot:
    """Return an older version, as a transaction sees it if one is open."""
    lakehouse, transaction = session.lake.lakehouse, session.transaction
    within = transaction.base if transaction else None
    if timestamp_micros is not None:
        moment = _EPOCH + timedelta(microseconds=timestamp_micros)
        return lakehouse.at(timestamp=moment, within=within)
    reference = parse_reference(version or "")
    if isinstance(reference, str):
        return lakehouse.at(snapshot=reference, within=within)
    return lakehouse.at(version=reference, within=within)


def target_of(arguments: Mapping[str, Any]) -> tuple[str, str]:
    """Return namespace and name in the arguments of a call."""
    return arguments["namespace"], arguments["table"]


def _refuse_reserved(target: tuple[str, str], *, writing: bool) -> None:
    namespace, name = target
    if namespace.casefold() != RESERVED_NAMESPACE:
        return
    if writing:
        raise ReadOnlyError(
            f"{namespace}.{name} cannot be written: the namespace '{namespace}' belongs to the"
            " catalog. Choose another one.",
            namespace=namespace,
            table=name,
        )
    raise NotFoundError(
        f"There is no table {namespace}.{name}.",
        kind=Kind.TABLE_NOT_FOUND,
        namespace=namespace,
        table=name,
    )


def _check_new(catalog: Catalog, target: tuple[str, str]) -> None:
    """Refuse early what binding the name would refuse after the data is written."""
    namespace, name = target
    catalog.require_namespace(namespace)
    for what, is_taken in (("table", catalog.has_table), ("view", catalog.has_view)):
        if is_taken(namespace, name):
            raise AlreadyExistsError(
                f"A {what} {namespace}.{name} exists already. Choose another name, or drop it"
                " first.",
                kind=Kind.TABLE_ALREADY_EXISTS,
                namespace=namespace,
                table=name,
            )
