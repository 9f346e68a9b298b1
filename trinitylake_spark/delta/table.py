"""A Delta table as its definition states it: pinned log, metadata, protocol, running counters.

The definition repeats what Delta needs before it reads anything (schema, properties, protocol) and
the two counters that renumbering must respect (in-commit timestamps and row ids), so that loading
a table and rebasing a commit read no log file.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from trinitylake_spark.delta.checkpoints import DEFAULT_INTERVAL
from trinitylake_spark.delta.schema import schema_to_proto
from trinitylake_spark.delta.segment import Segment, read_segment
from trinitylake_spark.errors import CorruptError
from trinitylake_spark.format.definitions import MANAGED
from trinitylake_spark.format.definitions_pb2 import TableDef

if TYPE_CHECKING:
    from collections.abc import Mapping

    from trinitylake_spark.delta.entry import Action, Entry
    from trinitylake_spark.delta.segment import Commit

DELTA = "DELTA"
METADATA = "delta.metadata"
PROTOCOL = "delta.protocol"
TIMESTAMP = "delta.in_commit_timestamp"
ROW_IDS = "delta.row_id_high_water_mark"

CONFLICT_DETECTION = "trinitylake.conflict-detection"
ROW_TRACKING = "rowTracking"


@dataclass(frozen=True, slots=True)
class Counters:
    """What the next log entry must go beyond.

    Args:
        version: number of the newest commit; -1 before the first.
        timestamp: its in-commit timestamp, or None if it has none.
        row_ids: the highest row id given out, or None if there is none yet.
    """

    version: int = -1
    timestamp: int | None = None
    row_ids: int | None = None

    def after(self, entry: Entry) -> Counters:
        """Return the counters once ``entry`` is the newest commit."""
        moved = entry.row_id_high_water_mark
        return Counters(
            self.version + 1,
            entry.in_commit_timestamp,
            self.row_ids if moved is None else moved,
        )


@dataclass(frozen=True, slots=True)
class DeltaTable:
    """One state of a Delta table. Immutable.

    Args:
        segment: its log.
        metadata: body of the ``metaData`` action in force.
        protocol: body of the ``protocol`` action in force.
        counters: what the next entry must go beyond.
    """

    segment: Segment
    metadata: Action
    protocol: Action
    counters: Counters

    @property
    def configuration(self) -> Mapping[str, str]:
        """Table properties, Delta's and the user's."""
        found: Mapping[str, str] = self.metadata.get("configuration") or {}
        return found

    @property
    def partition_columns(self) -> list[str]:
        """Logical names of the partition columns."""
        return list(self.metadata.get("partitionColumns") or ())

    @property
    def schema_json(self) -> str:
        """The schema as Delta writes it."""
        return str(self.metadata["schemaString"])

    @property
    def checkpoint_interval(self) -> int:
        """Commits from one checkpoint to the next."""
        text = self.configuration.get("delta.checkpointInterval", "")
        return int(text) if text.isdigit() and int(text) > 0 else DEFAULT_INTERVAL

    @property
    def features(self) -> frozenset[str]:
        """Names of the table features that the protocol lists."""
        readers = self.protocol.get("readerFeatures") or ()
        return frozenset((*readers, *(self.protocol.get("writerFeatures") or ())))

    @property
    def strict(self) -> bool:
        """Whether conflicts follow the table-operation matrix to the letter (format.md §7.3)."""
        return self.configuration.get(CONFLICT_DETECTION, "").lower() == "strict"

    @property
    def has_timestamps(self) -> bool:
        """Whether each commit carries its own timestamp."""
        return self.configuration.get("delta.enableInCommitTimestamps") == "true"

    @property
    def tracks_rows(self) -> bool:
        """Whether every file has row ids."""
        suspended = self.configuration.get("delta.rowTrackingSuspended") == "true"
        return ROW_TRACKING in self.features and not suspended

    def append(self, commit: Commit, entry: Entry) -> DeltaTable:
        """Return the table with one more commit."""
        return DeltaTable(
            segment=self.segment.append(commit),
            metadata=entry.metadata or self.metadata,
            protocol=entry.protocol or self.protocol,
            counters=self.counters.after(entry),
        )

    def with_segment(self, segment: Segment) -> DeltaTable:
        """Return the table with its log pinned in another way, such as a newer checkpoint."""
        return replace(self, segment=segment)

    def to_definition(self, previous: TableDef | None = None) -> TableDef:
        """Return the definition that states this.

        Args:
            previous: the definition that this one replaces; what is not Delta's is kept.
        """
        definition = TableDef()
        if previous is not None:
            definition.CopyFrom(previous)
        old_metadata = definition.format_properties.get(METADATA)
        properties = self._format_properties()
        if properties[METADATA] != old_metadata:
            definition.schema.CopyFrom(schema_to_proto(self.schema_json))
            definition.properties.clear()
            definition.properties.update(self.configuration)
        definition.table_type = MANAGED
        definition.table_format = DELTA
        definition.format_properties.clear()
        definition.format_properties.update(properties)
        return definition

    def _format_properties(self) -> dict[str, str]:
        properties = self.segment.to_properties()
        properties[METADATA] = _compact(self.metadata)
        properties[PROTOCOL] = _compact(self.protocol)
        if self.counters.timestamp is not None:
            properties[TIMESTAMP] = str(self.counters.timestamp)
        if self.counters.row_ids is not None:
            properties[ROW_IDS] = str(self.counters.row_ids)
        return properties


def new_table(location: str, commit: Commit, entry: Entry) -> DeltaTable:
    """Return the table that log entry 0 creates.

    Raises:
        CorruptError: the entry has no metadata or no protocol.
    """
    if entry.metadata is None or entry.protocol is None:
        raise CorruptError(
            "The first entry of a Delta log must hold the table's metadata and protocol.",
            rule="Delta protocol: commit 0",
            found=", ".join(kind for kind, _ in entry.actions[:10]),
        )
    return DeltaTable(
        segment=Segment(location, str(entry.metadata["id"]), (commit,)),
        metadata=entry.metadata,
        protocol=entry.protocol,
        counters=Counters().after(entry),
    )


def read_table(definition: TableDef) -> DeltaTable:
    """Read the state of a Delta table from its definition.

    Raises:
        CorruptError: a property is missing or has the wrong form.
    """
    properties = definition.format_properties
    segment = read_segment(properties)
    try:
        metadata = json.loads(properties[METADATA])
        protocol = json.loads(properties[PROTOCOL])
        timestamp = int(t) if (t := properties.get(TIMESTAMP)) else None
        row_ids = int(r) if (r := properties.get(ROW_IDS)) else None
    except (KeyError, ValueError) as error:
        raise CorruptError(
            "A table definition is corrupt: the format properties of a Delta table hold its"
            f" metadata and protocol, found {error}.",
            rule="format properties of a Delta table",
            found=str(error),
        ) from error
    return DeltaTable(segment, metadata, protocol, Counters(segment.version, timestamp, row_ids))


def _compact(value: object) -> str:
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False)
