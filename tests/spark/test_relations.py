"""Which version a DataFrame, a view, a handle or a cache sees, whenever it was made."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from pyspark.errors import AnalysisException, PySparkException
from pyspark.sql.functions import col, lit

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from pyspark.sql import DataFrame, SparkSession

FINISHED = "TRINITYLAKE_TRANSACTION_FINISHED"
STALE = "TRINITYLAKE_STALE_PLAN"
CONFLICT = "TRINITYLAKE_COMMIT_CONFLICT"


@pytest.fixture
def other_table(table: str) -> str:
    """The name of a second table."""
    return f"{table}_2"


@pytest.fixture
def tables(spark: SparkSession, table: str, other_table: str) -> Iterator[tuple[str, str]]:
    """Two tables: the first has row (1, 10), the second is empty."""
    spark.sql(f"CREATE TABLE {table} (id INT, value INT)")
    spark.sql(f"CREATE TABLE {other_table} (id INT, value INT)")
    spark.sql(f"INSERT INTO {table} VALUES (1, 10)")
    yield table, other_table
    if spark.sql("SHOW TRANSACTION").count():
        spark.sql("ROLLBACK")
    spark.catalog.clearCache()


def rows(found: DataFrame) -> list[tuple[int, ...]]:
    """Return the rows, sorted; asks anew, whatever was planned before."""
    return sorted(tuple(row) for row in found.select("*").collect())


def condition(error: pytest.ExceptionInfo[PySparkException]) -> str | None:
    """Return an error's condition."""
    return error.value.getCondition()


# --- outside of a transaction --------------------------------------------------------------------


def test_a_dataframe_follows_commits(
    spark: SparkSession, other: SparkSession, tables: tuple[str, str]
) -> None:
    """However it is transformed, a DataFrame reads the newest version each time it is asked."""
    table, _ = tables
    plain, filtered = (
        spark.table(table),
        spark.table(table).filter("id > 0").withColumn("x", lit(1)),
    )
    assert plain.count() == filtered.count() == 1
    other.sql(f"INSERT INTO {table} VALUES (2, 20)")
    assert plain.count() == filtered.count() == 2
    spark.sql(f"DELETE FROM {table} WHERE id = 1")
    assert plain.count() == filtered.count() == 1


@pytest.mark.parametrize("door", ["writeTo", "saveAsTable", "insertInto"])
def test_an_overwrite_keeps_what_others_committed(
    spark: SparkSession, other: SparkSession, tables: tuple[str, str], door: str
) -> None:
    """A table that is overwritten with its own rows, changed, loses none committed since."""
    table, _ = tables
    changed = spark.table(table).withColumn("value", col("value") + 1)
    other.sql(f"INSERT INTO {table} VALUES (2, 20)")
    if door == "writeTo":
        changed.writeTo(table).overwrite(lit(True))
    elif door == "saveAsTable":
        changed.write.mode("overwrite").saveAsTable(table)
    else:
        changed.write.insertInto(table, overwrite=True)
    assert rows(spark.table(table)) == [(1, 11), (2, 21)]


def test_dataframes_of_different_moments_join_at_one_version(
    spark: SparkSession, other: SparkSession, tables: tuple[str, str]
) -> None:
    """A join of DataFrames that were made at different versions reads one version."""
    table, _ = tables
    early = spark.table(table).alias("early")
    other.sql(f"INSERT INTO {table} VALUES (2, 20)")
    late = spark.table(table).alias("late")
    assert early.join(late, col("early.id") == col("late.id")).count() == 2


@pytest.mark.parametrize("view", ["temporary", "global"])
@pytest.mark.parametrize("made", ["sql", "dataframe"])
def test_views_follow_commits(
    spark: SparkSession, other: SparkSession, tables: tuple[str, str], view: str, made: str
) -> None:
    """Temporary and global views show the newest version."""
    table, _ = tables
    name = f"v_{view}_{made}"
    if made == "sql":
        kind = "GLOBAL TEMPORARY" if view == "global" else "TEMPORARY"
        spark.sql(f"CREATE OR REPLACE {kind} VIEW {name} AS SELECT id FROM {table}")
    elif view == "global":
        spark.table(table).select("id").createOrReplaceGlobalTempView(name)
    else:
        spark.table(table).select("id").createOrReplaceTempView(name)
    shown = f"global_temp.{name}" if view == "global" else name
    assert rows(spark.table(shown)) == [(1,)]
    other.sql(f"INSERT INTO {table} VALUES (2, 20)")
    assert rows(spark.sql(f"SELECT * FROM {shown}")) == [(1,), (2,)]


