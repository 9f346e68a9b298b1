"""Concurrent statements through SQL: rebased by metadata alone, or refused; then every row counted.

Each test holds a statement in the middle of its execution while another session commits. The
results are looked at from both sessions, as the cache of the one that was renumbered could lie.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests.support.driver import wait_until
from tests.support.overlap import Overlap
from tests.support.spark_rows import fails, one, rows

if TYPE_CHECKING:
    from collections.abc import Callable

    from pyspark.sql import SparkSession

    Ids = Callable[[str, set[int]], None]

pytestmark = pytest.mark.spark

_MERGE = """MERGE INTO {t} USING (SELECT gate(0) AS a) s ON {t}.a = s.a
    WHEN MATCHED THEN UPDATE SET a = 80"""


@pytest.fixture
def overlap(spark: SparkSession, tmp_path: Path) -> Overlap:
    """Holds statements of the module's session."""
    return Overlap(spark, tmp_path / "gate")


@pytest.fixture
def ids(spark: SparkSession, other: SparkSession) -> Ids:
    """Assert that column a of a table holds exactly these values, in both sessions."""

    def check(table: str, expected: set[int]) -> None:
        for session in (spark, other):
            found = [row[0] for row in session.sql(f"SELECT a FROM {table}").collect()]
            assert sorted(found) == sorted(expected)
            assert one(session, f"SELECT count(*) FROM {table}") == len(expected)
            assert one(session, f"SELECT count(*) FROM {table} WHERE a >= 0") == len(expected)

    return check


def _create(spark: SparkSession, table: str, *, files: int = 2, clause: str = "") -> None:
    """Create a table with one file for each of a = 0, 1, …; column k is a modulo 2."""
    spark.sql(f"CREATE TABLE {table} (a INT, k INT) {clause}")
    for a in range(files):
        spark.sql(f"INSERT INTO {table} VALUES ({a}, {a % 2})")


def _files(spark: SparkSession, table: str) -> set[str]:
    return {row[0] for row in rows(spark, f"SELECT DISTINCT _metadata.file_path FROM {table}")}


def _refused(failed: list[BaseException]) -> Any:
    assert len(failed) == 1, "the statement was not refused"
    assert failed[0].getCondition() == "TRINITYLAKE_COMMIT_CONFLICT", str(failed[0])
    assert failed[0].getSqlState() == "40001"
    return failed[0]


def test_inserts_over_inserts(
    spark: SparkSession, other: SparkSession, table: str, overlap: Overlap, ids: Ids
) -> None:
    """Round after round, over checkpoints: all rows are there once, for both sessions."""
    _create(spark, table, files=1, clause="TBLPROPERTIES ('delta.checkpointInterval' = '3')")
    expected = {0}
    for number in range(1, 6):
        with overlap.running(f"INSERT INTO {table} SELECT gate({number}), 0") as failed:
            other.sql(f"INSERT INTO {table} VALUES ({number * 10}, 0)")
        assert failed == []
        expected |= {number, number * 10}
        ids(table, expected)
    spark.sql(f"UPDATE {table} SET a = a + 100 WHERE a >= 10")
    other.sql(f"DELETE FROM {table} WHERE a = 1")
    ids(table, {a + 100 if a >= 10 else a for a in expected} - {1})


@pytest.mark.parametrize(
    ("statement", "expected"),
    [
        ("UPDATE {t} SET a = 7 WHERE a = 0 AND gate(a) = 0", {7, 1, 9}),
        ("DELETE FROM {t} WHERE a = 0 AND gate(a) = 0", {1, 9}),
        (_MERGE, {80, 1, 9}),
    ],
    ids=["update", "delete", "merge"],
)
def test_changes_over_an_insert(
    spark: SparkSession,
    other: SparkSession,
    table: str,
    overlap: Overlap,
    ids: Ids,
    statement: str,
    expected: set[int],
) -> None:
    """They change the rows they saw; rows added meanwhile stay."""
    _create(spark, table)
    with overlap.running(statement.format(t=table)) as failed:
        other.sql(f"INSERT INTO {table} VALUES (9, 1)")
    assert failed == []
    ids(table, expected)


