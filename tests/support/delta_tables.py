"""Builds Delta tables, log entries and conflicts in memory, the way Delta would write them."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest

from trinitylake_spark.clock import ManualClock
from trinitylake_spark.delta.entry import Entry, encode_entry, file_key, parse_entry
from trinitylake_spark.delta.table import read_table
from trinitylake_spark.delta.table_format import DeltaFormat
from trinitylake_spark.errors import CommitConflictError
from trinitylake_spark.format.definitions_pb2 import ActionDef
from trinitylake_spark.format.system import Isolation
from trinitylake_spark.ids import SeededIds
from trinitylake_spark.lakehouse.formats import FormatContext, RebaseRequest
from trinitylake_spark.storage.memory import MemoryStorage
from trinitylake_spark.testing.counting import CountingStorage

if TYPE_CHECKING:
    from trinitylake_spark.delta.table_format import StagedWrite
    from trinitylake_spark.format.definitions_pb2 import TableDef
    from trinitylake_spark.lakehouse.formats import TableChange

_ENTRIES = Path(__file__).parent.parent / "unit" / "delta" / "entries"
SCHEMA = pa.schema([("a", pa.int32()), ("p", pa.string())])


def written_by_delta(table: str, version: int) -> Entry:
    """Return a log entry that delta-spark wrote."""
    path = _ENTRIES / f"{table}-{version:02d}.json"
    return parse_entry(path.read_bytes(), path.name)


def hint_by_delta(table: str) -> bytes:
    """Return a ``_last_checkpoint`` that delta-spark wrote."""
    return (_ENTRIES / f"{table}._last_checkpoint").read_bytes()


def add(path: str, partition: str | None = None, **facts: Any) -> tuple[str, dict[str, Any]]:
    """Return the addition of a file; ``partition`` is the value of column ``p``."""
    values = {} if partition is None else {"p": partition}
    body = {"path": path, "partitionValues": values, "size": 100, "modificationTime": 1}
    return "add", {**body, "dataChange": True, "stats": '{"numRecords":3}', **facts}


def remove(path: str, partition: str | None = None, **facts: Any) -> tuple[str, dict[str, Any]]:
    """Return the removal of a file; ``partition`` is the value of column ``p``."""
    values = {} if partition is None else {"p": partition}
    body = {"path": path, "deletionTimestamp": 1, "dataChange": True, "extendedFileMetadata": True}
    return "remove", {**body, "partitionValues": values, "size": 100, **facts}


def rewritten(*actions: tuple[str, dict[str, Any]]) -> list[tuple[str, dict[str, Any]]]:
    """Return file actions as a compaction writes them: no data changes."""
    return [(kind, {**body, "dataChange": False}) for kind, body in actions]


def entry(
    operation: str,
    *actions: tuple[str, dict[str, Any]],
    blind: bool = False,
    tags: dict[str, str] | None = None,
    timestamp: int | None = None,
    **parameters: Any,
) -> Entry:
    """Return a log entry."""
    info: dict[str, Any] = {
        "timestamp": 5,
        "operation": operation,
        "operationParameters": parameters,
        "isBlindAppend": blind,
    }
    if tags:
        info["tags"] = tags
    if timestamp is not None:
        info["inCommitTimestamp"] = timestamp
    return Entry((("commitInfo", info), *actions))


def insert(*actions: tuple[str, dict[str, Any]]) -> Entry:
    """Return the entry of an INSERT."""
    return entry("WRITE", *actions, blind=True, mode="Append")


def overwrite(*actions: tuple[str, dict[str, Any]], **parameters: Any) -> Entry:
    """Return the entry of an INSERT OVERWRITE."""
    return entry("WRITE", *actions, mode="Overwrite", **parameters)


def update(
    *actions: tuple[str, dict[str, Any]], predicate: str = "(a#1 = 1)", operation: str = "UPDATE"
) -> Entry:
    """Return the entry of an UPDATE (or DELETE, MERGE)."""
    return entry(operation, *actions, predicate=json.dumps([predicate]))


def optimize(*actions: tuple[str, dict[str, Any]], **parameters: Any) -> Entry:
    """Return the entry of an OPTIMIZE."""
    return entry("OPTIMIZE", *rewritten(*actions), **parameters)


FOUR = tuple(add(f"f{i}") for i in range(1, 5))
"""Four files, f1 to f4."""


@dataclass
class Bench:
    """A warehouse in memory and the Delta format on it."""

    name: str
    storage: CountingStorage = field(init=False)
    context: FormatContext = field(init=False)
    delta: DeltaFormat = field(init=False)

    def __post_init__(self) -> None:
        self.storage = CountingStorage(MemoryStorage(f"memory://{self.name}/data"))
        self.context = FormatContext(
            self.storage, f"memory://{self.name}/", self.storage.url, ManualClock(), SeededIds(7)
        )
        self.delta = DeltaFormat()

    def create(self, properties: dict[str, str] | None = None, **changes: Any) -> TableDef:
        """Create a table with columns a and p; ``changes`` replace fields of its metadata."""
        definition, change = self.delta.create(self.context, SCHEMA, {})
        self.write(change)
        if properties or changes:
            first = Entry(
                tuple(
                    (k, self._changed(body, properties or {}, changes))
                    if k == "metaData"
                    else (k, changes.get("protocol", body) if k == "protocol" else body)
                    for k, body in self.entries(definition)[0].actions
                )
            )
            written = self.delta.stage_first(
                self.context, self.context.new_location(), encode_entry(first)
            )
            self.write(written.change)
            definition = written.definition
        return definition

    def partitioned(self, properties: dict[str, str] | None = None, **changes: Any) -> TableDef:
        """Create a table that is partitioned by column p."""
        return self.create(properties, partitionColumns=["p"], **changes)

    def write(self, *changes: TableChange) -> None:
        """Store the files of changes, as a commit would."""
        for change in changes:
            self.storage.create_all(change.files)

    def stage(self, base: TableDef, log_entry: Entry, **options: Any) -> StagedWrite:
        """Put an entry on a definition, as its writer saw it, and store it."""
        table = read_table(base)
        options = {
            "version": table.segment.version + 1,
            "written_on": table.counters,
            **options,
        }
        written = self.delta.stage(self.context, base, encode_entry(log_entry), **options)
        self.write(written.change)
        return written

    def commit(self, base: TableDef, *log_entries: Entry) -> TableDef:
        """Return the definition with some more entries."""
        for log_entry in log_entries:
            base = self.stage(base, log_entry).definition
        return base

    def entries(self, definition: TableDef, since: int = -1) -> list[Entry]:
        """Return the content of a table's log after version ``since``."""
        segment = read_table(definition).segment
        commits = self.delta.logs.commits_from(self.context, segment, since + 1)
        return self.delta.logs.entries(self.context, segment.location, commits)

    def rebase(
        self,
        base: TableDef,
        mine: list[Entry],
        theirs: list[Entry],
        *,
        isolation: Isolation = Isolation.SNAPSHOT,
        reads: bool = False,
        forget: bool = False,
        options: dict[str, Any] | None = None,
    ) -> tuple[TableDef, list[TableChange]]:
        """Let two writers start at ``base``; theirs commits first, mine follows.

        Args:
            base: where both begin.
            mine: my entries.
            theirs: entries that are committed first, each as one lake version from 8 on.
            isolation: mine.
            reads: my transaction read the table otherwise.
            forget: my payloads are lost, as when another process resumes the transaction.
            options: for staging my entries.
        """
        committed, records = base, []
        for version, log_entry in enumerate(theirs, 8):
            written = self.stage(committed, log_entry)
            committed = written.definition
            records.append((version, self._record(written.change)))
        own, my_changes = base, []
        for log_entry in mine:
            written = self.stage(own, log_entry, **(options or {}))
            own = written.definition
            my_changes.append(written.change)
        if forget:
            my_changes = [type(c)(c.operation, c.detail) for c in my_changes]
        request = RebaseRequest(
            namespace="ns",
            name="t",
            base=base,
            mine=own,
            my_changes=my_changes,
            theirs=committed,
            their_changes=records,
            isolation=isolation,
            reads=reads,
            multi_table=False,
        )
        return self._run(request)

    def follow(
        self, base: TableDef, mine: StagedWrite, theirs: TableDef, *their_writes: StagedWrite
    ) -> TableDef:
        """Rebase one staged entry onto any definition.

        Args:
            base: what the entry's transaction found.
            mine: the entry.
            theirs: the definition to follow.
            *their_writes: what roots recorded on the way there.
        """
        records = [(8 + i, self._record(w.change)) for i, w in enumerate(their_writes)]
        request = RebaseRequest(
            namespace="ns",
            name="t",
            base=base,
            mine=mine.definition,
            my_changes=[mine.change],
            theirs=theirs,
            their_changes=records,
            isolation=Isolation.SNAPSHOT,
            reads=False,
            multi_table=False,
        )
        return self._run(request)[0]

    def _run(self, request: RebaseRequest) -> tuple[TableDef, list[TableChange]]:
        self.storage.clear()
        definition, changes = self.delta.rebase(self.context, request)
        self.rebase_calls = self.storage.calls
        for change in changes:
            known = {c.path for c in self.storage.calls}
            fresh = {p: d for p, d in change.files.items() if not self.storage.exists(p)}
            assert not known & fresh.keys()
            self.storage.create_all(fresh)
        return definition, list(changes)

    @staticmethod
    def _record(change: TableChange) -> ActionDef:
        action = ActionDef(type=change.operation)
        setattr(action, "def", change.detail)
        return action

    @staticmethod
    def _changed(
        metadata: dict[str, Any], properties: dict[str, str], changes: dict[str, Any]
    ) -> dict[str, Any]:
        kept = {k: v for k, v in changes.items() if k != "protocol"}
        return {**metadata, "configuration": properties, **kept}


def live_files(entries: list[Entry]) -> set[str]:
    """Replay a log: return the keys of the files that are in the table."""
    live: set[str] = set()
    for log_entry in entries:
        live -= {file_key(r) for r in log_entry.removes}
        live |= {file_key(a) for a in log_entry.adds}
    return live


def metadata(base: TableDef, **changes: Any) -> tuple[str, dict[str, Any]]:
    """Return a ``metaData`` action: the table's own with some fields replaced."""
    return "metaData", {**read_table(base).metadata, **changes}


def alter(base: TableDef, properties: dict[str, str]) -> Entry:
    """Return the entry of an ALTER TABLE … SET TBLPROPERTIES."""
    changed = {**read_table(base).configuration, **properties}
    return entry("SET TBLPROPERTIES", metadata(base, configuration=changed), blind=True)


def refused(
    bench: Bench, base: TableDef, mine: list[Entry], theirs: list[Entry], **how: Any
) -> str:
    """Return the rule by which a rebase is refused; it must be."""
    with pytest.raises(CommitConflictError) as caught:
        bench.rebase(base, mine, theirs, **how)
    assert caught.value.fields["version"] >= 8
    return str(caught.value.fields["rule"])
