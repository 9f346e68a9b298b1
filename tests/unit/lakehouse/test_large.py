"""What lookups cost among a million tables (format.md §3.4); all in memory."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from tests.support.lakes import memory, new_lake, open_lake
from trinitylake_spark.format.definitions import serialise
from trinitylake_spark.format.definitions_pb2 import ActionType, TableDef
from trinitylake_spark.format.nodefile import NodeFile, encode_node
from trinitylake_spark.format.paths import FLOOR_PATH, HINT_PATH, root_path
from trinitylake_spark.lakehouse.formats import TableChange
from trinitylake_spark.testing.counting import Call, CountingStorage
from trinitylake_spark.tree.rebuild import _build
from trinitylake_spark.tree.work import Workspace

if TYPE_CHECKING:
    from collections.abc import Iterator

    from trinitylake_spark.format.keys import KeyCodec
    from trinitylake_spark.lakehouse.lakehouse import Lakehouse

TABLES = 1_000_000
TABLES_IN_NAMESPACE = 100
DEFINITION = "table-shared-by-all.binpb"

pytestmark = pytest.mark.slow


def _place(number: int) -> tuple[str, str]:
    namespace, name = divmod(number, TABLES_IN_NAMESPACE)
    return f"n{namespace:05}", f"t{name:02}"


def _pairs(keys: KeyCodec) -> Iterator[tuple[str, str]]:
    """All names in the order of keys, bound to one file: a definition each would only cost time."""
    for number in range(TABLES // TABLES_IN_NAMESPACE):
        yield keys.namespace_key(f"n{number:05}"), DEFINITION
    for number in range(TABLES):
        yield keys.table_key(*_place(number)), DEFINITION


def _fill(lake: Lakehouse) -> None:
    """Write version 1 with a million tables, level by level."""
    services, base = lake.services, lake.snapshot()
    order = base.layout.order

    def emit(nodes: dict[str, NodeFile]) -> None:
        """Write finished nodes."""
        services.storage.create_all({path: encode_node(n, order) for path, n in nodes.items()})

    services.storage.create(DEFINITION, serialise(TableDef(table_format="LIST")))
    workspace = Workspace(services.nodes, order, services.ids, services.clock, emit)
    count = TABLES + TABLES // TABLES_IN_NAMESPACE
    top = _build(workspace, order, _pairs(base.layout.keys), count)
    children = [workspace.freeze(child) for child in top.children]
    emit(workspace.nodes)
    info = replace(
        base.root.info, version=1, previous_root=root_path(0), txn_id=services.ids.uuid4()
    )
    root = NodeFile(info.to_rows(), top.keys, top.values, children)
    services.storage.create(root_path(1), encode_node(root, order))
    services.storage.write(HINT_PATH, b"1")


@pytest.fixture(scope="module")
def tree() -> Iterator[CountingStorage]:
    """The storage of a lakehouse of a million tables."""
    storage = memory("a-million")
    _fill(new_lake(storage))
    yield CountingStorage(storage)
    storage.clear()


@pytest.mark.parametrize("number", [0, 499_950, 777_777, TABLES - 1])
def test_a_cold_lookup_is_three_reads_and_a_warm_one_none(
    tree: CountingStorage, number: int
) -> None:
    """Beyond the root: a node a level and the definition; afterwards no call at all."""
    namespace, name = _place(number)
    snapshot = open_lake(tree).snapshot()
    tree.clear()
    assert snapshot.table(namespace, name).definition.table_format == "LIST"
    assert tree.count() == tree.count("read") <= 3
    tree.clear()
    assert snapshot.table(namespace, name).definition.table_format == "LIST"
    assert tree.calls == []


def test_an_absent_table_costs_no_more(tree: CountingStorage) -> None:
    """A name that is not there is known to be absent after a node a level."""
    snapshot = open_lake(tree).snapshot()
    tree.clear()
    assert not snapshot.has_table("n00123", "absent")
    assert tree.count() == tree.count("read") <= 2


def test_a_namespace_among_many_costs_its_own_nodes(tree: CountingStorage) -> None:
    """Listing 100 tables reads the few nodes they are in."""
    snapshot = open_lake(tree).snapshot()
    tree.clear()
    assert len(snapshot.tables("n05000")) == TABLES_IN_NAMESPACE
    assert tree.count() == tree.count("read") <= 6


def test_a_commit_stands_after_three_round_trips_and_a_cold_one_after_nine(
    tree: CountingStorage,
) -> None:
    """Of 11 calls the first two go side by side, and the next two (``test_versions.py``)."""
    lake = open_lake(tree)
    tree.clear()
    _alter(lake, "cold")
    until_root = tree.calls[: tree.calls.index(Call("create", root_path(2))) + 1]
    assert [call.operation for call in until_root] == ["read"] * 9 + ["create"] * 2
    assert [call.path for call in until_root[:4]] == [
        *(HINT_PATH, FLOOR_PATH),
        *(root_path(1), root_path(2)),
    ]
    tree.clear()
    _alter(lake, "warm")
    warm = [call.operation for call in tree.calls]
    assert warm == ["read", "create", "create", "read", "write"]


def _alter(lake: Lakehouse, state: str) -> None:
    namespace, name = _place(123_456)
    with lake.transaction() as tx:
        definition = tx.table(namespace, name).definition
        definition.properties["state"] = state
        tx.change_table(namespace, name, definition, TableChange(ActionType.TABLE_ALTER))