def test_changes_of_different_files(
    spark: SparkSession, other: SparkSession, table: str, overlap: Overlap, ids: Ids
) -> None:
    """Two updates of one table that rewrote different files both count."""
    _create(spark, table)
    with overlap.running(f"UPDATE {table} SET a = 10 WHERE a = 0 AND gate(a) = 0") as failed:
        other.sql(f"UPDATE {table} SET a = 11 WHERE a = 1")
    assert failed == []
    ids(table, {10, 11})


def test_changes_of_one_file(
    spark: SparkSession, other: SparkSession, table: str, overlap: Overlap, ids: Ids
) -> None:
    """The second is refused with all facts as fields, and the next try succeeds."""
    _create(spark, table, files=1)
    with overlap.running(f"UPDATE {table} SET a = 10 WHERE a = 0 AND gate(a) = 0") as failed:
        other.sql(f"UPDATE {table} SET k = 5")
    error = _refused(failed)
    assert "UPDATE" in str(error)
    ids(table, {0})
    spark.sql(f"UPDATE {table} SET a = 10")
    ids(table, {10})


def test_update_undoes_a_compaction(
    spark: SparkSession, other: SparkSession, table: str, overlap: Overlap, ids: Ids
) -> None:
    """OPTIMIZE was first: the UPDATE stays, the compaction is taken back, the history says so."""
    _create(spark, table, files=3)
    with overlap.running(f"UPDATE {table} SET a = 10 WHERE a = 0 AND gate(a) = 0") as failed:
        other.sql(f"OPTIMIZE {table}")
    assert failed == []
    ids(table, {10, 1, 2})
    operations = [row["operation"] for row in spark.sql(f"DESCRIBE HISTORY {table}").collect()]
    assert operations[:3] == ["UPDATE", "UNDO OPTIMIZE", "OPTIMIZE"]
    other.sql(f"OPTIMIZE {table}")
    ids(table, {10, 1, 2})


