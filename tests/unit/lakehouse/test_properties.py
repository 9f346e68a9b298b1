"""The lakehouse's definition and how it changes (format.md §5.1)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.support.lakes import memory, new_lake, other
from tests.support.list_table import append, read
from trinitylake_spark.errors import InvalidInputError, UnsupportedError
from trinitylake_spark.lakehouse.properties import all_properties

if TYPE_CHECKING:
    from trinitylake_spark.lakehouse.lakehouse import Lakehouse


@pytest.fixture
def lake() -> Lakehouse:
    """Sixty tables with long names, some of them with data."""
    names = [f"table_{n:02}_{'x' * 30}" for n in range(60)]
    lake = new_lake(memory("properties"), tables=names, definition={"order": 5})
    with lake.transaction() as tx:
        append(tx, names[7], 7)
    return lake


def test_own_properties_and_fields(lake: Lakehouse) -> None:
    """Any name is a property of one's own unless it is a field; None takes it back."""
    assert lake.set_property("team", "data") == 3
    assert lake.set_property("minimum_versions_to_keep", "9") == 4
    assert lake.set_property("txn_isolation_level", "serializable") == 5
    found = all_properties(other(lake).snapshot().layout.definition)
    assert found["team"] == "data"
    assert found["minimum_versions_to_keep"] == "9"
    assert found["txn_isolation_level"] == "serializable"

    info = lake.versions(1)[0]
    assert (info.kind, info.changes[0].name) == ("definition", "txn_isolation_level")
    assert lake.set_property("team", None) == 6
    assert lake.set_property("minimum_versions_to_keep", None) == 7
    found = all_properties(lake.snapshot().layout.definition)
    assert "team" not in found
    assert found["minimum_versions_to_keep"] == "3"


def test_setting_what_is_set_makes_no_version(lake: Lakehouse) -> None:
    """No change, no version."""
    assert lake.set_property("order", 5) is None
    assert lake.set_property("absent", None) is None
    assert lake.version == 2


def test_a_definition_change_is_no_new_time(lake: Lakehouse) -> None:
    """The time version moves with data only."""
    before = lake.versions(1)[0]
    lake.set_property("a", "b")
    assert lake.versions(1)[0].time_version == before.time_version
    assert lake.versions(1)[0].created_at > before.created_at


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("order", "3"),
        ("order", "199"),
        ("namespace_name_max_size_bytes", "1"),
        ("table_name_max_size_bytes", "200"),
        ("view_name_max_size_bytes", "7"),
        ("node_file_max_size_bytes", "100000"),
        ("file_path_max_size_bytes", "300"),
    ],
)
def test_the_layout_can_change(lake: Lakehouse, key: str, value: str) -> None:
    """Every key and node is written anew, and all that was there is there."""
    before = lake.tables("s")
    version = lake.set_property(key, value)
    fresh = other(lake)
    assert fresh.version == version == 3
    assert fresh.tables("s") == before
    assert read(fresh.snapshot(), before[7]) == [7]
    assert fresh.check(deep=True).problems == []
    with fresh.transaction() as tx:
        append(tx, before[8], 8)
    assert fresh.check(deep=True).problems == []
    assert read(fresh.at(version=2), before[7]) == [7]


@pytest.mark.parametrize(
    ("key", "value", "says"),
    [
        ("order", "2", "order"),
        ("order", "many", "order"),
        ("order", "100000", "node_file_max_size_bytes"),
        ("table_name_max_size_bytes", "10", "Rename or drop"),
        ("namespace_name_max_size_bytes", "0", "namespace_name"),
        ("file_path_max_size_bytes", "79", "file_path"),
        ("file_path_max_size_bytes", "100", "is longer"),
        ("txn_isolation_level", "chaos", "txn_isolation_level"),
        ("txn_ttl_millis", "999999999999", "maximum_version_age_millis"),
        ("minimum_versions_to_keep", "0", "minimum_versions_to_keep"),
    ],
)
def test_what_can_never_work_is_refused(lake: Lakehouse, key: str, value: str, says: str) -> None:
    """A refused value names the rule, and no version is made."""
    with pytest.raises(InvalidInputError, match=says):
        lake.set_property(key, value)
    assert lake.version == 2
    assert lake.check(deep=True).problems == []


@pytest.mark.parametrize(
    "key", ["major_version", "properties", "exported_snapshots",
            "maximum_version_age_millis_overrides"],
)  # fmt: skip
def test_fields_that_are_set_elsewhere(lake: Lakehouse, key: str) -> None:
    """The message says where."""
    with pytest.raises(UnsupportedError, match="cannot be set"):
        lake.set_property(key, "1")


def test_layout_and_objects_change_apart(lake: Lakehouse) -> None:
    """One transaction for each; other properties may change along with objects."""
    tx = lake.begin()
    tx.set_property("order", "9")
    tx.create_namespace("n")
    with pytest.raises(UnsupportedError, match="one transaction for each"):
        tx.commit()
    with lake.transaction() as tx:
        tx.set_property("a", "1")
        tx.set_property("b", "2")
        tx.create_namespace("n")
    info = lake.versions(1)[0]
    assert info.kind == "logical"
    assert [c.name for c in info.changes] == ["n", "a", "b"]
    assert lake.snapshot().layout.definition.properties["b"] == "2"


def test_names_may_grow_with_the_limit(lake: Lakehouse) -> None:
    """After a larger limit longer names work at once, also in the same process."""
    long = "n" * 150
    with pytest.raises(InvalidInputError), lake.transaction() as tx:
        tx.create_table("s", long, schema=None)
    lake.set_property("table_name_max_size_bytes", "150")
    with lake.transaction() as tx:
        tx.create_table("s", long, schema=None)
    assert long in other(lake).tables("s")
