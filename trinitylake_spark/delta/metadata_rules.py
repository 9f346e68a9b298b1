"""Changes of metadata and protocol against what others committed (format.md §6.6).

An ALTER goes on top of committed data operations; a data operation goes on top of a committed
ALTER if only properties changed that do not tell writers what to write; two ALTERs of disjoint
properties are merged.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from trinitylake_spark.delta.change import Kind, is_identity_update
from trinitylake_spark.delta.schema import parse_schema
from trinitylake_spark.delta.staging import RefusedError

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from trinitylake_spark.delta.change import Change
    from trinitylake_spark.delta.entry import Action
    from trinitylake_spark.delta.staging import Staged
    from trinitylake_spark.delta.table import DeltaTable

_DESCRIPTION = "description"
_CONSTRAINT = "delta.constraints."
_CHANGE_FEED = "delta.enableChangeDataFeed"

HARMLESS = frozenset(
    {
        "delta.autoOptimize.autoCompact",
        "delta.autoOptimize.optimizeWrite",
        "delta.checkpoint.writeStatsAsJson",
        "delta.checkpoint.writeStatsAsStruct",
        "delta.checkpointInterval",
        "delta.checkpointPolicy",
        "delta.checkpointRetentionDuration",
        "delta.dataSkippingNumIndexedCols",
        "delta.dataSkippingStatsColumns",
        "delta.deletedFileRetentionDuration",
        "delta.enableDeletionVectors",
        "delta.enableExpiredLogCleanup",
        "delta.enableTypeWidening",
        "delta.isolationLevel",
        "delta.logRetentionDuration",
        "delta.parquet.compression.codec",
        "delta.randomizeFilePrefixes",
        "delta.randomPrefixLength",
        "delta.targetFileSize",
        "delta.tuneFileSizesForRewrites",
    }
)
"""Properties of Delta's own that a writer which did not know them yet has still obeyed."""

# Features that files written without them do not break.
_SAFE_FEATURES = frozenset(
    {
        "allowColumnDefaults",
        "appendOnly",
        "changeDataFeed",
        "checkConstraints",
        "clustering",
        "columnMapping",
        "deletionVectors",
        "domainMetadata",
        "generatedColumns",
        "identityColumns",
        "invariants",
        "timestampNtz",
        "typeWidening",
        "typeWidening-preview",
        "v2Checkpoint",
        "vacuumProtocolCheck",
        "variantType",
        "variantType-preview",
    }
)
_LEGACY_FEATURES = (
    # Writer version from which a protocol without a list of features has it.
    (2, "appendOnly"),
    (2, "invariants"),
    (3, "checkConstraints"),
    (4, "changeDataFeed"),
    (4, "generatedColumns"),
    (5, "columnMapping"),
    (6, "identityColumns"),
)
_FEATURE_LISTS_FROM = 7


def check_metadata(
    base: DeltaTable,
    theirs: DeltaTable,
    mine: Sequence[tuple[Staged, Change]],
    their_changes: Sequence[tuple[int, Change]],
) -> None:
    """Refuse what cannot be put together.

    Args:
        base: the table as my transaction found it.
        theirs: the table that I want to follow.
        mine: my entries in order.
        their_changes: (lake version, change) of everything committed in between.

    Raises:
        RefusedError: with the rule.
    """
    _check_protocols(base, theirs, mine, their_changes)
    altering = next((v for v, c in their_changes if c.metadata_changed), None)
    if base.metadata != theirs.metadata:
        for staged, change in mine:
            if change.metadata_changed:
                _check_both_changed(base, theirs, staged, change, version=altering)
            else:
                _check_theirs_changed(base, theirs, staged, version=altering)
    adding = next((v for v, c in their_changes if c.added and c.changes_data), None)
    if adding is not None:
        for staged, change in mine:
            if change.metadata_changed and change.kind is not Kind.OVERWRITE:
                _check_new_constraints(base, staged, version=adding)


def merged_metadata(before: Action, mine: Action, onto: Action) -> Action:
    """Return my change of metadata on top of others' change of other properties.

    Args:
        before: the metadata that my entry was written on.
        mine: the metadata it sets.
        onto: the metadata in force now.
    """
    old, new = _properties(before), _properties(mine)
    merged = {**_properties(onto), **{k: v for k, v in new.items() if old.get(k) != v}}
    for key in old.keys() - new.keys():
        merged.pop(key, None)
    result = {**onto, "configuration": {k: v for k, v in merged.items() if k != _DESCRIPTION}}
    result.pop(_DESCRIPTION, None)
    if _DESCRIPTION in merged:
        result[_DESCRIPTION] = merged[_DESCRIPTION]
    return result


