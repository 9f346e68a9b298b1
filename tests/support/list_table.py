"""A table format for tests of the core: a table is a list of integers inside its definition.

Appends commute, so they can be rebased on anything but an alteration of the layout; a rewrite
depends on everything it replaced, so it cannot. Every append also brings a warehouse file.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from trinitylake_spark.errors import CommitConflictError
from trinitylake_spark.format.definitions import serialise
from trinitylake_spark.format.definitions_pb2 import ActionType, DataChange, TableDef
from trinitylake_spark.lakehouse.actions import PHYSICAL, type_name
from trinitylake_spark.lakehouse.formats import TableChange

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from trinitylake_spark.lakehouse.catalog import Catalog
    from trinitylake_spark.lakehouse.formats import FormatContext, RebaseRequest
    from trinitylake_spark.lakehouse.transaction import Transaction

ITEMS = "items"


class ListFormat:
    """Tables that are lists; keeps count of its rebases."""

    name = "LIST"

    def __init__(self) -> None:
        self.rebases = 0

    def create(
        self, context: FormatContext, schema: Any, properties: Mapping[str, str]
    ) -> tuple[TableDef, TableChange]:
        """Make an empty list; the schema is ignored."""
        del schema
        definition = TableDef(table_format=self.name, properties=properties)
        definition.format_properties[ITEMS] = "[]"
        definition.format_properties["location"] = context.new_location()
        return definition, TableChange(ActionType.TABLE_CREATE)

    def alter_properties(
        self,
        context: FormatContext,
        base: TableDef,
        set_properties: Mapping[str, str],
        unset_properties: Sequence[str],
    ) -> tuple[TableDef, TableChange]:
        """Change properties."""
        del context
        definition = _copy(base)
        for name in unset_properties:
            definition.properties.pop(name, None)
        definition.properties.update(set_properties)
        return definition, TableChange(ActionType.TABLE_ALTER, payload=dict(set_properties))

    def rebase(
        self, context: FormatContext, request: RebaseRequest
    ) -> tuple[TableDef, Sequence[TableChange]]:
        """Do appends and alterations again on theirs; refuse everything else."""
        del context
        self.rebases += 1
        definition = _copy(request.theirs)
        for version, action in request.their_changes:
            for change in request.my_changes:
                if not _commute(change.operation, action.type):
                    raise CommitConflictError(
                        "lists do not commute",
                        rule=f"{type_name(action.type)} × {type_name(change.operation)}",
                        version=version,
                        my_operation=type_name(change.operation),
                        their_operation=type_name(action.type),
                        advice="append instead",
                    )
        # What appends and alterations did shows in the definitions: a transaction that was prepared
        # and resumed has no payload.
        old, new = request.base.properties, request.mine.properties
        definition.properties.update({k: v for k, v in new.items() if old.get(k) != v})
        added = items(request.mine)[len(items(request.base)) :]
        _set(definition, [*items(definition), *added])
        return definition, request.my_changes


def items(definition: TableDef) -> list[int]:
    """Return the items of a list table."""
    found: list[int] = json.loads(definition.format_properties[ITEMS])
    return found


def read(catalog: Catalog, name: str, namespace: str = "s") -> list[int]:
    """Return a table's items; a transaction records the read."""
    reader: Callable[..., Any] = getattr(catalog, "read_table", catalog.table)
    return items(reader(namespace, name).definition)


def append(transaction: Transaction, name: str, *values: int, namespace: str = "s") -> None:
    """Append items, as an INSERT would."""
    base = transaction.table(namespace, name, record=False).definition
    definition = _copy(base)
    _set(definition, [*items(base), *values])
    location = base.format_properties["location"].removeprefix("data/")
    path = f"{location}/{values[0]}-{transaction.id}"
    detail = serialise(DataChange(added_files=[path], blind_append=True, operation="WRITE"))
    change = TableChange(
        ActionType.TABLE_INSERT, detail, list(values), {path: json.dumps(values).encode()}
    )
    transaction.change_table(namespace, name, definition, change)


def rewrite(
    transaction: Transaction,
    name: str,
    values: list[int],
    namespace: str = "s",
    operation: int = ActionType.TABLE_UPDATE,
) -> None:
    """Replace all items, as an UPDATE or a compaction would."""
    definition = _copy(transaction.table(namespace, name, record=False).definition)
    _set(definition, values)
    transaction.change_table(namespace, name, definition, TableChange(operation))


def _commute(mine: int, theirs: int) -> bool:
    if theirs == ActionType.TABLE_ALTER:
        return mine == ActionType.TABLE_INSERT
    return mine in (ActionType.TABLE_INSERT, ActionType.TABLE_ALTER) and (
        theirs == ActionType.TABLE_INSERT or theirs in PHYSICAL or mine == ActionType.TABLE_ALTER
    )


def _copy(definition: TableDef) -> TableDef:
    copy = TableDef()
    copy.CopyFrom(definition)
    return copy


def _set(definition: TableDef, values: list[int]) -> None:
    definition.format_properties[ITEMS] = json.dumps(values)
