"""Executors in JVMs of their own need nothing from the driver but the paths."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.support.driver import Driver

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = [pytest.mark.spark, pytest.mark.slow]

CLUSTER = {"spark.master": "local-cluster[2,1,1024]", "spark.executor.memory": "1g"}


def test_the_same_statements_on_a_cluster(tmp_path: Path) -> None:
    """Commits, checkpoints, staged and renumbered commits are read where the tasks run."""
    with Driver(root=tmp_path.as_uri(), create=True, spark=CLUSTER) as driver:
        driver.sql(
            "CREATE NAMESPACE lake.c",
            "CREATE TABLE lake.c.t TBLPROPERTIES ('delta.checkpointInterval' = '4')"
            " AS SELECT id, CAST(id % 3 AS INT) AS k FROM range(300)",
        )
        for i in range(6):
            driver.sql(f"INSERT INTO lake.c.t VALUES ({1000 + i}, 7)")
        count = "SELECT count(*), sum(id) FROM lake.c.t"
        assert driver.sql(count) == [[306, 44850 + 6015]]
        driver.sql("UPDATE lake.c.t SET k = 9 WHERE id < 10", "DELETE FROM lake.c.t WHERE k = 1")
        assert driver.sql(count)[0][0] == 306 - 97
        driver.sql("BEGIN", "INSERT INTO lake.c.t SELECT id + 10000, 3 FROM lake.c.t")
        driver.sql("INSERT INTO lake.c.t VALUES (-1, 4)", session=1)
        driver.sql("COMMIT")
        assert driver.sql(count)[0][0] == 2 * (306 - 97) + 1
        driver.sql("OPTIMIZE lake.c.t")
        driver.sql("SET `trinitylake.kernel-reads` = false")
        assert driver.sql(count, session=1)[0][0] == 2 * (306 - 97) + 1
        assert driver.sql(count)[0][0] == 2 * (306 - 97) + 1
        driver.sql("CALL lake.system.rollback_to_version(3)", "INSERT INTO lake.c.t VALUES (0, 0)")
        assert driver.sql(count)[0][0] == 302
        assert driver.sql("DELETE FROM lake.c.t WHERE id = 0") == [[2]]
        assert driver.sql(count, session=1)[0][0] == 300
