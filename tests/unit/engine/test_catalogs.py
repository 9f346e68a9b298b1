"""Catalog calls: opening, names, time travel, procedures, and clear errors."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

import pytest

from tests.support.bridge import Bridge, raises_kind
from trinitylake_spark.errors import InvalidInputError, Kind
from trinitylake_spark.spark.procedures import run

if TYPE_CHECKING:
    from pathlib import Path

    from tests.support.bridge import Catalog
    from trinitylake_spark.spark.sessions import Session


def test_opening_creates_only_if_told(tmp_path: Path) -> None:
    """A folder that is no lakehouse is an error, unless it shall become one."""
    bridge = Bridge()
    raises_kind("LAKEHOUSE_NOT_FOUND", lambda: bridge.open(tmp_path / "lake", create=False))
    bridge.open(tmp_path / "lake")
    bridge.open(tmp_path / "lake", create=False)


def test_two_creators_of_one_lakehouse(tmp_path: Path) -> None:
    """Both engines open the one that won."""
    first, second = (Bridge().open(tmp_path / "lake") for _ in range(2))
    first.create_namespace()

    assert second.call("namespaces", statement=None)["names"] == ["ns"]


@pytest.mark.parametrize("root", ["ftp://x/y", "relative/path"])
def test_wrong_urls(root: str) -> None:
    """An unknown scheme or a relative path is named."""
    raises_kind("INVALID_URL", lambda: Bridge().open(root))


def test_two_roots_in_one_session(tmp_path: Path) -> None:
    """Two catalogs over two lakehouses have nothing in common."""
    bridge = Bridge()
    one, two = bridge.open(tmp_path / "1", "a"), bridge.open(tmp_path / "2", "b")
    one.create_namespace("x")
    one.procedure("begin")

    assert two.call("namespaces", statement=None)["names"] == []
    assert two.procedure("show_transaction") == []


def test_namespaces(catalog: Catalog) -> None:
    """Create, describe, alter, list and drop."""
    catalog.call("namespace_create", namespace="n", properties={"a": "1", "b": "2"})
    catalog.call("namespace_alter", namespace="n", set={"c": "3"}, unset=["a", "never"])
    loaded = catalog.call("namespace_load", namespace="n", statement=None)
    assert loaded["properties"] == {"b": "2", "c": "3"}
    raises_kind(
        "NAMESPACE_ALREADY_EXISTS",
        lambda: catalog.call("namespace_create", namespace="n", properties={}),
    )
    assert catalog.call("namespace_drop", namespace="n", cascade=False)["dropped"]
    assert not catalog.call("namespace_drop", namespace="n", cascade=False)["dropped"]
    raises_kind(
        "NAMESPACE_NOT_FOUND", lambda: catalog.call("namespace_load", namespace="n", statement=None)
    )


def test_namespace_with_tables(catalog: Catalog) -> None:
    """Not dropped by RESTRICT, dropped with everything in it by CASCADE."""
    raises_kind(
        "NAMESPACE_NOT_EMPTY", lambda: catalog.call("namespace_drop", namespace="ns", cascade=False)
    )
    assert catalog.files("t")
    catalog.call("namespace_drop", namespace="ns", cascade=True)
    raises_kind("NAMESPACE_NOT_FOUND", lambda: catalog.files("t"))


@pytest.mark.parametrize("name", ["", "a b", "x" * 101, "tab\t"])
def test_bad_names_are_refused_before_data_is_written(catalog: Catalog, name: str) -> None:
    """For namespaces and tables alike."""
    raises_kind("INVALID_NAME", lambda: catalog.create_namespace(name))
    raises_kind("INVALID_NAME", lambda: catalog.statement().stage(name))


def test_reserved_namespace(catalog: Catalog) -> None:
    """``system`` belongs to the catalog."""
    statement = catalog.statement()
    statement.namespace = "system"
    raises_kind("READ_ONLY", lambda: statement.stage("mine"))
    raises_kind("READ_ONLY", lambda: catalog.create_namespace("system"))


def test_missing_things_are_named(catalog: Catalog) -> None:
    """Table, namespace, procedure, mode."""
    raises_kind("TABLE_NOT_FOUND", lambda: catalog.files("nothing"))
    statement = catalog.statement()
    statement.namespace = "nowhere"
    raises_kind("NAMESPACE_NOT_FOUND", lambda: statement.files("t"))
    raises_kind("NAMESPACE_NOT_FOUND", lambda: statement.stage("t"))
    raises_kind("TABLE_NOT_FOUND", lambda: catalog.statement().stage("n", "replace"))
    raises_kind("TABLE_ALREADY_EXISTS", lambda: catalog.statement().stage("t"))
    raises_kind("INVALID_ARGUMENT", lambda: catalog.statement().load("t", "sideways"))
    raises_kind("INVALID_ARGUMENT", lambda: catalog.procedure("no_such"))


def test_time_travel(catalog: Catalog) -> None:
    """By number, as text too; unknown versions and snapshots are errors with the range."""
    catalog.insert("t", "f3")
    assert catalog.files("t", version="2") == {"f1", "f2"}
    assert catalog.files("t", version="002") == {"f1", "f2"}
    assert catalog.files("t", version="3") == {"f1", "f2", "f3"}
    raises_kind("VERSION_NOT_FOUND", lambda: catalog.files("t", version="9"))
    raises_kind("SNAPSHOT_NOT_FOUND", lambda: catalog.files("t", version="q3"))
    raises_kind("TABLE_NOT_FOUND", lambda: catalog.files("t", version="1"))


def test_time_travel_by_timestamp(catalog: Catalog) -> None:
    """The greatest version not after the moment; before history and the future are errors."""
    rows = catalog.call("system_table", table="versions")["rows"]
    created = {row[0]: row[1] for row in rows}
    catalog.insert("t", "f3")

    assert catalog.files("t", timestamp_micros=created[2]) == {"f1", "f2"}
    for micros in (created[0] - 1000, created[2] + 10**12):
        raises_kind(
            "TIMESTAMP_OUT_OF_RANGE", lambda m=micros: catalog.files("t", timestamp_micros=m)
        )


def test_time_travel_inside_a_transaction(catalog: Catalog, other: Catalog) -> None:
    """Past versions show as ever; versions after the transaction's own do not exist for it."""
    catalog.procedure("begin")
    catalog.insert("t", "f3")
    other.insert("t", "g")

    assert catalog.files("t", version="2") == {"f1", "f2"}
    raises_kind("VERSION_NOT_FOUND", lambda: catalog.files("t", version="3"))


