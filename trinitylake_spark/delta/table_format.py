"""Delta as a table format of a lakehouse: create, alter, stage what Delta writes, rebase."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from trinitylake_spark.delta.checkpoints import Checkpoints
from trinitylake_spark.delta.checksums import Checksums
from trinitylake_spark.delta.entry import Entry, encode_entry, parse_entry
from trinitylake_spark.delta.log import LogFiles
from trinitylake_spark.delta.names import CREATION
from trinitylake_spark.delta.properties import (
    DESCRIPTION,
    check_conflict_detection,
    check_properties,
)
from trinitylake_spark.delta.rebase import Rebase, conflict_error, table_change
from trinitylake_spark.delta.schema import parse_schema, schema_from_arrow
from trinitylake_spark.delta.segment import Commit
from trinitylake_spark.delta.staging import RefusedError, Staged, entry_path, place, place_first
from trinitylake_spark.delta.table import DELTA, Counters, DeltaTable, read_table
from trinitylake_spark.errors import InvalidInputError, Kind
from trinitylake_spark.format.definitions_pb2 import ActionType

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    import pyarrow as pa

    from trinitylake_spark.delta.entry import Action
    from trinitylake_spark.delta.staging import Placed
    from trinitylake_spark.format.definitions_pb2 import TableDef
    from trinitylake_spark.lakehouse.formats import FormatContext, RebaseRequest, TableChange

_ENGINE = "trinitylake-spark"


@dataclass(frozen=True, slots=True)
class StagedWrite:
    """A log entry that is ready to be committed.

    Args:
        definition: the table's definition with it.
        change: the change to hand to the transaction.
        table: the table with it.
        commit: the entry's name in the chain of its writer.
        counters: the counters of the writer's chain with it.
    """

    definition: TableDef
    change: TableChange
    table: DeltaTable
    commit: Commit
    counters: Counters


class DeltaFormat:
    """Delta tables of lakehouses. Holds caches only, so one object serves a whole process.

    Args:
        logs: reads log files.
        checkpoints: knows checkpoints.
    """

    name = DELTA

    def __init__(
        self, logs: LogFiles | None = None, checkpoints: Checkpoints | None = None
    ) -> None:
        self.logs = logs or LogFiles()
        self.checkpoints = checkpoints or Checkpoints()
        self.checksums = Checksums(self.logs)

    def create(
        self, context: FormatContext, schema: pa.Schema, properties: Mapping[str, str]
    ) -> tuple[TableDef, TableChange]:
        """Make a new empty table; see ``TableFormat.create``."""
        check_properties(properties, properties)
        entry = _creation(context, schema_from_arrow(schema), properties)
        written = self.stage_first(context, context.new_location(), encode_entry(entry))
        return written.definition, written.change

    def alter_properties(
        self,
        context: FormatContext,
        base: TableDef,
        set_properties: Mapping[str, str],
        unset_properties: Sequence[str],
    ) -> tuple[TableDef, TableChange]:
        """Change properties of a table; see ``TableFormat.alter_properties``."""
        check_properties((*set_properties, *unset_properties), set_properties)
        table = read_table(base)
        entry = _alteration(context, table, set_properties, unset_properties)
        version = table.segment.version + 1
        written = self.stage(
            context, base, encode_entry(entry), version=version, written_on=table.counters
        )
        return written.definition, written.change

    def rebase(
        self, context: FormatContext, request: RebaseRequest
    ) -> tuple[TableDef, Sequence[TableChange]]:
        """Return my changes on top of theirs; see ``TableFormat.rebase``."""
        return Rebase(context, request, self.logs, self.checkpoints).run()

    def stage_first(self, context: FormatContext, location: str, data: bytes) -> StagedWrite:
        """Make a new table of log entry 0 as Delta wrote it.

        Args:
            context: storage and services.
            location: the table's folder.
            data: the entry's bytes.

        Raises:
            CorruptError: the bytes are no log entry that makes a table.
            InvalidInputError: a property that can never work.
        """
        commit = Commit(0, CREATION, len(data), context.clock.now_millis())
        entry = self._parse(context, location, commit, data)
        staged = Staged(entry, commit, Counters())
        written = self._write(context, place_first(location, staged), staged, data, None)
        # Whatever the entry holds (CTAS adds files), what it does to the name is to create it.
        created = replace(written.change, operation=ActionType.TABLE_CREATE)
        return replace(written, change=created)

    def stage(
        self,
        context: FormatContext,
        base: TableDef,
        data: bytes,
        *,
        version: int,
        written_on: Counters,
        own: frozenset[str] = frozenset(),
        live: bool = False,
    ) -> StagedWrite:
        """Put a log entry as Delta wrote it on top of a definition.

        Args:
            context: storage and services.
            base: the definition to go on top of.
            data: the entry's bytes.
            version: the number that Delta wrote it for.
            written_on: counters of the state that Delta wrote it on.
            own: UUIDs of commits that the same statement made before.
            live: the writer retries by itself when the table moved on.

        Raises:
            CorruptError: the bytes are no log entry.
            InvalidInputError: a property that can never work.
            CommitConflictError: it cannot be moved to the number that comes next.
        """
        table = read_table(base)
        location = table.segment.location
        unique = context.ids.uuid4()
        commit = Commit(version, unique, len(data), context.clock.now_millis())
        entry = self._parse(context, location, commit, data)
        staged = Staged(entry, commit, written_on, own, live)
        try:
            placed = place(context, table, staged)
        except RefusedError as refused:
            raise conflict_error(refused, location, [entry.operation]) from refused
        return self._write(context, placed, staged, data, base)

    def _parse(self, context: FormatContext, location: str, commit: Commit, data: bytes) -> Entry:
        path = entry_path(context, location, commit)
        entry = parse_entry(data, path)
        if entry.metadata is not None:
            check_conflict_detection(entry.metadata.get("configuration") or {})
        self.logs.remember(context, path, entry, len(data))
        return entry

    def _write(
        self,
        context: FormatContext,
        placed: Placed,
        staged: Staged,
        data: bytes,
        base: TableDef | None,
    ) -> StagedWrite:
        table = placed.table
        segment = self.checkpoints.with_newest(context, table.segment, table.checkpoint_interval)
        segment, sealed = self.logs.seal(context, segment, context.ids)
        table = table.with_segment(segment)
        original = {entry_path(context, segment.location, staged.commit): data}
        change = table_change(placed, table, staged)
        return StagedWrite(
            definition=table.to_definition(base),
            change=replace(change, files={**original, **placed.files, **sealed}),
            table=table,
            commit=staged.commit,
            counters=staged.written_on.after(staged.entry),
        )


def _commit_info(
    context: FormatContext, operation: str, parameters: Mapping[str, object]
) -> Action:
    return {
        "timestamp": context.clock.now_millis(),
        "operation": operation,
        "operationParameters": dict(parameters),
        "isolationLevel": "Serializable",
        "isBlindAppend": True,
        "operationMetrics": {},
        "engineInfo": _ENGINE,
        "txnId": context.ids.uuid4(),
    }


def _creation(context: FormatContext, schema: str, properties: Mapping[str, str]) -> Entry:
    configuration = {k: v for k, v in properties.items() if k != DESCRIPTION}
    description = properties.get(DESCRIPTION)
    info = _commit_info(
        context,
        "CREATE TABLE",
        {
            "partitionBy": "[]",
            "clusterBy": "[]",
            "description": description,
            "isManaged": "true",
            "properties": _json(configuration),
        },
    )
    metadata: Action = {
        "id": context.ids.uuid4(),
        "format": {"provider": "parquet", "options": {}},
        "schemaString": schema,
        "partitionColumns": [],
        "configuration": configuration,
        "createdTime": context.clock.now_millis(),
    }
    if description is not None:
        metadata["description"] = description
    return Entry(
        (("commitInfo", info), ("metaData", metadata), ("protocol", _protocol_for(schema)))
    )


def _protocol_for(schema: str) -> Action:
    """Return the lowest protocol that a new table with this schema needs."""
    if "timestamp_ntz" not in set(_leaf_types(parse_schema(schema))):
        return {"minReaderVersion": 1, "minWriterVersion": 2}
    return {
        "minReaderVersion": 3,
        "minWriterVersion": 7,
        "readerFeatures": ["timestampNtz"],
        "writerFeatures": ["timestampNtz", "invariants", "appendOnly"],
    }


def _leaf_types(kinds: object) -> Iterator[str]:
    if isinstance(kinds, str):
        yield kinds
    elif isinstance(kinds, list):
        for field in kinds:
            yield from _leaf_types(field["type"])
    elif isinstance(kinds, dict):
        for part in ("fields", "elementType", "keyType", "valueType"):
            if part in kinds:
                yield from _leaf_types(kinds[part])


def _alteration(
    context: FormatContext,
    table: DeltaTable,
    set_properties: Mapping[str, str],
    unset_properties: Sequence[str],
) -> Entry:
    clash = set_properties.keys() & set(unset_properties)
    if clash:
        raise InvalidInputError(
            f"The table property {min(clash)} is both set and unset.", kind=Kind.INVALID_ARGUMENT
        )
    properties = {**table.configuration, **set_properties}
    description = set_properties.get(DESCRIPTION, table.metadata.get("description"))
    for name in unset_properties:
        properties.pop(name, None)
        description = None if name == DESCRIPTION else description
    properties.pop(DESCRIPTION, None)
    metadata = {**table.metadata, "configuration": properties}
    metadata.pop("description", None)
    if description is not None:
        metadata["description"] = description
    info = _commit_info(
        context,
        "SET TBLPROPERTIES" if set_properties else "UNSET TBLPROPERTIES",
        {"properties": _json(dict(set_properties) or list(unset_properties))},
    )
    if table.has_timestamps:
        previous = table.counters.timestamp
        info["inCommitTimestamp"] = max(info["timestamp"], 0 if previous is None else previous + 1)
    return Entry((("commitInfo", info), ("metaData", metadata)))


def _json(value: object) -> str:
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False)
