"""Object definitions: protobuf messages with their defaults and their rules (format.md §5)."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any, TypeVar

from google.protobuf.message import DecodeError, Message

from trinitylake_spark.errors import CorruptError, InvalidInputError, Kind, UnsupportedError
from trinitylake_spark.format.definitions_pb2 import (
    ActionDef,
    ConstraintDef,
    DataChange,
    DistributedTransactionDef,
    IsolationLevel,
    LakehouseDef,
    NamespaceDef,
    TableDef,
    ViewDef,
)
from trinitylake_spark.format.keys import NameSizes
from trinitylake_spark.format.nodefile import MIN_ORDER
from trinitylake_spark.format.paths import MIN_FILE_PATH_SIZE

if TYPE_CHECKING:
    from collections.abc import Mapping

_M = TypeVar("_M", bound=Message)
_log = logging.getLogger(__name__)

SUPPORTED_MAJOR_VERSION = 0
MANAGED = "MANAGED"

LAKEHOUSE_DEFAULTS: Mapping[str, int] = {
    "order": 128,
    "namespace_name_max_size_bytes": 100,
    "table_name_max_size_bytes": 100,
    "file_path_max_size_bytes": 200,
    "node_file_max_size_bytes": 1_048_576,
    "maximum_version_age_millis": 604_800_000,
    "minimum_versions_to_keep": 3,
    "view_name_max_size_bytes": 100,
    "txn_ttl_millis": 259_200_000,
}
"""Defaults of format.md §5.1."""

LAYOUT_FIELDS = (
    "major_version",
    "order",
    "namespace_name_max_size_bytes",
    "table_name_max_size_bytes",
    "file_path_max_size_bytes",
    "node_file_max_size_bytes",
    "view_name_max_size_bytes",
)
"""Fields whose change conflicts with every transaction (format.md §6.5)."""

_SCHEMA_ID_SIZE = 4


def new_lakehouse_definition(**fields: Any) -> LakehouseDef:  # noqa: ANN401 - each field has its type
    """Return a checked definition with every default filled in.

    Args:
        **fields: fields of ``LakehouseDef`` by name; numbers may be decimal strings, the
            isolation level is ``snapshot`` or ``serializable`` in any case.

    Raises:
        InvalidInputError: an unknown field, or a value that the rules forbid.
    """
    return change_lakehouse_definition(LakehouseDef(), **fields)


def change_lakehouse_definition(base: LakehouseDef, **fields: Any) -> LakehouseDef:  # noqa: ANN401
    """Return a checked copy of ``base`` with some fields replaced; unknown fields are kept.

    Args:
        base: the definition in force.
        **fields: as for ``new_lakehouse_definition``.

    Raises:
        InvalidInputError: an unknown field, or a value that the rules forbid.
    """
    definition = LakehouseDef()
    definition.CopyFrom(base)
    for name, value in fields.items():
        _set_field(definition, name, value)
    _fill_defaults(definition)
    problem = _lakehouse_problem(definition)
    if problem is not None:
        raise InvalidInputError(f"Invalid lakehouse definition: {problem}.")
    _warn_if_children_do_not_fit(definition)
    return definition


def parse_lakehouse_definition(data: bytes, path: str) -> LakehouseDef:
    """Read a lakehouse definition; every default is filled in.

    Raises:
        CorruptError: not a definition, or one that breaks the rules.
        UnsupportedError: a newer major version of the format.
    """
    definition = _parse(LakehouseDef, data, path)
    if definition.major_version != SUPPORTED_MAJOR_VERSION:
        raise UnsupportedError(
            f"{path} has format version {definition.major_version}; this library reads and writes"
            f" {SUPPORTED_MAJOR_VERSION}. Use a newer release of trinitylake-spark.",
            path=path,
            found=definition.major_version,
        )
    _fill_defaults(definition)
    problem = _lakehouse_problem(definition)
    if problem is not None:
        raise _corrupt(path, "a lakehouse definition keeps its limits", problem)
    return definition


def name_sizes(definition: LakehouseDef) -> NameSizes:
    """Return the sizes of the name fields of every key."""
    return NameSizes(
        namespace=definition.namespace_name_max_size_bytes,
        table=definition.table_name_max_size_bytes,
        view=definition.view_name_max_size_bytes,
    )


def parse_namespace_definition(data: bytes, path: str) -> NamespaceDef:
    """Read a namespace definition.

    Raises:
        CorruptError: not a definition.
    """
    return _parse(NamespaceDef, data, path)


def parse_table_definition(data: bytes, path: str) -> TableDef:
    """Read a table definition; the default table type is filled in.

    Raises:
        CorruptError: not a definition, or one without a table format.
    """
    definition = _parse(TableDef, data, path)
    if not definition.table_format:
        raise _corrupt(path, "a table definition has a table format", "none")
    if not definition.HasField("table_type"):
        definition.table_type = MANAGED
    return definition


def parse_view_definition(data: bytes, path: str) -> ViewDef:
    """Read a view definition.

    Raises:
        CorruptError: not a definition.
    """
    return _parse(ViewDef, data, path)


def parse_transaction_definition(data: bytes, path: str) -> DistributedTransactionDef:
    """Read the state of a prepared transaction (format.md §6.7).

    Raises:
        CorruptError: not a definition.
    """
    return _parse(DistributedTransactionDef, data, path)


def parse_action(data: bytes, path: str) -> ActionDef:
    """Read one action of a root (format.md §5.4).

    Raises:
        CorruptError: not an action.
    """
    return _parse(ActionDef, data, path)


def parse_constraint(data: bytes, path: str) -> ConstraintDef:
    """Read a fact that a prepared transaction depends on (format.md §6.7).

    Raises:
        CorruptError: not a constraint.
    """
    return _parse(ConstraintDef, data, path)


def parse_data_change(data: bytes, path: str) -> DataChange:
    """Read the detail of an action on a table's data.

    Raises:
        CorruptError: not a data change.
    """
    return _parse(DataChange, data, path)


def action_detail(action: ActionDef) -> bytes:
    """Return an action's field 3, whose name ``def`` Python cannot spell."""
    detail: bytes = getattr(action, "def")
    return detail


