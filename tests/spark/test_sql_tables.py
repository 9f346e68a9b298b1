"""Creating, changing and describing tables in SQL."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest

from tests.support.spark_rows import fails, one, rows, version
from trinitylake_spark.spark.procedures import describe

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark


def names(spark: SparkSession, namespace: str = "lake.db") -> set[str]:
    """Names of the tables in a namespace."""
    return {name for _, name, _ in rows(spark, f"SHOW TABLES IN {namespace}")}


def test_create_and_drop(spark: SparkSession, table: str) -> None:
    """A table is there when it was created and gone when it was dropped."""
    spark.sql(f"CREATE TABLE {table} (id BIGINT, v STRING COMMENT 'text') COMMENT 'mine'")
    assert table.rpartition(".")[2] in names(spark)
    assert rows(spark, f"SELECT * FROM {table}") == []
    assert rows(spark, f"DESCRIBE {table}") == [("id", "bigint", None), ("v", "string", "text")]

    spark.sql(f"DROP TABLE {table}")
    assert table.rpartition(".")[2] not in names(spark)
    with fails("TABLE_OR_VIEW_NOT_FOUND"):
        spark.sql(f"SELECT * FROM {table}")


def test_create_is_one_version(spark: SparkSession, table: str) -> None:
    """CREATE and CTAS make one version each: name and data become visible in one step."""
    before = version(spark)
    spark.sql(f"CREATE TABLE {table} (a INT)")
    assert version(spark) == before + 1
    spark.sql(f"CREATE TABLE {table}_2 AS SELECT * FROM range(10)")
    assert version(spark) == before + 2
    assert one(spark, f"SELECT count(*) FROM {table}_2 VERSION AS OF {before + 2}") == 10
    with fails("TABLE_OR_VIEW_NOT_FOUND"):
        spark.sql(f"SELECT * FROM {table}_2 VERSION AS OF {before + 1}")


def test_create_twice(spark: SparkSession, table: str) -> None:
    """IF NOT EXISTS makes it harmless; else it is Spark's own error."""
    spark.sql(f"CREATE TABLE {table} (a INT)")
    before = version(spark)
    spark.sql(f"CREATE TABLE IF NOT EXISTS {table} (b STRING)")
    with fails("TABLE_OR_VIEW_ALREADY_EXISTS"):
        spark.sql(f"CREATE TABLE {table} (b STRING)")
    with fails("TABLE_OR_VIEW_ALREADY_EXISTS"):
        spark.sql(f"CREATE TABLE {table} AS SELECT 1 AS b")
    assert version(spark) == before


def test_a_failed_ctas_leaves_nothing(spark: SparkSession, table: str) -> None:
    """If its query fails there is no table and no version."""
    before = version(spark)
    with pytest.raises(Exception, match="DIVIDE_BY_ZERO"):
        spark.sql(f"CREATE TABLE {table} AS SELECT 1 / (id - 5) AS x FROM range(10)")
    assert table.rpartition(".")[2] not in names(spark)
    assert version(spark) == before


def test_create_or_replace(spark: SparkSession, table: str) -> None:
    """It creates, then replaces schema and data in one version; the old one can be read."""
    spark.sql(f"CREATE OR REPLACE TABLE {table} AS SELECT 1 AS a")
    first = version(spark)
    spark.sql(f"CREATE OR REPLACE TABLE {table} AS SELECT 'x' AS b, 2 AS c")
    assert version(spark) == first + 1
    assert rows(spark, f"SELECT * FROM {table}") == [("x", 2)]
    assert rows(spark, f"SELECT a FROM {table} VERSION AS OF {first}") == [(1,)]

    spark.sql(f"REPLACE TABLE {table} (d DATE)")
    assert rows(spark, f"SELECT d FROM {table}") == []
    with fails("TABLE_OR_VIEW_NOT_FOUND"):
        spark.sql(f"REPLACE TABLE {table}_absent AS SELECT 1 AS a")


def test_create_like(spark: SparkSession, table: str) -> None:
    """CREATE TABLE LIKE copies the columns and no rows."""
    spark.sql(f"CREATE TABLE {table} AS SELECT 1 AS a, 'x' AS b")
    spark.sql(f"CREATE TABLE {table}_2 LIKE {table}")
    assert spark.table(f"{table}_2").schema == spark.table(table).schema
    assert one(spark, f"SELECT count(*) FROM {table}_2") == 0


def test_partitions(spark: SparkSession, table: str) -> None:
    """A partitioned table says so, and its partitions can be listed."""
    spark.sql(f"CREATE TABLE {table} (k STRING, v INT) PARTITIONED BY (k)")
    spark.sql(f"INSERT INTO {table} VALUES ('a', 1), ('b', 2)")
    assert rows(spark, f"SHOW PARTITIONS {table}") == [("a",), ("b",)]
    assert ("# Partition Information", "", "") in rows(spark, f"DESCRIBE {table}")
    assert rows(spark, f"SELECT v FROM {table} WHERE k = 'b'") == [(2,)]