def test_optimize_plans_again_what_it_left_out(
    spark: SparkSession, other: SparkSession, table: str, overlap: Overlap, ids: Ids
) -> None:
    """An UPDATE commits while OPTIMIZE runs: nothing is lost, and all is compacted in the end."""
    files = 40
    spark.sql(f"CREATE TABLE {table} (a INT, k INT)")
    spark.sql(f"INSERT INTO {table} SELECT id, 0 FROM range(0, 80, 1, {files})")
    sizes = rows(spark, f"SELECT DISTINCT _metadata.file_size FROM {table}")
    two = {"maxFileSize": 2 * max(sizes)[0], "minFileSize": 2 * max(sizes)[0], "maxThreads": 1}
    for key, value in two.items():
        other.conf.set(f"spark.databricks.delta.optimize.{key}", value)
    folder = Path(_files(spark, table).pop().partition("/file/-")[2]).parent
    before = set(folder.glob("*.parquet"))
    with (
        ThreadPoolExecutor(1) as pool,
        overlap.running(f"UPDATE {table} SET a = 100 WHERE a = 0 AND gate(a) = 0") as failed,
    ):
        compaction = pool.submit(lambda: other.sql(f"OPTIMIZE {table}").collect())
        assert wait_until(lambda: compaction.done() or set(folder.glob("*.parquet")) > before, 240)
    assert failed == []
    passes = [row["metrics"] for row in compaction.result()]
    assert passes[0]["numFilesRemoved"] == files
    assert [metrics["numFilesAdded"] for metrics in passes] == [files // 2, 1]
    assert len(_files(spark, table)) == files // 2
    ids(table, {100, *range(1, 80)})


def test_overwrite_replaces_what_came_meanwhile(
    spark: SparkSession, other: SparkSession, table: str, overlap: Overlap, ids: Ids
) -> None:
    """INSERT OVERWRITE that ends later leaves its own rows only."""
    _create(spark, table)
    with overlap.running(f"INSERT OVERWRITE {table} SELECT gate(5), 0") as failed:
        other.sql(f"INSERT INTO {table} VALUES (9, 1)")
        other.sql(f"UPDATE {table} SET a = 8 WHERE a = 1")
    assert failed == []
    ids(table, {5})


def test_overwrite_of_itself_loses_no_update(
    spark: SparkSession, other: SparkSession, table: str, ids: Ids
) -> None:
    """INSERT OVERWRITE t SELECT … FROM t is refused if t changed: it would put old rows back."""
    _create(spark, table)
    spark.sql("USE lake")
    spark.sql("BEGIN")
    spark.sql(f"INSERT OVERWRITE {table} SELECT a + 10, k FROM {table}")
    other.sql(f"INSERT INTO {table} VALUES (9, 1)")
    with fails("TRINITYLAKE_COMMIT_CONFLICT") as caught:
        spark.sql("COMMIT")
    assert "would be lost" in str(caught.value)
    ids(table, {0, 1, 9})


def test_insert_over_an_overwrite_is_refused(
    spark: SparkSession, other: SparkSession, table: str, overlap: Overlap, ids: Ids
) -> None:
    """OW, then IN: an error in the matrix, in either mode."""
    _create(spark, table)
    with overlap.running(f"INSERT INTO {table} SELECT gate(5), 0") as failed:
        other.sql(f"INSERT OVERWRITE {table} VALUES (7, 7)")
    _refused(failed)
    ids(table, {7})


def test_partitions_do_not_conflict(
    spark: SparkSession, other: SparkSession, table: str, overlap: Overlap, ids: Ids
) -> None:
    """Overwriting one partition and inserting into another both succeed, also when strict."""
    clause = "PARTITIONED BY (k) TBLPROPERTIES ('trinitylake.conflict-detection' = 'strict')"
    _create(spark, table, clause=clause)
    with overlap.running(f"INSERT INTO {table} SELECT gate(5), 1") as failed:
        other.sql(f"INSERT INTO {table} REPLACE WHERE k = 0 VALUES (7, 0)")
    assert failed == []
    ids(table, {1, 5, 7})
    with overlap.running(f"INSERT INTO {table} SELECT gate(6), 1") as failed:
        other.sql(f"INSERT INTO {table} VALUES (8, 1)")
    _refused(failed)
    ids(table, {1, 5, 7, 8})


def test_row_tracking_and_in_commit_timestamps(
    spark: SparkSession, other: SparkSession, table: str, overlap: Overlap, ids: Ids
) -> None:
    """Row ids stay distinct and stamps rising, though both sessions gave out the same ones."""
    features = "'delta.enableRowTracking' = 'true', 'delta.enableInCommitTimestamps' = 'true'"
    _create(spark, table, clause=f"TBLPROPERTIES ({features})")
    before = dict(rows(spark, f"SELECT a, _metadata.row_id FROM {table}"))
    with overlap.running(f"INSERT INTO {table} SELECT gate(5), 0") as failed:
        other.sql(f"INSERT INTO {table} VALUES (9, 1), (10, 1)")
    assert failed == []
    with overlap.running(f"UPDATE {table} SET k = 9 WHERE a = 0 AND gate(a) = 0") as failed:
        other.sql(f"UPDATE {table} SET k = 8 WHERE a = 1")
    assert failed == []
    ids(table, {0, 1, 5, 9, 10})
    for session in (spark, other):
        found = dict(rows(session, f"SELECT a, _metadata.row_id FROM {table}"))
        assert len(set(found.values())) == 5
        assert {a: found[a] for a in before} == before
    history = spark.sql(f"DESCRIBE HISTORY {table}").collect()
    stamps = [row["timestamp"] for row in sorted(history, key=lambda row: row["version"])]
    assert stamps == sorted(set(stamps))
    versions = rows(spark, f"SELECT a, _metadata.row_commit_version FROM {table}")
    assert len(dict(versions)) == 5


def test_identity_values(
    spark: SparkSession, other: SparkSession, table: str, overlap: Overlap, ids: Ids
) -> None:
    """Two statements that gave out the same values: the second is refused by name."""
    spark.sql(f"CREATE TABLE {table} (id BIGINT GENERATED ALWAYS AS IDENTITY, a INT) USING delta")
    with overlap.running(f"INSERT INTO {table} (a) SELECT gate(1)") as failed:
        other.sql(f"INSERT INTO {table} (a) VALUES (2)")
    assert "identity" in str(_refused(failed))
    spark.sql(f"INSERT INTO {table} (a) VALUES (1)")
    ids(table, {1, 2})
    assert len({row[0] for row in rows(spark, f"SELECT id FROM {table}")}) == 2


def test_deletion_vectors(
    spark: SparkSession, other: SparkSession, table: str, overlap: Overlap, ids: Ids
) -> None:
    """Rows of one file: different ones go together, whatever the statements; a common one not."""
    spark.sql(
        f"CREATE TABLE {table} TBLPROPERTIES ('delta.enableDeletionVectors' = 'true')"
        " AS SELECT CAST(id AS INT) AS a FROM range(0, 10, 1, 1)"
    )
    expected = set(range(10))
    files = rows(spark, f"SELECT DISTINCT _metadata.file_path FROM {table}")
    for mine, theirs, gone, new in (
        ("DELETE FROM {t} WHERE a = 3 AND gate(a) = 3", "INSERT INTO {t} VALUES (50)", {3}, {50}),
        ("DELETE FROM {t} WHERE a = 4 AND gate(a) = 4", "DELETE FROM {t} WHERE a = 5", {4, 5}, {}),
        (
            "UPDATE {t} SET a = 60 WHERE a = 6 AND gate(a) = 6",
            "UPDATE {t} SET a = 70 WHERE a = 7",
            {6, 7},
            {60, 70},
        ),
        (_MERGE, "DELETE FROM {t} WHERE a = 8", {0, 8}, {80}),
    ):
        with overlap.running(mine.format(t=table)) as failed:
            other.sql(theirs.format(t=table))
        assert failed == []
        expected = expected - gone | set(new)
        ids(table, expected)
    (first,) = (path.rpartition("/")[2] for (path,) in files)
    kept = rows(spark, f"SELECT DISTINCT _metadata.file_name FROM {table} WHERE a < 10")
    assert kept == [(first,)], "a data file was written again"
    assert one(spark, f"SELECT max(a) FROM {table}") == 80
    with overlap.running(f"DELETE FROM {table} WHERE a = 1 AND gate(a) = 1") as failed:
        other.sql(f"UPDATE {table} SET a = 10 WHERE a = 1")
    assert "rows of the data file" in str(_refused(failed))
    ids(table, expected - {1} | {10})
    spark.sql(f"OPTIMIZE {table}")
    ids(table, expected - {1} | {10})


def test_columns(
    spark: SparkSession, other: SparkSession, table: str, overlap: Overlap, ids: Ids
) -> None:
    """A column added meanwhile refuses the INSERT, which did not know it; properties do not."""
    _create(spark, table)
    with overlap.running(f"INSERT INTO {table} SELECT gate(5), 0") as failed:
        other.sql(f"ALTER TABLE {table} SET TBLPROPERTIES ('steward' = 'me')")
    assert failed == []
    with overlap.running(f"INSERT INTO {table} SELECT gate(6), 0") as failed:
        other.sql(f"ALTER TABLE {table} ADD COLUMNS (b INT)")
    assert "columns" in str(_refused(failed))
    ids(table, {0, 1, 5})
    assert "steward" in dict(rows(spark, f"SHOW TBLPROPERTIES {table}"))


def test_two_threads_of_one_session(
    spark: SparkSession, table: str, overlap: Overlap, ids: Ids
) -> None:
    """A statement in another thread of the same session is like one of another session."""
    _create(spark, table)
    with overlap.running(f"INSERT INTO {table} SELECT gate(5), 0") as failed:
        spark.sql(f"INSERT INTO {table} VALUES (6, 0)")
        assert one(spark, f"SELECT count(*) FROM {table}") == 3
        spark.sql(f"UPDATE {table} SET a = 7 WHERE a = 6")
    assert failed == []
    ids(table, {0, 1, 5, 7})


def test_creation_of_one_name(other: SparkSession, table: str, overlap: Overlap, ids: Ids) -> None:
    """CTAS against CTAS: one table is there, the other one's rows are nowhere."""
    with overlap.running(f"CREATE TABLE {table} AS SELECT gate(1) AS a") as failed:
        other.sql(f"CREATE TABLE {table} AS SELECT 2 AS a")
    _refused(failed)
    ids(table, {2})


def test_drop_under_an_insert(
    spark: SparkSession, other: SparkSession, table: str, overlap: Overlap
) -> None:
    """The table is gone when the INSERT wants to commit."""
    _create(spark, table)
    with overlap.running(f"INSERT INTO {table} SELECT gate(5), 0") as failed:
        other.sql(f"DROP TABLE {table}")
    _refused(failed)
    assert not spark.catalog.tableExists(table)


def test_transaction_follows(
    spark: SparkSession, other: SparkSession, table: str, ids: Ids
) -> None:
    """Several statements on one table, others commit meanwhile: all of it is moved at COMMIT."""
    _create(spark, table, files=3)
    spark.sql("USE lake")
    spark.sql("BEGIN")
    spark.sql(f"INSERT INTO {table} VALUES (5, 0)")
    spark.sql(f"UPDATE {table} SET a = 6 WHERE a = 5")
    spark.sql(f"DELETE FROM {table} WHERE a = 0")
    other.sql(f"INSERT INTO {table} VALUES (9, 1)")
    other.sql(f"UPDATE {table} SET a = 11 WHERE a = 1")
    spark.sql("COMMIT")
    ids(table, {2, 6, 9, 11})
    spark.sql(f"INSERT INTO {table} VALUES (12, 0)")
    ids(table, {2, 6, 9, 11, 12})


@pytest.mark.parametrize("where", ["", "WHERE true"])
def test_delete_of_all_rows_keeps_new_ones(
    spark: SparkSession, other: SparkSession, table: str, ids: Ids, where: str
) -> None:
    """DELETE without WHERE deletes the rows that its transaction sees, and only one of two can."""
    _create(spark, table)
    for session in (spark, other):
        session.sql("USE lake")
        session.sql("BEGIN")
        session.sql(f"DELETE FROM {table} {where}")
    spark.sql("COMMIT")
    with fails("TRINITYLAKE_COMMIT_CONFLICT") as caught:
        other.sql("COMMIT")
    assert "TRUNCATE" not in str(caught.value)
    spark.sql(f"INSERT INTO {table} VALUES (1, 1), (2, 2)")

    spark.sql("BEGIN")
    spark.sql(f"DELETE FROM {table} {where}")
    other.sql(f"INSERT INTO {table} VALUES (3, 3)")
    spark.sql("COMMIT")
    ids(table, {3})


def test_serializable_select_into(
    spark: SparkSession, new_session: Any, root: str, table: str, tmp_path: Path
) -> None:
    """INSERT INTO u SELECT FROM t: refused at SERIALIZABLE if t changed, allowed at SNAPSHOT."""
    strict = new_session(root, isolation_level="serializable")
    _create(spark, table)
    for number, (session, allowed) in enumerate(((strict, False), (spark, True))):
        spark.sql(f"CREATE TABLE {table}_{number} (a INT)")
        overlap = Overlap(session, tmp_path / f"gate{number}")
        with overlap.running(f"INSERT INTO {table}_{number} SELECT gate(a) FROM {table}") as failed:
            spark.sql(f"UPDATE {table} SET a = a + 100 WHERE a % 100 = 1")
        if allowed:
            assert failed == []
        else:
            assert table.removeprefix("lake.") in str(_refused(failed))


def test_serializable_changes_by_condition(
    spark: SparkSession, new_session: Any, root: str, table: str
) -> None:
    """Rows that came in refuse it, unless the statistics of their files exclude its condition."""
    strict = new_session(root, isolation_level="serializable")
    spark.sql(
        f"CREATE TABLE {table} AS SELECT * FROM VALUES (0L, 'x', DATE '2026-01-01', 0),"
        " (0L, 'x) AND (false', DATE '2026-01-01', 0) AS t (a, s, d, v)"
    )
    for condition, came_in, allowed in (
        ("a = 0", "1L, 'x', DATE '2026-01-01'", True),
        ("a < 2 AND s = 'x'", "0L, 'y', DATE '2026-01-01'", True),
        ("d <= DATE '2026-01-01'", "0L, 'x', DATE '2026-01-02'", True),
        ("d <= DATE '2026-01-01'", "0L, 'x', DATE '2026-01-01'", False),
        ("s = 'x) AND (false'", "0L, 'x) AND (false', NULL", False),
    ):
        strict.sql("BEGIN")
        strict.sql(f"UPDATE {table} SET v = v + 1 WHERE {condition}")
        spark.sql(f"INSERT INTO {table} VALUES ({came_in}, 0)")
        if allowed:
            strict.sql("COMMIT")
        else:
            with fails("TRINITYLAKE_COMMIT_CONFLICT"):
                strict.sql("COMMIT")
