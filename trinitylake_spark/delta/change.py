"""What one log entry did to a table, in the terms that conflicts are decided in (format.md §7).

The same summary is made from a log entry and from the ``DataChange`` that a root records for it,
so that a commit can be judged by any later one from the root alone.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from trinitylake_spark.delta.entry import ROW_TRACKING_DOMAIN, Entry, file_key, file_path
from trinitylake_spark.delta.local_times import in_utc
from trinitylake_spark.delta.schema import PHYSICAL_NAME, parse_schema
from trinitylake_spark.delta.values import Column
from trinitylake_spark.format.definitions_pb2 import ActionType, DataChange

if TYPE_CHECKING:
    from collections.abc import Mapping

    from trinitylake_spark.delta.entry import Action
    from trinitylake_spark.delta.table import DeltaTable

MAX_RECORDED_NAMES = 200
"""A root records at most this many files and partitions of one change, else the entry tells."""

UNDO_COMPACTION = "UNDO OPTIMIZE"
"""Our own operation: put back the files that a compaction replaced."""

_IDENTITY_TAG = "delta.identity.schemaUpdate"
_COLLATIONS = "__COLLATIONS"
_LENGTH = "__CHAR_VARCHAR_TYPE_STRING"
_NULL_PARTITION = "__HIVE_DEFAULT_PARTITION__"


class Kind(StrEnum):
    """Kinds of jobs in the table-operation matrix, and what the matrix does not know."""

    OVERWRITE = "OW"
    INSERT = "IN"
    CHANGE = "UD"
    MINOR = "MI"
    MAJOR = "MA"
    CLUSTER = "CL"
    METADATA = "metadata"
    OTHER = "other"


_ACTIONS: Mapping[Kind, ActionType] = {
    Kind.OVERWRITE: ActionType.INSERT_OVERWRITE,
    Kind.INSERT: ActionType.TABLE_INSERT,
    Kind.CHANGE: ActionType.TABLE_UPDATE,
    Kind.MINOR: ActionType.MINOR_COMPACT,
    Kind.MAJOR: ActionType.MAJOR_COMPACT,
    Kind.CLUSTER: ActionType.CLUSTER,
    Kind.METADATA: ActionType.TABLE_ALTER,
    Kind.OTHER: ActionType.TABLE_ALTER,
}
_KINDS: Mapping[int, Kind] = {
    ActionType.INSERT_OVERWRITE: Kind.OVERWRITE,
    ActionType.TRUNCATE: Kind.OVERWRITE,
    ActionType.TABLE_INSERT: Kind.INSERT,
    ActionType.TABLE_UPDATE: Kind.CHANGE,
    ActionType.TABLE_DELETE: Kind.CHANGE,
    ActionType.MINOR_COMPACT: Kind.MINOR,
    ActionType.MAJOR_COMPACT: Kind.MAJOR,
    ActionType.CLUSTER: Kind.CLUSTER,
    ActionType.TABLE_ALTER: Kind.METADATA,
    ActionType.TABLE_ALTER_ADD_COLUMNS: Kind.METADATA,
    ActionType.TABLE_ALTER_REMOVE_COLUMNS: Kind.METADATA,
}
_ACTION_OF_OPERATION: Mapping[str, ActionType] = {
    "DELETE": ActionType.TABLE_DELETE,
    "TRUNCATE": ActionType.TRUNCATE,
    "ADD COLUMNS": ActionType.TABLE_ALTER_ADD_COLUMNS,
    "DROP COLUMNS": ActionType.TABLE_ALTER_REMOVE_COLUMNS,
}
_CHANGES = frozenset({"DELETE", "UPDATE", "MERGE"})
_WHOLE_STATE = frozenset({"RESTORE", "CLONE", "CONVERT"})
REWRITES = frozenset({Kind.MINOR, Kind.MAJOR, Kind.CLUSTER})
"""Kinds that change the layout of data and not the data."""


@dataclass(frozen=True, slots=True)
class Change:
    """What one log entry did.

    Args:
        kind: its row or column in the matrix.
        action: its number in ``ActionDef.type``.
        operation: Delta's name for it.
        added: keys of the files it added (``entry.file_key``).
        removed: keys of the files it removed.
        partitions: partitions it touched, like ``a=1/b=2``; None for the whole table.
        row_filter: the predicate that chose rows, as Delta recorded it; empty for none.
        blind_append: it only added rows and read nothing of the table.
        rewrites_only: it changed the layout of data and not the data.
        metadata_changed: it has a ``metaData`` action.
        protocol_changed: it has a ``protocol`` action.
        app_ids: ids of streaming queries (and the like) whose progress it records.
        domains: domains of metadata it sets, row tracking's left out.
        complete: False if the file keys were cut, so that the entry itself must be read.
    """

    kind: Kind
    action: int
    operation: str
    added: frozenset[str] = frozenset()
    removed: frozenset[str] = frozenset()
    partitions: frozenset[str] | None = None
    row_filter: str = ""
    blind_append: bool = False
    rewrites_only: bool = False
    metadata_changed: bool = False
    protocol_changed: bool = False
    app_ids: frozenset[str] = frozenset()
    domains: frozenset[str] = field(default=frozenset())
    complete: bool = True

    @property
    def changes_data(self) -> bool:
        """Whether a reader could see the difference in the rows."""
        return bool(self.added or self.removed or not self.complete) and not self.rewrites_only

    @property
    def new_files(self) -> frozenset[str]:
        """Keys of added files with rows that came in, not those named again with fewer rows."""
        if self.operation not in _CHANGES:
            return self.added
        known = {file_path(key) for key in self.removed}
        return frozenset(key for key in self.added if file_path(key) not in known)

    def detail(self, log_entry: str) -> bytes:
        """Return the ``DataChange`` that the root records.

        Args:
            log_entry: path of the log entry inside the table, in case the file keys are cut.
        """
        partitions = self.partitions or ()
        names = len(self.added) + len(self.removed) + len(partitions)
        cut = names > MAX_RECORDED_NAMES
        change = DataChange(
            added_files=() if cut else sorted(self.added),
            removed_files=() if cut else sorted(self.removed),
            row_filter=self.row_filter,
            log_entry=log_entry if cut else "",
            truncated=cut,
            metadata_changed=self.metadata_changed,
            protocol_changed=self.protocol_changed,
            partitions=() if cut else sorted(partitions),
            operation=self.operation,
            rewrites_only=self.rewrites_only,
            blind_append=self.blind_append,
            transaction_app_ids=sorted(self.app_ids),
            domains=sorted(self.domains),
        )
        return change.SerializeToString(deterministic=True)


def change_of_entry(entry: Entry, table: DeltaTable) -> Change:
    """Summarise a log entry.

    Args:
        entry: the entry.
        table: the table that it was written on or that it led to; tells the partition columns.
    """
    kind, row_filter = _classify(entry)
    files = [*entry.adds, *entry.removes]
    whole = kind is Kind.OVERWRITE and not row_filter and not _is_dynamic(entry)
    physical = [column.name for column in partition_columns(table).values()]
    partitions = (
        None
        if whole or not physical or not files
        else frozenset(partition_of(f, physical) for f in files)
    )
    return Change(
        kind=kind,
        action=_action(kind, entry),
        operation=entry.operation,
        added=frozenset(file_key(f) for f in entry.adds),
        removed=frozenset(file_key(f) for f in entry.removes),
        partitions=partitions,
        row_filter=row_filter,
        blind_append=entry.commit_info.get("isBlindAppend") is True and not entry.removes,
        rewrites_only=bool(files) and not any(f.get("dataChange", True) for f in files),
        metadata_changed=entry.metadata is not None,
        protocol_changed=entry.protocol is not None,
        app_ids=frozenset(str(txn["appId"]) for txn in entry.of("txn")),
        domains=frozenset(
            str(d["domain"])
            for d in entry.of("domainMetadata")
            if d["domain"] != ROW_TRACKING_DOMAIN
        ),
    )


def change_of_record(action: int, detail: bytes) -> Change:
    """Return the summary that a root recorded.

    Args:
        action: ``ActionDef.type``.
        detail: ``ActionDef.def``.

    Raises:
        DecodeError: the detail is no ``DataChange``.
    """
    record = DataChange.FromString(detail)
    kind = _KINDS.get(action, Kind.OTHER)
    if record.operation in _WHOLE_STATE or (
        kind is Kind.METADATA and (record.added_files or record.removed_files or record.truncated)
    ):
        kind = Kind.OTHER
    return Change(
        kind=kind,
        action=action,
        operation=record.operation,
        added=frozenset(record.added_files),
        removed=frozenset(record.removed_files),
        partitions=frozenset(record.partitions) or None,
        row_filter=record.row_filter,
        blind_append=record.blind_append,
        rewrites_only=record.rewrites_only,
        metadata_changed=record.metadata_changed,
        protocol_changed=record.protocol_changed,
        app_ids=frozenset(record.transaction_app_ids),
        domains=frozenset(record.domains),
        complete=not record.truncated,
    )


def is_identity_update(entry: Entry) -> bool:
    """Tell whether an entry's metadata only move the high-water marks of identity columns."""
    tags = entry.commit_info.get("tags") or {}
    return entry.metadata is not None and tags.get(_IDENTITY_TAG) == "true"


