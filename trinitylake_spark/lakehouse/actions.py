"""Actions: what a transaction did and read, as its root records it (format.md §5.4)."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum, StrEnum
from functools import cache
from typing import TYPE_CHECKING

from trinitylake_spark.format.definitions import (
    action_detail,
    parse_action,
    parse_data_change,
    serialise,
)
from trinitylake_spark.format.definitions_pb2 import (
    ActionDef,
    ActionObjectDef,
    ActionObjectType,
    ActionType,
    DataChange,
)
from trinitylake_spark.format.keys import ObjectType
from trinitylake_spark.format.paths import root_path

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from trinitylake_spark.commit.versions import Root
    from trinitylake_spark.format.keys import KeyCodec, ObjectKey
    from trinitylake_spark.lakehouse.readset import ReadSet


class Effect(StrEnum):
    """What an operation does to the object behind a key (format.md §6.6)."""

    CREATE = "CREATE"
    ALTER = "ALTER"
    DATA = "data operation"
    DROP = "DROP"


class Aspect(IntEnum):
    """What of an object is read or changed (format.md §6.5).

    A read depends on its aspect and on those before it; a change disturbs its aspect and those
    after it.
    """

    NAME = 1
    """Whether there is such an object."""
    DEFINITION = 2
    """Schema, properties, location; of a view its query."""
    DATA = 3
    """The rows of a table."""


PHYSICAL = frozenset({ActionType.MINOR_COMPACT, ActionType.MAJOR_COMPACT, ActionType.CLUSTER})
"""Operations that change how data is laid out, and nothing that a query could see."""

_EFFECTS = {
    ActionType.NAMESPACE_CREATE: Effect.CREATE,
    ActionType.NAMESPACE_ALTER: Effect.ALTER,
    ActionType.NAMESPACE_ALTER_SET_PROPERTIES: Effect.ALTER,
    ActionType.NAMESPACE_ALTER_UNSET_PROPERTIES: Effect.ALTER,
    ActionType.NAMESPACE_DROP: Effect.DROP,
    ActionType.TABLE_CREATE: Effect.CREATE,
    ActionType.TABLE_ALTER: Effect.ALTER,
    ActionType.TABLE_ALTER_ADD_COLUMNS: Effect.ALTER,
    ActionType.TABLE_ALTER_REMOVE_COLUMNS: Effect.ALTER,
    ActionType.TABLE_INSERT: Effect.DATA,
    ActionType.TABLE_UPDATE: Effect.DATA,
    ActionType.TABLE_DELETE: Effect.DATA,
    ActionType.TABLE_DROP: Effect.DROP,
    ActionType.VIEW_CREATE: Effect.CREATE,
    ActionType.VIEW_REPLACE: Effect.ALTER,
    ActionType.VIEW_DROP: Effect.DROP,
    ActionType.INSERT_OVERWRITE: Effect.DATA,
    ActionType.TRUNCATE: Effect.DATA,
    ActionType.MINOR_COMPACT: Effect.DATA,
    ActionType.MAJOR_COMPACT: Effect.DATA,
    ActionType.CLUSTER: Effect.DATA,
}
_READS = {
    ActionType.SHOW_NAMESPACES: Aspect.NAME,
    ActionType.NAMESPACE_EXISTS: Aspect.NAME,
    ActionType.NAMESPACE_DESCRIBE: Aspect.DEFINITION,
    ActionType.NAMESPACE_SHOW_TABLES: Aspect.NAME,
    ActionType.NAMESPACE_SHOW_VIEWS: Aspect.NAME,
    ActionType.TABLE_EXISTS: Aspect.NAME,
    ActionType.TABLE_DESCRIBE: Aspect.DEFINITION,
    ActionType.TABLE_SELECT: Aspect.DATA,
    ActionType.VIEW_EXISTS: Aspect.NAME,
    ActionType.VIEW_DESCRIBE: Aspect.DEFINITION,
}
_OBJECTS = {
    ActionObjectType.CATALOG: "lakehouse",
    ActionObjectType.NAMESPACE: "namespace",
    ActionObjectType.DISTRIBUTED_TRANSACTION: "prepared transaction",
    ActionObjectType.TABLE: "table",
    ActionObjectType.VIEW: "view",
}
_OBJECT_TYPES = {
    ObjectType.NAMESPACE: ActionObjectType.NAMESPACE,
    ObjectType.TABLE: ActionObjectType.TABLE,
    ObjectType.VIEW: ActionObjectType.VIEW,
}
_SET_PROPERTIES = "SET PROPERTIES"
_MERGE = "MERGE"
_RENAME = "RENAME "


@dataclass(frozen=True, slots=True)
class Change:
    """One thing that a version changed, for people and for ``system.versions``.

    Args:
        object: ``lakehouse``, ``namespace``, ``table`` or ``view``.
        name: the object's name, ``namespace.name`` for tables and views; of the lakehouse the
            property, ``tree``, or the version rolled back to.
        operation: such as ``CREATE``, ``INSERT``, ``ALTER``, ``RENAME TO archive.orders``.
    """

    object: str
    name: str
    operation: str


def effect_of(operation: int) -> Effect | None:
    """Return what an operation does to its object; None for one of another library's future."""
    return _EFFECTS.get(operation)  # type: ignore[call-overload, no-any-return]


