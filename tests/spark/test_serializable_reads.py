"""Which statements read data, a definition or a name at SERIALIZABLE, through SQL (format.md §6.5).

Each case has a table ``{t}`` of its own and two Spark sessions. Mine does its statements in a
SERIALIZABLE transaction and writes to another table; theirs commits meanwhile; then mine commits.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from queue import SimpleQueue
from typing import TYPE_CHECKING

import pytest
from pyspark.errors import PySparkException

from tests.support.spark_rows import fails, rows

if TYPE_CHECKING:
    from collections.abc import Callable

    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

_AT_A_TIME = 3
_INSERT = "INSERT INTO {t} (k, v) VALUES (9, 90)"
_ALTER = "ALTER TABLE {t} SET TBLPROPERTIES ('steward' = 'they')"
_MERGE = (
    "MERGE INTO {t} USING (SELECT 1 AS k, 11 AS v) s ON {t}.k = s.k"
    " WHEN MATCHED THEN UPDATE SET v = s.v"
)
_BASE = {(1, 10), (2, 20)}
_BOTH = _BASE | {(9, 90)}


@dataclass(frozen=True)
class Case:
    """What two transactions do.

    Args:
        mine: my statements, separated by ``; ``.
        finds: the rows of the table in the end.
        theirs: what others commit meanwhile.
        refused: mine is.
    """

    mine: str
    finds: frozenset[tuple[int, int]]
    theirs: str = _INSERT
    refused: bool = False

    def __str__(self) -> str:
        return f"{self.mine} × {self.theirs}".replace("{t}", "t")

    @property
    def table(self) -> str:
        """The case's own table. Where names come and go, nobody is to list them who passes."""
        namespace = "refused" if self.refused else "passing"
        return f"lake.{namespace}.t{CASES.index(self)}"

    def create(self, spark: SparkSession) -> None:
        """Create the table, of two files."""
        spark.sql(
            f"CREATE TABLE {self.table} AS SELECT CAST(id AS INT) AS k, CAST(id * 10 AS INT) AS v"
            " FROM range(1, 3, 1, 2)"
        )

    def run(self, mine: SparkSession, theirs: SparkSession) -> PySparkException | None:
        """Run both; return how mine was refused."""
        mine.sql("BEGIN ISOLATION LEVEL SERIALIZABLE")
        self._execute(mine, self.mine)
        mine.sql(f"INSERT INTO lake.db.done VALUES ('{self.table}')")
        self._execute(theirs, self.theirs)
        try:
            mine.sql("COMMIT")
        except PySparkException as error:
            return error
        return None

    def _execute(self, session: SparkSession, statements: str) -> None:
        for statement in statements.format(t=self.table).split("; "):
            verb, _, name = statement.partition(" ")
            if verb == "exists":
                session.catalog.tableExists(name)
            else:
                session.sql(statement).collect()


def _passing(*mine: str, finds: set[tuple[int, int]] = _BOTH, theirs: str = _INSERT) -> list[Case]:
    return [Case(each, frozenset(finds), theirs) for each in mine]


def _refused(*mine: str, finds: set[tuple[int, int]] = _BASE, theirs: str = _INSERT) -> list[Case]:
    return [Case(each, frozenset(finds), theirs, refused=True) for each in mine]


