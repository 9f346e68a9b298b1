"""A reader of the lakehouse tree written from format.md alone, as a stranger would write it.

It imports nothing of the package: only pyarrow for node files. It is slow and strict on purpose.
Tests compare what it sees with what the package sees and with what was written.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import pairwise
from typing import TYPE_CHECKING

import pyarrow as pa

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

DEFAULT_ORDER = 128
DELETED = None


class BrokenRuleError(Exception):
    """A file breaks a rule of format.md; the message names the section."""


def rule(section: str, holds: bool, found: object = "") -> None:
    """Fail unless a rule holds."""
    if not holds:
        raise BrokenRuleError(f"format.md §{section}: {found}")


def root_name(version: int) -> str:
    """§2.2: an underscore, 32 binary digits of the version, reversed, and the suffix."""
    digits = f"{version:032b}"
    return "_" + "".join(reversed(digits)) + ".ipc"


@dataclass
class Row:
    """One row of the node key table."""

    key: str | None
    value: str | None
    pnode: str | None


@dataclass
class Node:
    """One node file, taken apart by §3."""

    path: str
    system: dict[str, str] = field(default_factory=dict)
    rows: list[Row] = field(default_factory=list)
    messages: list[tuple[str, str | None, str]] = field(default_factory=list)

    @property
    def leaf(self) -> bool:
        """§3.3: all pnode null."""
        return all(row.pnode is None for row in self.rows)

    @property
    def pairs(self) -> list[Row]:
        """Rows 1..k."""
        return [row for row in self.rows if row.key is not None]

    @property
    def children(self) -> list[str]:
        """Children from left to right."""
        return [row.pnode for row in self.rows if row.pnode is not None]


def read_node(path: str, data: bytes, order: Callable[[dict[str, str]], int] | int) -> Node:
    """§3.1-3.4: take a node file apart.

    Args:
        path: where it was found.
        data: the file.
        order: N, or how to find it from the system rows of a root.
    """
    rule("3.1", data[:6] == b"ARROW1", path)
    with pa.ipc.open_file(pa.BufferReader(data)) as reader:
        rule("3.1", reader.num_record_batches == 1, "one record batch")
        rule("3.1", reader.schema.names == ["key", "value", "pnode", "txn"], reader.schema)
        rule("3.1", all(f.type == pa.string() and f.nullable for f in reader.schema), "utf8")
        rows = reader.read_all().to_pylist()
    node = Node(path)
    at = 0
    while rows[at]["key"] is not None or rows[at]["value"] is not None:
        row = rows[at]
        rule("3.1", row["key"] is not None and row["value"] is not None, row)
        rule("3.1", row["pnode"] is None and row["txn"] is None, row)
        rule("3.2", row["key"] not in node.system, row)
        node.system[row["key"]] = row["value"]
        at += 1
    n = order if isinstance(order, int) else order(node.system)
    table, buffer = rows[at : at + n], rows[at + n :]
    rule("3.3", len(table) == n, f"{len(table)} of {n} table rows")
    _read_table(node, table)
    for row in buffer:
        rule("3.4", row["key"] is not None and row["txn"] is not None, row)
        rule("3.4", row["pnode"] is None, row)
        node.messages.append((row["key"], row["value"], row["txn"]))
    return node


def _read_table(node: Node, table: list[dict[str, str | None]]) -> None:
    k = int(node.system["n_keys"])
    rule("3.2", node.system["n_keys"] == str(k), node.system["n_keys"])
    rule("3.2", node.system["created_at_millis"].isdigit(), node.system)
    rule("3.3", 0 <= k < len(table), f"{k} keys")
    rule("3.3", table[0]["key"] is None and table[0]["value"] is None, table[0])
    for i, row in enumerate(table):
        rule("3.3", row["txn"] is None, row)
        if i > k:
            rule("3.3", set(row.values()) == {None}, row)
        elif i:
            rule("3.3", row["key"] is not None and row["value"] is not None, row)
    node.rows = [Row(row["key"], row["value"], row["pnode"]) for row in table[: k + 1]]
    with_child = sum(row.pnode is not None for row in node.rows)
    rule("3.3", with_child in {0, k + 1}, f"{with_child} of {k + 1} rows with pnode")
    keys = [row.key.encode() for row in node.pairs if row.key is not None]
    rule("3.3", all(a < b for a, b in pairwise(keys)), keys)


def definition_order(definition: bytes) -> int:
    """§5.1: field 3 of LakehouseDef, by the protobuf wire format."""
    order, at = DEFAULT_ORDER, 0
    while at < len(definition):
        tag, at = _varint(definition, at)
        wire = tag & 7
        if wire == 0:
            number, at = _varint(definition, at)
            if tag >> 3 == 3:
                order = number
        elif wire == 2:
            size, at = _varint(definition, at)
            at += size
        else:
            at += 8 if wire == 1 else 4
    return order


def _varint(data: bytes, at: int) -> tuple[int, int]:
    number = shift = 0
    while True:
        byte = data[at]
        number |= (byte & 0x7F) << shift
        shift += 7
        at += 1
        if byte < 0x80:
            return number, at


class IndependentReader:
    """Reads one version of a lakehouse.

    Args:
        read: returns the bytes of a path; raises for a missing one.
        version: which root.
        order: N, if the test has no lakehouse definition.
    """

    def __init__(
        self, read: Callable[[str], bytes], version: int, order: int | None = None
    ) -> None:
        self._read = read
        self.order = order or 0
        name = root_name(version)
        self.root = read_node(name, read(name), order or self._order_of)
        self.order = self.order or self._order_of(self.root.system)

    def _order_of(self, system: dict[str, str]) -> int:
        return definition_order(self._read(system["lakehouse_def"]))

    def node(self, path: str) -> Node:
        """Return a non-root node."""
        rule("2.1", not path.startswith("/") and ".." not in path.split("/"), path)
        return read_node(path, self._read(path), self.order)

    def get(self, key: str) -> str | None:
        """§3.4 Lookup: buffer bottom-up, then table, else descend; the first hit decides."""
        node = self.root
        while True:
            for message_key, value, _ in reversed(node.messages):
                if message_key == key:
                    return value
            below = node.rows[0].pnode
            for row in node.pairs:
                assert row.key is not None
                if row.key == key:
                    return row.value
                if row.key.encode() < key.encode():
                    below = row.pnode
            if below is None:
                return None
            node = self.node(below)

    def content(self) -> dict[str, str]:
        """Everything that is there: tables from the leaves up, each node's messages on top."""
        found = self._content(self.root)
        return {key: value for key, value in sorted(found.items()) if value is not DELETED}

    def _content(self, node: Node) -> dict[str, str | None]:
        found: dict[str, str | None] = {}
        for path in node.children:
            found.update(self._content(self.node(path)))
        found.update({row.key: row.value for row in node.pairs if row.key is not None})
        found.update({key: value for key, value, _ in node.messages})
        return found

    def nodes(self) -> Iterator[tuple[Node, int]]:
        """All nodes with their depth, root first."""
        queue = [(self.root, 0)]
        while queue:
            node, depth = queue.pop(0)
            yield node, depth
            queue += [(self.node(path), depth + 1) for path in node.children]

    def check(self) -> None:
        """§3.3, §3.5: the invariants that need more than one file."""
        newest = self.root.messages[-1][2] if self.root.messages else None
        depths, paths = set(), []
        for node, depth in self.nodes():
            k, below = len(node.pairs), len(node.children)
            rule("3.3", k <= self.order - 1, node.path)
            rule("3.3", below in {0, k + 1}, node.path)
            if node.leaf:
                depths.add(depth)
            if depth == 0:
                rule("3.3", below != 1, "a root with one child")
                continue
            paths.append(node.path)
            rule("3.3", node.leaf or below >= -(-self.order // 2), f"{node.path}: {below}")
            rule("3.5", not (node.leaf and node.messages), f"{node.path}: messages in a leaf")
            rule("3.5", newest not in {txn for *_, txn in node.messages}, f"{node.path}: {newest}")
        rule("3.3", len(depths) == 1, f"leaves at depths {depths}")
        rule("3.3", len(paths) == len(set(paths)), "a node has one parent")
        self._check_between(self.root, b"", None)

    def _check_between(self, node: Node, low: bytes, high: bytes | None) -> None:
        keys = [row.key.encode() for row in node.pairs if row.key is not None]
        for key in [*keys, *(key.encode() for key, *_ in node.messages)]:
            rule("3.3", low < key and (high is None or key < high), f"{node.path}: {key!r}")
        bounds = [low, *keys, high]
        for i, path in enumerate(node.children):
            self._check_between(self.node(path), bounds[i] or b"", bounds[i + 1])
