"""Which objects two versions of a lakehouse do not have in common."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

from trinitylake_spark.tree.diff import KeyDifference, Side, differing_keys
from trinitylake_spark.tree.read import scan

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from trinitylake_spark.format.keys import ObjectKey
    from trinitylake_spark.lakehouse.snapshot import Snapshot
    from trinitylake_spark.tree.store import NodeStore


class Presence(StrEnum):
    """How an object differs."""

    ADDED = "added"
    REMOVED = "removed"
    CHANGED = "changed"


@dataclass(frozen=True, slots=True)
class Difference:
    """One object that is not the same in both versions.

    Args:
        presence: seen from the older to the newer version.
        kind: ``namespace``, ``table`` or ``view``.
        name: ``namespace`` or ``namespace.name``.
    """

    presence: Presence
    kind: str
    name: str


def differences(nodes: NodeStore, old: Snapshot, new: Snapshot) -> list[Difference]:
    """Return the objects that differ between two versions, namespaces first, then by name.

    The cost grows with what changed, not with the size of the lakehouse, unless the sizes of
    names were changed in between.

    Args:
        nodes: reads the nodes of the lakehouse that both versions belong to.
        old: the version to start from.
        new: the version to arrive at.

    Raises:
        NotFoundError, CorruptError, StorageError: a node could not be read.
    """
    if old.layout.keys.sizes == new.layout.keys.sizes:
        sides = [Side(each.root.node, each.layout.order) for each in (old, new)]
        pairs: Iterable[KeyDifference] = differing_keys(nodes, *sides)
        return [_describe(old.layout.keys.decode(pair.key), pair) for pair in pairs]
    return list(_by_name(_objects(nodes, old), _objects(nodes, new)))


def _objects(nodes: NodeStore, snapshot: Snapshot) -> dict[ObjectKey, str]:
    pairs = scan(nodes, snapshot.root.node, order=snapshot.layout.order)
    return {snapshot.layout.keys.decode(key): path for key, path in pairs}


def _by_name(old: dict[ObjectKey, str], new: dict[ObjectKey, str]) -> Iterator[Difference]:
    for key in sorted(old.keys() | new.keys(), key=_order):
        pair = KeyDifference("", old.get(key), new.get(key))
        if pair.old != pair.new:
            yield _describe(key, pair)


def _order(key: ObjectKey) -> tuple[int, str, str]:
    return key.type, key.namespace, key.name or ""


def _describe(key: ObjectKey, pair: KeyDifference) -> Difference:
    if pair.old is None:
        presence = Presence.ADDED
    elif pair.new is None:
        presence = Presence.REMOVED
    else:
        presence = Presence.CHANGED
    name = key.namespace if key.name is None else f"{key.namespace}.{key.name}"
    return Difference(presence, key.type.name.lower(), name)
