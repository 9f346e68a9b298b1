"""The statements of a transaction that change namespaces, tables and views (format.md §6.2)."""

from __future__ import annotations

from abc import abstractmethod
from typing import TYPE_CHECKING

from trinitylake_spark.errors import AlreadyExistsError, Kind, ReadOnlyError
from trinitylake_spark.format.definitions import (
    parse_namespace_definition,
    parse_view_definition,
    serialise,
)
from trinitylake_spark.format.definitions_pb2 import ActionType, NamespaceDef, ViewDef
from trinitylake_spark.format.keys import ObjectKey, ObjectType, prefix_end
from trinitylake_spark.format.paths import (
    namespace_definition_path,
    table_definition_path,
    view_definition_path,
)
from trinitylake_spark.lakehouse.actions import (
    described,
    renamed_from,
    renamed_to,
    view_properties_set,
)
from trinitylake_spark.lakehouse.catalog import EXISTS, Catalog
from trinitylake_spark.lakehouse.formats import TableChange
from trinitylake_spark.lakehouse.readset import KeyRange

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, MutableMapping

    from google.protobuf.message import Message

    from trinitylake_spark.format.definitions_pb2 import TableDef
    from trinitylake_spark.lakehouse.formats import Schema
    from trinitylake_spark.lakehouse.pending import Pending
    from trinitylake_spark.lakehouse.services import Services

RESERVED_NAMESPACE = "system"


