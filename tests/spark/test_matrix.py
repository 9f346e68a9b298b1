"""The 25 cells of the table-operation matrix through SQL, on real Delta tables (format.md §7).

Each case has a table of its own, two Spark sessions, and an isolation level of the later job. Both
open a transaction and do their job; the earlier one commits, then the later one. Where both succeed
the rows are those of doing one job after the other; where the cell is an error nothing of the later
job is there.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import astuple, dataclass
from queue import SimpleQueue
from typing import TYPE_CHECKING

import pytest
from chispa import assert_df_equality
from pyspark.errors import PySparkException

from tests.support.cells import ALTER, ALTERED, CELLS, LEVELS, MODES, altered, outcome
from tests.support.spark_rows import quicken, rows

if TYPE_CHECKING:
    from collections.abc import Callable

    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

_LAYOUTS = {
    "unpartitioned": "same files",
    "same partition": "same files",
    "other partition": "other partition",
}
_AT_A_TIME = 3
"""Cases that run side by side, for a statement mostly waits for one thread of the driver."""

Rows = set[tuple[int, int, str]]
"""``k``, ``v`` and the partition ``p``."""
_BASE: Rows = {(k, 0, "x" if k % 2 else "y") for k in range(1, 9)}


@dataclass(frozen=True)
class Job:
    """One job of the matrix.

    Args:
        kind: row or column.
        number: what it writes.
        partition: where; the row that it inserts or updates is there, too.
        whole: it overwrites and compacts all partitions.
    """

    kind: str
    number: int
    partition: str
    whole: bool

    def statement(self, table: str) -> str:
        """Return the job in SQL."""
        where = "" if self.whole else f"WHERE p = '{self.partition}'"
        overwrite = f"INTO {table} REPLACE {where}" if where else f"OVERWRITE {table}"
        values = f"VALUES ({self._new[0]}, {self._new[1]}, '{self._new[2]}')"
        return {
            "OW": f"INSERT {overwrite} {values}",
            "IN": f"INSERT INTO {table} {values}",
            "UD": f"UPDATE {table} SET v = {self.number} WHERE k = {self._key}"
            f" AND p = '{self.partition}'",
            "MI": f"OPTIMIZE {table} {where}",
            "MA": f"OPTIMIZE {table} {where} ZORDER BY (k)",
            ALTER: f"ALTER TABLE {table} SET TBLPROPERTIES ('by_{self.number}' = 'yes')",
        }[self.kind]

    def meaning(self, rows: Rows) -> Rows:
        """Return what the job makes of the rows of a table."""
        if self.kind == "OW":
            return {r for r in rows if not self.whole and r[2] != self.partition} | {self._new}
        if self.kind == "IN":
            return rows | {self._new}
        if self.kind == "UD":
            return {(k, self.number if k == self._key else v, p) for k, v, p in rows}
        return rows

    @property
    def _key(self) -> int:
        return 1 if self.partition == "x" else 2

    @property
    def _new(self) -> tuple[int, int, str]:
        return 100 + self.number, self.number, self.partition


@dataclass(frozen=True)
class Case:
    """One cell under one mode on one layout, at one isolation level of the later job."""

    earlier: str
    later: str
    mode: str
    layout: str
    level: str

    @property
    def table(self) -> str:
        """The case's own table."""
        return "lake.cells." + "_".join(astuple(self)).replace(" ", "_")

    @property
    def jobs(self) -> tuple[Job, Job]:
        """The earlier and the later job."""
        whole = self.layout == "unpartitioned"
        later = "y" if self.layout == "other partition" else "x"
        return Job(self.earlier, 7, "x", whole), Job(self.later, 8, later, whole)

    @property
    def refused(self) -> bool:
        """Whether the later job is refused."""
        if ALTER in (self.earlier, self.later):
            return altered(self.earlier, self.later, self.level) == "E"
        return outcome(self.earlier, self.later, self.mode, _LAYOUTS[self.layout]) == "E"

    @property
    def expected(self) -> Rows:
        """The rows of doing the jobs one after the other, as far as they are done."""
        earlier, later = self.jobs
        rows = earlier.meaning(_BASE)
        return rows if self.refused else later.meaning(rows)

    @property
    def altered_by(self) -> set[int]:
        """The numbers of the jobs that are done and set a property."""
        done = self.jobs[:1] if self.refused else self.jobs
        return {job.number for job in done if job.kind == ALTER}

    def run(self, one: SparkSession, two: SparkSession) -> PySparkException | None:
        """Create the table, stage both jobs, commit both; return how the later was refused."""
        partitions = "" if self.layout == "unpartitioned" else "PARTITIONED BY (p)"
        one.sql(
            f"CREATE TABLE {self.table} {partitions}"
            f" TBLPROPERTIES ('trinitylake.conflict-detection' = '{self.mode}')"
            " AS SELECT CAST(id AS INT) AS k, 0 AS v, IF(id % 2 = 1, 'x', 'y') AS p"
            " FROM range(1, 9, 1, 2)"
        )
        levels = ("snapshot", self.level)
        for session, job, level in zip((one, two), self.jobs, levels, strict=True):
            session.sql(f"BEGIN ISOLATION LEVEL {level}")
            session.sql(job.statement(self.table))
        one.sql("COMMIT")
        try:
            two.sql("COMMIT")
        except PySparkException as error:
            return error
        return None


