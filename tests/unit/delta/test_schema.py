"""Schemas: nothing is lost between Delta, the definition and pyarrow."""

from __future__ import annotations

import json

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.delta_tables import written_by_delta
from trinitylake_spark.delta.schema import (
    schema_from_arrow,
    schema_to_arrow,
    schema_to_proto,
)
from trinitylake_spark.errors import CorruptError, InvalidInputError, UnsupportedError
from trinitylake_spark.format.definitions_pb2 import DataType

_LEAVES = st.sampled_from(
    [
        pa.bool_(),
        pa.int8(),
        pa.int16(),
        pa.int32(),
        pa.int64(),
        pa.float32(),
        pa.float64(),
        pa.string(),
        pa.binary(),
        pa.date32(),
        pa.timestamp("us", tz="UTC"),
        pa.timestamp("us"),
        pa.decimal128(38, 10),
        pa.decimal128(5, 0),
    ]
)


def _nested(children: st.SearchStrategy) -> st.SearchStrategy:
    fields = st.lists(st.tuples(children, st.booleans()), min_size=1, max_size=3)
    return st.one_of(
        fields.map(lambda fs: pa.struct([pa.field(f"f{i}", t, n) for i, (t, n) in enumerate(fs)])),
        st.builds(lambda t, n: pa.list_(pa.field("element", t, n)), children, st.booleans()),
        st.builds(
            lambda k, t, n: pa.map_(k, pa.field("value", t, n)), _LEAVES, children, st.booleans()
        ),
    )


_TYPES = st.recursive(_LEAVES, _nested, max_leaves=6)
_SCHEMAS = st.lists(st.tuples(_TYPES, st.booleans()), min_size=1, max_size=4).map(
    lambda fs: pa.schema([pa.field(f"c{i}", t, n) for i, (t, n) in enumerate(fs)])
)


@given(_SCHEMAS)
def test_arrow_schema_survives_delta(schema: pa.Schema) -> None:
    """Every type that both have comes back as it was, nested or not."""
    assert schema == schema_to_arrow(schema_from_arrow(schema))


@given(_SCHEMAS)
def test_definition_names_every_column(schema: pa.Schema) -> None:
    """The definition's form keeps names, order and nullability, with distinct ids."""
    columns = schema_to_proto(schema_from_arrow(schema)).columns

    assert schema.names == [c.name for c in columns]
    assert [f.nullable for f in schema] == [c.nullable for c in columns]
    assert len({c.id for c in columns}) == len(columns)


def test_types_of_delta_in_the_definition() -> None:
    """Char, varchar, decimals, nested types and ids of column mapping are told apart."""
    text = written_by_delta("m", 0).metadata["schemaString"]
    columns = {c.name: c for c in schema_to_proto(text).columns}

    assert (columns["ch"].type, columns["ch"].properties["length"]) == (DataType.CHAR, "3")
    assert (columns["vc"].type, columns["vc"].properties["length"]) == (DataType.VARCHAR, "5")
    assert columns["t"].type == DataType.TIMESTAMPTZ
    assert columns["tn"].type == DataType.TIMESTAMP
    assert columns["by"].properties["delta.type"] == "byte"
    assert columns["k"].map_value.type == DataType.DECIMAL
    assert columns["n"].struct_fields[1].list_element.type == DataType.VARCHAR
    assert (columns["a"].id, columns["n"].id, columns["n"].struct_fields[0].id) == (1, 2, 3)
    assert not columns["vc"].nullable


def test_ids_beside_mapping_are_free_ones() -> None:
    """Parts of nested types have no mapping id; theirs differ from all mapped ones."""
    text = written_by_delta("m", 0).metadata["schemaString"]
    columns = schema_to_proto(text).columns
    k = next(c for c in columns if c.name == "k")

    assert {k.map_key.id, k.map_value.id}.isdisjoint(c.id for c in columns)


def test_unknown_type_keeps_its_name() -> None:
    """A type of a later Delta is stored by name instead of lost."""
    text = (
        '{"type":"struct","fields":[{"name":"g","type":"geometry","nullable":true,"metadata":{}}]}'
    )

    assert schema_to_proto(text).columns[0].properties["delta.type"] == "geometry"
    with pytest.raises(UnsupportedError):
        schema_to_arrow(text)


def test_comments_survive() -> None:
    """A column's comment is a property in the definition and metadata in pyarrow."""
    schema = pa.schema([pa.field("a", pa.int32(), metadata={"comment": "grün"})])
    text = schema_from_arrow(schema)

    assert schema_to_proto(text).columns[0].properties["comment"] == "grün"
    assert {b"comment": "grün".encode()} == schema_to_arrow(text).field("a").metadata


@pytest.mark.parametrize("kind", [pa.large_string(), pa.dictionary(pa.int8(), pa.string())])
def test_other_encodings_of_text_are_text(kind: pa.DataType) -> None:
    """How pyarrow lays a value out does not change what it is."""
    assert pa.string() == schema_to_arrow(schema_from_arrow(pa.schema([("a", kind)]))).field(0).type


@pytest.mark.parametrize(
    "schema",
    [
        pa.schema([]),
        pa.schema([("", pa.int32())]),
        pa.schema([("a b", pa.int32())]),
        pa.schema([("a", pa.int32()), ("A", pa.int32())]),
        pa.schema([("a", pa.struct([("x;", pa.int32())]))]),
    ],
)
def test_names_that_delta_cannot_store_are_refused(schema: pa.Schema) -> None:
    """Better here, with the column's path, than inside of a Spark job."""
    with pytest.raises(InvalidInputError):
        schema_from_arrow(schema)


@pytest.mark.parametrize("kind", [pa.time64("us"), pa.duration("s"), pa.uint64(), pa.null()])
def test_types_that_delta_lacks_are_refused_by_name(kind: pa.DataType) -> None:
    """The column and the type are named."""
    with pytest.raises(UnsupportedError) as caught:
        schema_from_arrow(pa.schema([("x", kind)]))

    assert caught.value.fields["column"] == "x"


@pytest.mark.parametrize("text", ["{", "[]", '{"type":"array"}', json.dumps({"type": "struct"})])
def test_other_text_is_no_schema(text: str) -> None:
    """What is no schema is named as corrupt."""
    with pytest.raises(CorruptError):
        schema_to_proto(text)