def test_a_global_view_shows_nobody_elses_transaction(
    spark: SparkSession, other: SparkSession, tables: tuple[str, str]
) -> None:
    """A view made in one session and read in another one sees the reader's transaction alone."""
    table, _ = tables
    spark.sql("BEGIN")
    spark.sql(f"INSERT INTO {table} VALUES (9, 90)")
    spark.table(table).createOrReplaceGlobalTempView("everybodys")
    assert rows(spark.table("global_temp.everybodys")) == [(1, 10), (9, 90)]
    assert rows(other.table("global_temp.everybodys")) == [(1, 10)]
    spark.sql("ROLLBACK")


def test_changed_columns_are_noticed(
    spark: SparkSession, other: SparkSession, tables: tuple[str, str]
) -> None:
    """New columns do not disturb a DataFrame's query; a table made anew does."""
    table, _ = tables
    found = spark.table(table).filter("id = 1")
    other.sql(f"ALTER TABLE {table} ADD COLUMN note STRING")
    assert rows(found) == [(1, 10)]
    with pytest.raises(AnalysisException) as refused:
        found.writeTo(f"{table}_2").append()
    assert "COLUMNS_MISMATCH" in str(condition(refused))
    other.sql(f"DROP TABLE {table}")
    other.sql(f"CREATE TABLE {table} (id INT, value INT)")
    with pytest.raises(AnalysisException) as anew:
        found.count()
    assert "TABLE_ID_MISMATCH" in str(condition(anew))


# --- caches --------------------------------------------------------------------------------------


def test_a_cache_never_serves_another_version(
    spark: SparkSession, other: SparkSession, tables: tuple[str, str]
) -> None:
    """Neither the DataFrame that was cached nor any other statement sees rows that are gone."""
    table, _ = tables
    cached = spark.table(table).cache()
    assert cached.count() == 1
    spark.sql(f"DELETE FROM {table} WHERE id = 1")
    assert spark.sql(f"SELECT count(*) FROM {table}").first()[0] == 0
    assert cached.count() == 0
    other.sql(f"INSERT INTO {table} VALUES (2, 20), (3, 30)")
    assert spark.sql(f"SELECT count(*) FROM {table}").first()[0] == 2
    assert cached.count() == 2


def test_a_cache_is_used_while_it_fits(spark: SparkSession, tables: tuple[str, str]) -> None:
    """The plan of an unchanged table reads from the cache."""
    table, _ = tables
    spark.sql(f"CACHE TABLE {table}")
    plan = spark.sql(f"EXPLAIN SELECT * FROM {table}").first()[0]
    assert "In-memory table" in plan
    spark.sql(f"UNCACHE TABLE {table}")
    plan = spark.sql(f"EXPLAIN SELECT * FROM {table}").first()[0]
    assert "In-memory table" not in plan


def test_a_rolled_back_cache_is_forgotten(spark: SparkSession, tables: tuple[str, str]) -> None:
    """What was cached inside of a transaction is not seen after ROLLBACK."""
    table, second = tables
    spark.sql("BEGIN")
    spark.sql(f"INSERT INTO {table} VALUES (9, 90)")
    assert spark.table(table).cache().count() == 2
    spark.sql("ROLLBACK")
    assert spark.sql(f"SELECT count(*) FROM {table}").first()[0] == 1
    spark.sql(f"INSERT INTO {second} SELECT * FROM {table}")
    assert rows(spark.table(second)) == [(1, 10)]


def test_a_cache_of_another_version_is_not_used_in_a_transaction(
    spark: SparkSession, other: SparkSession, tables: tuple[str, str]
) -> None:
    """A transaction reads its own version, whatever the session has cached."""
    table, second = tables
    spark.table(table).cache().count()
    other.sql(f"INSERT INTO {table} VALUES (2, 20)")
    spark.sql("BEGIN ISOLATION LEVEL SERIALIZABLE")
    assert rows(spark.table(table)) == [(1, 10), (2, 20)]
    spark.sql(f"INSERT INTO {second} SELECT * FROM {table}")
    spark.sql("COMMIT")
    assert rows(spark.table(second)) == [(1, 10), (2, 20)]


def test_rows_cached_late_are_of_the_version_they_are_cached_under(
    spark: SparkSession, other: SparkSession, tables: tuple[str, str]
) -> None:
    """A DataFrame that ran, and is cached after others committed, fills the cache with its rows."""
    table, _ = tables
    other.sql("BEGIN")
    assert other.table(table).count() == 1
    found = spark.table(table)
    assert len(found.collect()) == 1
    spark.sql(f"INSERT INTO {table} VALUES (2, 20)")
    found.cache()
    found.count()
    assert rows(other.table(table)) == [(1, 10)]
    other.sql("ROLLBACK")
    assert rows(spark.table(table)) == [(1, 10), (2, 20)]