def columns(table: DeltaTable) -> dict[str, Column]:
    """Return a table's columns at the top level, by lower-case logical name."""
    return {f["name"].lower(): _column(f) for f in parse_schema(table.schema_json)}


def partition_columns(table: DeltaTable) -> dict[str, Column]:
    """Return a table's partition columns in order, by lower-case logical name."""
    found = columns(table) if table.partition_columns else {}
    return {n.lower(): found[n.lower()] for n in table.partition_columns if n.lower() in found}


def _column(field: Mapping[str, Any]) -> Column:
    """Return a column; one that does not compare like its plain type has no type here."""
    metadata = field.get("metadata", {})
    # CHAR is compared with blanks added, VARCHAR as it is.
    is_padded = not str(metadata.get(_LENGTH, "varchar")).startswith("varchar")
    is_plain = isinstance(field["type"], str) and _COLLATIONS not in metadata and not is_padded
    return Column(
        str(metadata.get(PHYSICAL_NAME, field["name"])), field["type"] if is_plain else ""
    )


def partition_of(file: Action, physical_names: list[str]) -> str:
    """Return a file's partition like ``a=1/b=2``; values are quoted as in a URL."""
    values = file.get("partitionValues") or {}
    return "/".join(
        f"{quote(name, safe='')}={_quoted(values.get(name))}" for name in physical_names
    )


