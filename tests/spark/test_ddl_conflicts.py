"""DDL against DDL and DML of another session's transaction, through SQL (format.md §6.6).

Each case has names of its own and two Spark sessions: mine begins and works, theirs commits, mine
commits. ``{t}`` is the case's table, ``{n}`` a namespace of its own.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from queue import SimpleQueue
from typing import TYPE_CHECKING

import pytest
from pyspark.errors import PySparkException

from tests.support.spark_rows import rows, version

if TYPE_CHECKING:
    from collections.abc import Callable

    from pyspark.sql import SparkSession

    Outcomes = dict[str, PySparkException | None]

pytestmark = pytest.mark.spark

_AT_A_TIME = 3
_FIELDS = {
    "table",
    "my_operation",
    "their_operation",
    "their_version",
    "author",
    "time",
    "rule",
    "advice",
}
_INSERT = "INSERT INTO {t} VALUES (2)"
_SET = "ALTER TABLE {t} SET TBLPROPERTIES ('steward' = '%s')"
_ADD = "ALTER TABLE {t} ADD COLUMNS (%s INT)"
_DROP = "DROP TABLE {t}"
_RENAME = "ALTER TABLE {t} RENAME TO lake.ddl.%s"
_REPLACE = "CREATE OR REPLACE TABLE {t} AS SELECT 9 AS a"
_AGAIN = _DROP + "; CREATE TABLE {t} AS SELECT 7 AS a"


@dataclass(frozen=True)
class Case:
    """What two transactions do.

    Args:
        name: of the case.
        theirs: the statements that commit first, separated by ``; ``.
        mine: mine.
        finds: the rows of the table in the end; None if mine is refused.
    """

    name: str
    theirs: str
    mine: str
    finds: list[int] | None

    def run(self, theirs: SparkSession, mine: SparkSession) -> PySparkException | None:
        """Run both; return how mine was refused."""
        theirs.sql(self._named("CREATE TABLE {t} AS SELECT 1 AS a"))
        mine.sql("BEGIN")
        self._execute(mine, self.mine)
        theirs.sql("BEGIN")
        self._execute(theirs, self.theirs)
        theirs.sql("COMMIT")
        try:
            mine.sql("COMMIT")
        except PySparkException as error:
            return error
        return None

    def found(self, spark: SparkSession) -> list[int]:
        """Return the rows of the table."""
        return [row[0] for row in rows(spark, self._named("SELECT a FROM {t}"))]

    def _execute(self, session: SparkSession, statements: str) -> None:
        for statement in statements.split("; "):
            session.sql(self._named(statement))

    def _named(self, statement: str) -> str:
        return statement.format(t=f"lake.ddl.{self.name}", n=f"lake.ns_{self.name}")


CASES = [
    Case("create_create", "CREATE TABLE {t}_x (a INT)", "CREATE TABLE {t}_x (b INT)", None),
    Case("alter_alter", _SET % "they", _SET % "me", None),
    Case("alter_alter_columns", _ADD % "b", _ADD % "c", None),
    Case(
        "alter_alter_disjoint",
        _SET % "they",
        "ALTER TABLE {t} SET TBLPROPERTIES ('owner_of' = 'me')",
        [1],
    ),
    Case("alter_insert", _ADD % "b", _INSERT, None),
    Case("alter_property_insert", _SET % "they", _INSERT, [1, 2]),
    Case("alter_drop", _SET % "they", _DROP, None),
    Case("insert_alter", _INSERT, _ADD % "b", [1, 2]),
    Case("insert_drop", _INSERT, _DROP, None),
    Case("insert_rename", _INSERT, _RENAME % "insert_renamed", None),
    Case("insert_replace", _INSERT, _REPLACE, [9]),
    Case("drop_alter", _DROP, _SET % "me", None),
    Case("drop_insert", _DROP, _INSERT, None),
    Case("drop_drop", _DROP, _DROP, None),
    Case("drop_create_insert", _AGAIN, _INSERT, None),
    Case("rename_insert", _RENAME % "renamed_insert", _INSERT, None),
    Case("rename_rename", _RENAME % "renamed_one", _RENAME % "renamed_two", None),
    Case("replace_insert", _REPLACE, _INSERT, None),
    Case("replace_replace", _REPLACE, _REPLACE.replace("9", "8"), None),
    Case(
        "create_in_dropped_namespace",
        "CREATE NAMESPACE {n}; CREATE TABLE {n}.x (a INT); DROP NAMESPACE {n} CASCADE",
        _INSERT,
        [1, 2],
    ),
]


@pytest.fixture(scope="module")
def outcomes(spark: SparkSession, new_session: Callable[..., SparkSession], root: str) -> Outcomes:
    """How each case ended. They run side by side, each with two sessions of its own."""
    spark.sql("CREATE NAMESPACE lake.ddl")
    pairs: SimpleQueue[tuple[SparkSession, SparkSession]] = SimpleQueue()
    for _ in range(_AT_A_TIME):
        theirs = new_session(root)
        theirs.conf.set("spark.sql.catalog.lake.author", "ann")
        pairs.put((theirs, new_session(root)))

    def run(case: Case) -> PySparkException | None:
        """Run a case with sessions that no other case uses meanwhile."""
        pair = pairs.get()
        try:
            return case.run(*pair)
        finally:
            pairs.put(pair)

    with ThreadPoolExecutor(_AT_A_TIME) as pool:
        return dict(zip((case.name for case in CASES), pool.map(run, CASES), strict=True))


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_case(spark: SparkSession, outcomes: Outcomes, case: Case) -> None:
    """Mine commits with the result of both, or is refused with every fact as a field."""
    error = outcomes[case.name]
    if case.finds is not None:
        assert error is None, f"{case.name}: {error}"
        assert case.found(spark) == case.finds
        return
    assert error is not None, f"{case.name} was not refused"
    assert error.getCondition() == "TRINITYLAKE_COMMIT_CONFLICT"
    assert error.getSqlState() == "40001"
    fields = error.getMessageParameters() or {}
    assert fields.keys() >= _FIELDS
    assert all(fields[name] for name in _FIELDS), fields
    assert fields["table"].startswith(f"ddl.{case.name}")
    assert fields["author"] == "ann"
    assert int(fields["their_version"]) <= version(spark)


@pytest.mark.parametrize(
    ("theirs", "mine"),
    [
        ("DROP NAMESPACE {n}", "CREATE TABLE {n}.t (a INT)"),
        ("CREATE TABLE {n}.t (a INT)", "DROP NAMESPACE {n}"),
        ("CREATE TABLE {n}.t (a INT)", "DROP NAMESPACE {n} CASCADE"),
        ("DROP NAMESPACE {n}", "DROP NAMESPACE {n}"),
    ],
)
def test_namespaces(
    spark: SparkSession, other: SparkSession, theirs: str, mine: str, request: pytest.FixtureRequest
) -> None:
    """A table cannot come into a namespace that goes, nor can one go twice."""
    namespace = "lake.n_" + "".join(c for c in request.node.name if c.isalnum())
    spark.sql(f"CREATE NAMESPACE {namespace}")
    other.sql("BEGIN")
    other.sql(mine.format(n=namespace))
    spark.sql(theirs.format(n=namespace))
    with pytest.raises(PySparkException) as refused:
        other.sql("COMMIT")
    assert refused.value.getCondition() == "TRINITYLAKE_COMMIT_CONFLICT"
