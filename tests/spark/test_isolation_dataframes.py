"""The proofs of isolation with DataFrames and handles in place of SQL.

The catalogue, the clients and the checkers are those of ``tests/isolation``; what is read and
written goes through objects that were made before the transactions began (``frame_tables.py``).
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

import pytest

from tests.isolation.profile import FACTOR, seeds
from tests.support.anomalies import Anomalies, Stage, staged
from tests.support.appenders import History, create_tables, read_all, report, threaded
from tests.support.bank import Teller, audit_history, create_bank
from tests.support.frame_tables import TEXT, FrameTables
from tests.support.row_tables import SERIALIZABLE, SNAPSHOT
from tests.support.spark_rows import quicken

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

_LISTS = ("u0", "u1")


@pytest.fixture(params=[SNAPSHOT, SERIALIZABLE])
def level(request: pytest.FixtureRequest) -> str:
    """Each of the two isolation levels."""
    return str(request.param)


@pytest.fixture(scope="module")
def idle() -> list[SparkSession]:
    """Sessions that wait for the next test."""
    return []


@pytest.fixture
def new_tables(
    idle: list[SparkSession], new_session: Callable[..., SparkSession], root: str
) -> Iterator[Callable[..., FrameTables]]:
    """Makes namespaces of the module's lakehouse."""
    made: list[FrameTables] = []

    def session() -> SparkSession:
        """A session on the lakehouse, which must have its catalog before anything else asks."""
        spark = quicken(new_session(root))
        spark.sql("SHOW NAMESPACES IN lake")
        return spark

    def make(**options: object) -> FrameTables:
        """A namespace with sessions of its own."""
        made.append(FrameTables(session, idle, **options))
        return made[-1]

    yield make
    for tables in made:
        tables.close()


class TestAnomalies(Anomalies):
    """Hermitage's catalogue."""

    @pytest.fixture
    def tables(self, new_tables: Callable[..., FrameTables]) -> FrameTables:
        """A namespace for one test."""
        tables = new_tables()
        tables.session().create_namespace()
        return tables

    # Without Spark both are in every run (tests/isolation).
    @pytest.fixture(params=[pytest.param("one table", marks=pytest.mark.long), "two tables"])
    def stage(self, request: pytest.FixtureRequest, tables: FrameTables) -> Stage:
        """Rows 1 (10) and 2 (20), in one table or in two."""
        return staged(tables, request.param)


@pytest.mark.parametrize("seed", seeds(1))
def test_list_append_in_threads(
    new_tables: Callable[..., FrameTables], level: str, seed: int
) -> None:
    """Random transactions of three sessions at the same time leave no cycle that is forbidden."""
    tables = new_tables(codec=TEXT)
    create_tables(tables, _LISTS)
    history = History(
        threaded(tables, seed, level, clients=3, number=6 * FACTOR, names=_LISTS),
        read_all(tables, _LISTS),
    )

    assert report(history, level, seed) == ""
    assert history.commits > 3


@pytest.mark.parametrize("seed", seeds(1))
def test_bank_in_threads(new_tables: Callable[..., FrameTables], level: str, seed: int) -> None:
    """Transfers between tables by three sessions at the same time: no cent is lost."""
    tables = new_tables()
    first = create_bank(tables)
    tellers = [Teller(tables, seed, n, level) for n in range(3)]

    def work(teller: Teller) -> None:
        """One teller's day."""
        steps = teller.steps()
        while teller.done < 5 * FACTOR:
            next(steps)

    with ThreadPoolExecutor(len(tellers)) as pool:
        list(pool.map(work, tellers))

    assert audit_history(tables, tellers, first) == [], f"replay with TRINITYLAKE_SEED={seed}"
    assert sum(len(teller.transfers) for teller in tellers) > 1