def _quoted(value: str | None) -> str:
    return _NULL_PARTITION if value is None else quote(value, safe="")


def _classify(entry: Entry) -> tuple[Kind, str]:
    """Return an entry's kind and the predicate that chose its rows."""
    files = [*entry.adds, *entry.removes]
    row_filter = _overwrite_filter(entry)
    if entry.operation in _WHOLE_STATE:
        kind = Kind.OTHER
    elif not files and not _is_replace(entry):
        kind = Kind.METADATA
    elif row_filter is not None:
        return Kind.OVERWRITE, row_filter
    elif entry.operation in _CHANGES:
        return Kind.CHANGE, _condition(entry)
    elif _replaces_rows(entry):
        kind = Kind.CHANGE
    elif not any(f.get("dataChange", True) for f in files):
        kind = _rewrite_kind(entry)
    else:
        kind = Kind.CHANGE if entry.removes else Kind.INSERT
    return kind, ""


def _is_replace(entry: Entry) -> bool:
    """Tell whether an entry puts a new table in the place of the old one, which may be empty."""
    return "REPLACE TABLE" in entry.operation


def _overwrite_filter(entry: Entry) -> str | None:
    """Return what an overwriting entry replaces (empty for everything), None for any other."""
    operation, parameters = entry.operation, entry.parameters
    if _is_replace(entry) or operation == "TRUNCATE":
        return ""
    if _replaces_rows(entry):
        return None
    if operation == "WRITE" and parameters.get("mode") == "Overwrite":
        return in_utc(str(parameters.get("predicate") or ""), entry)
    if operation == "STREAMING UPDATE" and parameters.get("outputMode") == "Complete":
        return ""
    return None


def _replaces_rows(entry: Entry) -> bool:
    """Tell whether it is REPLACE ON or USING, which deletes the rows that match its source."""
    parameters = entry.parameters
    is_chosen = "replaceOnCond" in parameters or "replaceUsingCols" in parameters
    return is_chosen and parameters.get("mode") == "Overwrite"


def _rewrite_kind(entry: Entry) -> Kind:
    """Tell the kinds of compaction apart (interface.md §2, conflict rules)."""
    if entry.operation == UNDO_COMPACTION:
        return Kind.MINOR
    if not entry.removes or not entry.adds:
        # Files are added again with other bookkeeping (row-tracking backfill), or only dropped.
        return Kind.OTHER
    parameters = entry.parameters
    if entry.operation == "REORG" or _flag(parameters.get("isFull")):
        return Kind.MAJOR
    if _listed(parameters.get("zOrderBy")):
        return Kind.MAJOR
    return Kind.CLUSTER if _listed(parameters.get("clusterBy")) else Kind.MINOR


def _action(kind: Kind, entry: Entry) -> int:
    if kind in (Kind.CHANGE, Kind.METADATA, Kind.OVERWRITE):
        return _ACTION_OF_OPERATION.get(entry.operation, _ACTIONS[kind])
    return _ACTIONS[kind]


def _is_dynamic(entry: Entry) -> bool:
    return _flag(entry.parameters.get("isDynamicPartitionOverwrite"))


def _flag(value: object) -> bool:
    return str(value).lower() == "true"


def _listed(value: object) -> bool:
    """Tell whether a parameter, a JSON list in a string, has elements."""
    return str(value or "[]").strip() not in ("[]", "")


def _condition(entry: Entry) -> str:
    """Return the printed condition of an UPDATE or DELETE, a JSON list; empty for none."""
    text = str(entry.parameters.get("predicate") or "")
    return "" if text == "[]" else text