CASES = [
    # None of these reads data …
    *_passing(
        "OPTIMIZE {t}",
        "OPTIMIZE {t} ZORDER BY (k)",
        "ALTER TABLE {t} SET TBLPROPERTIES ('owner_of' = 'me')",
        "ALTER TABLE {t} ADD COLUMN (w INT)",
        "DESCRIBE TABLE {t}",
        "DESCRIBE DETAIL {t}",
        "DESCRIBE HISTORY {t}",
        "SHOW TBLPROPERTIES {t}",
        "SHOW COLUMNS IN {t}",
        "SHOW TABLES IN lake.passing",
        "CREATE TABLE IF NOT EXISTS {t} (k INT, v INT)",
        "CREATE TABLE IF NOT EXISTS {t} AS SELECT 7 AS k, 70 AS v",
        "DROP TABLE IF EXISTS {t}_missing",
        "exists {t}",
        "exists {t}_missing",
    ),
    *_passing("TRUNCATE TABLE {t}", finds=set()),
    *_passing("INSERT OVERWRITE {t} VALUES (7, 70)", finds={(7, 70)}),
    *_passing("OPTIMIZE {t}; INSERT OVERWRITE {t} VALUES (7, 70)", finds={(7, 70)}),
    *_passing("CREATE OR REPLACE TABLE {t} AS SELECT 7 AS k, 70 AS v", finds={(7, 70)}),
    *_passing("INSERT INTO {t} VALUES (7, 70)", finds=_BOTH | {(7, 70)}),
    # … and this reads only what was not changed.
    *_passing("DELETE FROM {t} WHERE k = 1", finds=_BOTH - {(1, 10)}),
    *_passing(
        "SHOW TABLES IN lake.passing",
        "CREATE TABLE IF NOT EXISTS {t} (k INT, v INT)",
        finds=_BASE,
        theirs=_ALTER,
    ),
    *_refused(
        "SELECT count(*) FROM {t}",
        "INSERT INTO lake.db.numbers SELECT k FROM {t}",
        "INSERT INTO {t} SELECT k + 10, v FROM {t}",
        "INSERT INTO {t} VALUES (7, 70); SELECT count(*) FROM {t}",
        "OPTIMIZE {t}; SELECT count(*) FROM {t}",
        "DESCRIBE TABLE {t}; SELECT count(*) FROM {t}; exists {t}",
        "DELETE FROM {t} WHERE v > 10",
        "DELETE FROM {t} WHERE v % 100 = 55",
        "UPDATE {t} SET v = v + 1 WHERE k > 1",
        _MERGE,
        "INSERT OVERWRITE {t} SELECT k, v + 1 FROM {t}",
        finds=_BOTH,
    ),
    *_refused(
        "DESCRIBE TABLE {t}",
        "OPTIMIZE {t}",
        "exists {t}",
        "SELECT count(*) FROM {t}",
        theirs=_ALTER,
    ),
    *_refused(
        "DROP TABLE IF EXISTS {t}_new",
        "exists {t}_new",
        "SHOW TABLES IN lake.refused",
        theirs="CREATE TABLE {t}_new (a INT)",
    ),
    *_refused(
        "CREATE TABLE IF NOT EXISTS {t} (k INT)",
        "exists {t}",
        theirs="DROP TABLE {t}; CREATE TABLE {t}_old AS SELECT 1 AS k",
    ),
]


@pytest.fixture(scope="module")
def outcomes(
    spark: SparkSession, new_session: Callable[..., SparkSession], root: str
) -> dict[Case, PySparkException | None]:
    """How each case ended. They run side by side, each with two sessions of its own."""
    for namespace in ("passing", "refused"):
        spark.sql(f"CREATE NAMESPACE lake.{namespace}")
    spark.sql("CREATE TABLE lake.db.done (name STRING)")
    spark.sql("CREATE TABLE lake.db.numbers (k INT)")
    pairs: SimpleQueue[tuple[SparkSession, SparkSession]] = SimpleQueue()
    for _ in range(_AT_A_TIME):
        pairs.put((new_session(root), new_session(root)))

    def run(case: Case) -> PySparkException | None:
        """Run a case with sessions that no other case uses meanwhile."""
        pair = pairs.get()
        try:
            return case.run(*pair)
        finally:
            pairs.put(pair)

    with ThreadPoolExecutor(_AT_A_TIME) as pool:
        list(pool.map(lambda case: case.create(spark), CASES))
        return dict(zip(CASES, pool.map(run, CASES), strict=True))


@pytest.mark.parametrize("case", CASES, ids=str)
def test_case(
    spark: SparkSession, outcomes: dict[Case, PySparkException | None], case: Case
) -> None:
    """Mine commits beside theirs if it read nothing that changed; else it leaves no trace."""
    error = outcomes[case]
    assert (error is not None) == case.refused, error
    if error is not None:
        assert error.getCondition() == "TRINITYLAKE_COMMIT_CONFLICT", str(error)
    if spark.catalog.tableExists(case.table):
        assert set(rows(spark, f"SELECT k, v FROM {case.table}")) == case.finds
    found = rows(spark, f"SELECT name FROM lake.db.done WHERE name = '{case.table}'")
    assert found == ([] if case.refused else [(case.table,)])


def test_names_of_no_table(spark: SparkSession) -> None:
    """What is in no namespace is not there; of ``system`` the tables that can be read are."""
    assert spark.catalog.tableExists("lake.system.versions")
    assert not spark.catalog.tableExists("lake.system.nothing")
    assert not spark.catalog.tableExists("lake.missing.t")
    spark.sql("DROP TABLE IF EXISTS lake.missing.t")
    spark.sql("CREATE TABLE IF NOT EXISTS lake.system.versions (a INT)")
    assert "a" not in spark.table("lake.system.versions").columns
    with fails("TABLE_OR_VIEW_NOT_FOUND"):
        spark.sql("DROP TABLE lake.db.missing")
