"""``BEGIN ATOMIC … END``: a script of Spark's that is one transaction."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

import pytest

from tests.support.driver import wait_until
from tests.support.spark_rows import fails, one, rows, version

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark


@pytest.fixture(autouse=True)
def _no_transaction_left(spark: SparkSession) -> Iterator[None]:
    yield
    if spark.sql("SHOW TRANSACTION").count():
        spark.sql("ROLLBACK")


def test_all_of_it(spark: SparkSession, other: SparkSession, table: str) -> None:
    """Many statements, one version; they see each other's work; the last query's rows come back."""
    spark.sql(f"CREATE TABLE {table} (a INT)")
    before = version(spark)
    answer = spark.sql(f"""
        -- a block
        BEGIN ATOMIC
          DECLARE i INT DEFAULT 0;
          CREATE TABLE {table}_log AS SELECT 'begun' AS what;
          WHILE i < 3 DO
            SET i = i + 1;
            INSERT INTO {table} VALUES (i);
          END WHILE;
          IF (SELECT sum(a) FROM {table}) = 6 THEN
            INSERT INTO {table}_log VALUES ('summed');
          END IF;
          UPDATE {table} SET a = a * 10 WHERE a = 3;
          SELECT sum(a) AS total FROM {table};
        END;
    """)
    assert [tuple(row) for row in answer.collect()] == [(33,)]
    assert answer.columns == ["total"]
    assert version(spark) == before + 1
    for session in (spark, other):
        assert rows(session, f"SELECT * FROM {table}") == [(1,), (2,), (30,)]
        assert rows(session, f"SELECT * FROM {table}_log") == [("begun",), ("summed",)]
    assert spark.sql("SHOW TRANSACTION").count() == 0


def test_each_statement_is_one_of_its_own(spark: SparkSession, table: str) -> None:
    """Queries, changes and ALTER in any order, each loaded as its own kind asks."""
    spark.sql(f"CREATE TABLE {table} AS SELECT CAST(id AS INT) AS a FROM range(3)")
    answer = spark.sql(f"""
        BEGIN ATOMIC
          SELECT count(*) FROM {table};
          UPDATE {table} SET a = 10 WHERE a = 0;
          SELECT sum(a) FROM {table};
          ALTER TABLE {table} ADD COLUMNS (b STRING);
          DELETE FROM {table} WHERE a = 1;
          SELECT max(a) FROM {table};
          MERGE INTO {table} t USING (SELECT 2 AS a, 'x' AS b) s ON t.a = s.a
            WHEN MATCHED THEN UPDATE SET b = s.b;
          ALTER TABLE {table} SET TBLPROPERTIES ('mine' = 'yes');
          INSERT INTO {table} VALUES (4, 'y');
          SELECT a, b FROM {table} ORDER BY a;
        END
    """)
    assert [tuple(row) for row in answer.collect()] == [(2, "x"), (4, "y"), (10, None)]
    assert rows(spark, f"SELECT a, b FROM {table}") == [(2, "x"), (4, "y"), (10, None)]


def test_a_change_that_meets_no_row_is_a_read(
    spark: SparkSession, other: SparkSession, table: str
) -> None:
    """Under SERIALIZABLE it is kept apart from the other statements of the block."""
    spark.sql(f"CREATE TABLE {table} (a INT)")
    spark.sql("CALL lake.system.set_property('txn_isolation_level', 'SERIALIZABLE')")
    try:
        other.sql("BEGIN ISOLATION LEVEL SNAPSHOT")
        other.sql(f"INSERT INTO {table} VALUES (1)")
        with ThreadPoolExecutor(1) as pool:
            running = pool.submit(
                lambda: spark.sql(f"""
                    BEGIN ATOMIC
                      UPDATE {table} SET a = 2 WHERE a = 1;
                      INSERT INTO {table} VALUES (5);
                      CREATE TABLE {table}_slow AS
                        SELECT java_method('java.lang.Thread', 'sleep', 5000L) AS x;
                      INSERT INTO {table}_slow VALUES ('end');
                    END
                """)
            )
            assert wait_until(lambda: _changes(spark) == 1, 60)
            other.sql("COMMIT")
            with fails("TRINITYLAKE_COMMIT_CONFLICT", "40001"):
                running.result()
    finally:
        spark.sql("CALL lake.system.set_property('txn_isolation_level', 'SNAPSHOT')")
    assert rows(spark, f"SELECT * FROM {table}") == [(1,)]


def test_nothing_of_it(spark: SparkSession, other: SparkSession, table: str) -> None:
    """An error inside rolls everything back and surfaces as it is, whatever raised it."""
    spark.sql(f"CREATE TABLE {table} (a INT)")
    spark.sql(f"ALTER TABLE {table} ADD CONSTRAINT positive CHECK (a > 0)")
    before = version(spark)
    for bad, condition, state in (
        (
            f"INSERT INTO {table} SELECT CAST(1 DIV id AS INT) FROM range(1)",
            "DIVIDE_BY_ZERO",
            "22012",
        ),
        (f"SELECT * FROM {table}_nothing", "TABLE_OR_VIEW_NOT_FOUND", "42P01"),
        (f"CREATE TABLE {table} (b INT)", "TABLE_OR_VIEW_ALREADY_EXISTS", "42P07"),
        ("SELECT raise_error('mine')", "USER_RAISED_EXCEPTION", "P0001"),
        ("CALL lake.system.set_property('order', '1')", "TRINITYLAKE_INVALID_ARGUMENT", "22023"),
    ):
        block = f"BEGIN ATOMIC CREATE TABLE {table}_x (a INT); INSERT INTO {table} VALUES (1);"
        with fails(condition, state):
            spark.sql(f"{block} {bad}; END")
        assert spark.sql("SHOW TRANSACTION").count() == 0
    with pytest.raises(Exception, match="positive"):
        spark.sql(
            f"BEGIN ATOMIC INSERT INTO {table} VALUES (1); INSERT INTO {table} VALUES (-1); END"
        )
    assert spark.sql("SHOW TRANSACTION").count() == 0
    for session in (spark, other):
        assert version(session) == before
        assert rows(session, f"SELECT * FROM {table}") == []
        with fails("TABLE_OR_VIEW_NOT_FOUND"):
            session.sql(f"SELECT * FROM {table}_x")


def test_an_error_that_the_block_handles(spark: SparkSession, table: str) -> None:
    """A handler inside decides: what the block did is committed, without the failed statement."""
    spark.sql(f"CREATE TABLE {table} (a INT)")
    spark.sql(f"""
        BEGIN ATOMIC
          DECLARE EXIT HANDLER FOR TABLE_OR_VIEW_NOT_FOUND
            BEGIN INSERT INTO {table} VALUES (-1); END;
          INSERT INTO {table} VALUES (1);
          INSERT INTO {table} SELECT * FROM {table}_nothing;
          INSERT INTO {table} VALUES (2);
        END
    """)
    assert rows(spark, f"SELECT * FROM {table}") == [(-1,), (1,)]


def test_a_conflict_refuses_all_of_it(spark: SparkSession, other: SparkSession, table: str) -> None:
    """Its statements see one version; if COMMIT is refused the block fails with that."""
    spark.sql(f"CREATE TABLE {table} AS SELECT 1 AS a")
    block = f"""
        BEGIN ATOMIC
          CREATE TABLE {table}_before AS SELECT count(*) AS n FROM {table};
          CREATE TABLE {table}_slow AS SELECT java_method('java.lang.Thread', 'sleep', 4000L) AS x;
          CREATE TABLE {table}_after AS SELECT count(*) AS n FROM {table};
          UPDATE {table} SET a = 2;
        END
    """
    other.sql("BEGIN")
    other.sql(f"UPDATE {table} SET a = 3")
    with ThreadPoolExecutor(1) as pool:
        running = pool.submit(lambda: spark.sql(block))
        assert wait_until(lambda: _changes(spark) == 1, 60)
        other.sql("COMMIT")
        with fails("TRINITYLAKE_COMMIT_CONFLICT", "40001"):
            running.result()
    assert rows(spark, f"SELECT * FROM {table}") == [(3,)]
    for name in ("before", "slow", "after"):
        with fails("TABLE_OR_VIEW_NOT_FOUND"):
            spark.sql(f"SELECT * FROM {table}_{name}")
    assert spark.sql("SHOW TRANSACTION").count() == 0


def _changes(spark: SparkSession) -> int:
    """How many tables the session's open transaction has changed."""
    return sum(len(row["changes"]) for row in spark.sql("SHOW TRANSACTION").collect())


