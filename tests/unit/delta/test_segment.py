"""Pinned logs: what a definition stores, how the history is sealed, which checkpoint belongs."""

from __future__ import annotations

import json
import math

import pytest

from tests.support.delta_tables import Bench, add, hint_by_delta, insert
from trinitylake_spark.delta.log import SEAL_ABOVE, SEAL_ALWAYS_ABOVE, Memory
from trinitylake_spark.delta.names import LOG_FOLDER, checkpoint_note_name
from trinitylake_spark.delta.segment import Commit, Segment, moved, read_segment
from trinitylake_spark.delta.table import read_table
from trinitylake_spark.errors import CorruptError


def _segment(*uniques: str, first: int = 0) -> Segment:
    commits = tuple(Commit(first + i, u, 10, 1) for i, u in enumerate(uniques))
    return Segment("data/x", "id", commits)


def test_segment_survives_the_definition() -> None:
    """What format properties store is what is read back."""
    segment = _segment("", "a", "b_1")

    assert segment == read_segment(segment.to_properties())


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("delta.commits", "[]"),
        ("delta.commits", '[[0,"",1,1],[2,"a",1,1]]'),
        ("delta.commits", "x"),
        ("delta.version", "7"),
        ("location", None),
    ],
)
def test_damaged_properties_are_named(name: str, value: str | None) -> None:
    """Gaps, missing properties and other text are corrupt, never guessed at."""
    properties = _segment("", "a").to_properties()
    properties.pop(name)
    if value is not None:
        properties[name] = value

    with pytest.raises(CorruptError):
        read_segment(properties)


def test_extension_is_told_by_the_last_commit() -> None:
    """A chain extends another if it holds the other's newest commit, whatever its number says."""
    old = _segment("", "a")

    assert _segment("", "a", "b").extends(old)
    assert old.extends(old)
    assert not _segment("", "x", "b").extends(old)
    assert not _segment("").extends(old)


def test_moved_commit_keeps_its_file() -> None:
    """Another number is another name of the same stored file."""
    assert Commit(9, "a_3", 10, 1) == moved(Commit(3, "a", 10, 1), 9)


def _table_with_commits(bench: Bench, count: int, checkpoint_every: int | None) -> object:
    definition = bench.create()
    for number in range(1, count):
        definition = bench.stage(definition, insert(add(f"f{number}"))).definition
        segment = read_table(definition).segment
        if checkpoint_every and number % checkpoint_every == 0:
            hint = json.dumps({"version": number, "size": 3, "sizeInBytes": 99}).encode()
            bench.delta.checkpoints.record(
                bench.context, segment.location, segment.commits[-1], "wtoken", hint
            )
    return definition


def test_definition_does_not_grow_with_the_commits() -> None:
    """After 400 commits the definition pins about as many as after 60; none is lost."""
    bench = Bench("bounded")
    definition = _table_with_commits(bench, 400, checkpoint_every=10)
    table = read_table(definition)

    assert len(table.segment.commits) <= SEAL_ABOVE + 10
    assert len(definition.SerializeToString()) < 6000
    commits = bench.delta.logs.commits_from(bench.context, table.segment, 0)
    assert list(range(400)) == [c.version for c in commits]
    assert {f"f{n}" for n in range(1, 400)} == {
        a["path"] for e in bench.entries(definition) for a in e.adds
    }


def test_definition_is_bounded_without_checkpoints_too() -> None:
    """A table that only writers without Spark change still has a small definition."""
    bench = Bench("unchecked")
    segment = read_table(_table_with_commits(bench, 300, checkpoint_every=None)).segment

    assert len(segment.commits) <= SEAL_ALWAYS_ABOVE + 1
    commits = bench.delta.logs.commits_from(bench.context, segment, 0)
    assert list(range(300)) == [c.version for c in commits]


def test_history_is_read_in_logarithmic_steps() -> None:
    """N sealed commits are in O(log N) files, and only the needed ones are read."""
    bench = Bench("steps")
    segment = read_table(_table_with_commits(bench, 600, checkpoint_every=10)).segment
    fresh = Bench("steps")

    bench.storage.clear()
    commits = fresh.delta.logs.commits_from(fresh.context, segment, 0)
    assert len(commits) == 600
    reads = fresh.storage.count("read")
    assert reads <= math.log2(600) + 1
    fresh.storage.clear()
    fresh.delta.logs.commits_from(fresh.context, segment, 0)
    assert fresh.storage.count() == 0


def test_unsealed_commits_cost_no_read() -> None:
    """Listing from the checkpoint on asks nobody."""
    bench = Bench("free")
    segment = read_table(_table_with_commits(bench, 100, checkpoint_every=10)).segment
    bench.storage.clear()

    commits = bench.delta.logs.commits_from(bench.context, segment, segment.checkpoint.version)
    assert segment.checkpoint.version == commits[0].version
    assert bench.storage.count() == 0


def test_checkpoint_of_this_process_is_pinned_by_the_next_commit() -> None:
    """The definition after a checkpoint names it; Delta's hint is kept without its checksum."""
    bench = Bench("pins")
    definition = _table_with_commits(bench, 22, checkpoint_every=10)
    checkpoint = read_table(definition).segment.checkpoint

    assert (checkpoint.version, checkpoint.token) == (20, "wtoken")
    assert [f.name for f in checkpoint.listed()] == [
        "_checkpoints/wtoken/00000000000000000020.checkpoint.parquet"
    ]
    assert checkpoint.parts[0].size == 99


