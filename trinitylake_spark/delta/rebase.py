"""My entries on top of theirs, without reading or writing data (format.md §6.5, §6.6, §7.3)."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

from trinitylake_spark.delta.change import (
    REWRITES,
    UNDO_COMPACTION,
    change_of_entry,
    change_of_record,
)
from trinitylake_spark.delta.data_rules import DataRules, Plan, Their
from trinitylake_spark.delta.entry import FILE_FACTS, Entry
from trinitylake_spark.delta.metadata_rules import check_metadata, merged_metadata
from trinitylake_spark.delta.row_rules import stack_vectors
from trinitylake_spark.delta.staging import RefusedError, Staged, new_commit, place
from trinitylake_spark.delta.table import Counters, read_table
from trinitylake_spark.errors import CommitConflictError
from trinitylake_spark.format.definitions import action_detail
from trinitylake_spark.format.system import Isolation
from trinitylake_spark.lakehouse.formats import TableChange

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from trinitylake_spark.delta.change import Change
    from trinitylake_spark.delta.checkpoints import Checkpoints
    from trinitylake_spark.delta.entry import Action
    from trinitylake_spark.delta.log import LogFiles
    from trinitylake_spark.delta.segment import Commit
    from trinitylake_spark.delta.staging import Placed
    from trinitylake_spark.delta.table import DeltaTable
    from trinitylake_spark.format.definitions_pb2 import TableDef
    from trinitylake_spark.lakehouse.formats import FormatContext, RebaseRequest

_RERUN = "Run the transaction again on the newer version."


class Rebase:
    """One attempt to put my changes of one table on top of theirs.

    Args:
        context: storage and services.
        request: what to put on top of what.
        logs: reads log entries.
        checkpoints: finds checkpoints for the new definition.
    """

    def __init__(
        self,
        context: FormatContext,
        request: RebaseRequest,
        logs: LogFiles,
        checkpoints: Checkpoints,
    ) -> None:
        self._context = context
        self._request = request
        self._logs = logs
        self._checkpoints = checkpoints
        self._base = read_table(request.base)
        self._theirs = read_table(request.theirs)

    def run(self) -> tuple[TableDef, list[TableChange]]:
        """Return the new definition and my changes as they stand on it.

        Raises:
            CommitConflictError: a rule forbids it.
        """
        mine = self._mine()
        try:
            theirs = self._their_changes(mine)
            changes = [(staged, staged.change(self._base)) for staged in mine]
            check_metadata(
                self._base, self._theirs, changes, [(t.version, t.change) for t in theirs]
            )
            plan = self._rules().plan(changes, theirs)
            stacked = stack_vectors(self._context, self._base.segment.location, changes, plan)
            placed = self._place(mine, plan, stacked)
        except RefusedError as refused:
            raise self._conflict(refused, mine) from refused
        return self._result(placed)

    # --- what there is ---------------------------------------------------------------------------

    def _mine(self) -> list[Staged]:
        """Return my entries; those of a transaction that another process began are read."""
        known = [c.payload for c in self._request.my_changes if isinstance(c.payload, Staged)]
        if len(known) == len(self._request.my_changes):
            return known
        segment = read_table(self._request.mine).segment
        first = self._base.segment.version + 1
        commits = self._logs.commits_from(self._context, segment, first)
        staged, counters = [], self._base.counters
        entries = self._logs.entries(self._context, segment.location, commits)
        for commit, entry in zip(commits, entries, strict=True):
            staged.append(Staged(entry, commit, counters))
            counters = counters.after(entry)
        return staged

    def _their_changes(self, mine: Sequence[Staged]) -> list[Their]:
        """Return what was committed after my base, in order, my own statement's left out."""
        old, new = self._base.segment, self._theirs.segment
        if old.location != new.location:
            raise RefusedError("the table was dropped and made anew meanwhile")
        commits = self._logs.commits_from(self._context, new, old.version)
        if not commits or commits[0].unique != old.commits[-1].unique:
            raise RefusedError("the table was rolled back meanwhile")
        own = frozenset[str]().union(*(staged.own for staged in mine))
        followed = list(commits[1:])
        if any(staged.live for staged in mine) and followed:
            raise RefusedError("the table moved on", "List its log again and retry.")
        records: Sequence[tuple[int, Change | None]] = [
            (version, change_of_record(action.type, action_detail(action)))
            for version, action in self._request.their_changes
        ]
        if len(records) != len(followed):
            # A foreign writer recorded less than it did; the log itself tells everything.
            last = self._request.their_changes[-1][0] if self._request.their_changes else 0
            records = [(last, None)] * len(followed)
        return [
            self._their(version, change, commit)
            for (version, change), commit in zip(records, followed, strict=True)
            if commit.unique.partition("_")[0] not in own
        ]

    def _their(self, version: int, change: Change | None, commit: Commit) -> Their:
        load = partial(self._logs.entry, self._context, self._theirs.segment.location, commit)
        if change is None or not change.complete:
            change = change_of_entry(load(), self._theirs)
        return Their(version, change, load)

    def _rules(self) -> DataRules:
        definition = self._request.theirs
        return DataRules(
            self._base,
            strict=self._theirs.strict,
            serializable=self._request.isolation is Isolation.SERIALIZABLE,
            reads=self._request.reads,
            has_keys=bool(definition.primary_keys or definition.unique_columns),
        )

    # --- what becomes of it ----------------------------------------------------------------------

    def _place(
        self, mine: Sequence[Staged], plan: Plan, stacked: Mapping[int, Mapping[str, bytes]]
    ) -> list[Placed]:
        """Put the entries on top of theirs, an undone compaction first."""
        placed: list[Placed] = []
        table = self._theirs
        if plan.undone:
            placed.append(self._place_undo(table, plan))
            table = placed[-1].table
        before = self._base.metadata
        merging = self._base.metadata != self._theirs.metadata
        for position, staged in enumerate(mine):
            entry = plan.entries.get(position, staged.entry)
            if staged.entry.metadata is not None:
                if merging:
                    entry = _with_metadata(
                        entry, merged_metadata(before, staged.entry.metadata, table.metadata)
                    )
                before = staged.entry.metadata
            one = place(self._context, table, staged, entry)
            files = {**one.files, **stacked.get(position, {})}
            left_out = self._left_out(staged, one.entry)
            placed.append(replace(one, files=files, left_out=left_out))
            table = one.table
        return placed

    def _left_out(self, staged: Staged, entry: Entry) -> int:
        is_rewrite = staged.change(self._base).kind in REWRITES
        return len(staged.entry.removes) - len(entry.removes) if is_rewrite else 0

    def _place_undo(self, table: DeltaTable, plan: Plan) -> Placed:
        """Make an entry that takes back what compactions did; it changes no data."""
        entry = _undo_entry(self._context.clock.now_millis(), plan, table.counters)
        staged = Staged(Entry(()), new_commit(self._context, 0, 0), table.counters)
        return place(self._context, table, staged, entry)

    def _result(self, placed: Sequence[Placed]) -> tuple[TableDef, list[TableChange]]:
        table = placed[-1].table
        segment = self._checkpoints.with_newest(
            self._context, table.segment, table.checkpoint_interval
        )
        segment, sealed = self._logs.seal(self._context, segment, self._context.ids)
        definition = table.with_segment(segment).to_definition(self._request.theirs)
        changes = [table_change(one, self._base) for one in placed]
        changes[-1] = replace(changes[-1], files={**changes[-1].files, **sealed})
        original = {p: d for c in self._request.my_changes for p, d in c.files.items()}
        changes[0] = replace(changes[0], files={**original, **changes[0].files})
        return definition, changes

    def _conflict(self, refused: RefusedError, mine: Sequence[Staged]) -> CommitConflictError:
        request = self._request
        operations = list(dict.fromkeys(s.entry.operation or "a write" for s in mine))
        if refused.version is None and request.their_changes:
            refused.version = request.their_changes[-1][0]
        return conflict_error(refused, f"{request.namespace}.{request.name}", operations)