def test_clustering(spark: SparkSession, table: str) -> None:
    """CLUSTER BY is kept in the table and OPTIMIZE honours it."""
    spark.sql(f"CREATE TABLE {table} (k INT, v INT) CLUSTER BY (k)")
    spark.sql(f"INSERT INTO {table} SELECT id, id FROM range(100)")
    spark.sql(f"OPTIMIZE {table}")
    assert one(spark, f"SELECT sum(v) FROM {table}") == 4950
    ((columns,),) = spark.sql(f"DESCRIBE DETAIL {table}").select("clusteringColumns").collect()
    assert columns == ["k"]


def test_columns_change(spark: SparkSession, table: str) -> None:
    """Columns are added, commented, renamed, moved and dropped; old rows keep their values."""
    spark.sql(
        f"CREATE TABLE {table} (a INT, b STRING)"
        " TBLPROPERTIES ('delta.columnMapping.mode' = 'name')"
    )
    spark.sql(f"INSERT INTO {table} VALUES (1, 'x')")
    spark.sql(f"ALTER TABLE {table} ADD COLUMNS (c DOUBLE COMMENT 'new')")
    assert rows(spark, f"SELECT * FROM {table}") == [(1, "x", None)]
    spark.sql(f"ALTER TABLE {table} RENAME COLUMN b TO renamed")
    spark.sql(f"ALTER TABLE {table} ALTER COLUMN c FIRST")
    spark.sql(f"ALTER TABLE {table} ALTER COLUMN a COMMENT 'number'")
    assert spark.table(table).columns == ["c", "a", "renamed"]
    spark.sql(f"ALTER TABLE {table} DROP COLUMN a")
    assert rows(spark, f"SELECT * FROM {table}") == [(None, "x")]


def test_properties_change(spark: SparkSession, table: str) -> None:
    """Properties are set and unset."""
    spark.sql(f"CREATE TABLE {table} (a INT) TBLPROPERTIES (one = '1')")
    spark.sql(f"ALTER TABLE {table} SET TBLPROPERTIES (two = '2', 'delta.appendOnly' = 'true')")
    spark.sql(f"ALTER TABLE {table} UNSET TBLPROPERTIES (one)")
    shown = dict(rows(spark, f"SHOW TBLPROPERTIES {table}"))
    assert shown["two"] == "2"
    assert shown["delta.appendOnly"] == "true"
    assert "one" not in shown


def test_constraints(spark: SparkSession, table: str) -> None:
    """A CHECK constraint refuses bad rows until it is dropped; nothing of the insert stays."""
    spark.sql(f"CREATE TABLE {table} (a INT)")
    spark.sql(f"ALTER TABLE {table} ADD CONSTRAINT positive CHECK (a > 0)")
    before = version(spark)
    with pytest.raises(Exception, match="positive"):
        spark.sql(f"INSERT INTO {table} VALUES (1), (-1)")
    assert version(spark) == before
    assert rows(spark, f"SELECT * FROM {table}") == []

    spark.sql(f"ALTER TABLE {table} DROP CONSTRAINT positive")
    spark.sql(f"INSERT INTO {table} VALUES (-1)")
    assert rows(spark, f"SELECT * FROM {table}") == [(-1,)]


def test_defaults_identity_and_generated_columns(spark: SparkSession, table: str) -> None:
    """Default, identity and generated columns fill themselves."""
    spark.sql(
        f"CREATE TABLE {table} (id BIGINT GENERATED ALWAYS AS IDENTITY, a INT DEFAULT 7,"
        " twice INT GENERATED ALWAYS AS (a * 2))"
        " TBLPROPERTIES ('delta.feature.allowColumnDefaults' = 'supported')"
    )
    spark.sql(f"INSERT INTO {table} (a) VALUES (1)")
    spark.sql(f"INSERT INTO {table} (a) VALUES (DEFAULT)")
    assert rows(spark, f"SELECT a, twice FROM {table}") == [(1, 2), (7, 14)]
    assert one(spark, f"SELECT count(DISTINCT id) FROM {table}") == 2


