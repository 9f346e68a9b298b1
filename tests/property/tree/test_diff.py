"""The difference of two versions of a tree against the difference of two dicts."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from tests.support.tree_lake import TreeLake
from trinitylake_spark.storage.memory import MemoryStorage
from trinitylake_spark.testing.counting import CountingStorage
from trinitylake_spark.tree.diff import KeyDifference, Side, differing_keys
from trinitylake_spark.tree.limits import Limits

LIMITS = Limits(
    order=3, node_file_max_size_bytes=2600, root_target_bytes=2600, root_buffer_bytes=100
)
CHANGES = st.dictionaries(
    st.integers(0, 40).map(lambda n: f"k{n:02}"), st.none() | st.sampled_from("xyz"), max_size=12
)


@given(st.lists(CHANGES, min_size=1, max_size=10), st.data())
def test_the_difference_is_that_of_the_contents(commits: list, data: st.DataObject) -> None:
    """For any two versions, exactly the keys with different values are found, in order."""
    lake = TreeLake(LIMITS)
    contents: list[dict[str, str]] = [{}]
    for changes in commits:
        lake.commit(changes)
        contents.append({k: v for k, v in {**contents[-1], **changes}.items() if v is not None})
    old, new = (data.draw(st.integers(0, len(commits))) for _ in range(2))
    a, b = contents[old], contents[new]
    expected = [
        KeyDifference(key, a.get(key), b.get(key))
        for key in sorted(a.keys() | b.keys())
        if a.get(key) != b.get(key)
    ]
    sides = [Side(lake.root(version), LIMITS.order) for version in (old, new)]

    assert expected == list(differing_keys(lake.store(), *sides))
    lake.close()


def test_shared_nodes_are_not_read() -> None:
    """One changed key among 5,000 costs a few reads, whatever the size of the tree."""
    storage = CountingStorage(MemoryStorage("memory://diff-count"))
    lake = TreeLake(Limits(order=16), storage)
    lake.commit({f"k{n:05}": "x" for n in range(5000)})
    lake.commit({"k00001": "y"})  # the big transaction's messages may leave the root now
    lake.commit({"k02500": "y"})
    sides = [Side(lake.root(version), 16) for version in (2, 3)]
    store = lake.store()
    storage.clear()

    assert [KeyDifference("k02500", "x", "y")] == list(differing_keys(store, *sides))
    assert storage.count("read") <= 12
    lake.close()