def test_a_cached_table_can_be_overwritten_with_itself(
    spark: SparkSession, tables: tuple[str, str]
) -> None:
    """INSERT OVERWRITE of a table with rows of its own works while they are cached."""
    table, _ = tables
    spark.table(table).cache().count()
    spark.sql(f"INSERT OVERWRITE {table} SELECT id, value + 1 FROM {table}")
    assert rows(spark.table(table)) == [(1, 11)]


# --- transactions --------------------------------------------------------------------------------


@pytest.mark.parametrize("level", ["SNAPSHOT", "SERIALIZABLE"])
def test_a_dataframe_made_before_begin_reads_the_transaction(
    spark: SparkSession, other: SparkSession, tables: tuple[str, str], level: str
) -> None:
    """Inside of a transaction it sees the version at BEGIN and own changes, and nothing else."""
    table, second = tables
    counted = spark.table(table).groupBy().count()
    filtered = spark.table(table).filter("id > 0")
    other.sql(f"INSERT INTO {table} VALUES (2, 20)")
    spark.sql(f"BEGIN ISOLATION LEVEL {level}")
    other.sql(f"INSERT INTO {table} VALUES (3, 30)")
    assert counted.select("*").first()[0] == 2
    filtered.writeTo(second).append()
    assert rows(spark.table(second)) == [(1, 10), (2, 20)]
    spark.sql(f"INSERT INTO {table} VALUES (9, 90)")
    assert counted.select("*").first()[0] == 3
    if level == "SNAPSHOT":
        spark.sql("COMMIT")
    else:
        with pytest.raises(PySparkException) as refused:
            spark.sql("COMMIT")
        assert condition(refused) == CONFLICT


def test_a_dataframe_of_a_rolled_back_transaction_is_refused(
    spark: SparkSession, tables: tuple[str, str]
) -> None:
    """It is neither shown nor written: its rows never came to be."""
    table, second = tables
    spark.sql("BEGIN")
    spark.sql(f"INSERT INTO {table} VALUES (9, 90)")
    found = spark.table(table).filter("id = 9")
    cached = spark.table(table).filter("id > 8").cache()
    assert cached.count() == 1
    spark.sql("ROLLBACK")
    for use in (found.count, cached.count, lambda: found.writeTo(second).append()):
        with pytest.raises(PySparkException) as refused:
            use()
        assert condition(refused) == FINISHED
    assert rows(spark.table(second)) == []


def test_a_dataframe_of_a_committed_transaction_follows(
    spark: SparkSession, other: SparkSession, tables: tuple[str, str]
) -> None:
    """After COMMIT it is a DataFrame like any other."""
    table, _ = tables
    spark.sql("BEGIN")
    spark.sql(f"INSERT INTO {table} VALUES (9, 90)")
    found = spark.table(table).filter("id > 1")
    assert found.count() == 1
    spark.sql("COMMIT")
    other.sql(f"INSERT INTO {table} VALUES (8, 80)")
    assert found.count() == 2


def test_the_second_run_of_one_dataset_is_not_of_another_moment(
    spark: SparkSession, tables: tuple[str, str]
) -> None:
    """Spark keeps a Dataset's plan; a transaction refuses it where it would show other rows."""
    table, _ = tables
    found = spark.table(table)
    assert len(found.collect()) == 1
    spark.sql("BEGIN")
    assert len(found.collect()) == 1
    spark.sql(f"INSERT INTO {table} VALUES (9, 90)")
    with pytest.raises(PySparkException) as stale:
        found.collect()
    assert condition(stale) == STALE
    inside = spark.table(table)
    assert len(inside.collect()) == 2
    assert len(inside.collect()) == 2
    spark.sql("ROLLBACK")
    with pytest.raises(PySparkException) as gone:
        inside.collect()
    assert condition(gone) == FINISHED


def test_an_iterator_of_a_transaction_goes_on_after_commit(
    spark: SparkSession, other: SparkSession, tables: tuple[str, str]
) -> None:
    """Rows that are fetched one by one are those of the moment at which the first was."""
    table, _ = tables
    spark.sql(f"INSERT INTO {table} SELECT id, id FROM range(2, 50)")
    spark.sql("BEGIN")
    spark.sql(f"INSERT INTO {table} VALUES (99, 99)")
    found = spark.table(table).repartition(4).toLocalIterator()
    first = next(found)
    spark.sql("COMMIT")
    other.sql(f"DELETE FROM {table}")
    assert 1 + sum(1 for _ in found) == 50
    assert first is not None


# --- handles -------------------------------------------------------------------------------------


@pytest.fixture
def handle(spark: SparkSession) -> Callable[[str], object]:
    """Makes a DeltaTable of a name."""
    from delta.tables import DeltaTable

    return lambda name: DeltaTable.forName(spark, name)