def conflict_error(
    refused: RefusedError, table: str, operations: Sequence[str]
) -> CommitConflictError:
    """Return a refusal as the error that a transaction ends with.

    Args:
        refused: the rule and who is to blame.
        table: the table's name.
        operations: what this transaction did.
    """
    mine = ", ".join(operations)
    advice = refused.advice or _RERUN
    by = "" if refused.version is None else f" by version {refused.version}"
    what = f" ({refused.their_operation})" if refused.their_operation else ""
    blamed: dict[str, Any] = {} if refused.version is None else {"version": refused.version}
    return CommitConflictError(
        f"{mine} on {table} conflicts with a change{by}{what}: {refused.rule}. {advice}",
        rule=refused.rule,
        my_operation=mine,
        their_operation=refused.their_operation or "CHANGE",
        advice=advice,
        **blamed,
    )


def table_change(placed: Placed, table: DeltaTable, staged: Staged | None = None) -> TableChange:
    """Return a placed entry as a change of a transaction.

    Args:
        placed: the entry.
        table: tells the partition columns.
        staged: kept as payload, for a later rebase.
    """
    change = change_of_entry(placed.entry, table)
    detail = change.detail(placed.log_entry())
    return TableChange(change.action, detail, staged, placed.files, placed.left_out)


def _with_metadata(entry: Entry, metadata: Action) -> Entry:
    return entry.replaced([(k, metadata if k == "metaData" else body) for k, body in entry.actions])


def _undo_entry(now: int, plan: Plan, counters: Counters) -> Entry:
    info: Action = {
        "timestamp": now,
        "operation": UNDO_COMPACTION,
        "operationParameters": {},
        "isBlindAppend": False,
    }
    if counters.timestamp is not None:
        info["inCommitTimestamp"] = max(now, counters.timestamp + 1)
    actions: list[tuple[str, Action]] = [("commitInfo", info)]
    actions.extend(("add", _added_again(a)) for a in plan.put_back())
    actions.extend(("remove", _removed_again(a, now)) for a in plan.take_out())
    return Entry(tuple(actions))


def _added_again(remove: Action) -> Action:
    """Turn the removal of a file into its addition; nothing of the file changed."""
    return {
        **_file_facts(remove),
        "modificationTime": remove.get("deletionTimestamp", 0),
        "dataChange": False,
    }


def _removed_again(add: Action, now: int) -> Action:
    return {
        **_file_facts(add),
        "deletionTimestamp": now,
        "dataChange": False,
        "extendedFileMetadata": True,
    }


def _file_facts(action: Action) -> Action:
    """Return what additions and removals of a file both say about it."""
    return {name: action[name] for name in FILE_FACTS if action.get(name) is not None}