def _check_protocols(
    base: DeltaTable,
    theirs: DeltaTable,
    mine: Sequence[tuple[Staged, Change]],
    their_changes: Sequence[tuple[int, Change]],
) -> None:
    blamed = next((v for v, c in their_changes if c.protocol_changed), None)
    upgrades = [s.entry.protocol for s, _ in mine if s.entry.protocol is not None]
    if base.protocol != theirs.protocol:
        if upgrades:
            raise RefusedError("both changed the table's protocol", version=blamed)
        _check_upgrade(base.protocol, theirs.protocol, version=blamed)
    if any(c.changes_data for _, c in their_changes):
        version = their_changes[0][0]
        for upgrade in upgrades:
            _check_upgrade(base.protocol, upgrade, version=version)


def _check_upgrade(old: Action, new: Action, *, version: int | None) -> None:
    gone = _features(old) - _features(new)
    if gone:
        raise RefusedError(
            f"a table feature was dropped meanwhile: {', '.join(sorted(gone))}", version=version
        )
    unsafe = _features(new) - _features(old) - _SAFE_FEATURES
    if unsafe:
        raise RefusedError(
            "data was written without a table feature that asks something of every file:"
            f" {', '.join(sorted(unsafe))}",
            version=version,
        )


def _features(protocol: Action) -> frozenset[str]:
    writer = int(protocol.get("minWriterVersion", 0))
    if writer < _FEATURE_LISTS_FROM:
        return frozenset(name for least, name in _LEGACY_FEATURES if writer >= least)
    readers = protocol.get("readerFeatures") or ()
    return frozenset((*readers, *(protocol.get("writerFeatures") or ())))


def _check_both_changed(
    base: DeltaTable, theirs: DeltaTable, staged: Staged, change: Change, *, version: int | None
) -> None:
    mine = staged.entry.metadata or base.metadata
    if is_identity_update(staged.entry):
        raise RefusedError(
            "both gave out values of an identity column, or one did while the other altered the"
            " table",
            version=version,
        )
    only_properties = (
        change.kind is Kind.METADATA
        and _without_properties(mine) == _without_properties(base.metadata)
        and _without_properties(theirs.metadata) == _without_properties(base.metadata)
    )
    if not only_properties:
        raise RefusedError("both changed the table's metadata", version=version)
    both = _changed(base.metadata, mine) & _changed(base.metadata, theirs.metadata)
    if both:
        raise RefusedError(
            f"both changed the table property {', '.join(sorted(both))}", version=version
        )


def _check_theirs_changed(
    base: DeltaTable, theirs: DeltaTable, staged: Staged, *, version: int | None
) -> None:
    old, new = base.metadata, theirs.metadata
    if _shape(old) != _shape(new):
        raise RefusedError(
            "the table's columns changed meanwhile",
            "Run the transaction again, so that it writes the new columns.",
            version=version,
        )
    only_adds = not staged.entry.removes
    harmful = sorted(
        key for key in _changed(old, new) if not _is_harmless(key, only_adds=only_adds)
    )
    if harmful:
        raise RefusedError(
            f"a table property that writers obey changed meanwhile: {', '.join(harmful)}",
            version=version,
        )


def _check_new_constraints(base: DeltaTable, staged: Staged, *, version: int) -> None:
    mine = staged.entry.metadata or base.metadata
    new = [k for k in _changed(base.metadata, mine) if k.startswith(_CONSTRAINT)]
    if new:
        raise RefusedError(
            f"the constraint {new[0].removeprefix(_CONSTRAINT)} was not checked against the rows"
            " that were added meanwhile",
            version=version,
        )


def _is_harmless(key: str, *, only_adds: bool) -> bool:
    if key == _CHANGE_FEED:
        # Rows that are only added need no change files; the feed reads them from the data.
        return only_adds
    return not key.startswith("delta.") or key in HARMLESS


def _properties(metadata: Action) -> dict[str, str]:
    found = dict(metadata.get("configuration") or {})
    if metadata.get(_DESCRIPTION) is not None:
        found[_DESCRIPTION] = metadata[_DESCRIPTION]
    return found


def _without_properties(metadata: Action) -> Mapping[str, object]:
    return {k: v for k, v in metadata.items() if k not in ("configuration", _DESCRIPTION)}


def _changed(old: Action, new: Action) -> set[str]:
    before, after = _properties(old), _properties(new)
    return {key for key in before.keys() | after.keys() if before.get(key) != after.get(key)}


def _shape(metadata: Action) -> object:
    """What a writer must know of the columns: all but comments and identity high-water marks."""
    fields = parse_schema(str(metadata["schemaString"]))
    return json.dumps([_field_shape(f) for f in fields]), metadata.get("partitionColumns")


def _field_shape(field: Mapping[str, object]) -> object:
    metadata = field.get("metadata")
    kept: Iterable[tuple[str, object]] = metadata.items() if isinstance(metadata, dict) else ()
    ignored = ("comment", "delta.identity.highWaterMark")
    return [
        field["name"],
        field["type"],
        field.get("nullable"),
        sorted((k, str(v)) for k, v in kept if k not in ignored),
    ]