def test_rename(spark: SparkSession, table: str) -> None:
    """A table keeps its rows under its new name, in the same or another namespace."""
    spark.sql("CREATE NAMESPACE IF NOT EXISTS lake.elsewhere")
    spark.sql(f"CREATE TABLE {table} AS SELECT 1 AS a")
    before = version(spark)
    spark.sql(f"ALTER TABLE {table} RENAME TO db.{table.rpartition('.')[2]}_2")
    assert rows(spark, f"SELECT * FROM {table}_2") == [(1,)]
    spark.sql(f"ALTER TABLE {table}_2 RENAME TO lake.elsewhere.moved")
    assert rows(spark, "SELECT * FROM lake.elsewhere.moved") == [(1,)]
    assert rows(spark, f"SELECT * FROM {table} VERSION AS OF {before}") == [(1,)]
    spark.sql("INSERT INTO lake.elsewhere.moved VALUES (2)")
    assert rows(spark, "SELECT * FROM lake.elsewhere.moved") == [(1,), (2,)]

    spark.sql(f"CREATE TABLE {table} (a INT)")
    with fails("TABLE_OR_VIEW_ALREADY_EXISTS") as caught:
        spark.sql(f"ALTER TABLE {table} RENAME TO lake.elsewhere.moved")
    assert "`lake`.`elsewhere`.`moved`" in str(caught.value)


def test_describe(spark: SparkSession, table: str) -> None:
    """The long descriptions name the table and where its files really are, and no view."""
    spark.sql(f"CREATE TABLE {table} (a INT) TBLPROPERTIES (p = 'q')")
    spark.sql(f"INSERT INTO {table} VALUES (1)")
    extended = {row[0]: row[1] for row in rows(spark, f"DESCRIBE EXTENDED {table}")}
    assert extended["Catalog"] == "lake"
    assert extended["Table"] == table.rpartition(".")[2]
    assert extended["Provider"] == "delta"
    assert extended["Location"].startswith("file:/")

    detail = spark.sql(f"DESCRIBE DETAIL {table}").first()
    assert detail is not None
    assert (detail["format"], detail["numFiles"], detail["properties"]) == ("delta", 1, {"p": "q"})

    history = spark.sql(f"DESCRIBE HISTORY {table}").collect()
    assert [row["operation"] for row in history] == ["WRITE", "CREATE TABLE"]


def test_not_null(spark: SparkSession, table: str) -> None:
    """A column that is NOT NULL refuses NULL."""
    spark.sql(f"CREATE TABLE {table} (a INT NOT NULL)")
    with pytest.raises(Exception, match="NOT_NULL"):
        spark.sql(f"INSERT INTO {table} SELECT CAST(NULL AS INT)")
    assert rows(spark, f"SELECT * FROM {table}") == []


def test_show_create_table(spark: SparkSession, table: str) -> None:
    """It prints the statement that made the table, which Delta alone refuses."""
    spark.sql(f"CREATE TABLE {table} (k INT, v BIGINT) PARTITIONED BY (k) TBLPROPERTIES (p = 'q')")
    statement = one(spark, f"SHOW CREATE TABLE {table}")
    spark.sql(f"DROP TABLE {table}")
    spark.sql(statement)
    assert one(spark, f"SHOW CREATE TABLE {table}") == statement
    assert "USING delta" in statement
    assert "PARTITIONED BY (k)" in statement
    assert "'p' = 'q'" in statement


@pytest.mark.parametrize(
    "statement",
    [
        "CREATE TABLE {t} (a INT) USING parquet",
        "CREATE TABLE {t} (a INT) USING delta LOCATION '/tmp/elsewhere'",
        "CREATE TABLE {t} USING csv AS SELECT 1 AS a",
        "CREATE TABLE {t} SHALLOW CLONE lake.db.refused_source",
        "VACUUM lake.db.refused_source",
    ],
)
def test_refused_by_name(spark: SparkSession, statement: str) -> None:
    """What cannot be kept is refused, by a message without unknown procedures; nothing is left."""
    spark.sql("CREATE TABLE IF NOT EXISTS lake.db.refused_source (a INT)")
    before = version(spark)
    with fails("TRINITYLAKE_UNSUPPORTED", "0A000") as caught:
        spark.sql(statement.format(t="lake.db.refused"))
    assert version(spark) == before
    known = {procedure["name"] for procedure in describe()}
    assert set(re.findall(r"system\.(\w+)", str(caught.value))) <= known


@pytest.mark.parametrize("statement", ["SELECT * FROM {}", "INSERT INTO {} VALUES (1)"])
def test_unknown_tables(spark: SparkSession, statement: str) -> None:
    """Spark's own error for a table or namespace that is not there."""
    for name in ("lake.db.nowhere", "lake.nowhere.t"):
        with fails("TABLE_OR_VIEW_NOT_FOUND"):
            spark.sql(statement.format(name))


def test_use_and_short_names(spark: SparkSession, other: SparkSession, table: str) -> None:
    """After USE, names are found without their catalog and namespace."""
    other.sql("USE lake.db")
    name = table.rpartition(".")[2]
    other.sql(f"CREATE TABLE {name} AS SELECT 1 AS a")
    other.sql(f"INSERT INTO {name} VALUES (2)")
    other.sql(f"ALTER TABLE {name} ADD COLUMNS (b INT)")
    assert rows(spark, f"SELECT a FROM {table}") == [(1,), (2,)]
