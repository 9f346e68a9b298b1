"""What differs between two versions of a lakehouse, by kind and name."""

from __future__ import annotations

from trinitylake_spark.lakehouse.differences import Difference, Presence, differences
from trinitylake_spark.lakehouse.lakehouse import Lakehouse


def test_objects_are_named_by_kind() -> None:
    """Namespaces, views: added, changed, removed; in the order of kinds and names."""
    lake = Lakehouse.create("memory://differences")
    with lake.transaction() as tx:
        tx.create_namespace("b")
        tx.create_namespace("a")
        tx.create_view("a", "v", sql="SELECT 1")
    before = lake.snapshot()
    with lake.transaction() as tx:
        tx.set_view_properties("a", "v", {"k": "1"})
        tx.drop_namespace("b")
        tx.create_namespace("c")
    found = differences(lake.services.nodes, before, lake.snapshot())

    assert found == [
        Difference(Presence.REMOVED, "namespace", "b"),
        Difference(Presence.ADDED, "namespace", "c"),
        Difference(Presence.CHANGED, "view", "a.v"),
    ]


def test_a_change_of_name_sizes_is_no_difference() -> None:
    """All keys are other bytes afterwards, and all objects are the same."""
    lake = Lakehouse.create("memory://differences-sizes")
    with lake.transaction() as tx:
        tx.create_namespace("a")
        tx.create_view("a", "v", sql="SELECT 1")
    before = lake.snapshot()
    lake.set_property("table_name_max_size_bytes", 120)
    with lake.transaction() as tx:
        tx.create_namespace("b")

    assert differences(lake.services.nodes, before, lake.snapshot()) == [
        Difference(Presence.ADDED, "namespace", "b")
    ]