def serialise(message: Message) -> bytes:
    """Return a message's bytes, the same for equal messages."""
    return message.SerializeToString(deterministic=True)


def _parse(kind: type[_M], data: bytes, path: str) -> _M:
    try:
        return kind.FromString(data)
    except DecodeError as error:
        raise _corrupt(path, f"the file is a protobuf {kind.__name__}", str(error)) from error


def _fill_defaults(definition: LakehouseDef) -> None:
    for name, default in LAKEHOUSE_DEFAULTS.items():
        if not definition.HasField(name):
            setattr(definition, name, default)


def _set_field(definition: LakehouseDef, name: str, value: Any) -> None:  # noqa: ANN401
    known = LakehouseDef.DESCRIPTOR.fields_by_name
    if name not in known:
        raise InvalidInputError(
            f"A lakehouse definition has no field {name!r}; its fields are {', '.join(known)}."
        )
    try:
        if name in ("properties", "exported_snapshots", "maximum_version_age_millis_overrides"):
            definition.ClearField(name)
            getattr(definition, name).update(value)
        else:
            level = name == "txn_isolation_level"
            number = IsolationLevel.Value(str(value).upper()) if level else int(value)
            setattr(definition, name, number)
    except (TypeError, ValueError) as error:
        raise InvalidInputError(f"Invalid value {value!r} of {name}: {error}.") from error


def _lakehouse_problem(definition: LakehouseDef) -> str | None:
    """Say which rule of format.md §2.1, §3.6 or §5.1 is broken, or None."""
    d = definition
    least = {
        "order": MIN_ORDER,
        "namespace_name_max_size_bytes": 1,
        "table_name_max_size_bytes": 1,
        "view_name_max_size_bytes": 1,
        "file_path_max_size_bytes": MIN_FILE_PATH_SIZE,
        "minimum_versions_to_keep": 1,
    }
    for name, minimum in least.items():
        if getattr(d, name) < minimum:
            return f"{name} is {getattr(d, name)}, at least {minimum} is needed"
    if d.major_version != SUPPORTED_MAJOR_VERSION:
        return f"major_version is {d.major_version}, only {SUPPORTED_MAJOR_VERSION} is supported"
    if d.txn_ttl_millis >= d.maximum_version_age_millis:
        return (
            f"txn_ttl_millis {d.txn_ttl_millis} is not below"
            f" maximum_version_age_millis {d.maximum_version_age_millis}"
        )
    table = d.order * _entry_size(d)
    if table >= d.node_file_max_size_bytes:
        return (
            f"a full node key table needs {table} bytes (order {d.order} times"
            f" {_entry_size(d)}), not below node_file_max_size_bytes {d.node_file_max_size_bytes}"
        )
    return None


def _entry_size(d: LakehouseDef) -> int:
    """Bytes of one row by the formula of format.md §3.6."""
    name = max(d.table_name_max_size_bytes, d.view_name_max_size_bytes)
    return d.namespace_name_max_size_bytes + name + d.file_path_max_size_bytes + _SCHEMA_ID_SIZE


def _warn_if_children_do_not_fit(d: LakehouseDef) -> None:
    """The formula leaves out the child's path; say so if that is what does not fit."""
    table = d.order * (_entry_size(d) + d.file_path_max_size_bytes)
    if table >= d.node_file_max_size_bytes:
        _log.warning(
            "A full inner node may need %d bytes, more than node_file_max_size_bytes %d:"
            " choose a lower order or a larger node file.",
            table,
            d.node_file_max_size_bytes,
        )


def _corrupt(path: str, rule: str, found: str) -> CorruptError:
    return CorruptError(
        f"{path} is corrupt: format.md §5 says that {rule}, found: {found}.",
        kind=Kind.CORRUPT,
        path=path,
        rule=f"format.md §5: {rule}",
        found=found,
    )