class Edits(Catalog):
    """Changes names and definitions in ``_pending``; nothing is visible before the commit.

    Each method checks everything first, so one that raises has changed nothing.
    """

    _services: Services
    _pending: Pending

    @abstractmethod
    def _check_open(self) -> None:
        """Raise if the transaction is over."""

    @abstractmethod
    def _base_path(self, key: str) -> str | None:
        """Return the value that a key has in the base version."""

    # --- namespaces ------------------------------------------------------------------------------

    def create_namespace(self, namespace: str, properties: Mapping[str, str] | None = None) -> None:
        """Create a namespace.

        Raises:
            AlreadyExistsError: kind ``NAMESPACE_ALREADY_EXISTS``.
            InvalidInputError: kind ``INVALID_NAME``.
            ReadOnlyError: the name is reserved.
        """
        self._check_writable(namespace)
        key = self.layout.keys.namespace_key(namespace)
        if self._path(key) is not None:
            self._note_key(key, ActionType.NAMESPACE_EXISTS)
            raise AlreadyExistsError(
                f"Namespace {namespace!r} exists already. Use it, or choose another name.",
                kind=Kind.NAMESPACE_ALREADY_EXISTS,
                namespace=namespace,
            )
        definition = NamespaceDef(properties=properties or {})
        target = ObjectKey(ObjectType.NAMESPACE, namespace, None)
        self._set(key, target, definition, TableChange(ActionType.NAMESPACE_CREATE))

    def set_namespace_properties(
        self,
        namespace: str,
        properties: Mapping[str, str] | None = None,
        unset: Iterable[str] = (),
    ) -> None:
        """Set and remove properties of a namespace; removing an absent one does nothing.

        Raises:
            NotFoundError: kind ``NAMESPACE_NOT_FOUND``.
        """
        self._check_writable(namespace)
        key, path = self._find_namespace(namespace)
        definition = parse_namespace_definition(self._bytes(path), path)
        removed = _edit(definition.properties, properties, unset)
        changes = {
            ActionType.NAMESPACE_ALTER_SET_PROPERTIES: NamespaceDef(properties=properties),
            ActionType.NAMESPACE_ALTER_UNSET_PROPERTIES: NamespaceDef(
                properties=dict.fromkeys(removed, "")
            ),
        }
        target = ObjectKey(ObjectType.NAMESPACE, namespace, None)
        for operation, names in changes.items():
            if names.properties:
                self._set(key, target, definition, TableChange(operation, serialise(names)))

    def drop_namespace(self, namespace: str, *, cascade: bool = False) -> None:
        """Drop a namespace.

        Args:
            namespace: its name.
            cascade: drop its tables and views too; without it they are a reason to refuse.

        Raises:
            NotFoundError: kind ``NAMESPACE_NOT_FOUND``.
            AlreadyExistsError: kind ``NAMESPACE_NOT_EMPTY``.
        """
        self._check_writable(namespace)
        key, _ = self._find_namespace(namespace)
        keys = self.layout.keys
        ranges = [
            KeyRange(prefix, prefix_end(prefix))
            for prefix in (keys.tables_prefix(namespace), keys.views_prefix(namespace))
        ]
        inside = [found for each in ranges for found, _ in self._pairs(*each)]
        if inside and not cascade:
            for each in ranges:
                self._note_range(*each, ActionType.NAMESPACE_SHOW_TABLES)
            raise AlreadyExistsError(
                f"Namespace {namespace!r} is not empty: it has {len(inside)} tables and views, "
                f"{keys.decode(inside[0]).name!r} is one. Drop them first, or drop with CASCADE.",
                kind=Kind.NAMESPACE_NOT_EMPTY,
                namespace=namespace,
                objects=len(inside),
            )
        for found in inside:
            self._drop_key(found, keys.decode(found))
        for each in ranges:
            self._pending.constraints.empty[each] = f"namespace {namespace!r} is being dropped"
        self._drop_key(key, ObjectKey(ObjectType.NAMESPACE, namespace, None))

    # --- tables ----------------------------------------------------------------------------------

    def create_table(
        self,
        namespace: str,
        name: str,
        schema: Schema,
        properties: Mapping[str, str] | None = None,
        *,
        table_format: str | None = None,
    ) -> None:
        """Create an empty table.

        Args:
            namespace: where.
            name: its name there.
            schema: the columns, a ``pyarrow.Schema``.
            properties: table properties.
            table_format: name of a format; default: the lakehouse's first.

        Raises:
            NotFoundError: kind ``NAMESPACE_NOT_FOUND``.
            AlreadyExistsError: kind ``TABLE_ALREADY_EXISTS``; a view of the name counts too.
            InvalidInputError: kind ``INVALID_NAME``, or what the format refuses.
            UnsupportedError: this session has no such format.
        """
        self._check_new(namespace, name, ObjectType.TABLE)
        maker = self._services.table_format(table_format)
        definition, change = maker.create(
            self._services.format_context, schema, dict(properties or {})
        )
        self.bind_table(namespace, name, definition, change)

    def bind_table(
        self, namespace: str, name: str, definition: TableDef, change: TableChange
    ) -> None:
        """Give a name to a table that a format has made (CREATE, CTAS).

        Raises:
            NotFoundError: kind ``NAMESPACE_NOT_FOUND``.
            AlreadyExistsError: kind ``TABLE_ALREADY_EXISTS``.
            InvalidInputError: kind ``INVALID_NAME``.
        """
        key = self._check_new(namespace, name, ObjectType.TABLE)
        self._set(key, ObjectKey(ObjectType.TABLE, namespace, name), definition, change)

    def change_table(
        self, namespace: str, name: str, definition: TableDef, change: TableChange
    ) -> None:
        """Replace a table's definition by the one that an operation led to.

        Args:
            namespace: where it is.
            name: its name there.
            definition: the new state, made from what this transaction sees.
            change: what was done; the format gets it back if the commit has to be rebased.

        Raises:
            NotFoundError: kind ``NAMESPACE_NOT_FOUND`` or ``TABLE_NOT_FOUND``.
        """
        self._check_writable(namespace)
        key, _ = self._find_object(namespace, name, ObjectType.TABLE)
        self._set(key, ObjectKey(ObjectType.TABLE, namespace, name), definition, change)

    def set_table_properties(
        self,
        namespace: str,
        name: str,
        properties: Mapping[str, str] | None = None,
        unset: Iterable[str] = (),
    ) -> None:
        """Set and remove properties of a table.

        Raises:
            NotFoundError: kind ``NAMESPACE_NOT_FOUND`` or ``TABLE_NOT_FOUND``.
            UnsupportedError: the format refuses the property.
        """
        self._check_writable(namespace)
        self._find_object(namespace, name, ObjectType.TABLE)
        base = self.table(namespace, name, record=False).definition
        definition, change = self._services.table_format(base.table_format).alter_properties(
            self._services.format_context,
            base,
            dict(properties or {}),
            list(unset),
        )
        self.change_table(namespace, name, definition, change)

    def drop_table(self, namespace: str, name: str) -> None:
        """Drop a table; older versions keep it, and its data stays as long as they do.

        Raises:
            NotFoundError: kind ``NAMESPACE_NOT_FOUND`` or ``TABLE_NOT_FOUND``.
        """
        self._check_writable(namespace)
        key, _ = self._find_object(namespace, name, ObjectType.TABLE)
        self._drop_key(key, ObjectKey(ObjectType.TABLE, namespace, name))

    def rename_table(self, namespace: str, name: str, to_namespace: str, to_name: str) -> None:
        """Give a table another name, in the same or another namespace.

        Raises:
            NotFoundError: kind ``NAMESPACE_NOT_FOUND`` or ``TABLE_NOT_FOUND``.
            AlreadyExistsError: kind ``TABLE_ALREADY_EXISTS``.
        """
        self._rename(ObjectType.TABLE, (namespace, name), (to_namespace, to_name))

    # --- views -----------------------------------------------------------------------------------

    def create_view(
        self,
        namespace: str,
        name: str,
        *,
        sql: str,
        properties: Mapping[str, str] | None = None,
        dialect: str = "spark",
        default_namespace: str = "",
        replace: bool = False,
    ) -> None:
        """Create a view.

        Args:
            namespace: where.
            name: its name there.
            sql: the query.
            properties: the view's properties.
            dialect: whose SQL it is.
            default_namespace: where its unqualified names are looked up.
            replace: take the place of a view that has the name.

        Raises:
            NotFoundError: kind ``NAMESPACE_NOT_FOUND``.
            AlreadyExistsError: kind ``VIEW_ALREADY_EXISTS``; a table of the name counts too.
            InvalidInputError: kind ``INVALID_NAME``.
        """
        definition = ViewDef(
            id=self._services.ids.uuid4(),
            sql=sql,
            dialect=dialect,
            default_namespace_name=default_namespace,
            properties=properties or {},
        )
        self.bind_view(namespace, name, definition, replace=replace)

    def bind_view(
        self, namespace: str, name: str, definition: ViewDef, *, replace: bool = False
    ) -> None:
        """Create a view from a complete definition; arguments and errors as ``create_view``."""
        target = ObjectKey(ObjectType.VIEW, namespace, name)
        key = self.layout.keys.view_key(namespace, name)
        if replace and self._path(key) is not None:
            self._check_writable(namespace)
            self._set(key, target, definition, TableChange(ActionType.VIEW_REPLACE))
            return
        self._check_new(namespace, name, ObjectType.VIEW)
        self._set(key, target, definition, TableChange(ActionType.VIEW_CREATE))

    def set_view_properties(
        self,
        namespace: str,
        name: str,
        properties: Mapping[str, str] | None = None,
        unset: Iterable[str] = (),
    ) -> None:
        """Set and remove properties of a view.

        Raises:
            NotFoundError: kind ``NAMESPACE_NOT_FOUND`` or ``VIEW_NOT_FOUND``.
        """
        self._check_writable(namespace)
        key, path = self._find_object(namespace, name, ObjectType.VIEW)
        definition = parse_view_definition(self._bytes(path), path)
        _edit(definition.properties, properties, unset)
        change = TableChange(ActionType.VIEW_REPLACE, view_properties_set())
        self._set(key, ObjectKey(ObjectType.VIEW, namespace, name), definition, change)

    def drop_view(self, namespace: str, name: str) -> None:
        """Drop a view.

        Raises:
            NotFoundError: kind ``NAMESPACE_NOT_FOUND`` or ``VIEW_NOT_FOUND``.
        """
        self._check_writable(namespace)
        key, _ = self._find_object(namespace, name, ObjectType.VIEW)
        self._drop_key(key, ObjectKey(ObjectType.VIEW, namespace, name))

    def rename_view(self, namespace: str, name: str, to_namespace: str, to_name: str) -> None:
        """Give a view another name, in the same or another namespace.

        Raises:
            NotFoundError: kind ``NAMESPACE_NOT_FOUND`` or ``VIEW_NOT_FOUND``.
            AlreadyExistsError: kind ``VIEW_ALREADY_EXISTS``.
        """
        self._rename(ObjectType.VIEW, (namespace, name), (to_namespace, to_name))

    # --- parts -----------------------------------------------------------------------------------

    def _check_writable(self, namespace: str) -> None:
        self._check_open()
        if namespace.casefold() == RESERVED_NAMESPACE:
            raise ReadOnlyError(
                f"Namespace {namespace!r} is reserved for the lakehouse's own tables and "
                "procedures. Choose another name.",
                namespace=namespace,
            )

    def _find_namespace(self, namespace: str) -> tuple[str, str]:
        key = self.layout.keys.namespace_key(namespace)
        path = self._path(key)
        if path is None:
            self._note_key(key, ActionType.NAMESPACE_EXISTS)
            raise self._no_namespace(namespace)
        return key, path

    def _find_object(self, namespace: str, name: str, kind: ObjectType) -> tuple[str, str]:
        key = self.layout.keys.key(ObjectKey(kind, namespace, name))
        path = self._path(key)
        if path is None:
            self._note_key(key, EXISTS[kind])
            raise self._no_object(kind.name.lower(), namespace, name, record=True)
        return key, path

    def _check_new(self, namespace: str, name: str, kind: ObjectType) -> str:
        """Check that a table or view may get a name; return its key."""
        self._check_writable(namespace)
        key = self.layout.keys.key(ObjectKey(kind, namespace, name))
        namespace_key, _ = self._find_namespace(namespace)
        is_table = kind is ObjectType.TABLE
        other_kind = ObjectType.VIEW if is_table else ObjectType.TABLE
        other = self._key_if_it_fits(namespace, name, other_kind)
        for each, found in ((key, kind), (other, other_kind)):
            if each is not None and self._path(each) is not None:
                self._note_key(each, EXISTS[found])
                raise AlreadyExistsError(
                    f"{kind.name.capitalize()} {namespace}.{name} cannot be created: a "
                    f"{found.name.lower()} of this name exists. Drop it first, or choose another "
                    "name.",
                    kind=Kind.TABLE_ALREADY_EXISTS if is_table else Kind.VIEW_ALREADY_EXISTS,
                    namespace=namespace,
                    **{kind.name.lower(): name},
                )
        constraints = self._pending.constraints
        constraints.present[namespace_key] = f"namespace {namespace!r} must exist"
        if other is not None:
            constraints.absent[other] = f"{namespace}.{name} cannot be both a table and a view"
        return key

    def _rename(self, kind: ObjectType, old: tuple[str, str], new: tuple[str, str]) -> None:
        self._check_writable(old[0])
        old_key, path = self._find_object(*old, kind)
        new_key = self._check_new(*new, kind)
        old_target, new_target = ObjectKey(kind, *old), ObjectKey(kind, *new)
        data = self._bytes(path)
        is_own = self._base_path(old_key) is None
        if is_own:
            self._pending.move_steps(old_key, new_key, new_target)
        is_new_file = path in self._pending.definitions
        self._pending.write(old_key, old_target, None, self._base_path(old_key))
        self._pending.write(new_key, new_target, path, self._base_path(new_key))
        if is_new_file:
            self._pending.definitions[path] = data
        if is_own:
            return
        is_table = kind is ObjectType.TABLE
        drop = ActionType.TABLE_DROP if is_table else ActionType.VIEW_DROP
        create = ActionType.TABLE_CREATE if is_table else ActionType.VIEW_CREATE
        dropped = TableChange(drop, renamed_to(".".join(new)))
        self._pending.step(old_key, old_target, dropped)
        created = TableChange(create, renamed_from(".".join(old)))
        self._pending.step(new_key, new_target, created)

    def _set(self, key: str, target: ObjectKey, definition: Message, change: TableChange) -> None:
        path = self._new_path(target)
        data = serialise(definition)
        self._pending.write(key, target, path, self._base_path(key))
        self._pending.definitions[path] = data
        self._pending.step(key, target, change)

    def _drop_key(self, key: str, target: ObjectKey) -> None:
        operation = {
            ObjectType.NAMESPACE: ActionType.NAMESPACE_DROP,
            ObjectType.TABLE: ActionType.TABLE_DROP,
            ObjectType.VIEW: ActionType.VIEW_DROP,
        }[target.type]
        detail = b"" if target.type is ObjectType.NAMESPACE else described("DROP")
        self._pending.write(key, target, None, self._base_path(key))
        self._pending.step(key, target, TableChange(operation, detail))

    def _new_path(self, target: ObjectKey) -> str:
        uuid, longest = self._services.ids.uuid4(), self.layout.max_path_bytes
        if target.type is ObjectType.NAMESPACE:
            return namespace_definition_path(target.namespace, uuid, longest)
        make = table_definition_path if target.type is ObjectType.TABLE else view_definition_path
        return make(target.namespace, target.name or "", uuid, longest)


def _edit(
    stored: MutableMapping[str, str], properties: Mapping[str, str] | None, unset: Iterable[str]
) -> list[str]:
    """Change a definition's properties in place; return the names that were removed."""
    removed = [name for name in unset if stored.pop(name, None) is not None]
    stored.update(properties or {})
    return removed
