"""Every form of a statement in the table-operation matrix: it is the kind of job that it says.

``test_matrix.py`` has all cells with one form of each kind; here every form meets an INSERT and an
UPDATE that committed before it, and an UPDATE that commits after it, on the same partition at
SNAPSHOT. These three cells tell the kinds apart.
"""

from __future__ import annotations

from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from queue import SimpleQueue
from typing import TYPE_CHECKING

import pytest
from pyspark.errors import PySparkException

from tests.support.cells import outcome
from tests.support.spark_rows import quicken
from tests.support.statement_forms import BASE, CALLS, NEW, READS, SOURCE, STATEMENTS, Form, Rows

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from pyspark.sql import SparkSession

pytestmark = [pytest.mark.spark, pytest.mark.long]

_AT_A_TIME = 3
_INSERT = Form(
    "INSERT",
    "IN",
    lambda spark, table: spark.sql(f"INSERT INTO {table} VALUES (207, 7, 'x')"),
    lambda rows: rows | {(207, 7, "x")},
)
_UPDATE = Form(
    "UPDATE",
    "UD",
    lambda spark, table: spark.sql(f"UPDATE {table} SET v = 7 WHERE k = 1 AND p = 'x'"),
    lambda rows: {(k, 7 if k == 1 else v, p) for k, v, p in rows},
)


@dataclass(frozen=True)
class Meeting:
    """Two jobs on a table of their own.

    Args:
        number: names the table.
        earlier: commits first, as a statement of its own.
        later: commits second, in a transaction that began before.
    """

    number: int
    earlier: Form
    later: Form

    @property
    def table(self) -> str:
        """The table."""
        return f"lake.forms.t{self.number}"

    @property
    def refused(self) -> bool:
        """Whether the later job must be refused."""
        if READS in (self.earlier.kind, self.later.kind):
            return False
        # What was computed from rows is wrong as soon as there are others.
        files = "other files" if "other files" in (self.earlier.files, self.later.files) else None
        cell = outcome(self.earlier.kind, self.later.kind, "optimised", files or "same files")
        return cell == "E" or self.later.from_itself

    @property
    def expected(self) -> Rows:
        """The rows of doing one after the other, as far as they are done."""
        after = self.earlier.meaning(BASE)
        if self.refused:
            return after
        if self.later.kind == "OW":
            return self.later.meaning(after)
        # All others work on the rows that they saw.
        mine = self.later.meaning(BASE)
        return after - (BASE - mine) | (mine - BASE)

    def run(self, one: SparkSession, two: SparkSession) -> PySparkException | None:
        """Let them meet; return how the later was refused."""
        one.sql(
            f"CREATE TABLE {self.table} PARTITIONED BY (p) AS SELECT CAST(id AS INT) AS k, 0 AS v,"
            " IF(id % 2 = 1, 'x', 'y') AS p FROM range(1, 9, 1, 2)"
        )
        two.sql("BEGIN")
        try:
            self.later.run(two, self.table)
            self.earlier.run(one, self.table)
        except PySparkException as error:
            two.sql("ROLLBACK")
            return error
        try:
            two.sql("COMMIT")
        except PySparkException as error:
            return error
        return None


_FORMS = [*STATEMENTS, *CALLS]
_ROLES = {
    "after INSERT": lambda form: (_INSERT, form),
    "after UPDATE": lambda form: (_UPDATE, form),
    "before UPDATE": lambda form: (form, _UPDATE),
}
MEETINGS = {
    (role, number): Meeting(len(_ROLES) * number + position, *pair(form))
    for number, form in enumerate(_FORMS)
    for position, (role, pair) in enumerate(_ROLES.items())
}


@pytest.fixture(scope="module")
def outcomes(
    request: pytest.FixtureRequest,
    new_session: Callable[..., SparkSession],
    spark: SparkSession,
    root: str,
) -> Iterator[dict[Meeting, Future[PySparkException | None]]]:
    """How each meeting of the chosen forms ends; they run side by side, in own sessions."""
    chosen = {
        item.callspec.params["number"]
        for item in request.session.items
        if item.path == request.path
    }
    spark.sql("CREATE NAMESPACE lake.forms")
    spark.sql(f"CREATE TABLE {SOURCE} AS SELECT {NEW[0]} AS k, {NEW[1]} AS v, '{NEW[2]}' AS p")
    pairs: SimpleQueue[tuple[SparkSession, SparkSession]] = SimpleQueue()
    for _ in range(_AT_A_TIME):
        pair = (quicken(new_session(root)), quicken(new_session(root)))
        for session in pair:
            session.sql("SHOW NAMESPACES IN lake")
        pairs.put(pair)

    def run(meeting: Meeting) -> PySparkException | None:
        """Run one with sessions that no other uses meanwhile."""
        pair = pairs.get()
        try:
            return meeting.run(*pair)
        finally:
            pairs.put(pair)

    with ThreadPoolExecutor(_AT_A_TIME) as pool:
        meetings = [meeting for (_, number), meeting in MEETINGS.items() if number in chosen]
        yield {meeting: pool.submit(run, meeting) for meeting in meetings}
        pool.shutdown(cancel_futures=True)


@pytest.mark.parametrize(
    "number", range(len(_FORMS)), ids=[f"{form.kind} {form.name}" for form in _FORMS]
)
def test_a_form_is_of_its_kind(
    spark: SparkSession, outcomes: dict[Meeting, Future[PySparkException | None]], number: int
) -> None:
    """Each of its cells ends as the matrix says, and the table holds what the jobs mean."""
    wrong = []
    for role in _ROLES:
        meeting = MEETINGS[role, number]
        error = outcomes[meeting].result()
        condition = None if error is None else error.getCondition()
        expected = "TRINITYLAKE_COMMIT_CONFLICT" if meeting.refused else None
        rows = {tuple(row) for row in spark.table(meeting.table).collect()}
        if condition != expected or rows != meeting.expected:
            wrong.append(f"{role}: {error or 'committed'}: {rows}, expected {meeting.expected}")
    assert not wrong, "\n".join(wrong)
