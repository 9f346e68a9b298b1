"""The version that a plan reads, through doors other than plain queries and writes."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

import pytest
from pyspark.sql.functions import broadcast

from tests.support.spark_rows import fails

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from pyspark.sql import DataFrame, SparkSession


@pytest.fixture
def pair(spark: SparkSession, table: str) -> Iterator[tuple[str, str]]:
    """Two tables: the first has rows 1 and 2, the second none."""
    second = f"{table}_2"
    spark.sql(f"CREATE TABLE {table} (id INT)")
    spark.sql(f"CREATE TABLE {second} (id INT)")
    spark.sql(f"INSERT INTO {table} VALUES (1), (2)")
    yield table, second
    if spark.sql("SHOW TRANSACTION").count():
        spark.sql("ROLLBACK")


def ids(found: DataFrame) -> list[int]:
    """Return the first column, sorted; asks anew."""
    return sorted(row[0] for row in found.select("*").collect())


@pytest.mark.parametrize(
    "query",
    [
        "WITH c AS (SELECT id FROM {t}) SELECT a.id FROM c a JOIN c b ON a.id = b.id",
        "SELECT id FROM {t} WHERE id IN (SELECT id FROM {t})",
        "SELECT id FROM {t} a WHERE EXISTS (SELECT 1 FROM {t} b WHERE b.id = a.id)",
        "SELECT id FROM {t} WHERE (SELECT count(*) FROM {t}) = (SELECT max(id) FROM {t})",
        "SELECT id FROM {t} UNION SELECT id FROM {t}",
    ],
    ids=["cte", "in", "exists", "scalar", "union"],
)
def test_all_parts_of_a_query_follow(
    spark: SparkSession, other: SparkSession, pair: tuple[str, str], query: str
) -> None:
    """Tables in CTEs, subqueries and both sides of a join are of one, the newest, version."""
    found = spark.sql(query.format(t=pair[0]))
    other.sql(f"INSERT INTO {pair[0]} VALUES (3)")
    assert ids(found) == [1, 2, 3]
    spark.sql("BEGIN")
    other.sql(f"INSERT INTO {pair[0]} VALUES (4)")
    spark.sql(f"DELETE FROM {pair[0]} WHERE id = 3")
    assert ids(found) == [1, 2]


def test_named_versions_stay_beside_the_newest(
    spark: SparkSession, other: SparkSession, pair: tuple[str, str]
) -> None:
    """A join with an older version of the same table keeps the one and follows the other."""
    table, _ = pair
    version = spark.sql("SELECT max(version) FROM lake.system.versions").first()[0]
    old = spark.read.option("versionAsOf", version).table(table)
    new = spark.table(table)
    added = new.join(old, "id", "left_anti")
    assert ids(added) == []
    other.sql(f"INSERT INTO {table} VALUES (3)")
    assert ids(added) == [3]
    spark.sql("BEGIN")
    spark.sql(f"INSERT INTO {table} VALUES (9)")
    assert ids(added) == [3, 9]


def test_replanned_joins_read_the_pinned_rows(
    spark: SparkSession, other: SparkSession, pair: tuple[str, str]
) -> None:
    """Broadcasts, shuffles and plans that change while they run are of the same version."""
    table, _ = pair
    left, right = spark.table(table).repartition(3, "id"), spark.table(table)
    joined = left.join(broadcast(right), "id").groupBy("id").count()
    other.sql(f"INSERT INTO {table} SELECT id FROM range(3, 200)")
    assert len(ids(joined)) == 199


@pytest.mark.parametrize("local", [True, False])
def test_checkpoints_are_values(
    spark: SparkSession, other: SparkSession, pair: tuple[str, str], tmp_path: Path, *, local: bool
) -> None:
    """A checkpoint holds the rows of its moment; what is built on it goes on with them."""
    table, _ = pair
    spark.sparkContext.setCheckpointDir(str(tmp_path))
    found = spark.table(table)
    other.sql(f"INSERT INTO {table} VALUES (3)")
    held = found.localCheckpoint() if local else found.checkpoint()
    other.sql(f"DELETE FROM {table}")
    assert ids(held) == [1, 2, 3]
    assert ids(found) == []


def test_views_made_inside_a_transaction(spark: SparkSession, pair: tuple[str, str]) -> None:
    """A temporary view is a question, too, and goes by names: it follows, also after ROLLBACK."""
    table, _ = pair
    spark.sql("BEGIN")
    spark.sql(f"INSERT INTO {table} VALUES (9)")
    spark.sql(f"CREATE OR REPLACE TEMPORARY VIEW inside AS SELECT id FROM {table}")
    frame = spark.table(table)
    frame.createOrReplaceTempView("inside_too")
    assert ids(spark.table("inside")) == ids(spark.table("inside_too")) == [1, 2, 9]
    spark.sql("ROLLBACK")
    assert ids(spark.table("inside")) == ids(spark.table("inside_too")) == [1, 2]
    with fails("TRINITYLAKE_TRANSACTION_FINISHED", "25000"):
        frame.createOrReplaceTempView("outside")


def test_threads_of_one_session(spark: SparkSession, pair: tuple[str, str]) -> None:
    """Queries of one DataFrame from many threads each read a version with all rows of a commit."""
    table, _ = pair
    found = spark.table(table)

    def counts() -> list[int]:
        return [found.select("*").count() for _ in range(3)]

    with ThreadPoolExecutor(4) as pool:
        running = [pool.submit(counts) for _ in range(4)]
        for number in (10, 20):
            spark.sql(f"INSERT INTO {table} VALUES ({number}), ({number + 1})")
        seen = [one.result() for one in running]
    assert all(each == sorted(each) and set(each) <= {2, 4, 6} for each in seen)
    assert found.select("*").count() == 6


def test_a_copy_in_another_session(
    spark: SparkSession, pair: tuple[str, str], new_session: Callable[..., SparkSession], root: str
) -> None:
    """A transaction of one session does not show in a DataFrame of another."""
    table, _ = pair
    second = new_session(root)
    theirs = second.table(table)
    spark.sql("BEGIN")
    spark.sql(f"INSERT INTO {table} VALUES (9)")
    assert ids(theirs) == [1, 2]
    assert ids(spark.table(table)) == [1, 2, 9]
    spark.sql("COMMIT")
    assert ids(theirs) == [1, 2, 9]


@pytest.mark.parametrize("block", ["BEGIN", "BEGIN ATOMIC"])
def test_each_statement_of_a_script_follows(
    spark: SparkSession, pair: tuple[str, str], block: str
) -> None:
    """A statement sees what the ones before it wrote, and a variable keeps what it was set to."""
    source, target = pair
    answer = spark.sql(f"""
        {block}
          DECLARE n INT DEFAULT 0;
          SET n = (SELECT CAST(count(*) AS INT) FROM {source});
          INSERT INTO {source} SELECT 10;
          INSERT INTO {target} SELECT id + 100 * n FROM {source};
          SELECT id FROM {target} WHERE id >= 100 * n;
        END
    """)
    assert ids(answer) == [201, 202, 210]
