"""What log entries did, as Delta wrote them and as roots record them."""

from __future__ import annotations

import pytest

from tests.support.delta_tables import (
    Bench,
    add,
    entry,
    insert,
    optimize,
    overwrite,
    remove,
    update,
    written_by_delta,
)
from trinitylake_spark.delta.change import (
    MAX_RECORDED_NAMES,
    Kind,
    change_of_entry,
    change_of_record,
    is_identity_update,
)
from trinitylake_spark.delta.segment import Commit
from trinitylake_spark.delta.table import new_table
from trinitylake_spark.format.definitions_pb2 import ActionType, DataChange


def _change(table: str, version: int):  # noqa: ANN202 - the type under test
    first = new_table("x", Commit(0, "", 1, 1), written_by_delta(table, 0))
    return change_of_entry(written_by_delta(table, version), first)


@pytest.mark.parametrize(
    ("table", "version", "kind", "action"),
    [
        ("p", 1, Kind.INSERT, ActionType.TABLE_INSERT),
        ("p", 3, Kind.CHANGE, ActionType.TABLE_UPDATE),
        ("p", 4, Kind.CHANGE, ActionType.TABLE_DELETE),
        ("p", 5, Kind.CHANGE, ActionType.TABLE_UPDATE),
        ("p", 6, Kind.OVERWRITE, ActionType.INSERT_OVERWRITE),
        ("p", 9, Kind.MINOR, ActionType.MINOR_COMPACT),
        ("p", 11, Kind.MAJOR, ActionType.MAJOR_COMPACT),
        ("p", 12, Kind.METADATA, ActionType.TABLE_ALTER_ADD_COLUMNS),
        ("p", 13, Kind.METADATA, ActionType.TABLE_ALTER),
        ("p", 15, Kind.CHANGE, ActionType.TABLE_DELETE),
        ("p", 17, Kind.OTHER, ActionType.TABLE_ALTER),
        ("p", 20, Kind.INSERT, ActionType.TABLE_INSERT),
        ("d", 2, Kind.CHANGE, ActionType.TABLE_DELETE),
        ("d", 4, Kind.OVERWRITE, ActionType.INSERT_OVERWRITE),
        ("d", 5, Kind.OVERWRITE, ActionType.INSERT_OVERWRITE),
        ("d", 6, Kind.OVERWRITE, ActionType.INSERT_OVERWRITE),
        ("d", 8, Kind.CHANGE, ActionType.TABLE_DELETE),
        ("c", 3, Kind.CLUSTER, ActionType.CLUSTER),
        ("c", 4, Kind.METADATA, ActionType.TABLE_ALTER),
        ("ct", 1, Kind.OVERWRITE, ActionType.INSERT_OVERWRITE),
        ("ct", 2, Kind.OVERWRITE, ActionType.INSERT_OVERWRITE),
        ("st", 1, Kind.INSERT, ActionType.TABLE_INSERT),
    ],
)
def test_statements_of_delta_are_told_apart(
    table: str, version: int, kind: Kind, action: ActionType
) -> None:
    """Each statement has its row in the matrix and its number in the root."""
    change = _change(table, version)

    assert (kind, action) == (change.kind, change.action)


@pytest.mark.parametrize(
    ("table", "version"), [("p", v) for v in range(21)] + [("d", v) for v in range(1, 9)]
)
def test_record_in_the_root_tells_the_same(table: str, version: int) -> None:
    """A later commit judges from the root exactly what it would judge from the entry."""
    change = _change(table, version)

    assert change == change_of_record(change.action, change.detail("log"))


def test_truncate_is_told_from_delete_without_where() -> None:
    """TRUNCATE overwrites the whole table, DELETE changes rows: in the log and in the root."""
    table = new_table("x", Commit(0, "", 1, 1), written_by_delta("d", 0))
    change = change_of_entry(entry("TRUNCATE", remove("a", "1")), table)

    assert (change.kind, change.action) == (Kind.OVERWRITE, ActionType.TRUNCATE)
    assert (change.operation, change.partitions, change.row_filter) == ("TRUNCATE", None, "")
    assert change == change_of_record(change.action, change.detail("log"))


def test_roots_that_took_delete_for_truncate_are_read() -> None:
    """Older roots recorded a DELETE without WHERE as TRUNCATE: it still counts as an overwrite."""
    record = DataChange(operation="DELETE", removed_files=["a"], row_filter="").SerializeToString()
    change = change_of_record(ActionType.TRUNCATE, record)

    assert (change.kind, change.operation) == (Kind.OVERWRITE, "DELETE")
    assert (change.removed, change.partitions) == ({"a"}, None)


