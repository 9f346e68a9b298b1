"""A lakehouse of Delta tables without Spark: the example of the interface, and racing writers."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

import pyarrow as pa
import pytest

import trinitylake_spark as tl
from trinitylake_spark.delta.table import read_table
from trinitylake_spark.errors import CommitConflictError, UnsupportedError

if TYPE_CHECKING:
    from pathlib import Path

SCHEMA = pa.schema([("id", pa.int64()), ("name", pa.string())])


def _lake(tmp_path: Path) -> tl.Lakehouse:
    lake = tl.Lakehouse.create(f"file://{tmp_path}/lake")
    with lake.transaction(message="first") as tx:
        tx.create_namespace("sales")
        tx.create_table("sales", "orders", schema=SCHEMA, properties={"owner": "me"})
    return lake


def test_table_is_a_delta_table_on_disk(tmp_path: Path) -> None:
    """The new table's folder holds entry 0 where any Delta reader looks for it."""
    lake = _lake(tmp_path)
    definition = lake.snapshot().table("sales", "orders").definition
    location = read_table(definition).segment.location

    assert location.startswith("data/")
    assert (tmp_path / "lake" / location / "_delta_log" / f"{0:020d}.json").exists()
    assert dict(definition.properties) == {"owner": "me"}


def test_new_process_opens_it(tmp_path: Path) -> None:
    """Everything is in the files; the author is whoever is logged in."""
    _lake(tmp_path)
    lake = tl.Lakehouse.open(f"file://{tmp_path}/lake")
    newest = next(iter(lake.versions()))

    assert lake.at(version=1).tables("sales") == ["orders"]
    assert (newest.version, newest.message) == (1, "first")
    assert newest.author


def test_properties_of_two_writers_are_merged(tmp_path: Path) -> None:
    """Disjoint properties set from one version by two transactions are both in force."""
    lake = _lake(tmp_path)
    one, two = lake.begin(), lake.begin()
    one.set_table_properties("sales", "orders", {"a": "1"})
    two.set_table_properties("sales", "orders", {"b": "2"})
    assert (one.commit(), two.commit()) == (2, 3)

    properties = dict(lake.snapshot().table("sales", "orders").definition.properties)
    assert properties == {"owner": "me", "a": "1", "b": "2"}


def test_same_property_of_two_writers_conflicts(tmp_path: Path) -> None:
    """The error names table, both operations, version, rule and advice; nothing is committed."""
    lake = _lake(tmp_path)
    one, two = lake.begin(), lake.begin()
    one.set_table_properties("sales", "orders", {"a": "1"})
    two.set_table_properties("sales", "orders", {"a": "2"})
    one.commit()
    with pytest.raises(CommitConflictError) as caught:
        two.commit()

    fields = caught.value.fields
    assert fields["table"] == "sales.orders"
    assert fields["their_version"] == 2
    assert "both changed the table property a" in fields["rule"]
    assert lake.version == 2


def test_property_for_spark_only_leaves_no_trace(tmp_path: Path) -> None:
    """A refused property refuses the call, not the transaction."""
    lake = _lake(tmp_path)
    with lake.transaction() as tx:
        with pytest.raises(UnsupportedError):
            tx.set_table_properties("sales", "orders", {"delta.enableRowTracking": "true"})
        tx.set_table_properties("sales", "orders", {"fine": "yes"})

    properties = dict(lake.snapshot().table("sales", "orders").definition.properties)
    assert properties == {"owner": "me", "fine": "yes"}


def test_racing_writers_of_one_table_all_get_through(tmp_path: Path) -> None:
    """Eight threads, ten commits each, one table: every property is there, the log has no gap."""
    lake = _lake(tmp_path)

    def work(who: int) -> None:
        for number in range(10):
            with lake.transaction() as tx:
                tx.set_table_properties("sales", "orders", {f"w{who}.{number}": "x"})

    threads = [threading.Thread(target=work, args=(who,)) for who in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    definition = lake.snapshot().table("sales", "orders").definition
    assert len(definition.properties) == 81
    assert read_table(definition).segment.version == 80
    assert lake.version == 81
