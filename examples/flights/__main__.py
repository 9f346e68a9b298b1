"""Run the demonstration: ``python -m examples.flights [--root FOLDER]``."""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path
from tempfile import TemporaryDirectory

from pyspark.sql import SparkSession

import trinitylake_spark as tl
from examples.flights.screen import MismatchError, Screen
from examples.flights.story import Story


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
        "336,776 flights that left New York in 2013, the planes, the airlines, the airports and\n"
        "the weather. Five Delta tables in one lakehouse, whose only server is a storage.",
    )
    lake = tl.Lakehouse.create(url)
    screen.say(f"A new lakehouse, version {lake.version}: {url}")
    builder = SparkSession.builder.master("local[2]").appName("flights")
    builder = builder.config("spark.ui.enabled", "false").config("spark.log.level", "ERROR")
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


if __name__ == "__main__":
    sys.exit(main())
