"""Several drivers and sessions that write into the same lakehouse at the same time."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.support.driver import Driver
from trinitylake_spark import Lakehouse

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = [pytest.mark.spark, pytest.mark.slow]

INSERTS = 50  # by each of the four writers


@pytest.mark.parametrize("tables", [1, pytest.param(4, marks=pytest.mark.long)])
def test_no_acknowledged_insert_is_lost_or_doubled(tmp_path: Path, tables: int) -> None:
    """Two processes with two writers each: all 200 autocommit INSERTs are there, once."""
    root = tmp_path.as_uri()
    Lakehouse.create(root)
    with Driver(root=root) as first, Driver(root=root) as second:
        first.sql("CREATE NAMESPACE lake.r")
        first.sql(*(f"CREATE TABLE lake.r.t{i} (writer INT, n INT)" for i in range(tables)))
        orders = []
        for writer in range(4):
            driver = (first, second)[writer % 2]
            table = f"lake.r.t{writer % tables}"
            statements = [f"INSERT INTO {table} VALUES ({writer}, {n})" for n in range(INSERTS)]
            orders.append((driver, driver.start(*statements, session=writer)))
        for driver, order in orders:
            answer = driver.answer(order, seconds=600)
            assert "ok" in answer, answer
        union = " UNION ALL ".join(f"SELECT * FROM lake.r.t{i}" for i in range(tables))
        rows = second.sql(f"SELECT writer, n FROM ({union}) ORDER BY writer, n")

    assert [[writer, n] for writer in range(4) for n in range(INSERTS)] == rows
    assert Lakehouse.open(root).check(deep=True).problems == []
