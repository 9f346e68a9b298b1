"""A prepared transaction outlives its driver, and of two drivers that commit it one does."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.support.driver import Driver, StatementError
from trinitylake_spark import Lakehouse

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = [pytest.mark.spark, pytest.mark.slow]

ROUNDS = 5


def prepare(driver: Driver, name: str, number: int) -> None:
    """Prepare an insert into both tables."""
    driver.sql(
        "BEGIN",
        f"INSERT INTO lake.p.a VALUES ({number})",
        f"INSERT INTO lake.p.b SELECT n * 10 FROM lake.p.a WHERE n = {number}",
        f"PREPARE TRANSACTION '{name}'",
    )


def rows(driver: Driver) -> tuple[list[int], list[int]]:
    """The rows of both tables."""
    a, b = (driver.sql(f"SELECT n FROM lake.p.{t} ORDER BY n") for t in "ab")
    return [n for (n,) in a], [n for (n,) in b]


def test_prepared_transactions_of_several_drivers(tmp_path: Path) -> None:
    """Kill -9 loses nothing that was prepared; every race has one winner, and both tables agree."""
    root = tmp_path.as_uri()
    Lakehouse.create(root)
    with Driver(root=root) as first, Driver(root=root) as second:
        second.sql("CREATE NAMESPACE lake.p", "CREATE TABLE lake.p.a (n INT)")
        second.sql("CREATE TABLE lake.p.b (n INT)")
        prepare(first, "killed", 0)
        first.sql("BEGIN", "INSERT INTO lake.p.a VALUES (-1)")
        first.kill()
        assert rows(second) == ([], [])
        second.sql("CALL lake.system.resume_transaction('killed')")
        assert rows(second) == ([0], [0])
        second.sql("INSERT INTO lake.p.b VALUES (5)", "COMMIT")
        assert rows(second) == ([0], [0, 5])

        with Driver(root=root) as third:
            third.ready()
            for number in range(1, ROUNDS + 1):
                prepare(second, "race", number)
                racers = [
                    (driver, driver.start("COMMIT PREPARED 'race'", session=9))
                    for driver in (second, third)
                ]
                answers = [driver.answer(order) for driver, order in racers]
                told = [answer["error"] for answer in answers if "error" in answer]
                assert len(told) == 1, answers
                assert told[0] in {
                    "TRINITYLAKE_TRANSACTION_MOVED",
                    "TRINITYLAKE_TRANSACTION_FINISHED",
                }
        with pytest.raises(StatementError, match="TRINITYLAKE_TRANSACTION_FINISHED"):
            second.sql("COMMIT PREPARED 'race'")
        numbers = list(range(ROUNDS + 1))
        assert rows(second) == (numbers, sorted([5, *(10 * n for n in numbers)]))
    assert Lakehouse.open(root).check(deep=True).problems == []
