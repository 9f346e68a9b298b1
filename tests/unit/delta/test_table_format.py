"""Delta as a table format: creation, properties, staging what Delta writes."""

from __future__ import annotations

import json

import pyarrow as pa
import pytest

from tests.support.delta_tables import SCHEMA, Bench, add, entry, insert, written_by_delta
from trinitylake_spark.delta.entry import encode_entry
from trinitylake_spark.delta.table import read_table
from trinitylake_spark.errors import CorruptError, InvalidInputError, UnsupportedError
from trinitylake_spark.format.definitions_pb2 import ActionType


def test_new_table_is_one_log_entry() -> None:
    """Creating a table writes entry 0 and nothing else; the definition repeats what it says."""
    bench = Bench("create")
    definition, change = bench.delta.create(bench.context, SCHEMA, {"k": "v", "comment": "hi"})
    table = read_table(definition)

    assert (definition.table_format, definition.table_type) == ("DELTA", "MANAGED")
    assert dict(definition.properties) == {"k": "v"}
    assert [c.name for c in definition.schema.columns] == ["a", "p"]
    assert table.metadata["description"] == "hi"
    path = f"{bench.context.warehouse_path(table.segment.location)}/_delta_log/{0:020d}.json"
    assert [path] == list(change.files)
    assert [next(iter(json.loads(line))) for line in change.files[path].splitlines()] == [
        "commitInfo",
        "metaData",
        "protocol",
    ]
    assert bench.storage.count() == 0


def test_timestamps_without_zone_ask_for_their_feature() -> None:
    """The protocol of a new table is the lowest that its schema needs, nested types included."""
    bench = Bench("ntz")
    schema = pa.schema([("a", pa.list_(pa.struct([("t", pa.timestamp("us"))])))])
    definition, _ = bench.delta.create(bench.context, schema, {})

    assert {"timestampNtz", "invariants", "appendOnly"} == read_table(definition).features


@pytest.mark.parametrize(
    "properties", [{"delta.enableRowTracking": "true"}, {"delta.feature.x": "supported"}]
)
def test_properties_that_change_the_protocol_need_spark(properties: dict[str, str]) -> None:
    """They are refused by name, with the way out."""
    bench = Bench("refused")
    with pytest.raises(UnsupportedError, match="ALTER TABLE"):
        bench.delta.create(bench.context, SCHEMA, properties)


@pytest.mark.parametrize(
    "properties",
    [{"trinitylake.conflict-detection": "sloppy"}, {"k": 3}, {"delta.appendOnly": "x"}],
)
def test_values_that_can_never_work_are_refused(properties: dict[str, object]) -> None:
    """Before anything is written."""
    bench = Bench("values")
    with pytest.raises((InvalidInputError, UnsupportedError)):
        bench.delta.create(bench.context, SCHEMA, properties)


def test_conflict_mode_set_by_spark_is_checked_too() -> None:
    """ALTER TABLE through Spark writes an entry; a mode that does not exist is refused there."""
    bench = Bench("mode")
    definition = bench.create()
    metadata = dict(read_table(definition).metadata)
    metadata["configuration"] = {"trinitylake.conflict-detection": "x"}
    with pytest.raises(InvalidInputError):
        bench.stage(definition, entry("SET TBLPROPERTIES", ("metaData", metadata)))


def test_altered_properties_are_a_log_entry() -> None:
    """Setting and unsetting leaves the rest; the entry follows the newest one."""
    bench = Bench("alter")
    definition = bench.create({"old": "1", "gone": "2"})
    altered, change = bench.delta.alter_properties(
        bench.context, definition, {"new": "3", "comment": "c"}, ["gone", "never"]
    )
    table = read_table(altered)

    assert dict(altered.properties) == {"old": "1", "new": "3"}
    assert table.metadata["description"] == "c"
    assert table.segment.version == 1
    assert change.operation == ActionType.TABLE_ALTER
    assert table.schema_json == read_table(definition).schema_json


def test_altering_respects_in_commit_timestamps() -> None:
    """The stamp rises even if the clock stands still."""
    bench = Bench("ict")
    properties = {"delta.enableInCommitTimestamps": "true"}
    later = bench.context.clock.now_millis() + 5000
    definition = bench.commit(bench.create(properties), entry("WRITE", add("f"), timestamp=later))
    altered, _ = bench.delta.alter_properties(bench.context, definition, {"k": "v"}, [])

    assert later + 1 == read_table(altered).counters.timestamp


def test_setting_and_unsetting_one_property_is_refused() -> None:
    """What is meant cannot be told."""
    bench = Bench("clash")
    with pytest.raises(InvalidInputError):
        bench.delta.alter_properties(bench.context, bench.create(), {"k": "v"}, ["k"])


def test_staged_entry_keeps_the_bytes_of_delta() -> None:
    """What Delta wrote is stored as it is, under its number and a UUID."""
    bench = Bench("bytes")
    definition = bench.create()
    data = encode_entry(insert(add("f"))).replace(b",", b", ")
    table = read_table(definition)
    written = bench.delta.stage(
        bench.context, definition, data, version=1, written_on=table.counters
    )

    assert [data] == list(written.change.files.values())
    assert written.commit == written.table.segment.commits[-1]


def test_later_entry_of_a_private_chain_takes_the_real_number() -> None:
    """A view that shows number 2 for what is really 5: the entry is stored as 2 and named 5."""
    bench = Bench("private")
    definition = bench.create()
    real = bench.commit(definition, *[insert(add(f"f{i}")) for i in range(4)])
    private = read_table(bench.commit(definition, insert(add("mine")))).counters
    written = bench.stage(real, insert(add("more")), version=2, written_on=private)

    assert (written.commit.version, written.counters.version) == (2, 2)
    real_commit = written.table.segment.commits[-1]
    assert (5, f"{written.commit.unique}_2") == (real_commit.version, real_commit.unique)
    assert len(written.change.files) == 1


def test_definition_keeps_what_is_not_deltas() -> None:
    """Fields that Delta knows nothing of (keys, unknown ones) survive every commit."""
    bench = Bench("keeps")
    definition = bench.create()
    definition.primary_keys.append(1)

    assert list(bench.commit(definition, insert(add("f"))).primary_keys) == [1]


def test_definition_follows_new_metadata() -> None:
    """Schema and properties of the definition are those of the newest metadata."""
    bench = Bench("follows")
    definition = bench.create({"k": "v"})
    definition = bench.commit(definition, written_by_delta("p", 12))

    assert [c.name for c in definition.schema.columns] == ["a", "b", "c"]
    assert dict(definition.properties) == {}


def test_first_entry_must_make_a_table() -> None:
    """An entry 0 without metadata is no table."""
    bench = Bench("nothing")
    with pytest.raises(CorruptError):
        bench.delta.stage_first(bench.context, "data/x", encode_entry(insert(add("f"))))


def test_foreign_definition_is_refused() -> None:
    """A definition without Delta's properties is named as corrupt."""
    bench = Bench("foreign-definition")
    definition = bench.create()
    del definition.format_properties["delta.metadata"]
    with pytest.raises(CorruptError):
        read_table(definition)
