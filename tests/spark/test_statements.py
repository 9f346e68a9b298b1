"""One statement, one version: of all its tables, whatever others do meanwhile."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

import pytest

from tests.support.spark_rows import one, rows

if TYPE_CHECKING:
    from collections.abc import Callable

    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark


def test_all_tables_of_a_statement_are_at_one_version(
    spark: SparkSession, new_session: Callable[..., SparkSession], root: str, table: str
) -> None:
    """While a transaction keeps moving an amount between two tables, their sum never changes."""
    for name in ("a", "b"):
        spark.sql(f"CREATE TABLE {table}_{name} AS SELECT 100 AS amount")
    union = f"SELECT * FROM {table}_a UNION ALL SELECT * FROM {table}_b"
    spark.sql(f"CREATE OR REPLACE TEMP VIEW both AS {union}")
    stop = threading.Event()
    failures: list[BaseException] = []

    def move() -> None:
        session = new_session(root)
        try:
            for i in range(6):
                session.sql("BEGIN")
                session.sql(f"INSERT OVERWRITE {table}_a VALUES ({100 - i})")
                session.sql(f"INSERT OVERWRITE {table}_b VALUES ({100 + i})")
                session.sql("COMMIT")
        except BaseException as error:  # noqa: BLE001 - shown by the test
            failures.append(error)
        finally:
            stop.set()

    mover = threading.Thread(target=move)
    mover.start()
    sums = set()
    while not stop.is_set():
        sums.add(one(spark, f"SELECT a.amount + b.amount FROM {table}_a a CROSS JOIN {table}_b b"))
        sums.add(one(spark, "SELECT sum(amount) FROM both"))
        sums.add(
            one(
                spark,
                f"SELECT (SELECT sum(amount) FROM {table}_a) + (SELECT sum(amount) FROM {table}_b)",
            )
        )
    mover.join()
    assert failures == []
    assert sums == {200}


def test_threads_do_not_shift_each_other(spark: SparkSession, table: str) -> None:
    """Two threads on one session, one reading pairs, one writing: each pair is of one version."""
    for name in ("a", "b"):
        spark.sql(f"CREATE TABLE {table}_{name} AS SELECT 0 AS x")
    mismatches: list[tuple[int, int]] = []
    done = threading.Event()

    def read() -> None:
        while not done.is_set():
            ((a, b),) = rows(spark, f"SELECT a.x, b.x FROM {table}_a a CROSS JOIN {table}_b b")
            if not 0 <= a - b <= 1:
                mismatches.append((a, b))

    reader = threading.Thread(target=read)
    reader.start()
    for i in range(1, 6):
        spark.sql(f"INSERT OVERWRITE {table}_a VALUES ({i})")
        spark.sql(f"INSERT OVERWRITE {table}_b VALUES ({i})")
    done.set()
    reader.join()
    assert mismatches == []


def test_a_statement_that_reads_its_own_target(spark: SparkSession, table: str) -> None:
    """INSERT INTO t SELECT … FROM t reads t as it was before the statement."""
    spark.sql(f"CREATE TABLE {table} AS SELECT 1 AS a")
    for expected in (2, 4, 8):
        spark.sql(f"INSERT INTO {table} SELECT a FROM {table}")
        assert one(spark, f"SELECT count(*) FROM {table}") == expected
    spark.sql(f"INSERT OVERWRITE {table} SELECT count(*) FROM {table}")
    assert rows(spark, f"SELECT * FROM {table}") == [(8,)]
    spark.sql(
        f"MERGE INTO {table} t USING (SELECT a + 1 AS a FROM {table}) s ON t.a = s.a"
        " WHEN NOT MATCHED THEN INSERT *"
    )
    assert rows(spark, f"SELECT * FROM {table}") == [(8,), (9,)]
    spark.sql(f"WITH old AS (SELECT * FROM {table}) INSERT INTO {table} SELECT a * 10 FROM old")
    assert rows(spark, f"SELECT * FROM {table}") == [(8,), (9,), (80,), (90,)]


def test_after_a_statement_that_fails_in_analysis(spark: SparkSession, table: str) -> None:
    """The next statement starts anew: it sees what was committed meanwhile."""
    spark.sql(f"CREATE TABLE {table} AS SELECT 1 AS a")
    for i in range(3):
        with pytest.raises(Exception, match="no_such_column"):
            spark.sql(f"SELECT no_such_column FROM {table}")
        spark.sql(f"INSERT INTO {table} VALUES ({i})")
        assert one(spark, f"SELECT count(*) FROM {table}") == i + 2
        assert spark.table(table).count() == i + 2


def test_scripts(spark: SparkSession, table: str) -> None:
    """A BEGIN … END block is Spark's: its statements run one by one and see each other."""
    spark.sql(f"CREATE TABLE {table} (a INT)")
    result = spark.sql(
        f"""BEGIN
          DECLARE n INT DEFAULT 0;
          WHILE n < 3 DO
            INSERT INTO {table} VALUES (n);
            SET n = n + 1;
          END WHILE;
          SELECT count(*) AS n FROM {table};
        END"""
    )
    assert [row["n"] for row in result.collect()] == [3]


def test_execute_immediate_and_parameters(spark: SparkSession, table: str) -> None:
    """Statements that arrive in other ways are statements, too."""
    spark.sql(f"CREATE TABLE {table} AS SELECT 1 AS a")
    spark.sql(f"EXECUTE IMMEDIATE 'INSERT INTO {table} VALUES (2)'")
    spark.sql(f"INSERT INTO {table} VALUES (:n)", args={"n": 3})
    spark.sql(f"OPTIMIZE {table}", args={"unused": 1})
    found = spark.sql(
        "SELECT * FROM IDENTIFIER(:t) WHERE a > :n ORDER BY a", args={"t": table, "n": 1}
    )
    assert [row["a"] for row in found.collect()] == [2, 3]
    by_position = spark.sql(f"SELECT * FROM {table} WHERE a = ?", args=[2])
    assert [row["a"] for row in by_position.collect()] == [2]
