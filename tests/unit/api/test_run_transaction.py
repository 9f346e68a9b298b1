"""``run_transaction``: BEGIN, the function, COMMIT; again after a conflict, by type (no JVM)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from pyspark.errors import PySparkException

from trinitylake_spark import run_transaction
from trinitylake_spark.clock import SystemClock
from trinitylake_spark.errors import CommitConflictError, StatementConflictError, StorageError

if TYPE_CHECKING:
    from trinitylake_spark.spark.transaction import SparkTransaction


class SparkError(PySparkException):
    """An error as Spark hands over one of ours."""

    def __init__(self, condition: str) -> None:
        super().__init__(condition)
        self._condition = condition

    def getCondition(self) -> str:  # noqa: N802 - Spark's name
        """Return the condition."""
        return f"TRINITYLAKE_{self._condition}"

    def getMessageParameters(self) -> dict[str, str]:  # noqa: N802 - Spark's name
        """Return no facts."""
        return {}


class Session:
    """Plays a Spark session: takes down the procedures called, and fails some commits."""

    def __init__(self, *refusals: str) -> None:
        self.calls: list[str] = []
        self.refusals = list(refusals)

    def sql(self, text: str) -> Session:
        """Run ``CALL lake.system.<procedure>(…)``."""
        procedure = text.partition(".system.")[2].partition("(")[0]
        self.calls.append(procedure)
        if procedure == "commit" and self.refusals:
            raise SparkError(self.refusals.pop(0))
        return self

    def collect(self) -> list[dict[str, Any]]:
        """Return what BEGIN and COMMIT answer."""
        return [{"transaction_id": "T", "version": len(self.calls)}]


@pytest.fixture(autouse=True)
def pauses(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The pauses made, at once."""
    made: list[float] = []
    monkeypatch.setattr(SystemClock, "sleep", lambda _, seconds: made.append(seconds))
    return made


def test_runs_again_after_a_conflict(pauses: list[float]) -> None:
    """Each run is a transaction of its own; the result is that of the run that committed."""
    spark, seen = Session("COMMIT_CONFLICT", "COMMIT_CONFLICT"), []

    def work(tx: SparkTransaction) -> int:
        seen.append(tx)
        return len(seen)

    assert run_transaction(spark, work, catalog="lake") == 3
    assert spark.calls == ["begin", "commit"] * 3
    assert [tx.version for tx in seen] == [None, None, 6]
    assert len(pauses) == 2


def test_gives_up_after_its_retries() -> None:
    """A conflict that stays surfaces, typed, after the runs that were allowed."""
    spark = Session(*["COMMIT_CONFLICT"] * 9)
    with pytest.raises(CommitConflictError):
        run_transaction(spark, lambda: None, catalog="lake", retries=2)
    assert spark.calls == ["begin", "commit"] * 3


@pytest.mark.parametrize("condition", ["COMMIT_RETRIES_EXHAUSTED", "STORAGE"])
def test_other_errors_surface_at_once(condition: str) -> None:
    """What another run cannot cure is not run again."""
    spark = Session(condition)
    with pytest.raises((CommitConflictError, StorageError)):
        run_transaction(spark, lambda: None, catalog="lake")
    assert spark.calls == ["begin", "commit"]


def test_threads_of_its_own_are_no_reason_to_run_again() -> None:
    """A statement that lost against another of the same transaction ends it, typed, once."""
    spark = Session()

    def work() -> None:
        raise SparkError("STATEMENT_CONFLICT")

    with pytest.raises(StatementConflictError):
        run_transaction(spark, work, catalog="lake")
    assert spark.calls == ["begin", "rollback"]


def test_an_error_of_the_function_rolls_back() -> None:
    """It surfaces unchanged, and nothing is run again."""
    spark = Session()

    def work() -> None:
        raise ValueError("mine")

    with pytest.raises(ValueError, match="mine"):
        run_transaction(spark, work, catalog="lake")
    assert spark.calls == ["begin", "rollback"]


def test_only_what_is_meant_for_it_gets_the_transaction() -> None:
    """A first argument that must be given, or is called tx; not one that has a value already."""

    def keyword_only(*, retries: int = 3) -> object:
        return retries

    def with_more(t: object, n: int = 1) -> object:
        return (t, n)[0]

    def whatever(*arguments: object) -> object:
        return arguments[0]

    def optional(tx: object = None) -> object:
        return tx

    def run(work: Any) -> Any:
        return run_transaction(Session(), work, catalog="lake")

    assert run(lambda n=1: n) == 1
    assert run(keyword_only) == 3
    for work in (lambda t: t, with_more, whatever, optional):
        assert run(work).id == "T"
