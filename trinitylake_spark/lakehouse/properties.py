"""Properties of the lakehouse: fields of its definition, and the users' own (format.md §5.1)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from trinitylake_spark.errors import InvalidInputError, Kind, UnsupportedError
from trinitylake_spark.format.definitions import LAKEHOUSE_DEFAULTS, change_lakehouse_definition
from trinitylake_spark.format.definitions_pb2 import IsolationLevel, LakehouseDef
from trinitylake_spark.tree.read import scan

if TYPE_CHECKING:
    from collections.abc import Callable

    from trinitylake_spark.commit.versions import Root
    from trinitylake_spark.lakehouse.definitions import Layout
    from trinitylake_spark.lakehouse.services import Services

_ISOLATION = "txn_isolation_level"
_ELSEWHERE = {
    "major_version": "it follows from the library",
    "properties": "set each property by its own name",
    "exported_snapshots": "export or drop a snapshot",
    "maximum_version_age_millis_overrides": "export a snapshot with a retention time",
}


def changed_definition(old: LakehouseDef, key: str, value: str | int | None) -> LakehouseDef:
    """Return a definition with one property changed.

    Args:
        old: the definition in force; stays as it is.
        key: a field name, or any other name for a property of one's own.
        value: None restores the field's default, or removes the property.

    Raises:
        UnsupportedError: the field is not set this way.
        InvalidInputError: a value that the rules forbid.
    """
    if key in _ELSEWHERE:
        raise UnsupportedError(f"Property {key!r} cannot be set: {_ELSEWHERE[key]}.", property=key)
    if key == _ISOLATION or key in LAKEHOUSE_DEFAULTS:
        default = "snapshot" if key == _ISOLATION else LAKEHOUSE_DEFAULTS[key]
        return change_lakehouse_definition(old, **{key: default if value is None else value})
    properties = dict(old.properties)
    properties.pop(key, None)
    if value is not None:
        properties[key] = str(value)
    return change_lakehouse_definition(old, properties=properties)


def all_properties(definition: LakehouseDef) -> dict[str, str]:
    """Return every property that can be set, with its value in force."""
    found = {name: str(getattr(definition, name)) for name in LAKEHOUSE_DEFAULTS}
    found[_ISOLATION] = IsolationLevel.Name(definition.txn_isolation_level).lower()
    return {**found, **definition.properties}


def key_changer(services: Services, base: Root, old: Layout, new: Layout) -> Callable[[str], str]:
    """Return what turns a key of one layout into the same object's key of another.

    Args:
        services: of the open lakehouse.
        base: the version whose objects must fit.
        old: its layout.
        new: the layout wanted.

    Raises:
        InvalidInputError: a stored path is too long for the new layout; a name that is too long
            is found when its key is changed.
    """
    if new.max_path_bytes < old.max_path_bytes:
        pairs = scan(services.nodes, base.node, order=old.order)
        longest = max((path for _, path in pairs), key=lambda path: len(path.encode()), default="")
        if len(longest.encode()) > new.max_path_bytes:
            raise InvalidInputError(
                f"file_path_max_size_bytes cannot shrink to {new.max_path_bytes}: the stored path "
                f"{longest!r} is longer. Choose at least {len(longest.encode())}.",
                path=longest,
            )

    def rekey(key: str) -> str:
        """Return the new key."""
        target = old.keys.decode(key)
        try:
            return new.keys.key(target)
        except InvalidInputError as error:
            raise InvalidInputError(
                f"The size of names cannot shrink: {error.message} Rename or drop that object "
                "first, or choose a larger size.",
                kind=Kind.INVALID_ARGUMENT,
                **error.fields,
            ) from error

    return rekey
