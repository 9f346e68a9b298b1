"""Reading names and definitions at one version; snapshots and transactions share it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING

from trinitylake_spark.errors import InvalidInputError, Kind, NotFoundError
from trinitylake_spark.format.definitions import (
    parse_namespace_definition,
    parse_table_definition,
    parse_view_definition,
)
from trinitylake_spark.format.definitions_pb2 import ActionType
from trinitylake_spark.format.keys import ObjectKey, ObjectType, prefix_end

if TYPE_CHECKING:
    from collections.abc import Iterator

    from trinitylake_spark.format.definitions_pb2 import NamespaceDef, TableDef, ViewDef
    from trinitylake_spark.lakehouse.definitions import Layout


EXISTS = {
    ObjectType.NAMESPACE: ActionType.NAMESPACE_EXISTS,
    ObjectType.TABLE: ActionType.TABLE_EXISTS,
    ObjectType.VIEW: ActionType.VIEW_EXISTS,
}
"""How a lookup of a name is recorded."""


@dataclass(frozen=True, slots=True)
class TableEntry:
    """A table as one version or transaction sees it.

    Args:
        namespace: where it is.
        name: its name there.
        definition: a copy; changing it changes nothing else.
        path: the definition's file, which identifies this state of the table.
    """

    namespace: str
    name: str
    definition: TableDef
    path: str


@dataclass(frozen=True, slots=True)
class ViewEntry:
    """A view as one version or transaction sees it; fields as in ``TableEntry``."""

    namespace: str
    name: str
    definition: ViewDef
    path: str


class Catalog(ABC):
    """Names and definitions; ``record=False`` keeps a read out of a transaction's read set."""

    layout: Layout

    @property
    @abstractmethod
    def at_version(self) -> int:
        """The version that reads show, before own changes."""

    @abstractmethod
    def _path(self, key: str) -> str | None:
        """Return the value of a key."""

    @abstractmethod
    def _pairs(self, low: str, high: str) -> Iterator[tuple[str, str]]:
        """Yield keys and values with ``low`` ≤ key < ``high``, ascending."""

    @abstractmethod
    def _bytes(self, path: str) -> bytes:
        """Return the definition file at ``path``."""

    def _note_key(self, key: str, action: ActionType) -> None:  # noqa: B027 - only for some
        """Take down that a key was looked up; transactions do."""

    def _note_range(self, low: str, high: str, action: ActionType) -> None:  # noqa: B027 - as above
        """Take down that a range of keys was scanned; transactions do."""

    def namespaces(self, *, record: bool = True) -> list[str]:
        """Return the names of all namespaces, in byte order."""
        prefix = self.layout.keys.namespaces_prefix()
        if record:
            self._note_range(prefix, prefix_end(prefix), ActionType.SHOW_NAMESPACES)
        decode = self.layout.keys.decode
        return [decode(key).namespace for key, _ in self._pairs(prefix, prefix_end(prefix))]

    def tables(self, namespace: str, *, record: bool = True) -> list[str]:
        """Return the names of a namespace's tables, in byte order.

        Raises:
            NotFoundError: kind ``NAMESPACE_NOT_FOUND``.
            InvalidInputError: kind ``INVALID_NAME``.
        """
        prefix = self.layout.keys.tables_prefix(namespace)
        return self._names(namespace, prefix, ActionType.NAMESPACE_SHOW_TABLES, record=record)

    def views(self, namespace: str, *, record: bool = True) -> list[str]:
        """Return the names of a namespace's views, in byte order.

        Raises:
            NotFoundError: kind ``NAMESPACE_NOT_FOUND``.
            InvalidInputError: kind ``INVALID_NAME``.
        """
        prefix = self.layout.keys.views_prefix(namespace)
        return self._names(namespace, prefix, ActionType.NAMESPACE_SHOW_VIEWS, record=record)

    def namespace(self, namespace: str, *, record: bool = True) -> NamespaceDef:
        """Return a namespace's definition.

        Raises:
            NotFoundError: kind ``NAMESPACE_NOT_FOUND``.
            InvalidInputError: kind ``INVALID_NAME``.
        """
        key = self.layout.keys.namespace_key(namespace)
        if record:
            self._note_key(key, ActionType.NAMESPACE_DESCRIBE)
        path = self._path(key)
        if path is None:
            raise self._no_namespace(namespace)
        return parse_namespace_definition(self._bytes(path), path)

    def table(self, namespace: str, name: str, *, record: bool = True) -> TableEntry:
        """Return a table.

        Raises:
            NotFoundError: kind ``NAMESPACE_NOT_FOUND`` or ``TABLE_NOT_FOUND``.
            InvalidInputError: kind ``INVALID_NAME``.
        """
        key = self.layout.keys.table_key(namespace, name)
        if record:
            self._note_key(key, ActionType.TABLE_DESCRIBE)
        path = self._path(key)
        if path is None:
            raise self._no_object("table", namespace, name, record=record)
        definition = parse_table_definition(self._bytes(path), path)
        return TableEntry(namespace, name, definition, path)

    def view(self, namespace: str, name: str, *, record: bool = True) -> ViewEntry:
        """Return a view.

        Raises:
            NotFoundError: kind ``NAMESPACE_NOT_FOUND`` or ``VIEW_NOT_FOUND``.
            InvalidInputError: kind ``INVALID_NAME``.
        """
        key = self.layout.keys.view_key(namespace, name)
        if record:
            self._note_key(key, ActionType.VIEW_DESCRIBE)
        path = self._path(key)
        if path is None:
            raise self._no_object("view", namespace, name, record=record)
        definition = parse_view_definition(self._bytes(path), path)
        return ViewEntry(namespace, name, definition, path)

    def has_namespace(self, namespace: str, *, record: bool = True) -> bool:
        """Tell whether a namespace exists."""
        key = self.layout.keys.namespace_key(namespace)
        if record:
            self._note_key(key, ActionType.NAMESPACE_EXISTS)
        return self._path(key) is not None

    def has_table(self, namespace: str, name: str, *, record: bool = True) -> bool:
        """Tell whether a table exists."""
        key = self.layout.keys.table_key(namespace, name)
        if record:
            self._note_key(key, ActionType.TABLE_EXISTS)
        return self._path(key) is not None

    def has_view(self, namespace: str, name: str, *, record: bool = True) -> bool:
        """Tell whether a view exists."""
        key = self.layout.keys.view_key(namespace, name)
        if record:
            self._note_key(key, ActionType.VIEW_EXISTS)
        return self._path(key) is not None

    def require_namespace(self, namespace: str, *, record: bool = True) -> None:
        """Check that a namespace exists.

        Raises:
            NotFoundError: kind ``NAMESPACE_NOT_FOUND``.
            InvalidInputError: kind ``INVALID_NAME``.
        """
        if not self.has_namespace(namespace, record=record):
            raise self._no_namespace(namespace)

    def _names(self, namespace: str, prefix: str, action: ActionType, *, record: bool) -> list[str]:
        self.require_namespace(namespace, record=record)
        high = prefix_end(prefix)
        if record:
            self._note_range(prefix, high, action)
        decode = self.layout.keys.decode
        return [decode(key).name or "" for key, _ in self._pairs(prefix, high)]

    def _key_if_it_fits(self, namespace: str, name: str, kind: ObjectType) -> str | None:
        """Return a key, or None if the name is too long for this kind of object."""
        try:
            return self.layout.keys.key(ObjectKey(kind, namespace, name))
        except InvalidInputError:
            return None

    def _no_namespace(self, namespace: str) -> NotFoundError:
        return NotFoundError(
            f"Namespace {namespace!r} does not exist in version {self.at_version}. Create it, or "
            "list the namespaces there are: names are case-sensitive.",
            kind=Kind.NAMESPACE_NOT_FOUND,
            namespace=namespace,
            version=self.at_version,
        )

    def _no_object(self, what: str, namespace: str, name: str, *, record: bool) -> NotFoundError:
        if not self.has_namespace(namespace, record=record):
            return self._no_namespace(namespace)
        other = ObjectType.VIEW if what == "table" else ObjectType.TABLE
        key = self._key_if_it_fits(namespace, name, other)
        if key is not None and record:
            self._note_key(key, EXISTS[other])
        if key is not None and self._path(key) is not None:
            advice = f"There is a {other.name.lower()} of this name."
        else:
            advice = f"List the {what}s of {namespace!r} there are: names are case-sensitive."
        return NotFoundError(
            f"{what.capitalize()} {namespace}.{name} does not exist in version "
            f"{self.at_version}. {advice}",
            kind=Kind.TABLE_NOT_FOUND if what == "table" else Kind.VIEW_NOT_FOUND,
            namespace=namespace,
            version=self.at_version,
            **{what: name},
        )
