"""Files that somebody damaged or planted: a typed error that names file and rule, nothing written.

What single files can have is in ``tests/unit/format``; here a lakehouse meets them in use.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.support.lakes import memory, new_lake, open_lake
from tests.support.list_table import append
from trinitylake_spark.errors import CorruptError
from trinitylake_spark.format.nodefile import decode_node, encode_node
from trinitylake_spark.format.paths import root_path
from trinitylake_spark.testing.counting import CountingStorage

if TYPE_CHECKING:
    from collections.abc import Callable

    from trinitylake_spark.lakehouse.lakehouse import Lakehouse
    from trinitylake_spark.storage.memory import MemoryStorage

ORDER = 4
VERSION = 3


def _sound(name: str) -> MemoryStorage:
    """A lakehouse whose tree has several levels, and nothing pending but the last commit."""
    storage = memory(name)
    tables = [f"t{number:02}" for number in range(40)]
    lake = new_lake(storage, tables=tables, definition={"order": ORDER})
    with lake.transaction() as tx:
        tx.create_namespace("later")
    lake.compact_tree()
    assert lake.version == VERSION
    return storage


def _damage(storage: MemoryStorage, path: str, change: Callable[[bytes], bytes]) -> str:
    storage.write(path, change(storage.read(path)))
    return path


def _flipped(data: bytes) -> bytes:
    """Turn a bit of the first column's length, which no checksum guards."""
    at = data.index(b"n_keys")
    return data[:at] + bytes([data[at] ^ 0x80]) + data[at + 1 :]


def _children(storage: MemoryStorage) -> list[str]:
    return decode_node(storage.read(root_path(VERSION)), "root").children


def _led_away(storage: MemoryStorage) -> str:
    """Let the root name a definition outside of the lakehouse."""
    path = root_path(VERSION)
    node = decode_node(storage.read(path), path)
    node.values[0] = "../elsewhere/secret.binpb"
    storage.write(path, encode_node(node, ORDER))
    return path


def _table(storage: MemoryStorage) -> str:
    return open_lake(storage).snapshot().table("s", "t00").path


NODES: dict[str, Callable[[MemoryStorage], str]] = {
    "a truncated root": lambda s: _damage(s, root_path(VERSION), lambda d: d[:-100]),
    "a root that is no Arrow file": lambda s: _damage(s, root_path(VERSION), lambda _: b"{}"),
    "a root without bytes": lambda s: _damage(s, root_path(VERSION), lambda _: b""),
    "a root with a flipped bit": lambda s: _damage(s, root_path(VERSION), _flipped),
    "a truncated node": lambda s: _damage(s, _children(s)[0], lambda d: d[: len(d) // 2]),
    "a node with a flipped bit": lambda s: _damage(s, _children(s)[0], _flipped),
    "a node in another's place": lambda s: _damage(
        s, _children(s)[0], lambda _: s.read(_children(s)[1])
    ),
    "a node of another order": lambda s: _damage(
        s, _children(s)[0], lambda d: encode_node(decode_node(d, "node"), ORDER + 1)
    ),
    "a root that leads away": _led_away,
    "a definition that is none": lambda s: _damage(s, _table(s), lambda _: b"\xff\xff\xff"),
    "a truncated definition": lambda s: _damage(s, _table(s), lambda d: d[:-1]),
}


def _read_all(lake: Lakehouse) -> None:
    snapshot = lake.snapshot()
    for name in snapshot.tables("s"):
        snapshot.table("s", name)


def _write(lake: Lakehouse) -> None:
    with lake.transaction() as tx:
        append(tx, "t00", 1)


@pytest.mark.parametrize("use", [_read_all, _write])
@pytest.mark.parametrize("kind", NODES)
def test_damage_is_named_and_nothing_is_written(
    kind: str, use: Callable[[Lakehouse], None]
) -> None:
    """Whoever meets it gets CORRUPT with the file and the rule; the storage stays as it is."""
    storage = _sound("damage")
    path = NODES[kind](storage)
    before = {each: storage.read(each) for each in storage.list()}
    watched = CountingStorage(storage)
    with pytest.raises(CorruptError) as caught:
        use(open_lake(watched))
    assert caught.value.fields["path"] == path
    assert str(caught.value.fields["rule"]).startswith("format.md §")
    assert {each: storage.read(each) for each in storage.list()} == before
    assert watched.count("create") == watched.count("write") == 0
    assert watched.count() <= 100


@pytest.mark.parametrize("kind", NODES)
def test_the_check_finds_it(kind: str) -> None:
    """The check reports the file, or the error says that nothing can be checked."""
    storage = _sound("checked")
    path = NODES[kind](storage)
    lake = open_lake(storage)
    if path == root_path(VERSION):
        with pytest.raises(CorruptError) as caught:
            lake.check()
        assert caught.value.fields["path"] == path
    else:
        assert path in {problem.path for problem in lake.check().problems}
