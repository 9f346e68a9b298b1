"""The virtual Delta log: what Delta lists, opens and writes below ``_delta_log``."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

from trinitylake_spark.delta.entry import parse_entry
from trinitylake_spark.delta.names import (
    LAST_CHECKPOINT,
    LOG_FOLDER,
    canonical_name,
    checkpoint_name,
    checkpoint_note_name,
    checksum_name,
    checksum_number,
    commit_number,
    stored_name,
)
from trinitylake_spark.delta.segment import ListedFile, listed_commit
from trinitylake_spark.delta.table import Counters, read_table
from trinitylake_spark.errors import (
    AlreadyExistsError,
    CommitConflictError,
    Kind,
    NotFoundError,
    StatementConflictError,
    TransactionStateError,
    UnsupportedError,
)
from trinitylake_spark.spark.batches import check_batch
from trinitylake_spark.spark.views import LiveView, WriteView

if TYPE_CHECKING:
    from trinitylake_spark.delta.segment import Commit
    from trinitylake_spark.delta.table import DeltaTable
    from trinitylake_spark.delta.table_format import StagedWrite
    from trinitylake_spark.format.definitions_pb2 import TableDef
    from trinitylake_spark.lakehouse.formats import TableChange
    from trinitylake_spark.lakehouse.transaction import Transaction
    from trinitylake_spark.spark.views import View, Views, WritableView


class Written(NamedTuple):
    """What became of a log entry.

    Args:
        version: the lake version that it committed; None if none yet.
        left_out: files that it was to compact, had others not changed them meanwhile.
    """

    version: int | None = None
    left_out: int = 0


class Logs:
    """Delta's log calls, answered through the views that their paths name.

    Args:
        views: all views of this process.
    """

    def __init__(self, views: Views) -> None:
        self._views = views

    # --- reading ---------------------------------------------------------------------------------

    def list(self, path: str, first: int) -> list[ListedFile]:
        """List a log.

        Args:
            path: the table's path in a view.
            first: lowest commit number wanted.

        Raises:
            NotFoundError: kind ``OBJECT_NOT_FOUND``: the view shows no such log.
        """
        view, _ = self._views.at(path)
        table = view.listed()
        if table is None:
            raise _no_log(path)
        segment = table.segment
        commits = view.lake.delta.logs.commits_from(view.lake.context, segment, first)
        files = [listed_commit(commit) for commit in commits if commit.version >= first]
        if view.replacements:
            return [_with_new_time(file, view.replacements) for file in files]
        if segment.checkpoint is not None and segment.checkpoint.version >= first:
            files += segment.checkpoint.listed()
        return files

    def resolve(self, path: str, *, write: bool) -> str | None:
        """Return where a file below the log folder is, by the name that Delta uses.

        Args:
            path: the file's path in a view.
            write: it is about to be written, so it need not exist.

        Returns:
            a URL for Hadoop, or None if the view has no such file.
        """
        view, name = self._views.at(path)
        table = view.table()
        if table is None:
            return None
        stored = self._stored_name(view, table, name, write=write)
        return f"{view.lake.hadoop_url(view.location)}/{LOG_FOLDER}/{stored}" if stored else None

    def derive_checksum(self, path: str) -> bool:
        """Make the checksum of a commit that has none, for it was rebased or is very fresh.

        Args:
            path: the checksum's path in a view.

        Returns:
            whether it is there now.
        """
        view, name = self._views.at(path)
        table, number = view.table(), checksum_number(name)
        commit = self._commit(view, table, number) if table and number is not None else None
        if table is None or commit is None:
            return False
        return view.lake.delta.checksums.derive(view.lake.context, table.segment, commit)

    def _stored_name(self, view: View, table: DeltaTable, name: str, *, write: bool) -> str | None:
        checkpoint = table.segment.checkpoint
        if name == LAST_CHECKPOINT:
            if checkpoint is None or view.replacements:
                return None
            return checkpoint_note_name(checkpoint.version, checkpoint.unique)
        number = commit_number(name)
        if number is not None:
            commit = self._commit(view, table, number)
            return stored_name(commit.version, commit.unique) if commit else None
        number = checksum_number(name)
        if number is not None:
            commit = self._commit(view, table, number)
            return checksum_name(commit.version, commit.unique) if commit else None
        if not write and checkpoint is not None:
            for part in checkpoint.parts:
                if part.name == name:
                    return checkpoint_name(checkpoint.token, name)
        return checkpoint_name(view.name, name)

    def _commit(self, view: View, table: DeltaTable, number: int) -> Commit | None:
        segment = table.segment
        if number > segment.version:
            return None
        known = segment.commit(number)
        if known is None:
            commits = view.lake.delta.logs.commits_from(view.lake.context, segment, number)
            known = next((commit for commit in commits if commit.version == number), None)
        return known

    # --- writing ---------------------------------------------------------------------------------

    def write(self, path: str, data: bytes, execution: str | None = None) -> Written:
        """Take a log entry, or the note of a checkpoint, that Delta writes.

        An entry commits at once, or becomes part of the open transaction.

        Args:
            path: the file's path in a view.
            data: its content.
            execution: names the run of the statement that writes it, for ``take_back``.

        Returns:
            what it committed; nothing yet inside a transaction, and nothing for notes.

        Raises:
            AlreadyExistsError: kind ``OBJECT_ALREADY_EXISTS``: the number is taken; Delta lists
                the log again and retries. Only live views do that.
            CommitConflictError: another transaction got in the way.
            ReadOnlyError: the view is of a fixed version.
        """
        view, name = self._views.writable(path)
        if name == LAST_CHECKPOINT:
            self._note_checkpoint(view, data)
            return Written()
        number = commit_number(name)
        if number is None:
            raise UnsupportedError(f"{name} is not a file of a log.", path=path)
        with view.lock:
            if isinstance(view, WriteView):
                return self._write_statement(view, number, data, execution or view.name)
            return self._write_live(view, number, data, execution or view.name)

    def take_back(self, path: str, execution: str) -> None:
        """Undo what a failed statement wrote inside of a transaction; outside there is nothing.

        Args:
            path: a file that it wrote, in a view.
            execution: names its run.
        """
        view, _ = self._views.writable(path)
        view.session.take_back(execution, view.target)

    def _note_checkpoint(self, view: WritableView, data: bytes) -> None:
        table = view.table()
        commit = table and self._commit(view, table, int(json.loads(data)["version"]))
        if commit:
            view.lake.delta.checkpoints.record(
                view.lake.context, view.location, commit, view.name, data
            )

    def _write_statement(
        self, view: WriteView, number: int, data: bytes, execution: str
    ) -> Written:
        """Write through the view of one statement, whose numbers are its own."""
        shown = view.table()
        if number != (0 if shown is None else shown.segment.version + 1):
            raise _taken(view, number)
        session = view.session
        if view.in_transaction:
            with session.lock:
                if view.transaction is None or view.transaction is not session.transaction:
                    raise _is_over()
                session.undo.before(execution, view.transaction)
                self._stage(view.transaction, view, number, data)
                session.note_entry(view.name)
            return Written()
        transaction = view.transaction or self._next_transaction(view)
        staged = self._stage(transaction, view, number, data)
        version = transaction.commit()
        view.transaction = None
        view.committed = version
        if number == 0 and version is not None:
            # The statement created the table: there is nothing before that version to mind.
            view.base_version = version
        else:
            view.own.add(staged.commit.unique)
        return Written(version, transaction.left_out)

    def _next_transaction(self, view: WriteView) -> Transaction:
        """Return the transaction for a later entry of a statement that has committed before.

        It stands on what the statement saw and did; if nothing came in between, that is the
        version that it made.
        """
        base = view.base_version
        if view.committed == base + len(view.own):
            base = view.committed
        return view.session.new_transaction(view.lake.lakehouse.at(version=base))

    def _stage(
        self, transaction: Transaction, view: WriteView, number: int, data: bytes
    ) -> StagedWrite:
        namespace, name = view.target
        context, delta = view.lake.context, view.lake.delta
        if view.definition is None:
            staged = delta.stage_first(context, view.location, data)
            self._store_early(view, staged)
            with view.session.failing_early(transaction):
                transaction.bind_table(namespace, name, staged.definition, _change(view, staged))
        else:
            shown = view.table()
            base = self._base_definition(transaction, view)
            staged = delta.stage(
                context,
                base,
                data,
                version=number,
                written_on=shown.counters if shown else Counters(),
                own=frozenset(view.own),
            )
            self._store_early(view, staged)
            with view.session.failing_early(transaction):
                transaction.change_table(namespace, name, staged.definition, _change(view, staged))
        view.show(staged)
        return staged

    def _base_definition(self, transaction: Transaction, view: WriteView) -> TableDef:
        """Return what the entry goes on top of: what the statement sees, with its own entries."""
        assert view.definition is not None  # noqa: S101 - the caller looked
        if not view.in_transaction:
            return view.definition
        now = transaction.table(*view.target, record=False).definition
        if read_table(now).segment.commits != read_table(view.definition).segment.commits:
            raise StatementConflictError(
                f"Table {'.'.join(view.target)} was changed by another statement of the same"
                " transaction while this one ran. Run this statement again: the transaction is"
                " still open, without it.",
                table=".".join(view.target),
                transaction_id=transaction.id,
            )
        return now

    def _write_live(self, view: WritableView, number: int, data: bytes, execution: str) -> Written:
        """Write through a view that shows real numbers: a taken number is Delta's to retry."""
        if not isinstance(view, LiveView):
            raise UnsupportedError(f"Nothing can be written through {view.path}.")
        table = view.table()
        if number != table.segment.version + 1:
            raise self._overtaken(view, number, data)
        session = view.session
        with session.lock:
            open_transaction = session.transaction
            if view.in_transaction() and open_transaction is not None:
                session.undo.before(execution, open_transaction)
                self._stage_live(open_transaction, view, table, data, store=True)
                return Written()
        transaction = session.new_transaction(view.base)
        self._stage_live(transaction, view, table, data, store=False)
        try:
            version = transaction.commit()
        except CommitConflictError:
            if view.listed().segment.version >= number:
                raise self._overtaken(view, number, data) from None
            raise
        view.listed()
        return Written(version)

    def _overtaken(self, view: LiveView, number: int, data: bytes) -> AlreadyExistsError:
        """Return why an entry cannot have its number, so that Delta retries under the next.

        Raises:
            CommitConflictError: it is a batch of a stream that Delta would give up.
        """
        if view.is_stream:
            logs, context, segment = view.lake.delta.logs, view.lake.context, view.table().segment
            later = logs.commits_from(context, segment, number)
            theirs = logs.entries(context, segment.location, later)
            check_batch(parse_entry(data, view.path), theirs, ".".join(view.target))
        return _taken(view, number)

    def _stage_live(
        self,
        transaction: Transaction,
        view: LiveView,
        table: DeltaTable,
        data: bytes,
        *,
        store: bool,
    ) -> None:
        namespace, name = view.target
        base = transaction.table(namespace, name, record=False).definition
        staged = view.lake.delta.stage(
            view.lake.context,
            base,
            data,
            version=table.segment.version + 1,
            written_on=table.counters,
            live=not store,
        )
        change = staged.change
        if store:
            view.lake.context.warehouse.create_all(change.files)
            change = replace(change, files={})
        with view.session.failing_early(transaction):
            transaction.change_table(namespace, name, staged.definition, change)
        if store:
            view.show(staged.table)

    def _store_early(self, view: WriteView, staged: StagedWrite) -> None:
        """Inside a transaction later statements read the entry, so it cannot wait for COMMIT."""
        if view.in_transaction:
            view.lake.context.warehouse.create_all(staged.change.files)


def _change(view: WriteView, staged: StagedWrite) -> TableChange:
    return replace(staged.change, files={}) if view.in_transaction else staged.change


def _with_new_time(file: ListedFile, millis: int) -> ListedFile:
    """Commit 0 is what Delta looks at; the times of later commits are the table's history."""
    return file._replace(millis=file.millis + millis) if file.name == canonical_name(0) else file


def _no_log(path: str) -> NotFoundError:
    return NotFoundError(f"There is no log at {path} yet.", path=path)


def _taken(view: WritableView, number: int) -> AlreadyExistsError:
    return AlreadyExistsError(
        f"Commit {number} of {'.'.join(view.target)} exists already.",
        path=view.path,
        version=number,
    )


def _is_over() -> TransactionStateError:
    return TransactionStateError(
        "The transaction in which the statement began is over. Nothing of the statement was kept;"
        " run it again.",
        kind=Kind.TRANSACTION_FINISHED,
    )
