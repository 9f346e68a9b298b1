"""The 25 cells of the table-operation matrix, through the engine with two sessions (format.md §7).

The later job reads, the earlier one commits, the later one writes: as one statement, or at the end
of a transaction. Where both succeed the rows are those of doing one job after the other; where the
cell is an error nothing of the later job is there.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.support.cells import ALTER, ALTERED, CELLS, MODES, altered, outcome
from tests.support.row_tables import (
    Conflict,
    Row,
    Session,
    Tables,
    Where,
    row,
    setting,
    values,
    where,
)
from trinitylake_spark.storage.memory import MemoryStorage

if TYPE_CHECKING:
    from collections.abc import Iterator

_FILES = {"OW": "OEEEE", "IN": "O++C+", "UD": "O+ECE", "MI": "ONNEC", "MA": "ONNEE"}
# … and where they worked on different files.
OTHER_FILES = {"OW": "OEEEE", "IN": "O++C+", "UD": "O++C+", "MI": "ONN+C", "MA": "ONN++"}

_FILES = {"same files": (1, 2), "other files": (3, 4), "other partition": (11, 12)}
LAYOUTS = [
    ("unpartitioned", "same files"),
    ("unpartitioned", "other files"),
    ("partitioned", "same files"),
    ("partitioned", "other files"),
    ("partitioned", "other partition"),
]


@pytest.fixture(scope="module")
def lake() -> Iterator[Tables]:
    """A lakehouse for all cells, each with a table of its own."""
    storage = MemoryStorage("memory://cells")
    storage.clear()
    tables = Tables(storage.url)
    tables.session().create_namespace()
    yield tables
    storage.clear()


def _base(*, partitioned: bool) -> list[Row]:
    x = [row(k, 0, "x") for k in range(1, 5)]
    return x + ([row(k, 0, "y") for k in range(11, 15)] if partitioned else [])


def _in(*keys: int) -> Where:
    return Where(f"(k#1 IN ({','.join(map(str, keys))}))", lambda one: one["k"] in keys)


def _job(
    session: Session, table: str, kind: str, keys: tuple[int, int], number: int, *, parts: bool
) -> None:
    """Do a job on the files of two rows; ``number`` is in everything it writes."""
    partition = "y" if keys[0] > 10 else "x"
    new = row(1000 + number, number, partition)
    if kind == "OW":
        session.overwrite(table, new, partition=partition if parts else None)
    elif kind == "IN":
        session.insert(table, new)
    elif kind == "UD":
        condition = where(k=keys[0], p=partition) if parts else where(k=keys[0])
        session.update(table, condition, setting(number))
    elif kind == ALTER:
        session.alter(table, f"by_{number}", "yes")
    else:
        session.compact(table, _in(*keys), major=kind == "MA")


def _meaning(rows: list[Row], kind: str, keys: tuple[int, int], number: int) -> list[Row]:
    """Return what a job makes of the rows."""
    partition = "y" if keys[0] > 10 else "x"
    new = row(1000 + number, number, partition)
    if kind == "OW":
        return [*(one for one in rows if one["p"] != partition), new]
    if kind == "IN":
        return [*rows, new]
    if kind == "UD":
        return [{**one, "v": number} if one["k"] == keys[0] else one for one in rows]
    return rows


@pytest.mark.parametrize("way", ["statement", "transaction"])
@pytest.mark.parametrize(("layout", "files"), LAYOUTS, ids=["-".join(both) for both in LAYOUTS])
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize(("earlier", "later"), CELLS)
def test_cell(
    lake: Tables, earlier: str, later: str, mode: str, layout: str, files: str, way: str, level: str
) -> None:
    """Each cell ends as the matrix says, and the table holds what the jobs mean."""
    partitioned = layout == "partitioned"
    table = f"{earlier}_{later}_{mode}_{layout}_{files}_{way}_{level}".replace(" ", "_")
    one, two = lake.session(), lake.session(isolation=level)
    rows = _base(partitioned=partitioned)
    properties = {"trinitylake.conflict-detection": mode}
    one.create(table, *rows, partitioned=partitioned, properties=properties)
    code = outcome(earlier, later, mode, files)

    def first() -> None:
        """The earlier job."""
        _job(one, table, earlier, (1, 2), 7, parts=partitioned)

    def second() -> None:
        """The later job, with the earlier one between its read and its commit."""
        if way == "statement":
            two.meanwhile = first
            _job(two, table, later, _FILES[files], 8, parts=partitioned)
        else:
            two.begin()
            _job(two, table, later, _FILES[files], 8, parts=partitioned)
            first()
            two.commit()

    expected = _meaning(rows, earlier, (1, 2), 7)
    if code == "E":
        with pytest.raises(Conflict) as refused:
            second()
        assert refused.value.fields["table"] == f"ns.{table}"
        assert refused.value.fields["rule"]
        assert refused.value.fields["advice"]
    else:
        second()
        expected = _meaning(expected, later, _FILES[files], 8)
    assert values(lake.session().select(table)) == values(expected)


@pytest.mark.parametrize("way", ["statement", "transaction"])
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize(("earlier", "later"), ALTERED)
def test_alter(lake: Tables, earlier: str, later: str, mode: str, way: str, level: str) -> None:
    """ALTER goes with every job, before and after; who looked at the definition read it."""
    table = f"{earlier}_{later}_{mode}_{way}_{level}"
    one, two = lake.session(), lake.session(isolation=level)
    rows = _base(partitioned=False)
    one.create(table, *rows, properties={"trinitylake.conflict-detection": mode})

    def first() -> None:
        """The earlier job."""
        _job(one, table, earlier, (1, 2), 7, parts=False)

    def second() -> None:
        """The later job, with the earlier one between its read and its commit."""
        if way == "statement":
            two.meanwhile = first
            _job(two, table, later, (1, 2), 8, parts=False)
        else:
            two.begin()
            _job(two, table, later, (1, 2), 8, parts=False)
            first()
            two.commit()

    done = [(earlier, 7)]
    if altered(earlier, later, level) == "E":
        with pytest.raises(Conflict) as refused:
            second()
        assert refused.value.fields["my_operation"] == "DESCRIBE"
    else:
        second()
        done.append((later, 8))
    expected = rows
    for kind, number in done:
        expected = _meaning(expected, kind, (1, 2), number)
    assert values(lake.session().select(table)) == values(expected)
    properties = lake.session().properties(table)
    assert {n for n in (7, 8) if f"by_{n}" in properties} == {n for k, n in done if k == ALTER}
