"""One node as bytes: system rows, node key table, write buffer (format.md §3)."""

from __future__ import annotations

import operator
import re
from dataclasses import dataclass, field
from itertools import islice
from typing import TYPE_CHECKING, NamedTuple, NoReturn, cast

import pyarrow as pa

from trinitylake_spark.errors import CorruptError
from trinitylake_spark.format.arrow import read_columns, write_columns
from trinitylake_spark.format.paths import check_relative_path
from trinitylake_spark.format.system import (
    CREATED_AT,
    LAKEHOUSE_DEF,
    N_KEYS,
    is_known_row,
    parse_number,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from trinitylake_spark.format.arrow import Column

COLUMNS = ("key", "value", "pnode", "txn")
MIN_ORDER = 3

_SCHEMA = pa.schema([pa.field(name, pa.utf8()) for name in COLUMNS])
# Every path that breaks a rule matches this once "/" stands before and after it, or holds a NUL.
_SUSPECT = re.compile("/[/.]")


class Message(NamedTuple):
    """One row of a write buffer: ``txn`` sets ``key`` to ``value``, or deletes it (None)."""

    key: str
    value: str | None
    txn: str


@dataclass(slots=True)
class NodeFile:
    """A node in memory. Treat it as immutable once built: caches share it."""

    system: dict[str, str]
    """System rows, without ``n_keys``, which follows from ``keys``."""
    keys: list[str]
    """Strictly ascending (byte order of UTF-8, which is the order of ``str``)."""
    values: list[str]
    """Path of the object definition of each key."""
    children: list[str]
    """Empty in a leaf, else one path more than keys."""
    buffer: list[Message] = field(default_factory=list)
    """Pending messages, oldest first."""
    table_rows: int | None = field(default=None, compare=False)
    """N as found in the file that the node was read from; None for a new node."""
    _newest: dict[str, str | None] | None = field(
        default=None, init=False, compare=False, repr=False
    )

    @property
    def newest(self) -> dict[str, str | None]:
        """Value (None = deleted) of each key in the buffer; the lowest row wins. Built once."""
        if self._newest is None:
            self._newest = {key: value for key, value, _ in self.buffer}
        return self._newest

    @property
    def is_leaf(self) -> bool:
        """Whether the node has no children."""
        return not self.children


def encode_node(node: NodeFile, order: int) -> bytes:
    """Return the node's file.

    Args:
        node: sound by the rules of format.md §3; the order of its keys is not checked again.
        order: N, the number of rows of the node key table.

    Raises:
        ValueError: the parts of the node do not fit each other or the order.
    """
    k = len(node.keys)
    if order < MIN_ORDER or k >= order:
        raise ValueError(f"{k} keys do not fit a node of order {order}")
    if len(node.values) != k or len(node.children) not in (0, k + 1):
        raise ValueError(f"{k} keys, {len(node.values)} values, {len(node.children)} children")
    system = {**node.system, N_KEYS: str(k)}
    filler = _nulls(order - 1 - k)
    keys, values, txns = zip(*node.buffer, strict=True) if node.buffer else ((), (), ())
    columns: list[Column] = [
        [*system, None, *node.keys, *filler, *keys],
        [*system.values(), None, *node.values, *filler, *values],
        [
            *_nulls(len(system)),
            *(node.children or _nulls(k + 1)),
            *filler,
            *_nulls(len(node.buffer)),
        ],
        [*_nulls(len(system) + order), *txns],
    ]
    return write_columns(columns, _SCHEMA)


def decode_node(data: bytes, path: str, order: int | None = None) -> NodeFile:
    """Read a node's file and check everything that one file can show (format.md §3).

    Args:
        data: the whole file.
        path: its path, for errors.
        order: N of the definition in use. A root is read without, because it is the root that
            names the definition; ``table_rows`` of the result is to be compared with it then.

    Raises:
        CorruptError: with fields ``path``, ``rule`` and ``found``.
    """
    columns = read_columns(data, COLUMNS, path)
    key, value, pnode, txn = columns
    start = _table_start(key, value, path)
    system = _system_rows(key, value, start, path)
    k = parse_number(system.pop(N_KEYS), path, N_KEYS)
    end = _buffer_start(txn, start)
    _check_table_rows(end - start, order, path)
    if k >= end - start:
        _corrupt(path, "§3.3", "n_keys is below the number of table rows", f"{k} of {end - start}")
    filler = start + 1 + k
    if any(column[filler:end].count(None) != end - filler for column in columns):
        _corrupt(path, "§3.3", "table rows after n_keys are null", f"{end - filler} such rows")
    node = NodeFile(
        system,
        _all_text(key[start + 1 : filler], "keys", path),
        _all_text(value[start + 1 : filler], "values", path),
        _children(pnode[start:filler], path),
        _messages(columns, end, path),
        end - start,
    )
    _check_node(node, path)
    return node


def _nulls(count: int) -> Column:
    return [None] * count


def _table_start(key: Column, value: Column, path: str) -> int:
    """Find the first row whose key and value are null."""
    at = -1
    try:
        while True:
            at = key.index(None, at + 1)
            if value[at] is None:
                return at
    except ValueError:
        _corrupt(path, "§3.3", "the table starts with a null key and value", "no such row")


def _buffer_start(txn: Column, start: int) -> int:
    """Find the first row after the table's first one that has a txn."""
    for at in range(start + 1, len(txn)):
        if txn[at] is not None:
            return at
    return len(txn)


def _system_rows(key: Column, value: Column, start: int, path: str) -> dict[str, str]:
    keys = _all_text(key[:start], "keys of system rows", path)
    values = _all_text(value[:start], "values of system rows", path)
    system = dict(zip(keys, values, strict=True))
    if len(system) != start:
        double = next((k for k in system if keys.count(k) > 1 and is_known_row(k)), None)
        if double is not None:
            _corrupt(path, "§3.2", "a known system row occurs once", f"{double} twice")
    for row in (CREATED_AT, N_KEYS):
        if row not in system:
            _corrupt(path, "§3.2", f"every node has the system row {row}", "no such row")
    parse_number(system[CREATED_AT], path, CREATED_AT)
    return system


def _check_table_rows(found: int, order: int | None, path: str) -> None:
    if order is not None and found != order:
        _corrupt(path, "§3.3", f"the table has exactly N = {order} rows", f"{found} rows")


def _all_text(column: Column, what: str, path: str) -> list[str]:
    if None in column:
        _corrupt(path, "§3", f"{what} are not null", f"null at {column.index(None)}")
    return cast("list[str]", column)


def _children(pnodes: Column, path: str) -> list[str]:
    nulls = pnodes.count(None)
    if nulls == len(pnodes):
        return []
    if nulls:
        _corrupt(path, "§3.3", "all rows have a pnode, or none", f"{nulls} of {len(pnodes)} null")
    return cast("list[str]", pnodes)


def _messages(columns: Sequence[Column], start: int, path: str) -> list[Message]:
    key, value, pnode, txn = (column[start:] for column in columns)
    if pnode.count(None) != len(pnode):
        _corrupt(path, "§3.4", "a message's pnode is null", "a path")
    keys = _all_text(key, "keys of messages", path)
    txns = _all_text(txn, "txns of messages", path)
    return list(map(Message._make, zip(keys, value, txns, strict=True)))


def _check_node(node: NodeFile, path: str) -> None:
    keys = node.keys
    if not all(map(operator.lt, keys, islice(keys, 1, None))):
        at = next(i for i in range(1, len(keys)) if keys[i - 1] >= keys[i])
        _corrupt(path, "§3.3", "keys ascend strictly", f"{keys[at - 1]!r} before {keys[at]!r}")
    if node.buffer and node.is_leaf and LAKEHOUSE_DEF not in node.system:
        _corrupt(path, "§3.5", "a leaf's buffer is empty", f"{len(node.buffer)} messages")
    paths = [*node.values, *node.children, *[m.value for m in node.buffer if m.value is not None]]
    text = "/".join(["", *paths, ""])
    if paths and (_SUSPECT.search(text) or "\0" in text):
        for found in paths:
            check_relative_path(found, file=path)


def _corrupt(path: str, section: str, rule: str, found: str) -> NoReturn:
    raise CorruptError(
        f"{path} is corrupt: format.md {section} says that {rule}, found {found}.",
        path=path,
        rule=f"format.md {section}: {rule}",
        found=found,
    )
