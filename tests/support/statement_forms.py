"""Every form of a statement that changes a table, and the kind of job that it is (format.md §7).

A table has columns ``k``, ``v`` and ``p``, is partitioned by ``p``, and holds ``BASE``; the table
``source`` beside it holds ``NEW``. Each form exists in SQL, and by DataFrames or ``DeltaTable``.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from delta.tables import DeltaTable
from pyspark.sql.functions import expr

if TYPE_CHECKING:
    from collections.abc import Callable

    from pyspark.sql import DataFrame, SparkSession

    Run = Callable[[SparkSession, str], object]

Rows = set[tuple[int, int | None, str]]
"""``k``, ``v`` and the partition ``p``."""

BASE: Rows = {(k, 0, "x" if k % 2 else "y") for k in range(1, 9)}
NEW = (108, 8, "x")
SOURCE = "lake.forms.source"
READS = "reads"
"""The kind of a form that changes another table."""


@dataclass(frozen=True)
class Form:
    """One form.

    Args:
        name: for reports; the statement, if it is one.
        kind: row and column of the matrix.
        run: does it to a table in a session.
        meaning: what it makes of rows.
        files: what it touches beside a job on row 1: ``same files`` or ``other files``.
        from_itself: it replaces rows by others that it computed from rows of the same table.
    """

    name: str
    kind: str
    run: Run
    meaning: Callable[[Rows], Rows]
    files: str = "same files"
    from_itself: bool = False


def _statement(kind: str, text: str, meaning: Callable[[Rows], Rows], **options: object) -> Form:
    def run(spark: SparkSession, table: str) -> object:
        """Run the statement."""
        return spark.sql(text.format(t=table, s=SOURCE))

    return Form(text, kind, run, meaning, **options)


def _call(
    kind: str, name: str, run: Run, meaning: Callable[[Rows], Rows], **options: object
) -> Form:
    return Form(name, kind, run, meaning, **options)


def _new(spark: SparkSession) -> DataFrame:
    return spark.table(SOURCE)


# --- what they mean -------------------------------------------------------------------------------


def _nothing(_: Rows) -> Rows:
    return set()


def _only_new(_: Rows) -> Rows:
    return {NEW}


def _replace_x(rows: Rows) -> Rows:
    return {row for row in rows if row[2] != "x"} | {NEW}


def _replace_one(rows: Rows) -> Rows:
    return {row for row in rows if row[0] != 1} | {(1, 8, "x")}


def _add(rows: Rows) -> Rows:
    return rows | {NEW}


def _without_one(rows: Rows) -> Rows:
    return {row for row in rows if row[0] != 1}


def _without_x(rows: Rows) -> Rows:
    return {row for row in rows if row[2] != "x"}


def _set_all(rows: Rows) -> Rows:
    return {(k, 8, p) for k, _, p in rows}


def _set_one(rows: Rows) -> Rows:
    return {(k, 8 if k == 1 else v, p) for k, v, p in rows}


def _upsert(rows: Rows) -> Rows:
    return _set_one(rows) | {NEW}


def _same(rows: Rows) -> Rows:
    return rows


# --- SQL ------------------------------------------------------------------------------------------

_ONE = "(SELECT 1 AS k, 8 AS v, 'x' AS p)"
_BOTH = f"(SELECT 1 AS k, 8 AS v, 'x' AS p UNION ALL SELECT * FROM {SOURCE})"
_MERGE = "MERGE INTO {t} t USING "
_ITSELF = {"from_itself": True}

STATEMENTS = [
    _statement("OW", "INSERT OVERWRITE {t} VALUES (108, 8, 'x')", _only_new),
    _statement("OW", "INSERT OVERWRITE {t} (v, k, p) VALUES (8, 108, 'x')", _only_new),
    _statement("OW", "INSERT OVERWRITE TABLE {t} SELECT * FROM {s}", _only_new),
    _statement("OW", "INSERT OVERWRITE {t} BY NAME SELECT p, v, k FROM {s}", _only_new),
    _statement("OW", "INSERT OVERWRITE {t} SELECT k, 8, p FROM {t}", _set_all, **_ITSELF),
    _statement("OW", "INSERT OVERWRITE {t} PARTITION (p = 'x') VALUES (108, 8)", _replace_x),
    _statement("OW", "INSERT INTO {t} REPLACE WHERE p = 'x' SELECT * FROM {s}", _replace_x),
    _statement("OW", "INSERT INTO {t} REPLACE WHERE k = 1 VALUES (1, 8, 'x')", _replace_one),
    _statement("OW", "TRUNCATE TABLE {t}", _nothing),
    _statement("OW", "CREATE OR REPLACE TABLE {t} PARTITIONED BY (p) AS TABLE {s}", _only_new),
    _statement("OW", "REPLACE TABLE {t} AS SELECT * FROM {s}", _only_new),
    _statement("OW", "CREATE OR REPLACE TABLE {t} (k INT, v INT, p STRING)", _nothing),
    _statement("IN", "INSERT INTO {t} VALUES (108, 8, 'x')", _add),
    _statement("IN", "INSERT INTO {t} (p, k) VALUES ('x', 108)", lambda r: r | {(108, None, "x")}),
    _statement("IN", "INSERT INTO TABLE {t} TABLE {s}", _add),
    _statement("IN", "INSERT INTO {t} BY NAME SELECT p, v, k FROM {s}", _add),
    _statement("IN", "FROM {s} INSERT INTO {t} SELECT *", _add),
    _statement("IN", "INSERT INTO {t} SELECT 108, 8, p FROM {t} WHERE k = 1", _add),
    _statement("IN", "INSERT INTO {t} PARTITION (p = 'x') SELECT k, v FROM {s}", _add),
    _statement("IN", "INSERT INTO {t} PARTITION (p) SELECT * FROM {s}", _add),
    _statement("UD", "DELETE FROM {t}", _nothing),
    _statement("UD", "DELETE FROM {t} WHERE true", _nothing),
    _statement("UD", "DELETE FROM {t} WHERE k = 1", _without_one),
    _statement("UD", "DELETE FROM {t} WHERE p = 'x'", _without_x),
    _statement("UD", "UPDATE {t} SET v = 8", _set_all),
    _statement("UD", "UPDATE {t} AS u SET u.v = 8 WHERE u.k = 1 AND u.p = 'x'", _set_one),
    _statement("UD", f"{_MERGE}{_ONE} s ON t.k = s.k WHEN MATCHED THEN UPDATE SET *", _set_one),
    _statement(
        "UD", f"{_MERGE}{_ONE} s ON t.k = s.k WHEN MATCHED AND t.v = 0 THEN DELETE", _without_one
    ),
    _statement(
        "UD",
        f"{_MERGE}{_BOTH} s ON t.k = s.k WHEN MATCHED THEN UPDATE SET v = s.v"
        " WHEN NOT MATCHED THEN INSERT *",
        _upsert,
    ),
    _statement(
        "UD",
        _MERGE + "{s} s ON t.k = s.k WHEN NOT MATCHED THEN INSERT (k, v, p) VALUES (k, v, p)",
        _add,
        files="other files",
    ),
    _statement(
        "UD",
        _MERGE + "{s} s ON t.k = s.k WHEN NOT MATCHED BY SOURCE AND t.k = 1 THEN DELETE",
        _without_one,
    ),
    _statement("MI", "OPTIMIZE {t}", _same),
    _statement("MI", "OPTIMIZE {t} WHERE p = 'x'", _same),
    _statement("MA", "OPTIMIZE {t} ZORDER BY (k)", _same),
    _statement("MA", "OPTIMIZE {t} WHERE p = 'x' ZORDER BY (k, v)", _same),
    _statement(READS, "CREATE TABLE {t}_copy AS SELECT * FROM {t}", _same),
]

# --- DataFrames and handles -----------------------------------------------------------------------


def _merge(spark: SparkSession, table: str) -> object:
    """Return the builder of a merge of row 1 and the new row."""
    both = spark.sql(f"SELECT * FROM {_BOTH}")
    return DeltaTable.forName(spark, table).alias("t").merge(both.alias("s"), "t.k = s.k")


CALLS = [
    _call(
        "OW", "overwrite(true)", lambda c, t: _new(c).writeTo(t).overwrite(expr("true")), _only_new
    ),
    _call(
        "OW",
        "overwrite of itself",
        lambda c, t: c.table(t).withColumn("v", expr("8")).writeTo(t).overwrite(expr("true")),
        _set_all,
        **_ITSELF,
    ),
    _call(
        "OW", "overwrite(p)", lambda c, t: _new(c).writeTo(t).overwrite(expr("p = 'x'")), _replace_x
    ),
    _call(
        "OW",
        "overwritePartitions",
        lambda c, t: _new(c).writeTo(t).overwritePartitions(),
        _replace_x,
    ),
    _call("OW", "insertInto", lambda c, t: _new(c).write.insertInto(t, overwrite=True), _only_new),
    _call("OW", "saveAsTable", lambda c, t: _over(c).saveAsTable(t), _only_new),
    _call(
        "OW",
        "saveAsTable of itself",
        lambda c, t: _over(c, c.table(t).withColumn("v", expr("8"))).saveAsTable(t),
        _set_all,
        **_ITSELF,
    ),
    _call(
        "OW",
        "replaceWhere",
        lambda c, t: _over(c).option("replaceWhere", "p = 'x'").saveAsTable(t),
        _replace_x,
    ),
    _call(
        "OW",
        "dynamic partitions",
        lambda c, t: _over(c).option("partitionOverwriteMode", "dynamic").saveAsTable(t),
        _replace_x,
    ),
    _call("OW", "replace", lambda c, t: _new(c).writeTo(t).replace(), _only_new),
    _call("OW", "createOrReplace", lambda c, t: _new(c).writeTo(t).createOrReplace(), _only_new),
    _call(
        "OW",
        "DeltaTable.replace",
        lambda c, t: DeltaTable.replace(c).tableName(t).addColumns(_new(c).schema).execute(),
        _nothing,
    ),
    _call("IN", "append", lambda c, t: _new(c).writeTo(t).append(), _add),
    _call("IN", "insertInto", lambda c, t: _new(c).write.insertInto(t), _add),
    _call(
        "IN",
        "saveAsTable",
        lambda c, t: _new(c).write.format("delta").mode("append").partitionBy("p").saveAsTable(t),
        _add,
    ),
    _call("UD", "delete()", lambda c, t: DeltaTable.forName(c, t).delete(), _nothing),
    _call("UD", "delete(k)", lambda c, t: DeltaTable.forName(c, t).delete("k = 1"), _without_one),
    _call("UD", "update()", lambda c, t: DeltaTable.forName(c, t).update(set={"v": "8"}), _set_all),
    _call(
        "UD",
        "update(k)",
        lambda c, t: DeltaTable.forName(c, t).update("k = 1", {"v": "8"}),
        _set_one,
    ),
    _call(
        "UD",
        "upsert",
        lambda c, t: _merge(c, t).whenMatchedUpdateAll().whenNotMatchedInsertAll().execute(),
        _upsert,
    ),
    _call(
        "UD",
        "matched delete",
        lambda c, t: _merge(c, t).whenMatchedDelete().execute(),
        _without_one,
    ),
    _call(
        "UD",
        "insert only",
        lambda c, t: _merge(c, t).whenNotMatchedInsertAll().execute(),
        _add,
        files="other files",
    ),
    _call(
        "MI",
        "compaction",
        lambda c, t: DeltaTable.forName(c, t).optimize().executeCompaction(),
        _same,
    ),
    _call(
        "MI",
        "compaction of x",
        lambda c, t: DeltaTable.forName(c, t).optimize().where("p = 'x'").executeCompaction(),
        _same,
    ),
    _call(
        "MA",
        "z-order",
        lambda c, t: DeltaTable.forName(c, t).optimize().executeZOrderBy("k"),
        _same,
    ),
    _call(READS, "create", lambda c, t: c.table(t).writeTo(f"{t}_copy").create(), _same),
]


def _over(spark: SparkSession, data: DataFrame | None = None) -> object:
    """Return the writer of an overwrite that keeps the table's partitions."""
    chosen = _new(spark) if data is None else data
    return chosen.write.format("delta").mode("overwrite").partitionBy("p")