def aspect_read(operation: int) -> Aspect:
    """Return what a read depends on; one of another library's future may depend on everything."""
    return _READS.get(operation, Aspect.DATA)  # type: ignore[call-overload, no-any-return]


def aspect_changed(actions: Iterable[ActionDef]) -> Aspect:
    """Return the first aspect of an object that operations on it changed, in order.

    Args:
        actions: everything that one version did to an object which it did not delete.

    Raises:
        CorruptError: the detail of a data operation cannot be read.
    """
    changed = Aspect.DATA
    came: bool | None = None
    for action in actions:
        effect = effect_of(action.type)
        if effect is None:
            return Aspect.NAME
        if effect in (Effect.CREATE, Effect.DROP) and came is None:
            came = effect is Effect.CREATE
        if effect is not Effect.DATA or _redefines(action):
            changed = Aspect.DEFINITION
    return Aspect.NAME if came else changed


def described(text: str) -> bytes:
    """Return the detail of an operation that nothing but a name describes."""
    return serialise(DataChange(operation=text))


def renamed_to(name: str) -> bytes:
    """Return the detail of the drop that a rename records under the old name."""
    return described(f"{_RENAME}TO {name}")


def renamed_from(name: str) -> bytes:
    """Return the detail of the create that a rename records under the new name."""
    return described(f"{_RENAME}FROM {name}")


def view_properties_set() -> bytes:
    """Return the detail of a view's change of properties."""
    return described(_SET_PROPERTIES)


def object_action(key: str, target: ObjectKey, operation: int, detail: bytes) -> ActionDef:
    """Return the action of an operation on a namespace, table or view."""
    action = ActionDef(
        object_def=ActionObjectDef(
            type=_OBJECT_TYPES[target.type],
            namespaceName=target.namespace,
            namespaceObjectName=target.name or "",
        ),
        type=operation,  # type: ignore[arg-type]
        start_key=key.encode(),
    )
    setattr(action, "def", detail)
    return action


def lakehouse_action(operation: ActionType, name: str) -> ActionDef:
    """Return the action of an operation on the lakehouse itself.

    Args:
        operation: ``LAKEHOUSE_ALTER``, ``ROLLBACK``, ``EXPORT``, or ``MAJOR_COMPACT`` of its tree.
        name: the property, the target version in decimal, the export's name, or ``tree``.
    """
    return ActionDef(
        object_def=ActionObjectDef(type=ActionObjectType.CATALOG, namespaceObjectName=name),
        type=operation,
    )


def revocation_action(name: str) -> ActionDef:
    """Return the action of giving up a prepared transaction that may be being committed."""
    kind = ActionObjectType.DISTRIBUTED_TRANSACTION
    return ActionDef(
        object_def=ActionObjectDef(type=kind, namespaceObjectName=name),
        type=ActionType.ROLLBACK,
    )


def read_actions(reads: ReadSet, keys: KeyCodec) -> Iterator[ActionDef]:
    """Yield one action for every key and range read."""
    for key, operation in reads.keys.items():
        action = object_action(key, keys.decode(key), operation, b"")
        action.read = True
        yield action
    for (low, high), operation in reads.ranges.items():
        yield ActionDef(type=operation, start_key=low.encode(), end_key=high.encode(), read=True)


def actions_of(root: Root) -> list[ActionDef]:
    """Return the actions that a root records.

    Raises:
        CorruptError: a row that is no action.
    """
    return parse_actions(root.info.actions, root_path(root.version))


def parse_actions(stored: Iterable[bytes], path: str) -> list[ActionDef]:
    """Read the actions of a root or a running root.

    Args:
        stored: serialised actions.
        path: the root's file, for errors.

    Raises:
        CorruptError: one is no action.
    """
    return [parse_action(data, path) for data in stored]


def describe_changes(actions: Iterable[ActionDef]) -> list[Change]:
    """Return what the writing ones among some actions changed, each change once, in order."""
    changes: dict[Change, None] = {}
    for action in actions:
        if not action.read:
            target = action.object_def
            names = [target.namespaceName, target.namespaceObjectName]
            kind = _OBJECTS.get(target.type, "object")
            change = Change(kind, ".".join(filter(None, names)), operation_name(action))
            changes[change] = None
    return list(changes)


def operation_name(action: ActionDef) -> str:
    """Return an operation's name without its object, such as ``INSERT OVERWRITE``."""
    if effect_of(action.type) is not None and action.object_def.type != ActionObjectType.NAMESPACE:
        said = parse_data_change(action_detail(action), "an action").operation
        if said == _MERGE or said.startswith(_RENAME):
            return said
        if said == _SET_PROPERTIES:
            return Effect.ALTER
    return type_name(action.type)


def _redefines(action: ActionDef) -> bool:
    """Tell whether an operation on a table's data changed its definition, too."""
    change = parse_data_change(action_detail(action), "an action")
    return change.metadata_changed or change.protocol_changed or bool(change.domains)


@cache
def type_name(operation: int) -> str:
    """Return the name of a number of ``ActionDef.type`` without its object."""
    if operation not in ActionType.values():
        return f"OPERATION {operation}"
    name = ActionType.Name(operation)
    for prefix in ("NAMESPACE_", "TABLE_", "VIEW_", "LAKEHOUSE_"):
        name = name.removeprefix(prefix)
    return name.replace("_", " ")