def test_system_tables_inside_a_transaction(catalog: Catalog, other: Catalog) -> None:
    """History and properties are those of its beginning, with its own changes, like all else."""

    def versions(limit: int | None = None) -> list[int]:
        answer = catalog.call("system_table", table="versions", limit=limit)
        return [row[0] for row in answer["rows"]]

    def properties() -> dict[str, str]:
        return dict(catalog.call("system_table", table="properties")["rows"])

    catalog.procedure("begin")
    other.insert("t", "g")
    other.procedure("set_property", key="minimum_versions_to_keep", value="7")
    assert versions() == [2, 1, 0]
    assert versions(limit=2) == [2, 1]
    assert properties()["minimum_versions_to_keep"] != "7"
    catalog.procedure("set_property", key="team", value="mine")
    assert properties()["team"] == "mine"
    catalog.procedure("rollback")
    assert versions() == [4, 3, 2, 1, 0]
    assert properties()["minimum_versions_to_keep"] == "7"
    assert "team" not in properties()


def test_rolling_back_the_lakehouse(catalog: Catalog) -> None:
    """Tables and data follow; it is a new version; the old ones stay readable."""
    catalog.insert("t", "f3")
    catalog.create("u", "u1")
    [row] = catalog.procedure("rollback_to_version", version=2)

    assert row == [5, 4, 2]
    assert catalog.files("t") == {"f1", "f2"}
    raises_kind("TABLE_NOT_FOUND", lambda: catalog.files("u"))
    assert catalog.files("t", version="4") == {"f1", "f2", "f3"}
    catalog.insert("t", "f4")
    assert catalog.files("t") == {"f1", "f2", "f4"}


def test_rolling_back_to_a_time(catalog: Catalog) -> None:
    """The same by a moment."""
    rows = catalog.call("system_table", table="versions")["rows"]
    moment = next(row[1] for row in rows if row[0] == 2)
    catalog.insert("t", "f3")
    [row] = catalog.procedure("rollback_to_timestamp", timestamp=moment)

    assert row == [4, 3, 2]


def test_rollback_of_the_lakehouse_is_no_part_of_a_transaction(catalog: Catalog) -> None:
    """It makes a version of its own."""
    catalog.procedure("begin")
    raises_kind("TRANSACTION_ACTIVE", lambda: catalog.procedure("rollback_to_version", version=1))


def test_procedures_are_described(catalog: Catalog) -> None:
    """Each procedure that is described runs, and answers the columns that it promised."""
    for procedure in catalog.call("procedures"):
        assert set(procedure) == {"name", "parameters", "columns", "effect"}
        required = [p["name"] for p in procedure["parameters"] if p["required"]]
        if required:
            raises_kind("INVALID_ARGUMENT", lambda name=procedure["name"]: catalog.procedure(name))


def test_an_unknown_procedure_is_a_wrong_argument() -> None:
    """Its class in Python says what its condition says: correct the argument."""
    with pytest.raises(InvalidInputError) as caught:
        run(cast("Session", None), "no_such", {})
    assert caught.value.kind is Kind.INVALID_ARGUMENT


def test_commit_status(catalog: Catalog) -> None:
    """Committed with its version, or not committed."""
    catalog.procedure("begin")
    catalog.insert("t", "f3")
    [[version, transaction_id]] = catalog.procedure("commit")

    [found] = catalog.procedure("commit_status", transaction_id=transaction_id)
    assert found[-1] == version
    [unknown] = catalog.procedure("commit_status", transaction_id="nobody")
    assert unknown[-1] is None


def test_maintenance(catalog: Catalog) -> None:
    """Properties, compaction of the tree, and the check of everything."""
    catalog.procedure("set_property", key="minimum_versions_to_keep", value="7")
    answer = catalog.call("system_table", table="properties")
    assert dict(answer["rows"])["minimum_versions_to_keep"] == "7"
    catalog.procedure("compact_tree")
    assert catalog.procedure("check", deep=True) == []
    assert catalog.files("t") == {"f1", "f2"}


def test_rename(catalog: Catalog, other: Catalog) -> None:
    """The table keeps its data and history under the new name, in another namespace too."""
    catalog.create_namespace("archive")
    catalog.statement().call("table_rename", table="t", to_namespace="archive", to_table="old")
    statement = other.statement()
    statement.namespace = "archive"

    assert statement.files("old") == {"f1", "f2"}
    raises_kind("TABLE_NOT_FOUND", lambda: other.files("t"))


def test_unexpected_failure_is_an_engine_error(catalog: Catalog) -> None:
    """A defect crosses the bridge as an error that says so, never as silence."""
    raises_kind("ENGINE", lambda: catalog.bridge.call("no_such_method"))