def test_overwrite_with_no_rows_is_no_truncate() -> None:
    """INSERT OVERWRITE of an empty result is recorded as what its author wrote."""
    table = new_table("x", Commit(0, "", 1, 1), written_by_delta("p", 0))

    assert change_of_entry(overwrite(remove("a")), table).action == ActionType.INSERT_OVERWRITE


def test_partitions_and_filters() -> None:
    """A partial overwrite tells its partitions and its predicate; a whole one neither."""
    assert (frozenset({"p=1"}), "(p <=> '1')") == (
        _change("d", 4).partitions,
        _change("d", 4).row_filter,
    )
    assert (frozenset({"p=2"}), "") == (_change("d", 6).partitions, _change("d", 6).row_filter)
    assert (_change("p", 6).partitions, _change("p", 6).row_filter) == (None, "")
    assert _change("d", 2).row_filter == '["(a#8929 = 4)"]'


def test_many_files_are_left_to_the_entry() -> None:
    """A root stays small: long lists are cut, and the record says where they are."""
    bench = Bench("cut")
    definition = bench.create()
    many = [add(f"f{i}") for i in range(MAX_RECORDED_NAMES + 1)]
    written = bench.stage(definition, insert(*many))

    record = change_of_record(written.change.operation, written.change.detail)
    assert not record.complete
    assert record.changes_data
    assert len(written.change.detail) < 300


@pytest.mark.parametrize(
    ("log_entry", "kind"),
    [
        (optimize(add("b"), remove("a"), isFull="true"), Kind.MAJOR),
        (optimize(add("b"), remove("a"), zOrderBy='["x"]'), Kind.MAJOR),
        (optimize(add("b"), remove("a"), clusterBy='["x"]'), Kind.CLUSTER),
        (optimize(add("b"), remove("a")), Kind.MINOR),
        (entry("REORG", *optimize(add("b"), remove("a")).actions[1:]), Kind.MAJOR),
        (entry("ROW TRACKING BACKFILL", *optimize(add("b")).actions[1:]), Kind.OTHER),
        (entry("CLONE", add("b")), Kind.OTHER),
        (entry("STREAMING UPDATE", add("b"), remove("a"), outputMode="Complete"), Kind.OVERWRITE),
        (entry("Manual Update", add("b")), Kind.INSERT),
        (entry("Manual Update", add("b"), remove("a")), Kind.CHANGE),
        (update(remove("a"), operation="DELETE", predicate="true"), Kind.CHANGE),
        (entry("DELETE", remove("a"), predicate="[]"), Kind.CHANGE),
        (update(remove("a"), operation="DELETE"), Kind.CHANGE),
        (entry("TRUNCATE", remove("a")), Kind.OVERWRITE),
        (overwrite(remove("a")), Kind.OVERWRITE),
        (overwrite(add("b"), remove("a"), replaceOnCond="t.a = s.a"), Kind.CHANGE),
        (overwrite(add("b"), replaceUsingCols="(a)"), Kind.CHANGE),
        (entry("WRITE", add("b"), mode="Append", replaceUsingCols="(a)"), Kind.INSERT),
        (entry("ADD COLUMNS"), Kind.METADATA),
    ],
)
def test_other_statements(log_entry: object, kind: Kind) -> None:
    """Full, clustering and purging compactions, backfill, clones and foreign writers."""
    table = new_table("x", Commit(0, "", 1, 1), written_by_delta("p", 0))

    assert kind is change_of_entry(log_entry, table).kind


def test_reads_of_a_statement() -> None:
    """Only an append that read nothing is blind; compaction changes no data."""
    assert _change("p", 1).blind_append
    assert not _change("p", 3).blind_append
    assert _change("p", 9).rewrites_only
    assert not _change("p", 9).changes_data


def test_streaming_progress_and_domains() -> None:
    """Progress of streams and domains of metadata are told; row tracking's own domain is not."""
    assert {"1eabbfb0-d4c3-4e40-b955-0c4c400f0f62"} == _change("st", 1).app_ids
    assert {"delta.clustering"} == _change("c", 4).domains
    assert set() == _change("r", 1).domains


def test_identity_updates() -> None:
    """Metadata that only move an identity column's high-water mark are known by Delta's tag."""
    assert is_identity_update(written_by_delta("i", 1))
    assert not is_identity_update(written_by_delta("i", 2))
    assert not is_identity_update(written_by_delta("p", 12))
