"""Schemas in three forms: Delta's JSON, the definition's protobuf, and pyarrow's."""

from __future__ import annotations

import json
import re
from itertools import count
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from trinitylake_spark.errors import CorruptError, InvalidInputError, UnsupportedError
from trinitylake_spark.format.definitions_pb2 import Column, DataType, Schema

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

Json = dict[str, Any]

COLUMN_ID = "delta.columnMapping.id"
PHYSICAL_NAME = "delta.columnMapping.physicalName"
_CHAR_VARCHAR = "__CHAR_VARCHAR_TYPE_STRING"
_COMMENT = "comment"
_EXACT_TYPE = "delta.type"

_TO_PROTO: Mapping[str, tuple[DataType, bool]] = {
    # Delta's type to ours; False where ours is wider, so that the exact name is kept beside it.
    "boolean": (DataType.BOOLEAN, True),
    "byte": (DataType.INT2, False),
    "short": (DataType.INT2, True),
    "integer": (DataType.INT4, True),
    "long": (DataType.INT8, True),
    "float": (DataType.FLOAT4, True),
    "double": (DataType.FLOAT8, True),
    "string": (DataType.VARCHAR, True),
    "binary": (DataType.BINARY, True),
    "date": (DataType.DATE, True),
    "timestamp": (DataType.TIMESTAMPTZ, True),
    "timestamp_ntz": (DataType.TIMESTAMP, True),
    "variant": (DataType.BINARY, False),
    "void": (DataType.BINARY, False),
}
_TO_ARROW: Mapping[str, pa.DataType] = {
    "boolean": pa.bool_(),
    "byte": pa.int8(),
    "short": pa.int16(),
    "integer": pa.int32(),
    "long": pa.int64(),
    "float": pa.float32(),
    "double": pa.float64(),
    "string": pa.string(),
    "binary": pa.binary(),
    "date": pa.date32(),
    "timestamp": pa.timestamp("us", tz="UTC"),
    "timestamp_ntz": pa.timestamp("us"),
}
_FROM_ARROW: Mapping[pa.DataType, str] = {
    **{arrow: name for name, arrow in _TO_ARROW.items() if not name.startswith("timestamp")},
    pa.large_string(): "string",
    pa.string_view(): "string",
    pa.large_binary(): "binary",
    pa.binary_view(): "binary",
    pa.date64(): "date",
}
_DECIMAL = re.compile(r"decimal\((\d+),\s*(-?\d+)\)")
_SIZED = re.compile(r"(char|varchar)\((\d+)\)")
_MAX_PRECISION = 38
_FORBIDDEN_IN_NAMES = re.compile(r"[ ,;{}()\n\t=]")


def parse_schema(text: str) -> list[Json]:
    """Return the fields of a schema in Delta's JSON form.

    Raises:
        CorruptError: it is no such schema.
    """
    try:
        schema = json.loads(text)
        if schema["type"] == "struct":
            return list(schema["fields"])
    except (KeyError, TypeError, ValueError):
        pass
    raise CorruptError(
        "A Delta schema is corrupt: it should be a JSON struct with fields.",
        rule="Delta protocol: schemaString",
        found=text[:120],
    )


def schema_to_proto(text: str) -> Schema:
    """Return the definition's form of a schema.

    Column ids are those of column mapping where a column has one; the others are numbered in
    depth-first order with ids that mapping does not use.

    Args:
        text: ``schemaString`` of Delta's metadata.

    Raises:
        CorruptError: not a schema, or a type that Delta does not have.
    """
    fields = parse_schema(text)
    used = set(_mapped_ids(fields))
    free = (i for i in count(1) if i not in used)
    return Schema(columns=[_column(field, free) for field in fields])


def schema_to_arrow(text: str) -> pa.Schema:
    """Return a table's schema for pyarrow.

    Args:
        text: ``schemaString`` of Delta's metadata.

    Raises:
        CorruptError: not a schema.
        UnsupportedError: a type that pyarrow does not have.
    """
    return pa.schema([_arrow_field(field) for field in parse_schema(text)])


def schema_from_arrow(schema: pa.Schema) -> str:
    """Return Delta's form of a pyarrow schema.

    Raises:
        InvalidInputError: no column, or names that Delta cannot store.
        UnsupportedError: a type that Delta does not have.
    """
    if not len(schema):
        raise InvalidInputError("A table needs at least one column.")
    fields = _fields_from_arrow(schema, "")
    return json.dumps({"type": "struct", "fields": fields}, separators=(",", ":"))


def _mapped_ids(fields: list[Json]) -> Iterator[int]:
    for field in fields:
        if COLUMN_ID in field.get("metadata", {}):
            yield int(field["metadata"][COLUMN_ID])
        yield from _mapped_ids(list(_nested_fields(field["type"])))


def _nested_fields(kind: object) -> Iterator[Json]:
    if not isinstance(kind, dict):
        return
    yield from kind.get("fields", ())
    for inner in ("elementType", "keyType", "valueType"):
        yield from _nested_fields(kind.get(inner))


def _column(field: Json, free: Iterator[int]) -> Column:
    metadata = field.get("metadata", {})
    column = Column(
        id=int(metadata[COLUMN_ID]) if COLUMN_ID in metadata else next(free),
        name=field["name"],
        nullable=bool(field.get("nullable", True)),
    )
    if _COMMENT in metadata:
        column.properties[_COMMENT] = str(metadata[_COMMENT])
    _set_type(column, metadata.get(_CHAR_VARCHAR) or field["type"], free)
    return column


