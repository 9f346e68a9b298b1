"""Object definitions: numbers, defaults and limits of format.md §5."""

from __future__ import annotations

import logging
from typing import Any

import pytest
from google.protobuf.unknown_fields import UnknownFieldSet

from trinitylake_spark.errors import CorruptError, InvalidInputError, UnsupportedError
from trinitylake_spark.format import definitions_pb2 as pb
from trinitylake_spark.format.definitions import (
    LAKEHOUSE_DEFAULTS,
    LAYOUT_FIELDS,
    action_detail,
    change_lakehouse_definition,
    name_sizes,
    new_lakehouse_definition,
    parse_action,
    parse_data_change,
    parse_lakehouse_definition,
    parse_namespace_definition,
    parse_table_definition,
    parse_transaction_definition,
    parse_view_definition,
    serialise,
)
from trinitylake_spark.format.keys import NameSizes

NUMBERS = {
    "LakehouseDef": "major_version 2, order 3, namespace_name_max_size_bytes 4,"
    " table_name_max_size_bytes 5, file_path_max_size_bytes 6, node_file_max_size_bytes 7,"
    " properties 8, maximum_version_age_millis 9, minimum_versions_to_keep 10,"
    " maximum_version_age_millis_overrides 11, exported_snapshots 12,"
    " view_name_max_size_bytes 13, txn_isolation_level 14, txn_ttl_millis 15",
    "NamespaceDef": "properties 2",
    "TableDef": "schema 2, distribution_keys 3, primary_keys 4, sort_keys 5, unique_columns 6,"
    " table_type 8, table_format 9, format_properties 10, properties 11",
    "Schema": "columns 1",
    "Column": "id 1, name 2, type 3, nullable 4, properties 5, struct_fields 6, map_key 7,"
    " map_value 8, list_element 9",
    "ViewDef": "id 1, view_format 2, schema_binding 3, schema 4, default_namespace_name 5,"
    " referenced_object_full_names 6, properties 7, substrait_read_rel 8, sql 20, dialect 21",
    "NamespaceObjectFullName": "namespace_name 1, name 2",
    "DistributedTransactionDef": "id 1, isolation_level 2, beginning_root_node_file_path 3,"
    " running_root_node_file_path 4, began_at_millis 5, expire_at_millis 6, state 7,"
    " committed_version 8, properties 9",
    "ConstraintDef": "type 1, start_key 2, end_key 3, reason 4",
    "ActionDef": "object_def 1, type 2, def 3, start_key 4, end_key 5, read 6",
    "ActionObjectDef": "type 1, def 2, namespaceName 3, namespaceObjectName 4",
    "DataChange": "added_files 1, removed_files 2, row_filter 3, selected 4, log_entry 5,"
    " truncated 6, metadata_changed 7, protocol_changed 8, partitions 9, operation 10,"
    " rewrites_only 11, blind_append 12, transaction_app_ids 13, domains 14",
}

ENUMS = {
    "IsolationLevel": "SNAPSHOT 0, SERIALIZABLE 1",
    "ViewFormat": "SUBSTRAIT 0",
    "TransactionState": "OPEN 0, COMMITTING 1, COMMITTED 2, ABORTED 3",
    "ConstraintType": "KEY_PRESENT 0, KEY_ABSENT 1, RANGE_EMPTY 2",
    "ActionObjectType": "CATALOG 0, NAMESPACE 1, TABLE 2, VIEW 3, DISTRIBUTED_TRANSACTION 4",
    "DataType": "BOOLEAN 0, INT2 1, INT4 2, INT8 3, DECIMAL 4, FLOAT4 5, FLOAT8 6, CHAR 7,"
    " VARCHAR 8, DATE 9, TIME 10, TIMETZ 11, TIMESTAMP 12, TIMESTAMPTZ 13, FIXED 14, BINARY 15,"
    " STRUCT 16, MAP 17, LIST 18",
}


@pytest.mark.parametrize("message", NUMBERS)
def test_field_numbers(message: str) -> None:
    """The numbers are the format: a changed one makes every stored file another file."""
    fields = pb.DESCRIPTOR.message_types_by_name[message].fields
    assert ", ".join(f"{field.name} {field.number}" for field in fields) == NUMBERS[message]


def test_every_message_is_pinned() -> None:
    """No message is without its numbers above."""
    assert set(pb.DESCRIPTOR.message_types_by_name) == set(NUMBERS)
    assert set(pb.DESCRIPTOR.enum_types_by_name) == {*ENUMS, "ActionType"}


