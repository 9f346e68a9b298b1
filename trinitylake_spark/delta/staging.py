"""Putting a log entry on top of a table, under whatever number comes next.

Delta writes an entry for one number on top of one state. When others committed meanwhile the entry
moves to another number. Mostly only its name changes and nothing is copied; where its content
depends on the number or on what came before (in-commit timestamps, row ids), it is written again
under a new UUID. What cannot be moved is refused by name.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from trinitylake_spark.delta.change import change_of_entry
from trinitylake_spark.delta.entry import ROW_TRACKING_DOMAIN, Entry, encode_entry
from trinitylake_spark.delta.names import CREATION, LOG_FOLDER, stored_name
from trinitylake_spark.delta.segment import Commit, moved
from trinitylake_spark.delta.table import Counters, DeltaTable, new_table

if TYPE_CHECKING:
    from trinitylake_spark.delta.change import Change
    from trinitylake_spark.delta.entry import Action
    from trinitylake_spark.lakehouse.formats import FormatContext

_ENABLEMENT = "delta.inCommitTimestampEnablementVersion"
_PROTECTION = "delta.requireCheckpointProtectionBeforeVersion"
_TYPE_CHANGE = '"tableVersion"'


class RefusedError(Exception):
    """An entry cannot be put on top of what others committed.

    Args:
        rule: why not, a sentence without a subject: ``both changed …``.
        advice: what to do; empty for "run the transaction again".
        version: the lake version it conflicts with, if one is to blame.
        their_operation: what that version did.
    """

    def __init__(
        self, rule: str, advice: str = "", *, version: int | None = None, their_operation: str = ""
    ) -> None:
        super().__init__(rule)
        self.rule = rule
        self.advice = advice
        self.version = version
        self.their_operation = their_operation


@dataclass(frozen=True, slots=True)
class Staged:
    """A log entry as its writer wrote it: the payload of a ``TableChange``.

    Args:
        entry: its actions.
        commit: its number, unique part and size in the chain it was written for.
        written_on: counters of the state that it was written on.
        own: UUIDs of commits that the same statement made before; they are no conflict.
        live: the writer saw committed numbers only, so it must not be moved to another one: it
            retries by itself.
    """

    entry: Entry
    commit: Commit
    written_on: Counters
    own: frozenset[str] = frozenset()
    live: bool = False

    def change(self, table: DeltaTable) -> Change:
        """Return what the entry did; ``table`` tells the partition columns."""
        return change_of_entry(self.entry, table)


@dataclass(frozen=True, slots=True)
class Placed:
    """An entry on top of a table.

    Args:
        table: the table with the entry.
        entry: the entry as it stands there.
        commit: its place in the log.
        files: log files inside the warehouse that must be written: none if the stored entry is
            right as it is.
        left_out: files that the entry, of a compaction, no longer replaces.
    """

    table: DeltaTable
    entry: Entry
    commit: Commit
    files: dict[str, bytes] = field(default_factory=dict)
    left_out: int = 0

    def log_entry(self) -> str:
        """Return the entry's path inside the table's folder."""
        return f"{LOG_FOLDER}/{stored_name(self.commit.version, self.commit.unique)}"


def new_commit(context: FormatContext, version: int, size: int) -> Commit:
    """Return the name of a commit that is about to be written for the first time."""
    unique = CREATION if version == 0 else context.ids.uuid4()
    return Commit(version, unique, size, context.clock.now_millis())


def entry_path(context: FormatContext, location: str, commit: Commit) -> str:
    """Return where a commit is stored, inside the warehouse."""
    name = stored_name(commit.version, commit.unique)
    return f"{context.warehouse_path(location)}/{LOG_FOLDER}/{name}"


def place(
    context: FormatContext, table: DeltaTable, staged: Staged, entry: Entry | None = None
) -> Placed:
    """Put an entry on top of a table.

    Args:
        context: storage and services.
        table: the state to go on top of.
        staged: the entry as it was written, with its location in ``staged.commit``.
        entry: the entry to place if rebasing changed it, else as it was written.

    Raises:
        RefusedError: its content is bound to its number in a way that cannot be moved.
    """
    wanted = staged.entry if entry is None else entry
    wanted = retarget(wanted, staged.written_on, table)
    version = table.segment.version + 1
    if wanted is staged.entry:
        commit = moved(staged.commit, version)
        return Placed(table.append(commit, wanted), wanted, commit)
    data = encode_entry(wanted)
    commit = new_commit(context, version, len(data))
    path = entry_path(context, table.segment.location, commit)
    return Placed(table.append(commit, wanted), wanted, commit, {path: data})


def place_first(location: str, staged: Staged) -> Placed:
    """Make a new table of entry 0.

    Raises:
        CorruptError: the entry has no metadata or no protocol.
    """
    table = new_table(location, staged.commit, staged.entry)
    return Placed(table, staged.entry, staged.commit)


def retarget(entry: Entry, written_on: Counters, table: DeltaTable) -> Entry:
    """Return an entry as it must read on top of ``table``; itself if nothing in it changes.

    Raises:
        RefusedError: it holds something bound to its number.
    """
    onto = table.counters
    if written_on == onto:
        return entry
    if written_on.version != onto.version:
        _refuse_bound_content(entry, table)
    after = DeltaTable(
        table.segment, entry.metadata or table.metadata, entry.protocol or table.protocol, onto
    )
    actions = list(entry.actions)
    if after.has_timestamps:
        actions = _with_timestamp(actions, onto)
    if after.tracks_rows:
        actions = _with_row_ids(actions, written_on, onto)
    return entry.replaced(actions)


def _refuse_bound_content(entry: Entry, table: DeltaTable) -> None:
    metadata = entry.metadata
    if metadata is None:
        return
    configuration = metadata.get("configuration") or {}
    for key in (_ENABLEMENT, _PROTECTION):
        if configuration.get(key) != table.configuration.get(key):
            raise RefusedError(f"the table property {key} names the number of its own commit")
    if _type_changes(metadata) > _type_changes(table.metadata):
        raise RefusedError("a widened column type names the number of its own commit")


def _type_changes(metadata: Action) -> int:
    return str(metadata.get("schemaString", "")).replace("\\", "").count(_TYPE_CHANGE)


def _with_timestamp(actions: list[tuple[str, Action]], onto: Counters) -> list[tuple[str, Action]]:
    """In-commit timestamps rise from commit to commit."""
    least = -1 if onto.timestamp is None else onto.timestamp + 1

    def later(kind: str, body: Action) -> tuple[str, Action]:
        if kind != "commitInfo":
            return kind, body
        stamp = body.get("inCommitTimestamp")
        if stamp is None:
            raise RefusedError("in-commit timestamps were switched on meanwhile")
        return kind, body if stamp >= least else {**body, "inCommitTimestamp": least}

    return [later(kind, body) for kind, body in actions]


def _with_row_ids(
    actions: list[tuple[str, Action]], written_on: Counters, onto: Counters
) -> list[tuple[str, Action]]:
    """Fresh row ids start above everybody's; fresh files name the number of their commit."""
    last = -1 if written_on.row_ids is None else written_on.row_ids
    shift = (-1 if onto.row_ids is None else onto.row_ids) - last
    old, new = written_on.version + 1, onto.version + 1

    def moved_action(kind: str, body: Action) -> tuple[str, Action]:
        if kind == "domainMetadata" and body.get("domain") == ROW_TRACKING_DOMAIN and shift:
            configuration = json.loads(body["configuration"])
            configuration["rowIdHighWaterMark"] += shift
            text = json.dumps(configuration, separators=(",", ":"))
            return kind, {**body, "configuration": text}
        if kind != "add":
            return kind, body
        if body.get("baseRowId") is None or body.get("defaultRowCommitVersion") is None:
            raise RefusedError("row tracking was switched on meanwhile")
        changed = dict(body)
        if body["baseRowId"] > last:
            changed["baseRowId"] += shift
        if body["defaultRowCommitVersion"] == old:
            changed["defaultRowCommitVersion"] = new
        return kind, changed

    return [moved_action(kind, body) for kind, body in actions]