def test_what_a_handle_reads_counts(
    spark: SparkSession,
    other: SparkSession,
    tables: tuple[str, str],
    handle: Callable[[str], DataFrame],
) -> None:
    """A count through a handle that is older than the transaction is a read like any other."""
    table, second = tables
    delta = handle(table)
    spark.sql("BEGIN ISOLATION LEVEL SERIALIZABLE")
    spark.sql(f"INSERT INTO {table} VALUES (2, 20)")
    count = delta.toDF().count()
    assert count == 2
    spark.sql(f"INSERT INTO {second} VALUES ({count}, 0)")
    other.sql(f"INSERT INTO {table} VALUES (3, 30)")
    with pytest.raises(PySparkException) as refused:
        spark.sql("COMMIT")
    assert condition(refused) == CONFLICT


def test_a_delete_through_a_handle_depends_on_its_condition(
    spark: SparkSession,
    other: SparkSession,
    tables: tuple[str, str],
    handle: Callable[[str], DataFrame],
) -> None:
    """`handle.delete("id = 1")` is `DELETE … WHERE id = 1`: rows that cannot match may come in."""
    table, _ = tables
    delta = handle(table)
    spark.sql("BEGIN ISOLATION LEVEL SERIALIZABLE")
    delta.delete("id = 1")
    other.sql(f"INSERT INTO {table} VALUES (3, 30)")
    spark.sql("COMMIT")
    assert rows(spark.table(table)) == [(3, 30)]


def test_a_handle_changes_the_table_as_it_is(
    spark: SparkSession,
    other: SparkSession,
    tables: tuple[str, str],
    handle: Callable[[str], DataFrame],
) -> None:
    """Update, delete and merge through an old handle work on the newest rows."""
    table, second = tables
    delta = handle(table)
    other.sql(f"INSERT INTO {table} VALUES (2, 20), (3, 30)")
    delta.update("id >= 2", {"value": lit(0)})
    assert rows(delta.toDF()) == [(1, 10), (2, 0), (3, 0)]
    delta.delete(delta.toDF()["id"] == 3)
    other.sql(f"INSERT INTO {second} VALUES (2, 22), (4, 44)")
    source = spark.table(second)
    delta.alias("t").merge(
        source.alias("s"), "t.id = s.id"
    ).whenMatchedUpdateAll().whenNotMatchedInsertAll().execute()
    assert rows(delta.toDF()) == [(1, 10), (2, 22), (4, 44)]


def test_a_handle_optimizes_inside_a_transaction(
    spark: SparkSession,
    other: SparkSession,
    tables: tuple[str, str],
    handle: Callable[[str], DataFrame],
) -> None:
    """What Delta does by the path of a handle is part of the session's transaction."""
    table, _ = tables
    spark.sql(f"INSERT INTO {table} VALUES (2, 20)")
    delta = handle(table)
    spark.sql("BEGIN")
    delta.optimize().executeCompaction()
    spark.sql(f"INSERT INTO {table} VALUES (3, 30)")
    assert rows(delta.toDF()) == [(1, 10), (2, 20), (3, 30)]
    assert rows(other.table(table)) == [(1, 10), (2, 20)]
    spark.sql("ROLLBACK")
    files = spark.table(table).select("_metadata.file_name").distinct()
    assert files.count() == 2


# --- statements ----------------------------------------------------------------------------------


def test_explain_shows_the_plan_that_runs(spark: SparkSession, tables: tuple[str, str]) -> None:
    """EXPLAIN takes the road of the query."""
    table, _ = tables
    explained = spark.sql(f"EXPLAIN SELECT * FROM {table} WHERE id = 1").first()[0]
    assert "BatchScan" in explained
    assert "Relation" not in explained


def test_delete_without_where_keeps_what_was_inserted_meanwhile(
    spark: SparkSession, other: SparkSession, tables: tuple[str, str]
) -> None:
    """Rows that were moved away and deleted are those that were seen; TRUNCATE removes all."""
    table, second = tables
    spark.sql("BEGIN")
    spark.sql(f"INSERT INTO {second} SELECT * FROM {table}")
    spark.sql(f"DELETE FROM {table}")
    other.sql(f"INSERT INTO {table} VALUES (3, 30)")
    spark.sql("COMMIT")
    assert rows(spark.table(table)) == [(3, 30)]
    assert rows(spark.table(second)) == [(1, 10)]
    spark.sql("BEGIN")
    spark.sql(f"TRUNCATE TABLE {table}")
    other.sql(f"INSERT INTO {table} VALUES (4, 40)")
    spark.sql("COMMIT")
    assert rows(spark.table(table)) == []