@pytest.mark.parametrize("name", ENUMS)
def test_enum_numbers(name: str) -> None:
    """The same for the values of enumerations."""
    enum = pb.DESCRIPTOR.enum_types_by_name[name]
    assert ", ".join(f"{value.name} {value.number}" for value in enum.values) == ENUMS[name]


def test_action_numbers() -> None:
    """Actions of format.md §5.4, the reference's and ours."""
    expected = {
        0: "SHOW_NAMESPACES",
        3: "NAMESPACE_CREATE",
        9: "NAMESPACE_SHOW_VIEWS",
        10: "TABLE_EXISTS",
        12: "TABLE_SELECT",
        13: "TABLE_CREATE",
        14: "TABLE_ALTER",
        17: "TABLE_INSERT",
        18: "TABLE_UPDATE",
        19: "TABLE_DELETE",
        20: "TABLE_DROP",
        21: "VIEW_EXISTS",
        25: "VIEW_DROP",
        40: "INSERT_OVERWRITE",
        41: "TRUNCATE",
        42: "MINOR_COMPACT",
        43: "MAJOR_COMPACT",
        44: "CLUSTER",
        50: "LAKEHOUSE_ALTER",
        51: "ROLLBACK",
        52: "EXPORT",
    }
    assert {number: pb.ActionType.Name(number) for number in expected} == expected
    assert len(pb.ActionType.keys()) == 26 + 5 + 3


def test_reserved_numbers() -> None:
    """Numbers of dropped fields are not used again."""
    empty = pb.LakehouseDef.FromString(b"\x0a\x04name")
    assert [field.field_number for field in UnknownFieldSet(empty)] == [1]


def test_defaults() -> None:
    """A definition that says nothing means the defaults of format.md §5.1."""
    for definition in (new_lakehouse_definition(), parse_lakehouse_definition(b"", "def")):
        for name, value in LAKEHOUSE_DEFAULTS.items():
            assert definition.HasField(name)
            assert getattr(definition, name) == value
        assert definition.major_version == 0
        assert definition.txn_isolation_level == pb.SNAPSHOT
    assert LAKEHOUSE_DEFAULTS["maximum_version_age_millis"] == 7 * 24 * 3600 * 1000
    assert LAKEHOUSE_DEFAULTS["txn_ttl_millis"] == 3 * 24 * 3600 * 1000


def test_lakehouse_round_trip() -> None:
    """Fields of every type survive their file, and equal definitions have equal bytes."""
    definition = new_lakehouse_definition(
        order="64",
        txn_isolation_level="serializable",
        properties={"owner": "ann", "größe": "1"},
        exported_snapshots={"q3": "_snapshot_U.ipc", "a": "b"},
        maximum_version_age_millis_overrides={7: 1000, 3: 5},
        view_name_max_size_bytes=50,
    )
    data = serialise(definition)
    assert parse_lakehouse_definition(data, "def") == definition
    assert serialise(parse_lakehouse_definition(data, "def")) == data
    assert definition.order == 64
    assert definition.txn_isolation_level == pb.SERIALIZABLE
    assert name_sizes(definition) == NameSizes(100, 100, 50)


def test_change_keeps_the_rest() -> None:
    """Only the named fields change, unknown fields stay, and the old definition is untouched."""
    unknown = b"\xfa\x06\x03abc"  # field 111, from a later writer
    base = parse_lakehouse_definition(serialise(new_lakehouse_definition(order=64)) + unknown, "d")
    changed = change_lakehouse_definition(base, minimum_versions_to_keep=9)
    assert (changed.order, changed.minimum_versions_to_keep) == (64, 9)
    assert base.minimum_versions_to_keep == 3
    assert serialise(changed).endswith(unknown)
    replaced = change_lakehouse_definition(changed, properties={"a": "b"})
    assert change_lakehouse_definition(replaced, properties={"c": "d"}).properties == {"c": "d"}