def test_parameters(spark: SparkSession, table: str) -> None:
    """Named and positional parameters are bound inside."""
    spark.sql(f"CREATE TABLE {table} (a INT)")
    spark.sql(f"BEGIN ATOMIC INSERT INTO {table} VALUES (:x); END", {"x": 5})
    spark.sql(f"BEGIN ATOMIC INSERT INTO {table} VALUES (?); END", [6])
    assert rows(spark, f"SELECT * FROM {table}") == [(5,), (6,)]


def test_out_of_place(spark: SparkSession, table: str) -> None:
    """Inside a transaction it is refused, and that transaction goes on."""
    spark.sql("BEGIN")
    spark.sql(f"CREATE TABLE {table} (a INT)")
    with fails("TRINITYLAKE_TRANSACTION_ACTIVE", "25001"):
        spark.sql(f"BEGIN ATOMIC INSERT INTO {table} VALUES (1); END")
    assert rows(spark, f"SELECT * FROM {table}") == []
    spark.sql("COMMIT")
    insert = f"INSERT INTO {table} VALUES (1)"
    for text, condition in (
        (f"BEGIN ATOMIC {insert}", "PARSE_SYNTAX_ERROR"),
        (f"BEGIN ATOMIC {insert}; COMMIT; END", "INVALID_STATEMENT_OR_CLAUSE"),
        (f"BEGIN ATOMIC BEGIN ATOMIC {insert}; END; END", "PARSE_SYNTAX_ERROR"),
    ):
        with fails(condition):
            spark.sql(text)
    assert one(spark, f"SELECT count(*) FROM {table}") == 0


