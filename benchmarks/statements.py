"""Statements on our catalog and on a plain Delta table, side by side in one session.

Every round runs each statement once on both, in alternating order, so that whatever else the
machine does hits both alike. The figure to look at is the median of the pairwise ratios: 0.5 means
that ours takes half the time. Rounds before the first counted one warm both up.

Run it with ``make bench`` or ``python -m benchmarks.statements --rounds 15``.
"""

from __future__ import annotations

import argparse
import json
import time
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median, quantiles
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from pyspark.sql import SparkSession
from rich.console import Console
from rich.table import Table

import trinitylake_spark as tl

if TYPE_CHECKING:
    from collections.abc import Callable

WRITES = 1.0
READS = 0.5

OURS, PLAIN = "lake.bench", "spark_catalog.bench"


@dataclass
class Statement:
    """One kind of statement.

    Args:
        name: what the report calls it.
        text: the statement for a schema and the number of a round.
        target: the ratio that we aim at.
    """

    name: str
    text: Callable[[str, int], str]
    target: float
    ours: list[float] = field(default_factory=list)
    plain: list[float] = field(default_factory=list)

    @property
    def ratios(self) -> list[float]:
        """Ours to plain, pair by pair."""
        return [a / b for a, b in zip(self.ours, self.plain, strict=True)]


def statements(travel: dict[str, int]) -> list[Statement]:
    """List what is measured.

    Args:
        travel: of each schema, the version that time travel goes to.
    """
    return [
        Statement("INSERT 1 row", lambda s, n: f"INSERT INTO {s}.t VALUES ({n}, 'x')", WRITES),
        Statement("SELECT count(*)", lambda s, _: f"SELECT count(*) FROM {s}.t", READS),
        Statement("SELECT 1 row", lambda s, n: f"SELECT * FROM {s}.t WHERE id = {n}", READS),
        Statement("UPDATE 1 row", lambda s, n: f"UPDATE {s}.t SET v = 'u' WHERE id = {n}", WRITES),
        Statement(
            "MERGE 1 row",
            lambda s, n: (
                f"MERGE INTO {s}.t USING (SELECT {n} AS id, 'm' AS v) AS new ON t.id = new.id "
                "WHEN MATCHED THEN UPDATE SET * WHEN NOT MATCHED THEN INSERT *"
            ),
            WRITES,
        ),
        Statement("DELETE 1 row", lambda s, n: f"DELETE FROM {s}.t WHERE id = {n - 5}", WRITES),
        Statement("ADD COLUMN", lambda s, n: f"ALTER TABLE {s}.wide ADD COLUMN c{n} INT", WRITES),
        Statement(
            "CTAS 10 rows",
            lambda s, n: f"CREATE TABLE {s}.c{n} USING delta AS SELECT id FROM range(10)",
            WRITES,
        ),
        Statement(
            "time travel",
            lambda s, _: f"SELECT count(*) FROM {s}.t VERSION AS OF {travel[s]}",
            READS,
        ),
    ]


def run(spark: SparkSession, text: str) -> float:
    """Run one statement to its end; return milliseconds."""
    began = time.perf_counter()
    spark.sql(text).collect()
    return (time.perf_counter() - began) * 1000


def prepare(spark: SparkSession) -> dict[str, int]:
    """Create the same two tables on both sides; return the versions to travel to."""
    for schema in (OURS, PLAIN):
        spark.sql(f"CREATE NAMESPACE {schema}")
        spark.sql(f"CREATE TABLE {schema}.t (id INT, v STRING) USING delta")
        spark.sql(f"INSERT INTO {schema}.t SELECT int(-id - 1), 'old' FROM range(100)")
        spark.sql(f"CREATE TABLE {schema}.wide (id INT) USING delta")
    versions = spark.sql("SELECT max(version) FROM lake.system.versions").first()
    return {OURS: versions[0], PLAIN: 1}


def measure(spark: SparkSession, rounds: int, warm_up: int) -> list[Statement]:
    """Run everything, warm-up first; return the counted times."""
    measured = statements(prepare(spark))
    for number in range(rounds + warm_up):
        for statement in measured:
            pair = [(OURS, statement.ours), (PLAIN, statement.plain)]
            for schema, times in pair if number % 2 else reversed(pair):
                taken = run(spark, statement.text(schema, number))
                if number >= warm_up:
                    times.append(taken)
    check(spark)
    return measured


def check(spark: SparkSession) -> None:
    """Fail if the two sides do not hold the same rows: a fast wrong answer is none."""
    for table in ("t", "wide"):
        ours, plain = (
            sorted(map(tuple, spark.table(f"{schema}.{table}").collect()))
            for schema in (OURS, PLAIN)
        )
        if ours != plain:
            message = f"the two tables {table} differ: {len(ours)} and {len(plain)} rows"
            raise AssertionError(message)


def report(measured: list[Statement]) -> Table:
    """Make the table for a person."""
    table = Table(title="ours beside plain Delta, milliseconds (median), pairwise ratio")
    for column in ("statement", "ours", "plain", "ratio", "quartiles", "aim"):
        table.add_column(column, justify="left" if column == "statement" else "right")
    for each in measured:
        low, middle, high = quantiles(each.ratios, n=4)
        colour = "green" if middle <= each.target else "red"
        table.add_row(
            each.name,
            f"{median(each.ours):.0f}",
            f"{median(each.plain):.0f}",
            f"[{colour}]{middle:.2f}",
            f"{low:.2f}-{high:.2f}",
            f"≤ {each.target}",
        )
    return table


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(prog="benchmarks.statements", description=__doc__)
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--warm-up", type=int, default=4)
    parser.add_argument("--json", type=Path, help="also write all times to this file")
    arguments = parser.parse_args()
    with TemporaryDirectory(prefix="trinitylake-bench-") as folder:
        root = (Path(folder) / "lake").as_uri()
        builder = (
            SparkSession.builder.master("local[2]")
            .config("spark.ui.enabled", "false")
            .config("spark.log.level", "OFF")
            .config("spark.ui.showConsoleProgress", "false")
            .config("spark.sql.warehouse.dir", f"{folder}/plain")
            .config("spark.sql.shuffle.partitions", "2")
            .config("spark.databricks.delta.snapshotPartitions", "2")
        )
        spark = tl.configure(builder, catalog="lake", root=root, create=True).getOrCreate()
        measured = measure(spark, arguments.rounds, arguments.warm_up)
        spark.stop()
    Console().print(report(measured))
    if arguments.json:
        times = {each.name: {"ours": each.ours, "plain": each.plain} for each in measured}
        arguments.json.write_text(json.dumps(times, indent=1), encoding="utf-8")


if __name__ == "__main__":
    main()