@pytest.mark.parametrize(
    ("fields", "why"),
    [
        ({"order": 2}, "order is 2"),
        ({"order": 0}, "order is 0"),
        ({"order": -1}, "-1"),
        ({"order": "many"}, "many"),
        ({"order": 2**40}, "order"),
        ({"order": None}, "order"),
        ({"name": "x"}, "no field 'name'.*order"),
        ({"major_version": 1}, "major_version is 1"),
        ({"namespace_name_max_size_bytes": 0}, "namespace_name"),
        ({"table_name_max_size_bytes": 0}, "table_name"),
        ({"view_name_max_size_bytes": 0}, "view_name"),
        ({"file_path_max_size_bytes": 79}, "file_path.*80"),
        ({"minimum_versions_to_keep": 0}, "minimum_versions_to_keep"),
        ({"txn_ttl_millis": 604_800_000}, "txn_ttl_millis"),
        ({"maximum_version_age_millis": 1000}, "txn_ttl_millis"),
        ({"txn_isolation_level": "read committed"}, "txn_isolation_level"),
        ({"properties": "x"}, "properties"),
        ({"properties": {"a": 1}}, "properties"),
        # format.md §3.6: 128 rows of 404 bytes do not fit below 51712 bytes
        ({"node_file_max_size_bytes": 51_712}, "51712.*51712"),
        ({"order": 2596}, "2596"),
        ({"view_name_max_size_bytes": 10_000}, "1318912"),
    ],
    ids=range(21),
)
def test_limits(fields: dict[str, Any], why: str) -> None:
    """A definition that no lakehouse could work with is refused when it is written."""
    with pytest.raises(InvalidInputError, match=why):
        new_lakehouse_definition(**fields)


def test_size_formula_is_tight() -> None:
    """The largest table that still leaves room for a buffer is accepted."""
    assert new_lakehouse_definition(node_file_max_size_bytes=51_713).order == 128
    assert new_lakehouse_definition(order=2595).order == 2595


def test_warning_when_children_do_not_fit(caplog: pytest.LogCaptureFixture) -> None:
    """The formula leaves out children's paths; a definition that needs them is warned about."""
    with caplog.at_level(logging.WARNING):
        new_lakehouse_definition(node_file_max_size_bytes=77_313)
        assert caplog.records == []
        new_lakehouse_definition(node_file_max_size_bytes=77_312)
    assert "77312" in caplog.text


def test_newer_major_version_is_refused() -> None:
    """A reader must not guess what a later format means."""
    data = serialise(pb.LakehouseDef(major_version=1))
    with pytest.raises(UnsupportedError, match="format version 1"):
        parse_lakehouse_definition(data, "def")


@pytest.mark.parametrize(
    "parse",
    [
        parse_lakehouse_definition,
        parse_namespace_definition,
        parse_table_definition,
        parse_view_definition,
        parse_transaction_definition,
        parse_action,
        parse_data_change,
    ],
)
@pytest.mark.parametrize(
    "data",
    [b"\xff", b"\x12\xff\xff\xff\xff\x0f", b"ARROW1\0\0", b"\x00", b"\x1a" * 7],
    ids=range(5),
)
def test_bytes_that_are_no_message(parse: Any, data: bytes) -> None:
    """Damage is a CorruptError that names the file."""
    with pytest.raises(CorruptError) as caught:
        parse(data, "some-def")
    assert caught.value.fields["path"] == "some-def"
    assert {"rule", "found"} <= set(caught.value.fields)


def test_stored_limits_are_checked() -> None:
    """A definition of others that breaks the limits is corrupt, not obeyed."""
    with pytest.raises(CorruptError, match="order is 2"):
        parse_lakehouse_definition(serialise(pb.LakehouseDef(order=2)), "def")


def test_table_definition() -> None:
    """The type defaults to MANAGED; a table has a format."""
    table = pb.TableDef(table_format="DELTA", format_properties={"location": "data/U"})
    column = table.schema.columns.add(id=1, name="price", type=pb.DECIMAL, nullable=True)
    column.properties["precision"] = "10"
    nested = table.schema.columns.add(id=2, name="tags", type=pb.LIST)
    nested.list_element.CopyFrom(pb.Column(id=3, name="element", type=pb.VARCHAR))
    parsed = parse_table_definition(serialise(table), "table")
    assert parsed.table_type == "MANAGED"
    assert parsed.schema == table.schema
    external = pb.TableDef(table_format="DELTA", table_type="EXTERNAL")
    assert parse_table_definition(serialise(external), "table").table_type == "EXTERNAL"
    with pytest.raises(CorruptError, match="table format"):
        parse_table_definition(b"", "table")


def test_action_detail() -> None:
    """Field 3 of an action, whose name is a word of Python."""
    change = pb.DataChange(added_files=["a.parquet"], blind_append=True)
    action = pb.ActionDef(type=pb.TABLE_INSERT, **{"def": serialise(change)})
    found = parse_action(serialise(action), "root")
    assert parse_data_change(action_detail(found), "root") == change


def test_layout_fields_are_fields() -> None:
    """Fields #2 to #7 and #13, whose change conflicts with everybody (format.md §6.5)."""
    by_name = pb.LakehouseDef.DESCRIPTOR.fields_by_name
    assert {by_name[name].number for name in LAYOUT_FIELDS} == {2, 3, 4, 5, 6, 7, 13}