@pytest.mark.parametrize(
    "call",
    [
        "CALL lake.system.begin()",
        "CALL lake.system.commit()",
        "CALL lake.system.rollback()",
        "CALL lake.system.prepare_transaction('in_a_block')",
        "CALL lake.system.resume_transaction('in_a_block')",
        "EXECUTE IMMEDIATE 'CALL lake.system.rollback()'",
        "EXECUTE IMMEDIATE 'COMMIT'",
    ],
)
def test_the_block_alone_begins_and_ends(spark: SparkSession, table: str, call: str) -> None:
    """A procedure that would do so is refused, and the block rolls back like after any error."""
    spark.sql(f"CREATE TABLE {table} (a INT)")
    before = version(spark)
    insert = f"INSERT INTO {table} VALUES"
    with fails("TRINITYLAKE_UNSUPPORTED", "0A000"):
        spark.sql(f"BEGIN ATOMIC {insert} (1); {call}; {insert} (2); END")
    assert version(spark) == before
    assert rows(spark, f"SELECT * FROM {table}") == []
    assert spark.sql("SHOW TRANSACTION").count() == 0
    assert spark.sql("SHOW TRANSACTIONS").count() == 0

    spark.sql(f"""
        BEGIN ATOMIC
          DECLARE EXIT HANDLER FOR SQLSTATE '0A000' BEGIN {insert} (3); END;
          {insert} (1); {call}; {insert} (2);
        END
    """)
    assert version(spark) == before + 1
    assert rows(spark, f"SELECT * FROM {table}") == [(1,), (3,)]


def test_another_thread_does_not_end_it(spark: SparkSession, table: str) -> None:
    """The rest of the block would otherwise be committed statement by statement."""
    spark.sql(f"CREATE TABLE {table} (a INT)")
    before = version(spark)
    with ThreadPoolExecutor(1) as pool:
        running = pool.submit(
            lambda: spark.sql(f"""
                BEGIN ATOMIC
                  INSERT INTO {table} VALUES (1);
                  CREATE TABLE {table}_slow AS
                    SELECT java_method('java.lang.Thread', 'sleep', 3000L) AS x;
                  INSERT INTO {table} VALUES (2);
                END
            """)
        )
        assert wait_until(lambda: _changes(spark) == 1, 60)
        for statement in ("ROLLBACK", "COMMIT", "BEGIN"):
            with fails("TRINITYLAKE_UNSUPPORTED", "0A000"):
                spark.sql(statement)
        running.result()
    assert version(spark) == before + 1
    assert rows(spark, f"SELECT * FROM {table}") == [(1,), (2,)]


def test_plain_blocks_are_sparks(spark: SparkSession, table: str) -> None:
    """BEGIN … END without ATOMIC commits statement by statement, as Spark's scripts do."""
    spark.sql(f"CREATE TABLE {table} (a INT)")
    before = version(spark)
    with fails("DIVIDE_BY_ZERO"):
        spark.sql(f"BEGIN INSERT INTO {table} VALUES (1); SELECT 1 / 0; END")
    assert rows(spark, f"SELECT * FROM {table}") == [(1,)]
    spark.sql(f"BEGIN NOT ATOMIC INSERT INTO {table} VALUES (2); END")
    assert version(spark) == before + 2
