"""BEGIN … COMMIT over several tables."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.support.spark_rows import fails, one, rows, version

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark


@pytest.fixture(autouse=True)
def _no_transaction_left(spark: SparkSession) -> Iterator[None]:
    yield
    if spark.sql("SHOW TRANSACTION").count():
        spark.sql("ROLLBACK")


def test_all_or_nothing(spark: SparkSession, other: SparkSession, table: str) -> None:
    """Changes of several tables become visible to others together, at COMMIT, as one version."""
    spark.sql(f"CREATE TABLE {table}_a (x INT)")
    spark.sql(f"CREATE TABLE {table}_b (x INT)")
    before = version(spark)

    spark.sql("BEGIN")
    spark.sql(f"INSERT INTO {table}_a VALUES (1)")
    spark.sql(f"INSERT INTO {table}_a VALUES (2)")
    spark.sql(f"INSERT INTO {table}_b VALUES (3)")
    spark.sql(f"CREATE TABLE {table}_c AS SELECT x + 1 AS x FROM {table}_b")
    assert rows(other, f"SELECT * FROM {table}_a") == []
    with fails("TABLE_OR_VIEW_NOT_FOUND"):
        other.sql(f"SELECT * FROM {table}_c")
    assert version(other) == before

    committed = spark.sql("COMMIT").collect()
    assert [row["version"] for row in committed] == [before + 1]
    for session in (spark, other):
        assert rows(session, f"SELECT * FROM {table}_a") == [(1,), (2,)]
        assert rows(session, f"SELECT * FROM {table}_b") == [(3,)]
        assert rows(session, f"SELECT * FROM {table}_c") == [(4,)]
    assert version(other) == before + 1


def test_it_reads_what_it_wrote(spark: SparkSession, table: str) -> None:
    """Each statement sees the ones before it: rows, schema, names."""
    spark.sql(f"CREATE TABLE {table} AS SELECT CAST(id AS INT) AS a FROM range(3)")
    spark.sql("START TRANSACTION")
    spark.sql(f"INSERT INTO {table} VALUES (10)")
    assert one(spark, f"SELECT sum(a) FROM {table}") == 13
    spark.sql(f"UPDATE {table} SET a = a + 1 WHERE a = 10")
    spark.sql(f"DELETE FROM {table} WHERE a = 0")
    spark.sql(
        f"MERGE INTO {table} t USING (SELECT 11 AS a) s ON t.a = s.a"
        " WHEN MATCHED THEN UPDATE SET a = 12"
    )
    assert rows(spark, f"SELECT * FROM {table}") == [(1,), (2,), (12,)]
    spark.sql(f"ALTER TABLE {table} ADD COLUMNS (b STRING)")
    spark.sql(f"INSERT INTO {table} VALUES (5, 'x')")
    spark.sql(f"ALTER TABLE {table} RENAME TO {table}_renamed")
    assert rows(spark, f"SELECT a, b FROM {table}_renamed WHERE b IS NOT NULL") == [(5, "x")]
    spark.sql(f"OPTIMIZE {table}_renamed")
    spark.sql(f"INSERT INTO {table}_renamed VALUES (6, 'y')")
    spark.sql("COMMIT WORK")
    expected = [(1, None), (2, None), (5, "x"), (6, "y"), (12, None)]
    assert rows(spark, f"SELECT * FROM {table}_renamed") == expected


def test_rollback(spark: SparkSession, table: str) -> None:
    """ROLLBACK leaves no trace: no rows, no tables, no namespaces, no version."""
    spark.sql(f"CREATE TABLE {table} AS SELECT 1 AS a")
    before = version(spark)
    spark.sql("BEGIN WORK")
    spark.sql(f"INSERT INTO {table} VALUES (2)")
    spark.sql(f"DROP TABLE {table}")
    spark.sql("CREATE NAMESPACE lake.gone")
    spark.sql("CREATE TABLE lake.gone.t AS SELECT 1 AS a")
    assert rows(spark, "SELECT * FROM lake.gone.t") == [(1,)]
    spark.sql("ROLLBACK TRANSACTION")
    assert rows(spark, f"SELECT * FROM {table}") == [(1,)]
    assert ("gone",) not in rows(spark, "SHOW NAMESPACES IN lake")
    assert version(spark) == before


def test_a_failed_statement_changes_nothing(spark: SparkSession, table: str) -> None:
    """It leaves the transaction open, without the statement."""
    spark.sql(f"CREATE TABLE {table} (a INT)")
    spark.sql(f"ALTER TABLE {table} ADD CONSTRAINT positive CHECK (a > 0)")
    spark.sql("BEGIN")
    spark.sql(f"INSERT INTO {table} VALUES (1)")
    with pytest.raises(Exception, match="positive"):
        spark.sql(f"INSERT INTO {table} VALUES (2), (-2)")
    with fails("TABLE_OR_VIEW_ALREADY_EXISTS"):
        spark.sql(f"CREATE TABLE {table} (b INT)")
    assert rows(spark, f"SELECT * FROM {table}") == [(1,)]
    spark.sql("COMMIT")
    assert rows(spark, f"SELECT * FROM {table}") == [(1,)]


def test_begin_and_commit_out_of_place(spark: SparkSession) -> None:
    """BEGIN inside and COMMIT or ROLLBACK outside a transaction are errors of their own."""
    for statement in ("COMMIT", "ROLLBACK"):
        with fails("TRINITYLAKE_NO_TRANSACTION", "25P01"):
            spark.sql(statement)
    spark.sql("BEGIN")
    with fails("TRINITYLAKE_TRANSACTION_ACTIVE", "25001"):
        spark.sql("BEGIN")
    spark.sql("ROLLBACK")


def test_begin_with_everything(spark: SparkSession, table: str) -> None:
    """Level and message arrive in SHOW TRANSACTION and in the history; COMMIT names its version."""
    spark.sql("BEGIN TRANSACTION ISOLATION LEVEL SERIALIZABLE COMMENT 'it''s \\'me\\'';")
    shown = spark.sql("SHOW TRANSACTION").collect()
    assert [(row["isolation_level"], row["message"]) for row in shown] == [
        ("SERIALIZABLE", "it's 'me'")
    ]
    spark.sql(f"CREATE TABLE {table} (a INT)")
    ((number, transaction),) = spark.sql("-- done\nCOMMIT /* it */ ;").collect()
    history = spark.sql(f"SELECT * FROM lake.system.versions WHERE version = {number}").first()
    assert history is not None
    assert history["transaction_id"] == transaction
    assert history["message"] == "it's 'me'"
    assert history["isolation_level"] == "SERIALIZABLE"
    assert [(c["name"], c["operation"]) for c in history["changes"]] == [
        (table.removeprefix("lake."), "CREATE")
    ]


@pytest.mark.parametrize(
    "noise",
    [" " * 20_000, "-- a line\n" * 20_000, "/* a comment */\n" * 20_000],
    ids=["blanks", "lines", "comments"],
)
def test_statements_after_much_noise(spark: SparkSession, noise: str) -> None:
    """However many blanks and comments come first, a statement is what it is."""
    assert one(spark, noise + "SELECT 1") == 1
    spark.sql(noise + "BEGIN")
    assert spark.sql(noise + "SHOW TRANSACTION").count() == 1
    spark.sql(noise + "ROLLBACK")
    spark.sql(noise + "BEGIN ATOMIC SELECT 1; END")


def test_a_long_comment(spark: SparkSession) -> None:
    """A COMMENT of 100,000 characters arrives whole."""
    message = "it's \\ me " * 10_000
    literal = message.replace("\\", "\\\\").replace("'", "''")
    spark.sql(f"BEGIN COMMENT '{literal}'")
    assert spark.sql("SHOW TRANSACTION").collect()[0]["message"] == message
    spark.sql("ROLLBACK")


def test_malformed_statements(spark: SparkSession) -> None:
    """They say what was expected and where; no transaction is opened or ended."""
    spark.sql("BEGIN")
    for statement, line, column, expected in (
        ("BEGIN TRANSACTION FOO", 1, 18, "at or near 'FOO': expected ISOLATION LEVEL, COMMENT"),
        ("COMMIT\n WORK X", 2, 6, "at or near 'X': expected the end of the statement"),
        ("BEGIN ISOLATION LEVEL BOGUS", 1, 22, "'BOGUS': expected SNAPSHOT or SERIALIZABLE"),
    ):
        with fails("PARSE_SYNTAX_ERROR", "42601") as caught:
            spark.sql(statement)
        assert expected in str(caught.value)
        assert f"(line {line}, pos {column})" in str(caught.value)
    assert spark.sql("SHOW TRANSACTION").count() == 1
    spark.sql("ROLLBACK")


def test_an_unknown_level(spark: SparkSession) -> None:
    """A level that there is not is refused, and no transaction is open."""
    with fails("TRINITYLAKE_INVALID_ARGUMENT"):
        spark.sql("BEGIN ISOLATION LEVEL READ COMMITTED")
    assert spark.sql("SHOW TRANSACTION").count() == 0


def test_a_read_only_transaction(spark: SparkSession, other: SparkSession, table: str) -> None:
    """It reads one version of all tables, whatever others commit, and makes none."""
    spark.sql(f"CREATE TABLE {table} AS SELECT 1 AS a")
    spark.sql("BEGIN")
    assert one(spark, f"SELECT count(*) FROM {table}") == 1
    other.sql(f"INSERT INTO {table} VALUES (2)")
    other.sql(f"CREATE TABLE {table}_later AS SELECT 1 AS a")
    assert one(spark, f"SELECT count(*) FROM {table}") == 1
    with fails("TABLE_OR_VIEW_NOT_FOUND"):
        spark.sql(f"SELECT * FROM {table}_later")
    before = version(other)
    assert spark.sql("COMMIT").first()["version"] is None
    assert version(other) == before
    assert one(spark, f"SELECT count(*) FROM {table}") == 2


def test_transactions_of_two_sessions(spark: SparkSession, other: SparkSession, table: str) -> None:
    """Sessions of one JVM have transactions of their own; disjoint ones both commit."""
    for name in ("a", "b"):
        spark.sql(f"CREATE TABLE {table}_{name} (x INT)")
    spark.sql("BEGIN")
    other.sql("BEGIN")
    spark.sql(f"INSERT INTO {table}_a VALUES (1)")
    other.sql(f"INSERT INTO {table}_b VALUES (2)")
    assert rows(spark, f"SELECT * FROM {table}_b") == []
    first = spark.sql("COMMIT").first()["version"]
    assert rows(other, f"SELECT * FROM {table}_a") == []
    assert other.sql("COMMIT").first()["version"] == first + 1
    for session in (spark, other):
        assert rows(session, f"SELECT * FROM {table}_a") == [(1,)]
        assert rows(session, f"SELECT * FROM {table}_b") == [(2,)]


def test_a_conflict(spark: SparkSession, other: SparkSession, table: str) -> None:
    """Two that change the same rows: the second COMMIT fails, and is over."""
    spark.sql(f"CREATE TABLE {table} AS SELECT 1 AS a")
    spark.sql("BEGIN")
    spark.sql(f"UPDATE {table} SET a = 2")
    other.sql(f"UPDATE {table} SET a = 3")
    with fails("TRINITYLAKE_COMMIT_CONFLICT", "40001"):
        spark.sql("COMMIT")
    with fails("TRINITYLAKE_NO_TRANSACTION"):
        spark.sql("ROLLBACK")
    assert rows(spark, f"SELECT * FROM {table}") == [(3,)]


def test_appends_do_not_conflict(spark: SparkSession, other: SparkSession, table: str) -> None:
    """Rows that both added are there, once each, whoever committed first."""
    spark.sql(f"CREATE TABLE {table} (a INT)")
    spark.sql("BEGIN")
    spark.sql(f"INSERT INTO {table} VALUES (1)")
    other.sql(f"INSERT INTO {table} VALUES (2)")
    spark.sql(f"INSERT INTO {table} VALUES (3)")
    spark.sql("COMMIT")
    for session in (spark, other):
        assert rows(session, f"SELECT * FROM {table}") == [(1,), (2,), (3,)]
    for session in (spark, other):
        session.sql(f"INSERT INTO {table} VALUES (4)")
    assert one(spark, f"SELECT sum(a) FROM {table}") == 14


def test_other_catalogs_are_refused(
    new_session: Callable[..., SparkSession], root: str, table: str
) -> None:
    """Inside a transaction another catalog can be read but not changed."""
    session = new_session(root)
    for key in ("", ".root", ".create"):
        session.conf.set(
            f"spark.sql.catalog.second{key}", session.conf.get(f"spark.sql.catalog.lake{key}")
        )
    session.conf.set("spark.sql.catalog.second.root", root + "-second")
    session.sql("CREATE NAMESPACE second.db")
    session.sql("CREATE TABLE second.db.t AS SELECT 1 AS a")
    session.sql("CREATE OR REPLACE TABLE spark_catalog.default.outside (a INT) USING delta")
    session.sql(f"CREATE TABLE {table} (a INT)")

    session.sql("USE lake")
    session.sql("BEGIN")
    session.sql(f"INSERT INTO {table} SELECT a FROM second.db.t")
    for statement in (
        "INSERT INTO second.db.t VALUES (2)",
        "DELETE FROM second.db.t",
        "UPDATE second.db.t SET a = 2",
        "CREATE TABLE second.db.u (a INT)",
        "DROP TABLE second.db.t",
        "ALTER TABLE second.db.t ADD COLUMNS (b INT)",
        "OPTIMIZE second.db.t",
        "CREATE NAMESPACE second.other",
        "INSERT INTO spark_catalog.default.outside VALUES (1)",
        "CREATE TABLE spark_catalog.default.more (a INT) USING delta",
        "MERGE INTO second.db.t t USING second.db.t s ON t.a = s.a WHEN MATCHED THEN DELETE",
    ):
        with fails("TRINITYLAKE_UNSUPPORTED", "0A000"):
            session.sql(statement)
    with fails("TRINITYLAKE_UNSUPPORTED"):
        session.range(1).write.format("delta").mode("append").save(root + "-files")
    session.sql("CREATE TEMP VIEW fine AS SELECT * FROM second.db.t")
    session.sql("COMMIT")
    assert rows(session, f"SELECT * FROM {table}") == [(1,)]
    assert rows(session, "SELECT * FROM second.db.t") == [(1,)]
    session.sql("DROP TABLE spark_catalog.default.outside")


def test_which_catalog(new_session: Callable[..., SparkSession], root: str) -> None:
    """BEGIN takes the current catalog if it is ours, else the only one, else it asks."""
    session = new_session(root)
    session.conf.set("spark.sql.catalog.second", session.conf.get("spark.sql.catalog.lake"))
    session.conf.set("spark.sql.catalog.second.root", root + "-which")
    session.conf.set("spark.sql.catalog.second.create", "true")
    with fails("TRINITYLAKE_SETUP"):
        session.sql("BEGIN")
    session.sql("USE second")
    session.sql("BEGIN")
    session.sql("USE spark_catalog")
    assert session.sql("SHOW TRANSACTION").first()["catalog"] == "second"
    session.sql("ROLLBACK")
