"""Is a lakehouse sound: trees, definitions, names, chain of versions (format.md §3 to §8)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from trinitylake_spark.errors import Kind, TrinityLakeError
from trinitylake_spark.format.definitions import (
    parse_namespace_definition,
    parse_table_definition,
    parse_view_definition,
)
from trinitylake_spark.format.keys import ObjectKey, ObjectType
from trinitylake_spark.format.paths import root_path
from trinitylake_spark.lakehouse.history import roots_down
from trinitylake_spark.tree.check import Problem, check_tree
from trinitylake_spark.tree.read import scan

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from trinitylake_spark.commit.versions import Root
    from trinitylake_spark.lakehouse.definitions import Layout
    from trinitylake_spark.lakehouse.services import Services

_PARSERS = {
    ObjectType.NAMESPACE: parse_namespace_definition,
    ObjectType.TABLE: parse_table_definition,
    ObjectType.VIEW: parse_view_definition,
}


@dataclass(frozen=True, slots=True)
class CheckReport:
    """What a check found.

    Args:
        problems: each broken rule; empty if the lakehouse is sound.
        versions: how many versions were looked at.
        objects: how many definitions were read.
    """

    problems: list[Problem]
    versions: int
    objects: int


class LakehouseCheck:
    """One run of the check.

    Args:
        services: of the open lakehouse.
        deep: look at the content of every version kept, not only of the newest.
    """

    def __init__(self, services: Services, *, deep: bool = False) -> None:
        self._services = services
        self._deep = deep
        self._definitions_read: set[str] = set()

    def run(self) -> CheckReport:
        """Check everything.

        Raises:
            NotFoundError: kind ``LAKEHOUSE_NOT_FOUND``.
            StorageError: the storage failed, so nothing can be said.
        """
        latest = self._services.finder.latest()
        self._services.finder.floor()
        problems: list[Problem] = []
        versions = 0
        newer: Root | None = None
        for root in roots_down(self._services.finder, latest):
            versions += 1
            if newer is not None:
                problems += self._chain(root, newer)
            if self._deep or root is latest:
                problems += self._content(root)
            newer = root
        return CheckReport(problems, versions, len(self._definitions_read))

    def _chain(self, root: Root, newer: Root) -> Iterator[Problem]:
        path = root_path(newer.version)
        if newer.info.previous_root != root_path(root.version):
            rule = "§3.2: previous_root names the version before"
            yield Problem(path, rule, str(newer.info.previous_root))
        if newer.info.created_at_millis <= root.info.created_at_millis:
            found = f"{newer.info.created_at_millis} after {root.info.created_at_millis}"
            yield Problem(path, "§8.1: stamps rise strictly", found)

    def _content(self, root: Root) -> Iterator[Problem]:
        try:
            layout = self._services.layout(root)
        except TrinityLakeError as error:
            yield _problem(root_path(root.version), error)
            return
        yield from check_tree(
            self._services.nodes, root.node, layout.order, path=root_path(root.version)
        )
        try:
            nodes = self._services.nodes
            pairs = list(scan(nodes, root.node, order=layout.order))
        except TrinityLakeError as error:
            yield _problem(root_path(root.version), error)
            return
        yield from self._objects(pairs, layout, root_path(root.version))

    def _objects(
        self, pairs: Iterable[tuple[str, str]], layout: Layout, root: str
    ) -> Iterator[Problem]:
        """Check keys and definitions; pairs come namespaces first, then tables, then views."""
        namespaces: set[str] = set()
        tables: set[tuple[str, str | None]] = set()
        for key, path in pairs:
            try:
                target = layout.keys.decode(key)
                self._read(path, target)
            except TrinityLakeError as error:
                yield _problem(path, error)
                continue
            name = f"{target.namespace}.{target.name}"
            if target.type is ObjectType.NAMESPACE:
                namespaces.add(target.namespace)
                continue
            if target.namespace not in namespaces:
                yield Problem(root, "§6.2: the namespace of an object exists", name)
            if target.type is ObjectType.TABLE:
                tables.add((target.namespace, target.name))
            elif (target.namespace, target.name) in tables:
                yield Problem(root, "§6.2: a table and a view never share a name", name)

    def _read(self, path: str, target: ObjectKey) -> None:
        if path not in self._definitions_read:
            _PARSERS[target.type](self._services.definitions.read(path), path)
            self._definitions_read.add(path)


def _problem(path: str, error: TrinityLakeError) -> Problem:
    if error.kind is Kind.STORAGE:
        raise error
    return Problem(
        str(error.fields.get("path") or path),
        str(error.fields.get("rule", error.kind)),
        str(error.fields.get("found", error.message)),
    )