def _set_type(column: Column, kind: object, free: Iterator[int]) -> None:
    if isinstance(kind, dict):
        _set_nested_type(column, kind, free)
    elif isinstance(kind, str) and (found := _DECIMAL.fullmatch(kind)):
        column.type = DataType.DECIMAL
        column.properties["precision"], column.properties["scale"] = found.groups()
    elif isinstance(kind, str) and (found := _SIZED.fullmatch(kind)):
        column.type = DataType.CHAR if found.group(1) == "char" else DataType.VARCHAR
        column.properties["length"] = found.group(2)
    elif isinstance(kind, str) and kind == "decimal":
        column.type = DataType.DECIMAL
        column.properties["precision"], column.properties["scale"] = "10", "0"
    elif isinstance(kind, str) and kind in _TO_PROTO:
        column.type, exact = _TO_PROTO[kind]
        if not exact:
            column.properties[_EXACT_TYPE] = kind
    else:
        # A type of a later Delta: keep its name, so that nothing is lost or guessed.
        column.type = DataType.BINARY
        column.properties[_EXACT_TYPE] = str(kind)


def _set_nested_type(column: Column, kind: Json, free: Iterator[int]) -> None:
    def inner(name: str, part: str, nullable: object) -> Column:
        return _column({"name": name, "type": kind[part], "nullable": nullable}, free)

    name = kind.get("type")
    if name == "struct":
        column.type = DataType.STRUCT
        column.struct_fields.extend(_column(field, free) for field in kind["fields"])
    elif name == "array":
        column.type = DataType.LIST
        column.list_element.CopyFrom(inner("element", "elementType", kind["containsNull"]))
    elif name == "map":
        column.type = DataType.MAP
        column.map_key.CopyFrom(inner("key", "keyType", nullable=False))
        column.map_value.CopyFrom(inner("value", "valueType", kind["valueContainsNull"]))
    else:
        raise CorruptError(
            f"A Delta schema is corrupt: unknown nested type {name!r}.",
            rule="Delta protocol: schemaString",
            found=str(name),
        )


def _arrow_field(field: Json) -> pa.Field:
    metadata = {_COMMENT: str(c)} if (c := field.get("metadata", {}).get(_COMMENT)) else None
    return pa.field(
        field["name"], _arrow_type(field["type"]), field.get("nullable", True), metadata
    )


def _arrow_type(kind: object) -> pa.DataType:
    if isinstance(kind, dict):
        name = kind.get("type")
        if name == "struct":
            return pa.struct([_arrow_field(field) for field in kind["fields"]])
        if name == "array":
            element = pa.field("element", _arrow_type(kind["elementType"]), kind["containsNull"])
            return pa.list_(element)
        if name == "map":
            value = pa.field("value", _arrow_type(kind["valueType"]), kind["valueContainsNull"])
            return pa.map_(_arrow_type(kind["keyType"]), value)
    if isinstance(kind, str):
        found = _DECIMAL.fullmatch("decimal(10,0)" if kind == "decimal" else kind)
        if found:
            return pa.decimal128(int(found.group(1)), int(found.group(2)))
        if kind in _TO_ARROW:
            return _TO_ARROW[kind]
    raise UnsupportedError(
        f"Delta type {kind!r} has no counterpart in pyarrow; read the table with Spark.",
        found=str(kind),
    )


def _fields_from_arrow(fields: Any, where: str) -> list[Json]:  # noqa: ANN401 - pyarrow has no types
    seen: set[str] = set()
    result = []
    for field in fields:
        path = f"{where}{field.name}"
        if not field.name or _FORBIDDEN_IN_NAMES.search(field.name):
            raise InvalidInputError(
                f"Invalid column name {path!r}: Delta allows none of ' ,;{{}}()=', tab and newline,"
                " and it must not be empty.",
                column=path,
            )
        if field.name.lower() in seen:
            raise InvalidInputError(
                f"Column name {path!r} occurs twice (upper and lower case do not differ).",
                column=path,
            )
        seen.add(field.name.lower())
        metadata = field.metadata or {}
        comment = metadata.get(_COMMENT.encode())
        result.append(
            {
                "name": field.name,
                "type": _type_from_arrow(field.type, path),
                "nullable": field.nullable,
                "metadata": {_COMMENT: comment.decode()} if comment else {},
            }
        )
    return result


def _type_from_arrow(kind: Any, path: str) -> str | Json:  # noqa: ANN401 - pyarrow has no types
    if kind in _FROM_ARROW:
        return _FROM_ARROW[kind]
    if pa.types.is_timestamp(kind):
        return "timestamp_ntz" if kind.tz is None else "timestamp"
    if pa.types.is_decimal(kind) and kind.precision <= _MAX_PRECISION:
        return f"decimal({kind.precision},{kind.scale})"
    if pa.types.is_dictionary(kind):
        return _type_from_arrow(kind.value_type, path)
    nested = _nested_type_from_arrow(kind, path)
    if nested is not None:
        return nested
    raise UnsupportedError(
        f"Column {path!r} has type {kind}, which Delta does not have; cast it first.",
        column=path,
        found=str(kind),
    )


def _nested_type_from_arrow(kind: Any, path: str) -> Json | None:  # noqa: ANN401
    if pa.types.is_struct(kind):
        return {"type": "struct", "fields": _fields_from_arrow(kind, f"{path}.")}
    if pa.types.is_map(kind):
        return {
            "type": "map",
            "keyType": _type_from_arrow(kind.key_type, f"{path}.key"),
            "valueType": _type_from_arrow(kind.item_type, f"{path}.value"),
            "valueContainsNull": kind.item_field.nullable,
        }
    if pa.types.is_list(kind) or pa.types.is_large_list(kind) or pa.types.is_fixed_size_list(kind):
        return {
            "type": "array",
            "elementType": _type_from_arrow(kind.value_type, f"{path}.element"),
            "containsNull": kind.value_field.nullable,
        }
    return None