def test_checkpoint_of_another_process_is_found_once() -> None:
    """A note is looked for once a commit, and only when the log is longer than the interval."""
    writer = Bench("found")
    definition = _table_with_commits(writer, 12, checkpoint_every=None)
    segment = read_table(definition).segment
    reader = Bench("found")

    assert reader.delta.checkpoints.with_newest(reader.context, segment, 10) is segment
    assert reader.storage.count("read") == 1
    assert reader.delta.checkpoints.with_newest(reader.context, segment, 10) is segment
    assert reader.storage.count("read") == 1

    hint = json.dumps({"version": 10, "size": 3, "sizeInBytes": 99}).encode()
    commit = segment.commit(10)
    writer.delta.checkpoints.record(writer.context, segment.location, commit, "wtoken", hint)
    other = Bench("found")
    found = other.delta.checkpoints.with_newest(other.context, segment, 10).checkpoint
    assert (10, commit.unique, "wtoken") == (found.version, found.unique, found.token)


@pytest.mark.parametrize("said", ["", ', "trinitylake": null', ', "trinitylake": ["token"]'])
def test_a_note_that_says_nothing_is_corrupt(said: str) -> None:
    """A note without our field, or with half of it, is an error that names the file."""
    bench = Bench(f"note-{len(said)}")
    segment = read_table(_table_with_commits(bench, 12, checkpoint_every=None)).segment
    note = checkpoint_note_name(10, segment.commit(10).unique)
    path = f"{bench.context.warehouse_path(segment.location)}/{LOG_FOLDER}/{note}"
    bench.storage.write(path, f'{{"version": 10{said}}}'.encode())
    reader = Bench(f"note-{len(said)}")
    with pytest.raises(CorruptError) as caught:
        reader.delta.checkpoints.with_newest(reader.context, segment, 10)
    assert caught.value.fields["path"] == path


def test_short_log_is_not_searched() -> None:
    """A table with fewer commits than the interval never costs a read."""
    bench = Bench("short")
    segment = read_table(_table_with_commits(bench, 9, checkpoint_every=None)).segment
    bench.storage.clear()

    bench.delta.checkpoints.with_newest(bench.context, segment, 10)
    assert bench.storage.count() == 0


def test_checkpoint_of_another_chain_is_never_taken() -> None:
    """Commit 10 of a rolled-back chain is another commit 10: its checkpoint stays away."""
    bench = Bench("chains")
    definition = _table_with_commits(bench, 11, checkpoint_every=10)
    segment = read_table(definition).segment
    renamed = [*segment.commits[:10], segment.commits[10]._replace(unique="other")]
    other = Segment(segment.location, segment.table_id, tuple(renamed))

    assert bench.delta.checkpoints.with_newest(bench.context, other, 10).checkpoint is None


@pytest.mark.parametrize(("table", "parts"), [("p", 1), ("v2", 1)])
def test_hints_of_delta_are_understood(table: str, parts: int) -> None:
    """Classic and v2 checkpoints are recorded from what Delta itself writes."""
    bench = Bench(f"hint-{table}")
    segment = read_table(bench.create()).segment
    hint = hint_by_delta(table)
    commit = Commit(json.loads(hint)["version"], "u", 1, 1)

    checkpoint = bench.delta.checkpoints.record(
        bench.context, segment.location, commit, "wtoken", hint
    )
    assert parts == len(checkpoint.parts)
    assert checkpoint.parts[0].size > 1000
    note = f"{bench.context.warehouse_path(segment.location)}/_delta_log/"
    stored = json.loads(bench.storage.read(note + checkpoint_note_name(commit.version, "u")))
    assert "checksum" not in stored
    assert "v2Checkpoint" not in stored


def test_checkpoint_in_parts_is_measured() -> None:
    """Where the hint tells no size of each part, the files do."""
    bench = Bench("parts")
    segment = read_table(bench.create()).segment
    folder = f"{bench.context.warehouse_path(segment.location)}/_delta_log/_checkpoints/wt"
    for i, size in ((1, 7), (2, 9)):
        name = f"00000000000000000010.checkpoint.{i:010d}.0000000002.parquet"
        bench.storage.create(f"{folder}/{name}", b"x" * size)

    hint = b'{"version":10,"size":3,"parts":2,"sizeInBytes":16}'
    found = bench.delta.checkpoints.record(
        bench.context, segment.location, Commit(10, "u", 1, 1), "wt", hint
    )
    assert [part.size for part in found.parts] == [7, 9]


def test_hint_that_is_none_is_refused() -> None:
    """Anything but Delta's JSON is named as corrupt."""
    bench = Bench("nohint")
    with pytest.raises(CorruptError):
        bench.delta.checkpoints.record(bench.context, "data/x", Commit(1, "u", 1, 1), "w", b"{}")


def test_memory_forgets_the_least_recently_used() -> None:
    """The weight stays below the capacity; what was asked for last stays."""
    memory: Memory[str] = Memory(3)
    for key in "abc":
        memory.put(key, key)
    memory.get("a")
    memory.put("d", "d", weight=1)
    memory.put("huge", "x", weight=99)

    assert [memory.get(k) for k in ("b", "a", "d", "huge")] == [None, "a", "d", None]
