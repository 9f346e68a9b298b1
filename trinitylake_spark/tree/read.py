"""Lookup, range scan and walk over one root (format.md §3.4).

Every step down checks that a child's keys lie between the pivots around it. A damaged or hostile
tree (a cycle, a node in two places) therefore ends in an error after as many steps as it has
keys, never in an endless loop.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from typing import TYPE_CHECKING, NamedTuple

from trinitylake_spark.errors import CorruptError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from trinitylake_spark.format.nodefile import NodeFile
    from trinitylake_spark.tree.store import NodeStore

_READ_AHEAD = 16
"""Children that a scan or walk reads at once."""


class Bounds(NamedTuple):
    """The keys that a subtree may hold: above ``low`` and below ``high``; None = no bound."""

    low: str | None = None
    high: str | None = None

    def child(self, node: NodeFile, i: int) -> Bounds:
        """Return the bounds of child ``i`` of a node that has these bounds."""
        return Bounds(
            node.keys[i - 1] if i else self.low,
            node.keys[i] if i < len(node.keys) else self.high,
        )

    def hold(self, first: str, last: str) -> bool:
        """Tell whether all keys from ``first`` to ``last`` lie inside."""
        return (self.low is None or self.low < first) and (self.high is None or last < self.high)


def newest_txn(root: NodeFile) -> str | None:
    """Return L, the txn of the newest commit that has messages, or None (format.md §3.5).

    Its messages are the bottom rows of the root's buffer, because no writer may flush them.
    """
    return root.buffer[-1].txn if root.buffer else None


def lookup(store: NodeStore, root: NodeFile, key: str, order: int) -> str | None:
    """Return the value of ``key``, or None if the key is absent.

    Args:
        store: reads the nodes below the root.
        root: the version to look in.
        key: an encoded key (format.md §4).
        order: N of the root's definition.

    Raises:
        NotFoundError, CorruptError, StorageError: a node could not be read.
    """
    node, bounds = root, Bounds()
    while True:
        if key in node.newest:
            return node.newest[key]
        i = bisect_left(node.keys, key)
        if i < len(node.keys) and node.keys[i] == key:
            return node.values[i]
        if node.is_leaf:
            return None
        path = node.children[i]
        bounds = bounds.child(node, i)
        node = store.get(path, order)
        check_bounds(node, path, bounds)


def scan(
    store: NodeStore, root: NodeFile, low: str = "", high: str | None = None, *, order: int
) -> Iterator[tuple[str, str]]:
    """Yield the pairs with ``low`` ≤ key < ``high`` in ascending order, pending messages applied.

    Args:
        store: reads the nodes below the root, up to 16 at once.
        root: the version to look in.
        low: first key wanted.
        high: first key no longer wanted, or None for no end.
        order: N of the root's definition.

    Raises:
        NotFoundError, CorruptError, StorageError: a node could not be read.
    """
    if high is None or low < high:
        yield from _scan(store, root, _Range(low, high, order), {}, Bounds())


class _Range(NamedTuple):
    low: str
    high: str | None
    order: int

    def select(self, pending: Mapping[str, str | None]) -> dict[str, str | None]:
        """Return the messages in the range."""
        low, high = self.low, self.high
        if high is None:
            return {key: value for key, value in pending.items() if low <= key}
        return {key: value for key, value in pending.items() if low <= key < high}


def _scan(
    store: NodeStore,
    node: NodeFile,
    wanted: _Range,
    above: Mapping[str, str | None],
    bounds: Bounds,
) -> Iterator[tuple[str, str]]:
    """Walk one subtree; ``above`` holds newer messages for keys inside its bounds."""
    pending = wanted.select(node.newest)
    pending.update(above)
    first = bisect_left(node.keys, wanted.low)
    last = len(node.keys) if wanted.high is None else bisect_left(node.keys, wanted.high)
    if node.is_leaf:
        found: dict[str, str | None] = dict(
            zip(node.keys[first:last], node.values[first:last], strict=True)
        )
        yield from _merged(found, pending)
        return
    order = sorted(pending)
    for start in range(first, last + 1, _READ_AHEAD):
        stop = min(start + _READ_AHEAD, last + 1)
        paths = node.children[start:stop]
        for i, child in enumerate(store.get_many(paths, wanted.order), start):
            inside = bounds.child(node, i)
            check_bounds(child, node.children[i], inside)
            yield from _scan(store, child, wanted, _between(order, pending, inside), inside)
            if i < last:
                value = pending.get(node.keys[i], node.values[i])
                if value is not None:
                    yield node.keys[i], value


def _merged(
    found: dict[str, str | None], pending: Mapping[str, str | None]
) -> Iterator[tuple[str, str]]:
    if pending:
        found.update(pending)
        pairs = sorted(found.items(), key=lambda pair: pair[0])
    else:
        pairs = list(found.items())
    for key, value in pairs:
        if value is not None:
            yield key, value


def _between(
    order: list[str], pending: Mapping[str, str | None], bounds: Bounds
) -> dict[str, str | None]:
    """Select the messages strictly inside the bounds; ``order`` holds the sorted keys."""
    first = 0 if bounds.low is None else bisect_right(order, bounds.low)
    last = len(order) if bounds.high is None else bisect_left(order, bounds.high)
    return {key: pending[key] for key in order[first:last]}


class Visit(NamedTuple):
    """A non-root node met by ``walk``; ``depth`` is 1 for a child of the root."""

    path: str
    depth: int
    node: NodeFile


def walk(
    store: NodeStore, root: NodeFile, *, order: int, seen: set[str] | None = None
) -> Iterator[Visit]:
    """Yield every non-root node that the root reaches, parents before children, left to right.

    Args:
        store: reads the nodes, up to 16 at once.
        root: where to start.
        order: N of the root's definition.
        seen: paths to leave out together with all below them; every path met is added. Passing
            one set for many roots visits what they share once.

    Raises:
        NotFoundError, CorruptError, StorageError: a node could not be read.
    """
    yield from _walk(store, root, order, set() if seen is None else seen, 1)


def _walk(
    store: NodeStore, node: NodeFile, order: int, seen: set[str], depth: int
) -> Iterator[Visit]:
    fresh = [path for path in dict.fromkeys(node.children) if path not in seen]
    seen.update(fresh)
    for start in range(0, len(fresh), _READ_AHEAD):
        paths = fresh[start : start + _READ_AHEAD]
        for path, child in zip(paths, store.get_many(paths, order), strict=True):
            yield Visit(path, depth, child)
            yield from _walk(store, child, order, seen, depth + 1)


def check_bounds(node: NodeFile, path: str, bounds: Bounds) -> None:
    """Check that a non-root node's keys lie between the pivots around it.

    Raises:
        CorruptError: they do not, or an inner node has no key.
    """
    if node.keys:
        if not bounds.hold(node.keys[0], node.keys[-1]):
            raise corrupt_shape(
                path, "a child's keys lie between the pivots around it", node.keys[0]
            )
    elif node.children:
        raise corrupt_shape(path, "an inner node that is not the root has keys", "none")


def corrupt_shape(path: str, rule: str, found: str) -> CorruptError:
    """Build the error of a node that does not fit its place in the tree.

    Args:
        path: the node's file.
        rule: what format.md §3.3 says, as a sentence.
        found: what is the case instead.
    """
    return CorruptError(
        f"{path} is corrupt: format.md §3.3 says that {rule}, found {found!r}.",
        path=path,
        rule=f"format.md §3.3: {rule}",
        found=found,
    )
