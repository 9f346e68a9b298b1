"""Checksums of rebased commits: Delta finds them and they are what it would compute itself."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark


def _snapshot(spark: SparkSession, table: str) -> Any:
    location = spark.sql(f"DESCRIBE DETAIL {table}").first()["location"]
    jvm = spark._jvm
    log = jvm.org.apache.spark.sql.delta.DeltaLog.forTable(spark._jsparkSession, location)
    return log.unsafeVolatileSnapshot()


@pytest.mark.parametrize("vectors", ["true", "false"])
def test_a_rebased_commit_has_the_checksum_of_its_state(
    spark: SparkSession, other: SparkSession, vectors: str
) -> None:
    """Delta's own validation finds the derived sums equal to those of the reconstructed state."""
    table = f"lake.db.sums_{vectors}"
    spark.sql(
        f"CREATE TABLE {table} (a INT, p INT) PARTITIONED BY (p)"
        f" TBLPROPERTIES ('delta.enableDeletionVectors' = '{vectors}')"
    )
    spark.sql(f"INSERT INTO {table} SELECT int(id), int(id % 2) FROM range(20)")
    spark.sql("BEGIN")
    spark.sql(f"INSERT INTO {table} VALUES (100, 0)")
    spark.sql(f"DELETE FROM {table} WHERE p = 0 AND a < 6")
    other.sql(f"INSERT INTO {table} VALUES (200, 1)")
    spark.sql("COMMIT")

    snapshot = _snapshot(other, table)
    assert snapshot.version() == 4
    assert snapshot.checksumOpt().isDefined(), "nobody derived the checksum"
    empty = getattr(spark._jvm.scala.collection.immutable, "Map$")
    assert snapshot.validateChecksum(getattr(empty, "MODULE$").empty())
    assert snapshot.checksumOpt().get().numFiles() == snapshot.numOfFiles()
    assert other.table(table).count() == 22 - 3
