"""Drives a lakehouse through DataFrames and DeltaTable, as ``row_tables.py`` does without Spark.

No statement is written in SQL but BEGIN, COMMIT and ROLLBACK. A session makes a DataFrame and a
handle of each table before its first transaction and keeps them: every read is a transformation of
that DataFrame, every change goes through that handle or writes such a transformation, whatever was
begun, committed and rolled back since.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from itertools import count
from threading import Lock
from typing import TYPE_CHECKING, Any

from delta.tables import DeltaTable
from pyspark.errors import PySparkException
from pyspark.sql.functions import expr, lit

from tests.support.row_tables import ALL, Assignment, Conflict, Row, Summed, Where

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from pyspark.sql import DataFrame, SparkSession

_CONFLICTS = ("TRINITYLAKE_COMMIT_CONFLICT", "TRINITYLAKE_COMMIT_RETRIES_EXHAUSTED")
_COLUMNS = ["k", "v", "p"]
_namespaces = count(1)


@dataclass(frozen=True)
class Codec:
    """How a value is kept in the column ``v``, a string."""

    encode: Callable[[Any], str]
    decode: Callable[[str], Any]


TEXT = Codec(str, str)
"""Strings as they are."""
JSON = Codec(json.dumps, json.loads)
"""Anything."""


class FrameTables:
    """A namespace of a lakehouse, and the Spark sessions on it.

    Args:
        new_session: makes a session.
        idle: sessions that nobody uses; those of this object join them at ``close``.
        codec: of the values.
    """

    def __init__(
        self,
        new_session: Callable[[], SparkSession],
        idle: list[SparkSession],
        codec: Codec = JSON,
    ) -> None:
        self.namespace = f"ns{next(_namespaces)}"
        self.codec = codec
        self.names: list[str] = []
        self._new_session = new_session
        self._idle = idle
        self._used: list[FrameSession] = []
        self._lock = Lock()

    def session(self, isolation: str | None = None) -> FrameSession:
        """Return a session that nobody else uses; ``isolation`` is its default level."""
        with self._lock:
            spark = self._idle.pop() if self._idle else self._new_session()
            session = FrameSession(self, spark, isolation)
            self._used.append(session)
        return session

    def close(self) -> None:
        """Roll back what is open."""
        for session in self._used:
            session.leave()
            self._idle.append(session.spark)


class FrameSession:
    """One session; it has the methods of ``row_tables.Session``.

    Args:
        tables: the namespace.
        spark: the session.
        isolation: the level of its transactions.
    """

    def __init__(self, tables: FrameTables, spark: SparkSession, isolation: str | None) -> None:
        self.spark = spark
        self._tables = tables
        self._isolation = isolation
        self._one = spark.range(1)
        self._frames: dict[str, DataFrame] = {}
        self._handles: dict[str, DeltaTable] = {}
        self._base: int | None = None

    # --- transactions ----------------------------------------------------------------------------

    def begin(self, isolation: str | None = None) -> int:
        """BEGIN; returns the version that the transaction sees."""
        self._prepare()
        level = isolation or self._isolation
        clause = f"ISOLATION LEVEL {level.upper()}" if level else ""
        self._base = int(self.spark.sql(f"BEGIN {clause}").first()["version"])
        return self._base

    def commit(self) -> int | None:
        """COMMIT; returns the version.

        Raises:
            Conflict: it was refused.
        """
        self._base = None
        try:
            version = self.spark.sql("COMMIT").first()["version"]
        except PySparkException as error:
            if error.getCondition() not in _CONFLICTS:
                raise
            raise Conflict(str(error), self._fields(error)) from error
        return None if version is None else int(version)

    def rollback(self) -> None:
        """ROLLBACK."""
        self._base = None
        self.spark.sql("ROLLBACK")

    def refused(self) -> Conflict:
        """COMMIT, which must be refused; return how."""
        try:
            version = self.commit()
        except Conflict as conflict:
            return conflict
        raise AssertionError(f"the commit was to be refused, but it made version {version}")

    def leave(self) -> None:
        """ROLLBACK, if a transaction is open."""
        if self._base is not None:
            self.rollback()

    # --- statements ------------------------------------------------------------------------------

    def create_namespace(self) -> None:
        """Make the namespace."""
        self.spark.sql(f"CREATE NAMESPACE lake.{self._tables.namespace}")

    def create(self, table: str, *rows: Row, partitioned: bool = False) -> None:
        """Make a table with each row in a file of its own."""
        data = self._data(rows).repartitionByRange(max(1, len(rows)), "k")
        writer = data.write.format("delta")
        (writer.partitionBy("p") if partitioned else writer).saveAsTable(self._name(table))
        self._tables.names.append(table)

    def select(self, table: str, condition: Where = ALL, version: str | None = None) -> list[Row]:
        """Read the rows that meet a condition, now or at a version."""
        frame = self._frame(table) if version is None else self._frame_at(table, version)
        decode = self._tables.codec.decode
        found = frame.filter(condition.sql).select(*_COLUMNS).collect()
        return [{"k": k, "v": decode(v), "p": p} for k, v, p in found]

    def insert(self, table: str, *rows: Row) -> None:
        """Append rows."""
        self._data(rows).writeTo(self._name(table)).append()

    def insert_select(self, table: str, source: str, compute: Summed) -> None:
        """Append a row that is computed of all rows of a table."""
        total = self._frame(source).agg(expr("CAST(sum(CAST(v AS INT)) AS STRING) AS v"))
        row = total.select(lit(compute.key).alias("k"), "v", lit("x").alias("p"))
        row.writeTo(self._name(table)).append()

    def update(self, table: str, condition: Where, change: Assignment) -> int:
        """Change rows; returns how many met the condition at BEGIN."""
        self._handle(table).update(condition.sql, {"v": change.sql})
        return self._count(table, condition)

    def delete(self, table: str, condition: Where) -> int:
        """Delete rows; returns how many met the condition at BEGIN."""
        self._handle(table).delete(condition.sql)
        return self._count(table, condition)

    def merge(self, table: str, *rows: Row) -> int:
        """Merge by ``k``: matched rows get the values, the others are inserted."""
        (
            self._handle(table)
            .alias("t")
            .merge(self._data(rows).alias("s"), "t.k = s.k")
            .whenMatchedUpdate(set={"v": "s.v"})
            .whenNotMatchedInsertAll()
            .execute()
        )
        return len(rows)

    def compact(self, table: str, *, major: bool = False) -> None:
        """OPTIMIZE; ``major`` is ZORDER."""
        builder = self._handle(table).optimize()
        if major:
            builder.executeZOrderBy("k")
        else:
            builder.executeCompaction()

    # --- parts -----------------------------------------------------------------------------------

    def _prepare(self) -> None:
        """Make the objects of all tables that there are; they are never made again."""
        for table in self._tables.names:
            self._frame(table)
            self._handle(table)

    def _frame(self, table: str) -> DataFrame:
        if table not in self._frames:
            frame = self.spark.table(self._name(table))
            self._frames[table] = frame.filter("k IS NOT NULL").withColumn("p", expr("trim(p)"))
        return self._frames[table]

    def _frame_at(self, table: str, version: int | str) -> DataFrame:
        return self.spark.read.option("versionAsOf", version).table(self._name(table))

    def _handle(self, table: str) -> DeltaTable:
        if table not in self._handles:
            self._handles[table] = DeltaTable.forName(self.spark, self._name(table))
        return self._handles[table]

    def _count(self, table: str, condition: Where) -> int:
        """Count at a version that is named, which is no read of the transaction."""
        frame = self._frame(table) if self._base is None else self._frame_at(table, self._base)
        return frame.filter(condition.sql).count()

    def _data(self, rows: Iterable[Row]) -> DataFrame:
        """Rows as a DataFrame; made of literals, which costs no Python worker."""
        encode = self._tables.codec.encode
        values = [
            f"struct({row['k']} AS k, {_literal(encode(row['v']))} AS v, '{row['p']}' AS p)"
            for row in rows
        ]
        if not values:
            return self._data([{"k": 0, "v": "", "p": ""}]).filter("false")
        return self._one.selectExpr(f"inline(array({', '.join(values)}))")

    def _name(self, table: str) -> str:
        return f"lake.{self._tables.namespace}.{table}"

    def _fields(self, error: PySparkException) -> Mapping[str, Any]:
        """The facts of a refusal, in the namespace that the suites know."""
        found = error.getMessageParameters() or {}
        return {name: text.replace(self._tables.namespace, "ns") for name, text in found.items()}


def _literal(text: str) -> str:
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"
