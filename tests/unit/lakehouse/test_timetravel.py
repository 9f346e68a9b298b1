"""Older versions by number, time and export name; rollback (format.md §8)."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone
from typing import TYPE_CHECKING

import pytest

from tests.support.lakes import memory, new_lake, open_lake, other
from tests.support.list_table import append, read
from trinitylake_spark.clock import ManualClock
from trinitylake_spark.errors import (
    CommitConflictError,
    CorruptError,
    InvalidInputError,
    Kind,
    NotFoundError,
)
from trinitylake_spark.format.definitions import change_lakehouse_definition
from trinitylake_spark.format.paths import FLOOR_PATH, root_path
from trinitylake_spark.lakehouse.pending import DefinitionChange
from trinitylake_spark.lakehouse.timetravel import parse_reference, to_millis
from trinitylake_spark.testing.counting import CountingStorage

if TYPE_CHECKING:
    from trinitylake_spark.lakehouse.lakehouse import Lakehouse

START = 1_700_000_000_000


@pytest.fixture
def lake() -> Lakehouse:
    """Versions 0 to 9, ten seconds apart; version n ≥ 1 has the items 2..n in table ``t``."""
    clock = ManualClock(START)
    lake = new_lake(memory("travel"), clock=clock, tables=[])
    for version in range(1, 10):
        clock.advance(10_000)
        with lake.transaction() as tx:
            if version == 1:
                tx.create_namespace("s")
                tx.create_table("s", "t", schema=None)
            else:
                append(tx, "t", version)
    clock.advance(10_000)
    return lake


def clock_of(lake: Lakehouse) -> ManualClock:
    """Return the clock to move."""
    clock = lake.services.clock
    assert isinstance(clock, ManualClock)
    return clock


def test_every_version_reads_as_it_was(lake: Lakehouse) -> None:
    """All objects of one version, by number, by text of digits, and in another process."""
    for each in (lake, other(lake)):
        for version in range(1, 10):
            assert read(each.at(version=version), "t") == list(range(2, version + 1))
        assert each.at(version="003").version == 3
        assert each.at(version=0).namespaces() == []


@pytest.mark.parametrize("version", [-1, "-1", "1.5", "1e3", "x", "", "٣", 1.5, True], ids=repr)
def test_what_is_no_version(lake: Lakehouse, version: object) -> None:
    """Only whole numbers from 0 up are versions."""
    with pytest.raises(InvalidInputError) as caught:
        lake.at(version=version)  # type: ignore[arg-type]
    assert caught.value.kind is Kind.INVALID_VERSION


def test_a_version_that_is_not_there(lake: Lakehouse) -> None:
    """The error says which versions there are."""
    with pytest.raises(NotFoundError) as caught:
        lake.at(version=10)
    assert caught.value.kind is Kind.VERSION_NOT_FOUND
    assert (caught.value.fields["oldest"], caught.value.fields["latest"]) == (0, 9)
    with pytest.raises(NotFoundError):
        lake.at(version=7, within=lake.at(version=5))


@pytest.mark.parametrize(
    ("seconds", "version"), [(0, 0), (9.999, 0), (10, 1), (25, 2), (89.999, 8), (90, 9), (100, 9)]
)
def test_a_time_finds_the_newest_version_then(
    lake: Lakehouse, seconds: float, version: int
) -> None:
    """Inclusive to the millisecond, however the time is written."""
    millis = START + int(seconds * 1000)
    when = datetime.fromtimestamp(millis / 1000, UTC)
    for written in (
        millis,
        when,
        when.replace(tzinfo=None),
        when.astimezone(timezone(timedelta(hours=9))),
        when.isoformat(),
        when.isoformat(sep=" ", timespec="milliseconds").removesuffix("+00:00"),
    ):
        assert lake.at(timestamp=written).version == version


def test_microseconds_round_down() -> None:
    """A time between two milliseconds sees what was committed up to the earlier one."""
    assert to_millis(datetime(1970, 1, 1, 0, 0, 0, 1999, UTC)) == 1
    assert to_millis(datetime(1969, 12, 31, 23, 59, 59, 999_500, UTC)) == -1


def test_times_out_of_range(lake: Lakehouse) -> None:
    """Before the oldest version, in the future, or no time at all."""
    for millis in (START - 1, 0, clock_of(lake).millis + 1):
        with pytest.raises(NotFoundError) as caught:
            lake.at(timestamp=millis)
        assert caught.value.kind is Kind.TIMESTAMP_OUT_OF_RANGE
    with pytest.raises(InvalidInputError):
        lake.at(timestamp="yesterday")


def test_the_stamp_of_the_newest_version_is_never_in_the_future(lake: Lakehouse) -> None:
    """A version stamped by a clock that runs ahead can be read at its own time."""
    ahead = open_lake(lake.services.storage, clock=ManualClock(START + 10**9))
    with ahead.transaction() as tx:
        append(tx, "t", 10)
    assert lake.at(timestamp=ahead.snapshot().created_at).version == 10


def test_stamps_rise_strictly(lake: Lakehouse) -> None:
    """Also when the clock stands still, or goes back."""
    clock_of(lake).advance(-10_000_000)
    for value in range(3):
        with lake.transaction() as tx:
            append(tx, "t", value)
    stamps = [info.created_at for info in lake.versions()]
    assert stamps == sorted(set(stamps), reverse=True)
    assert lake.check().problems == []


def test_a_time_costs_few_reads() -> None:
    """Among 2,000 versions a time is found in O(log n) reads."""
    storage, clock = CountingStorage(memory("log-n")), ManualClock(START)
    lake = new_lake(storage, clock=clock)
    for _ in range(2000):
        clock.advance(1000)
        with lake.transaction() as tx:
            tx.set_property("p", str(clock.millis))
    fresh = other(lake)
    base = fresh.snapshot()
    for seconds in (1, 700, 1999):
        storage.clear()
        when = START + seconds * 1000
        assert other(lake).at(timestamp=when, within=base).version == seconds
        assert storage.count() <= 14


def test_expired_versions(lake: Lakehouse) -> None:
    """Below the floor a version is expired, unless the definition protects it."""
    storage = lake.services.storage
    storage.write(FLOOR_PATH, b"5")
    for version in (0, 1, 3, 4):
        storage.delete(root_path(version))
    fresh = other(lake)
    for version in (0, 2, 4):  # 2 waits for its deletion
        with pytest.raises(NotFoundError) as caught:
            fresh.at(version=version)
        assert caught.value.kind is Kind.VERSION_EXPIRED
        assert caught.value.fields["oldest"] == 5
    assert fresh.at(timestamp=START + 55_000).version == 5
    with pytest.raises(NotFoundError) as caught:
        fresh.at(timestamp=START + 45_000)
    assert caught.value.kind is Kind.TIMESTAMP_OUT_OF_RANGE
    assert [info.version for info in fresh.versions()] == [9, 8, 7, 6, 5]

    tx = fresh.begin()
    definition = change_lakehouse_definition(
        tx.layout.definition, maximum_version_age_millis_overrides={2: 10**15}
    )
    tx._pending.definition = DefinitionChange(definition, "_lakehouse_def_x.binpb", ("x",))
    tx.commit()
    assert fresh.at(version=2).version == 2


def test_versions_that_expire_under_a_search(lake: Lakehouse) -> None:
    """A floor that moves while a time is searched for is noticed."""
    fresh = other(lake)
    base = fresh.snapshot()
    storage = lake.services.storage
    storage.write(FLOOR_PATH, b"6")
    for version in range(6):
        storage.delete(root_path(version))
    assert fresh.at(timestamp=START + 75_000, within=base).version == 7
    with pytest.raises(NotFoundError) as caught:
        fresh.at(timestamp=START + 5_000, within=base)
    assert caught.value.kind is Kind.TIMESTAMP_OUT_OF_RANGE
    with pytest.raises(NotFoundError) as caught:
        fresh.at(version=3, within=base)
    assert caught.value.kind is Kind.VERSION_EXPIRED


def test_numbers_with_gaps_are_walked(lake: Lakehouse) -> None:
    """Where a number is missing without a floor, ``previous_root`` is followed one by one."""
    lake.services.storage.delete(root_path(4))
    fresh = other(lake)
    assert fresh.at(timestamp=START + 65_000).version == 6
    with pytest.raises(NotFoundError):
        fresh.at(timestamp=START + 35_000)


def test_a_reader_of_an_expired_version_is_told(lake: Lakehouse) -> None:
    """Its rows, or VERSION_EXPIRED; a file missing from a kept version is corruption."""
    storage = lake.services.storage
    reader, kept = other(lake).at(version=3), other(lake).snapshot()
    for path in storage.list():
        if not path.startswith("_"):
            storage.delete(path)
    with pytest.raises(CorruptError, match="not there"):
        kept.table("s", "t")
    storage.write(FLOOR_PATH, b"8")
    with pytest.raises(NotFoundError) as caught:
        reader.table("s", "t")
    assert caught.value.kind is Kind.VERSION_EXPIRED


def test_references_in_sql() -> None:
    """Digits are versions, other text names an export, other numbers are errors."""
    assert parse_reference("12") == 12
    assert parse_reference("003") == 3
    assert parse_reference("q3") == "q3"
    assert parse_reference("2026-01-01") == "2026-01-01"
    for text in ("-1", "+1", "1.5", "1e3", ".5"):
        with pytest.raises(InvalidInputError):
            parse_reference(text)


def test_exactly_one_way_of_travelling(lake: Lakehouse) -> None:
    """Version, timestamp and snapshot exclude each other."""
    for arguments in ({}, {"version": 1, "timestamp": START}, {"version": 1, "snapshot": "x"}):
        with pytest.raises(InvalidInputError, match="exactly one"):
            lake.at(**arguments)  # type: ignore[arg-type]


def test_exported_snapshots(lake: Lakehouse) -> None:
    """An export is found by its name, in this storage or another, as its own root says."""
    storage = lake.services.storage
    storage.create("_snapshot_x.ipc", storage.read(root_path(4)))
    memory("elsewhere")
    tx = lake.begin()
    definition = change_lakehouse_definition(
        tx.layout.definition,
        exported_snapshots={
            "here": "_snapshot_x.ipc",
            "there": f"{storage.url}{root_path(6)}",
        },
    )
    tx._pending.definition = DefinitionChange(definition, "_lakehouse_def_x.binpb", ("x",))
    tx.commit()

    assert read(lake.at(snapshot="here"), "t") == [2, 3, 4]
    assert read(lake.at(snapshot="there"), "t") == [2, 3, 4, 5, 6]
    with pytest.raises(NotFoundError) as caught:
        lake.at(snapshot="Here")
    assert caught.value.kind is Kind.SNAPSHOT_NOT_FOUND
    assert caught.value.fields["exported"] == ["here", "there"]


# --- rollback ------------------------------------------------------------------------------------


def test_rollback_is_a_new_version_with_old_content(lake: Lakehouse) -> None:
    """History stays, the root names both its predecessors, and time goes on."""
    assert lake.rollback(to_version=4, message="oops", author="eve") == 10
    assert read(lake.snapshot(), "t") == [2, 3, 4]
    info = lake.versions(1)[0]
    assert (info.kind, info.rolled_back_to, info.author) == ("rollback", 4, "eve")
    assert info.time_version == info.created_at
    root = lake.snapshot().root.info
    assert root.previous_root == root.rollback_from_root == root_path(9)
    assert read(lake.at(version=9), "t") == list(range(2, 10))
    assert lake.check(deep=True).problems == []

    with lake.transaction() as tx:
        append(tx, "t", 99)
    assert read(lake.snapshot(), "t") == [2, 3, 4, 99]
    assert lake.rollback(to_version=9) == 12
    assert read(lake.snapshot(), "t") == list(range(2, 10))


def test_rollback_to_a_time(lake: Lakehouse) -> None:
    """The version that was the newest then."""
    lake.rollback(to_timestamp=START + 35_000)
    assert read(lake.snapshot(), "t") == [2, 3]
    assert lake.versions(1)[0].rolled_back_to == 3


def test_rollbacks_that_are_refused(lake: Lakehouse) -> None:
    """To the newest version, to none, to two, to one that is not there."""
    for arguments, error in (
        ({"to_version": 9}, InvalidInputError),
        ({}, InvalidInputError),
        ({"to_version": 1, "to_timestamp": START}, InvalidInputError),
        ({"to_version": 10}, NotFoundError),
        ({"to_version": -1}, InvalidInputError),
    ):
        with pytest.raises(error):
            lake.rollback(**arguments)
    assert lake.version == 9


def test_a_rollback_does_not_follow_other_commits(lake: Lakehouse) -> None:
    """What was committed meanwhile was not seen by whoever asked, so it is a conflict."""
    second = other(lake)
    stale = second.snapshot()
    with lake.transaction() as tx:
        append(tx, "t", 10)
    second.services.finder.latest = lambda: stale.root  # type: ignore[method-assign]
    with pytest.raises(CommitConflictError, match="replaces the newest version it saw"):
        second.rollback(to_version=4)
    assert lake.version == 10


def test_a_rollback_keeps_what_rules_retention(lake: Lakehouse) -> None:
    """Exports and retention are those of the newest version, everything else the target's."""
    lake.set_property("mine", "1")
    lake.set_property("minimum_versions_to_keep", "77")
    lake.rollback(to_version=5)
    definition = lake.snapshot().layout.definition
    assert definition.minimum_versions_to_keep == 77
    assert "mine" not in definition.properties
    lake.rollback(to_version=11)
    assert lake.snapshot().layout.path == lake.at(version=11).layout.path


def test_a_rollback_over_a_change_of_the_order(lake: Lakehouse) -> None:
    """The target's tree comes back with the target's layout."""
    lake.set_property("order", "3")
    lake.rollback(to_version=9)
    assert lake.snapshot().layout.order == 128
    with lake.transaction() as tx:
        append(tx, "t", 10)
    assert lake.check(deep=True).problems == []


def test_conflicts_are_judged_across_a_rollback_target(lake: Lakehouse) -> None:
    """The first commit after a rollback is judged by its own messages, not by the target's."""
    lake.rollback(to_version=5)
    mine = other(lake).begin()
    append(mine, "t", 50)
    with lake.transaction() as tx:
        tx.create_namespace("other")
    assert mine.commit() == 12
    assert read(lake.snapshot(), "t") == [2, 3, 4, 5, 50]