CASES = [
    *(
        Case(earlier, later, mode, layout, level)
        for level in LEVELS
        # Everything at both levels is tested without Spark (tests/isolation/test_matrix.py).
        for layout in (_LAYOUTS if level == LEVELS[0] else ["unpartitioned"])
        for mode in (MODES if level == LEVELS[0] else ["optimised"])
        for earlier, later in CELLS
        # Strict asks no more of one partition than of a table without any.
        if (mode, layout) != ("strict", "same partition")
    ),
    # Neither the mode nor the layout says anything of an ALTER.
    *(
        Case(earlier, later, "optimised", "unpartitioned", level)
        for level in LEVELS
        for earlier, later in ALTERED
    ),
]
ROWS = list(dict.fromkeys((c.earlier, c.mode, c.layout, c.level) for c in CASES))


@pytest.fixture(scope="module")
def outcomes(
    spark: SparkSession, new_session: Callable[..., SparkSession], root: str
) -> dict[Case, PySparkException | None]:
    """How each case ended. They run side by side, each with two sessions of its own."""
    spark.sql("CREATE NAMESPACE lake.cells")
    pairs: SimpleQueue[tuple[SparkSession, SparkSession]] = SimpleQueue()
    for _ in range(_AT_A_TIME):
        pairs.put((quicken(new_session(root)), quicken(new_session(root))))

    def run(case: Case) -> PySparkException | None:
        """Run a case with sessions that no other case uses meanwhile."""
        pair = pairs.get()
        try:
            return case.run(*pair)
        finally:
            pairs.put(pair)

    with ThreadPoolExecutor(_AT_A_TIME) as pool:
        return dict(zip(CASES, pool.map(run, CASES), strict=True))


@pytest.mark.parametrize(("earlier", "mode", "layout", "level"), ROWS)
def test_row_of_the_matrix(
    spark: SparkSession,
    outcomes: dict[Case, PySparkException | None],
    earlier: str,
    mode: str,
    layout: str,
    level: str,
) -> None:
    """Each cell ends as the matrix says, and the table holds what the jobs mean."""
    where = (earlier, mode, layout, level)
    cases = [c for c in CASES if (c.earlier, c.mode, c.layout, c.level) == where]
    for case in cases:
        error = outcomes[case]
        assert (error is not None) == case.refused, f"{case}: {error}"
        if error is not None:
            assert error.getCondition() == "TRINITYLAKE_COMMIT_CONFLICT", str(error)
            assert case.table.removeprefix("lake.") in str(error)
        if ALTER in (case.earlier, case.later):
            assert case.altered_by == {
                int(name.removeprefix("by_"))
                for name, _ in rows(spark, f"SHOW TBLPROPERTIES {case.table}")
                if name.startswith("by_")
            }
    found = " UNION ALL ".join(f"SELECT '{c.later}' AS later, * FROM {c.table}" for c in cases)
    expected = [(case.later, *row) for case in cases for row in sorted(case.expected)]
    assert_df_equality(
        spark.sql(found),
        spark.createDataFrame(expected, "later STRING, k INT, v INT, p STRING"),
        ignore_nullable=True,
        ignore_row_order=True,
    )
