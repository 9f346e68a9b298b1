"""Run the demonstration: ``python -m examples.flights [--root FOLDER]``."""

from __future__ import annotations

import argparse
import logging
import os
import sys
import time
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from pyspark.sql import SparkSession

import trinitylake_spark as tl
from examples.flights.screen import MismatchError, Screen
from examples.flights.story import Story

if TYPE_CHECKING:
    from collections.abc import Iterator


def main() -> int:
    """Tell the story; return 1 if a number is not what the CSV files say."""
    parser = argparse.ArgumentParser(prog="examples.flights", description=__doc__)
    parser.add_argument("--root", help="URL or new folder of the lakehouse; kept at the end")
    arguments = parser.parse_args()
    with TemporaryDirectory(prefix="trinitylake-demo-") as folder:
        root = arguments.root or str(Path(folder) / "lake")
        url = root if "://" in root else Path(root).resolve().as_uri()
        return tell(url, Path(folder))


def tell(url: str, folder: Path) -> int:
    """Create the lakehouse, start Spark, tell the story."""
    began = time.monotonic()
    screen = Screen()
    screen.title(
        "TrinityLake on Spark",
        "The flights that left New York in 2013, their planes, airlines, airports and weather:\n"
        "five Delta tables in one lakehouse, with nothing but a storage underneath.",
    )
    lake = tl.Lakehouse.create(url)
    screen.say(f"A new lakehouse, version {lake.version}: {url}")
    builder = SparkSession.builder.master("local[2]").appName("flights")
    for key, value in {
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.log.level": "OFF",
        "spark.sql.session.timeZone": "UTC",
        # Five small tables on two cores: a few tasks for each step are enough.
        "spark.sql.shuffle.partitions": "4",
        "spark.databricks.delta.snapshotPartitions": "2",
    }.items():
        builder = builder.config(key, value)
    with quiet(folder / "spark.log"):
        spark = tl.configure(builder, catalog="lake", root=url).getOrCreate()
    try:
        Story(screen, url, spark, folder).tell()
    except MismatchError as error:
        screen.console.print(f"\n[bold red]✗ {error}")
        return 1
    finally:
        spark.stop()
    seconds = time.monotonic() - began
    screen.console.rule(style="cyan")
    screen.say(f"{screen.checked} facts, each the same as in the CSV files, in {seconds:.0f} s.")
    return 0


@contextmanager
def quiet(log: Path) -> Iterator[None]:
    """Send what Spark's JVM says on standard error to a file; show it if Spark does not start."""
    logging.getLogger("SQLQueryContextLogger").setLevel(logging.CRITICAL)
    sys.stderr.flush()
    terminal = os.dup(2)
    with log.open("wb") as file:
        os.dup2(file.fileno(), 2)
    try:
        yield
    except BaseException:
        os.write(terminal, log.read_bytes())
        raise
    finally:
        os.dup2(terminal, 2)
        os.close(terminal)


if __name__ == "__main__":
    sys.exit(main())
