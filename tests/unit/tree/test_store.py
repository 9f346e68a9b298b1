"""The node cache: what is read once is not read again, within a bound."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest

from trinitylake_spark.errors import CorruptError, NotFoundError
from trinitylake_spark.format.nodefile import NodeFile, encode_node
from trinitylake_spark.storage.memory import MemoryStorage
from trinitylake_spark.tree.store import NodeStore

ORDER = 4


class Counting(MemoryStorage):
    """Counts the reads of each path."""

    def __init__(self, name: str) -> None:
        super().__init__(f"memory://{name}")
        self.clear()
        self.reads: list[str] = []

    def read(self, path: str) -> bytes:
        """Note the path."""
        self.reads.append(path)
        return super().read(path)


@pytest.fixture
def storage() -> Counting:
    """Ten leaves, ``n0`` to ``n9``."""
    storage = Counting("test-store")
    for i in range(10):
        node = NodeFile({"created_at_millis": "1"}, [f"k{i}"], ["v" * 1000], [])
        storage.create(f"n{i}", encode_node(node, ORDER))
    return storage


def test_a_node_is_read_once(storage: Counting) -> None:
    """The second get of a node costs no storage call."""
    store = NodeStore(storage)

    first, second = store.get("n1", ORDER), store.get("n1", ORDER)

    assert first is second
    assert storage.reads == ["n1"]


def test_get_many_reads_only_what_is_missing(storage: Counting) -> None:
    """Nodes come back in the order asked for, doubles included."""
    store = NodeStore(storage)
    store.get("n2", ORDER)

    nodes = store.get_many(["n3", "n2", "n1", "n3"], ORDER)

    assert [node.keys for node in nodes] == [["k3"], ["k2"], ["k1"], ["k3"]]
    assert sorted(storage.reads) == ["n1", "n2", "n3"]


def test_the_cache_forgets_the_least_recently_used(storage: Counting) -> None:
    """The cache stays within its bytes, and what was used last stays in it."""
    store = NodeStore(storage, cache_bytes=9_000)
    for i in (0, 1, 0, 2, 0, 3, 0, 4, 5):
        store.get(f"n{i}", ORDER)

    assert storage.reads.count("n0") == 1
    assert 0 < store._used <= 9_000
    store.get("n1", ORDER)
    assert storage.reads.count("n1") == 2


def test_a_node_larger_than_the_cache_is_still_returned(storage: Counting) -> None:
    """A cache without room costs reads, never results."""
    store = NodeStore(storage, cache_bytes=0)

    assert store.get_many(["n1", "n2"], ORDER)[1].keys == ["k2"]
    assert store.get("n1", ORDER).keys == ["k1"]
    assert store._used == 0


def test_put_cache_replaces_and_counts_once(storage: Counting) -> None:
    """A node that was just written is served from memory."""
    store = NodeStore(storage)
    node = NodeFile({"created_at_millis": "1"}, ["new"], ["v"], [])
    store.put_cache("n1", node)
    used = store._used
    store.put_cache("n1", node)

    assert store.get("n1", ORDER) is node
    assert store._used == used
    assert storage.reads == []


def test_missing_and_broken_nodes_raise_typed_errors(storage: Counting) -> None:
    """Not found stays not found, as only the caller can tell expiry from damage."""
    store = NodeStore(storage)
    storage.create("broken", b"ARROW1 but not really")

    with pytest.raises(NotFoundError):
        store.get("absent", ORDER)
    with pytest.raises(CorruptError) as raised:
        store.get("broken", ORDER)
    assert raised.value.fields["path"] == "broken"


def test_threads_share_one_cache(storage: Counting) -> None:
    """Concurrent readers and evictions leave the accounting exact."""
    store = NodeStore(storage, cache_bytes=8_000)
    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(lambda i: store.get(f"n{i % 10}", ORDER).keys[0], range(2_000)))

    assert found == [f"k{i % 10}" for i in range(2_000)]
    assert store._used == sum(size for _, size in store._nodes.values())
