"""What a transaction may contain beside its own catalog: what ends with the session, no more."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.support.spark_rows import fails, one, rows, version
from trinitylake_spark.spark.settings import catalog_settings

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark


@pytest.fixture
def opened(spark: SparkSession, table: str) -> Iterator[SparkSession]:
    """The module's session, in a transaction that has written to the test's table."""
    spark.sql("CREATE DATABASE IF NOT EXISTS spark_catalog.others")
    spark.sql("CREATE OR REPLACE TABLE spark_catalog.others.d (a INT) USING delta")
    spark.sql("DROP TABLE IF EXISTS spark_catalog.others.p")
    spark.sql("CREATE TABLE spark_catalog.others.p (a INT) USING parquet")
    spark.sql("CREATE OR REPLACE VIEW spark_catalog.others.v AS SELECT 1 AS a")
    spark.sql(f"CREATE TABLE {table} AS SELECT 1 AS a")
    spark.sql("BEGIN")
    spark.sql(f"INSERT INTO {table} VALUES (2)")
    yield spark
    spark.sql("ROLLBACK")


def test_what_ends_with_the_session(opened: SparkSession, table: str, tmp_path: Path) -> None:
    """Views, functions, variables, caches and settings of the session work as outside."""
    jar = tmp_path / "some.txt"
    jar.write_text("x")
    for statement in (
        "CREATE TEMPORARY FUNCTION twice(x INT) RETURNS INT RETURN x * 2",
        "CREATE TEMPORARY FUNCTION pairs(n INT) RETURNS TABLE (a INT) RETURN SELECT n",
        f"CREATE TEMPORARY VIEW mine AS SELECT twice(a) AS a FROM {table}",
        f"CREATE OR REPLACE TEMPORARY VIEW mine AS SELECT twice(a) + 1 AS a FROM {table}",
        f"ALTER VIEW mine AS SELECT twice(a) AS a FROM {table}",
        "ALTER VIEW mine RENAME TO ours",
        f"CREATE GLOBAL TEMPORARY VIEW everybodys AS SELECT a FROM {table}",
        "CREATE TEMPORARY VIEW files (a INT) USING parquet",
        "DECLARE VARIABLE n INT DEFAULT 1",
        "SET VAR n = (SELECT count(*) FROM ours)",
        "SET spark.sql.shuffle.partitions = 3",
        "RESET spark.sql.shuffle.partitions",
        f"CACHE TABLE {table}",
        f"CACHE TABLE kept AS SELECT * FROM {table}",
        f"REFRESH TABLE {table}",
        f"UNCACHE TABLE {table}",
        "USE spark_catalog.others",
        f"ADD FILE '{jar}'",
        f"EXPLAIN SELECT * FROM {table}",
        f"DESCRIBE {table}",
        "SHOW TABLES IN spark_catalog.others",
        "DROP VIEW files",
        "DROP TEMPORARY FUNCTION pairs",
    ):
        opened.sql(statement)
    assert one(opened, "SELECT n") == 2
    assert rows(opened, "SELECT a FROM ours") == [(2,), (4,)]
    assert rows(opened, "SELECT a FROM kept") == [(1,), (2,)]
    opened.table("spark_catalog.others.d").createOrReplaceTempView("mine")
    opened.table(table).createOrReplaceGlobalTempView("everybodys")
    for statement in (
        "DROP TEMPORARY VARIABLE n",
        "DROP VIEW ours",
        "DROP VIEW kept",
        "DROP VIEW global_temp.everybodys",
        "DROP TEMPORARY FUNCTION twice",
        "CLEAR CACHE",
        "USE spark_catalog.default",
    ):
        opened.sql(statement)


def test_what_lasts_elsewhere(opened: SparkSession, table: str, tmp_path: Path) -> None:
    """Each way to change another catalog or files is refused, and the transaction goes on."""
    files = (tmp_path / "files").as_uri()
    for statement in (
        "CREATE VIEW spark_catalog.others.w AS SELECT 1 AS a",
        f"CREATE VIEW spark_catalog.others.w AS SELECT * FROM {table}",
        "CREATE OR REPLACE VIEW spark_catalog.others.v AS SELECT 2 AS a",
        "ALTER VIEW spark_catalog.others.v AS SELECT 2 AS a",
        "ALTER VIEW spark_catalog.others.v RENAME TO others.w",
        "ALTER VIEW spark_catalog.others.v SET TBLPROPERTIES (p = 'q')",
        "DROP VIEW spark_catalog.others.v",
        "CREATE FUNCTION spark_catalog.others.f(x INT) RETURNS INT RETURN x",
        "CREATE FUNCTION spark_catalog.others.f AS 'java.lang.String'",
        f"INSERT OVERWRITE DIRECTORY '{files}' USING parquet SELECT * FROM {table}",
        f"INSERT INTO spark_catalog.others.p SELECT * FROM {table}",
        f"FROM range(1) INSERT INTO {table} SELECT 7 INSERT INTO spark_catalog.others.d SELECT 7",
        "INSERT OVERWRITE spark_catalog.others.d VALUES (1)",
        "TRUNCATE TABLE spark_catalog.others.d",
        "RESTORE TABLE spark_catalog.others.d TO VERSION AS OF 0",
        "ANALYZE TABLE spark_catalog.others.p COMPUTE STATISTICS",
        "COMMENT ON TABLE spark_catalog.others.d IS 'x'",
        "ALTER TABLE spark_catalog.others.d SET TBLPROPERTIES (p = 'q')",
        "ALTER TABLE spark_catalog.others.p SET TBLPROPERTIES (p = 'q')",
        "ALTER TABLE spark_catalog.others.p RENAME TO others.q",
        "CREATE TABLE spark_catalog.others.q USING parquet AS SELECT 1 AS a",
        "CREATE TABLE spark_catalog.others.q LIKE spark_catalog.others.p",
        "CREATE DATABASE spark_catalog.others2",
        "DROP DATABASE spark_catalog.others CASCADE",
        "ALTER DATABASE spark_catalog.others SET DBPROPERTIES (p = 'q')",
        "GENERATE symlink_format_manifest FOR TABLE spark_catalog.others.d",
        f"CREATE TABLE delta.`{files}` (a INT) USING delta",
    ):
        with fails("TRINITYLAKE_UNSUPPORTED", "0A000"):
            opened.sql(statement)
    data = opened.table(table)
    for write in (
        data.write.parquet,
        data.write.format("delta").save,
        data.write.mode("overwrite").format("delta").save,
        data.write.format("orc").save,
    ):
        with fails("TRINITYLAKE_UNSUPPORTED", "0A000"):
            write(files)
    for name in ("d", "p"):
        with fails("TRINITYLAKE_UNSUPPORTED", "0A000"):
            data.write.insertInto(f"spark_catalog.others.{name}")
        with fails("TRINITYLAKE_UNSUPPORTED", "0A000"):
            data.write.mode("append").saveAsTable(f"spark_catalog.others.{name}_2")
    assert not (tmp_path / "files").exists()
    assert rows(opened, f"SELECT a FROM {table}") == [(1,), (2,)]
    left = opened.sql("SHOW TABLES IN spark_catalog.others").where("NOT isTemporary")
    assert sorted(row["tableName"] for row in left.collect()) == ["d", "p", "v"]


def test_the_same_at_home(opened: SparkSession, other: SparkSession, table: str) -> None:
    """What is refused elsewhere is part of the transaction in its own catalog."""
    before = version(other)
    opened.sql(f"COMMENT ON TABLE {table} IS 'x'")
    opened.sql(f"ALTER TABLE {table} SET TBLPROPERTIES (p = 'q')")
    opened.sql(f"FROM range(1) INSERT INTO {table} SELECT id + 3 INSERT INTO {table} SELECT 4")
    assert rows(opened, f"SELECT a FROM {table}") == [(1,), (2,), (3,), (4,)]
    opened.sql(f"RESTORE TABLE {table} TO VERSION AS OF {before}")
    opened.sql(f"CREATE TABLE {table}_2 LIKE {table}")
    opened.sql(f"INSERT INTO {table}_2 VALUES (5)")
    opened.sql(f"TRUNCATE TABLE {table}_2")
    opened.sql(f"OPTIMIZE {table}_2")
    opened.sql(f"REORG TABLE {table}_2 APPLY (PURGE)")
    assert rows(opened, f"SELECT a FROM {table}") == [(1,)]
    assert rows(opened, f"SELECT a FROM {table}_2") == []
    assert rows(other, f"SELECT a FROM {table}") == [(1,)]


def test_procedures_of_other_catalogs(
    new_session: Callable[..., SparkSession], root: str, table: str, tmp_path: Path
) -> None:
    """Those that change something are refused, those that show something run."""
    session = new_session(root)
    for key, value in catalog_settings("second", (tmp_path / "2").as_uri(), create=True).items():
        session.conf.set(key, value)
    session.sql("CREATE NAMESPACE second.db")
    before = version(session, "second")
    session.sql("USE lake")
    session.sql("BEGIN")
    session.sql(f"CREATE TABLE {table} (a INT)")
    for call in (
        "begin()",
        "commit()",
        "set_property('team', 'mine')",
        "compact_tree()",
        "rollback_to_version(0)",
        "commit_prepared('x')",
    ):
        with fails("TRINITYLAKE_UNSUPPORTED", "0A000"):
            session.sql(f"CALL second.system.{call}")
    with fails("TRINITYLAKE_UNSUPPORTED", "0A000"):
        session.sql("CALL spark_catalog.system.anything()")
    assert session.sql("CALL second.system.show_transactions()").collect() == []
    assert session.sql("CALL second.system.check()").collect() == []
    session.sql("COMMIT")
    assert version(session, "second") == before
    assert one(session, f"SELECT count(*) FROM {table}") == 0
