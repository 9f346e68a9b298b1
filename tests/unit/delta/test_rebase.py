"""Entries on top of others' commits: what is kept, undone, left out, overwritten."""

from __future__ import annotations

import pytest

from tests.support.delta_tables import (
    FOUR,
    Bench,
    add,
    entry,
    insert,
    live_files,
    optimize,
    overwrite,
    refused,
    remove,
    update,
)
from trinitylake_spark.delta.change import UNDO_COMPACTION
from trinitylake_spark.delta.table import read_table
from trinitylake_spark.errors import CommitConflictError


def test_append_on_appends_copies_nothing() -> None:
    """The hot path: three appends were first, mine gets the next number; no file is touched."""
    bench = Bench("hot")
    base = bench.commit(bench.create(), insert(add("f0")))
    theirs = [insert(add(f"t{i}")) for i in range(3)]
    definition, changes = bench.rebase(base, [insert(add("m"))], theirs)

    assert bench.rebase_calls == []
    assert [f for c in changes for f in c.files if bench.storage.inner.exists(f) is False] == []
    commit = read_table(definition).segment.commits[-1]
    assert (commit.version, commit.unique.endswith("_2")) == (5, True)
    assert live_files(bench.entries(definition)) == {"f0", "m", "t0", "t1", "t2"}


def test_several_entries_move_together() -> None:
    """A transaction's entries keep their order and their dependencies."""
    bench = Bench("several")
    base = bench.commit(bench.create(), insert(*FOUR))
    mine = [insert(add("m1")), update(add("m2"), remove("m1")), update(add("m3"), remove("f1"))]
    definition, changes = bench.rebase(base, mine, [update(add("t"), remove("f2"))])

    assert len(changes) == 3
    assert bench.entries(definition)[-3:] == mine
    assert live_files(bench.entries(definition)) == {"f3", "f4", "m2", "m3", "t"}


def test_lost_payload_is_read_from_the_log() -> None:
    """A transaction resumed by another process rebases just the same."""
    bench = Bench("resumed")
    base = bench.commit(bench.create(), insert(*FOUR))
    mine = [insert(add("m1")), update(add("m3"), remove("f1"))]
    definition, _ = bench.rebase(base, mine, [update(add("t"), remove("f2"))], forget=True)

    assert bench.entries(definition)[-2:] == mine


def test_their_long_lists_are_read_from_their_entry() -> None:
    """Where the root had to cut the file names, the entry decides."""
    bench = Bench("long")
    base = bench.commit(bench.create(), insert(*(add(f"f{i}") for i in range(400))))
    theirs = update(*(remove(f"f{i}") for i in range(300)))

    assert "f299" in refused(bench, base, [update(add("m"), remove("f299"))], [theirs])
    bench.rebase(base, [update(add("m"), remove("f300"))], [theirs])


def test_undo_is_an_entry_of_its_own() -> None:
    """An UPDATE over a compaction: the undo changes no data, the UPDATE's entry stays as it was."""
    bench = Bench("undo")
    base = bench.commit(bench.create(), insert(*FOUR))
    mine = update(add("m"), remove("f1"))
    compaction = optimize(add("c"), remove("f1", stats='{"numRecords":3}'), remove("f2"))
    definition, changes = bench.rebase(base, [mine], [compaction])
    undo, last = bench.entries(definition)[-2:]

    assert last == mine
    assert undo.operation == UNDO_COMPACTION
    assert not any(f["dataChange"] for f in (*undo.adds, *undo.removes))
    assert {a["path"] for a in undo.adds} == {"f1", "f2"}
    assert undo.adds[0]["stats"] == '{"numRecords":3}'
    assert len(changes) == 2
    assert live_files(bench.entries(definition)) == {"f2", "f3", "f4", "m"}


def test_only_the_partitions_that_meet_are_undone() -> None:
    """A compaction of two partitions: the untouched one stays compacted."""
    bench = Bench("undo-part")
    files = [add(f"{p}{i}", p) for p in "xy" for i in (1, 2)]
    base = bench.commit(bench.partitioned(), insert(*files))
    compaction = optimize(
        add("cx", "x"), add("cy", "y"), *(remove(f"{p}{i}", p) for p in "xy" for i in (1, 2))
    )
    definition, _ = bench.rebase(base, [update(add("m", "x"), remove("x1", "x"))], [compaction])

    assert live_files(bench.entries(definition)) == {"x2", "cy", "m"}


def test_compaction_of_a_compaction_is_undone_as_a_whole() -> None:
    """Two compactions on top of each other go back in one step."""
    bench = Bench("undo-chain")
    base = bench.commit(bench.create(), insert(*FOUR))
    theirs = [
        optimize(add("c1"), remove("f1"), remove("f2")),
        optimize(add("c2"), remove("c1"), remove("f3")),
    ]
    definition, _ = bench.rebase(base, [update(add("m"), remove("f1"))], theirs)

    assert live_files(bench.entries(definition)) == {"f2", "f3", "f4", "m"}


def test_two_entries_may_need_the_same_undo() -> None:
    """One undo serves all entries of a transaction, whichever level of it each meets."""
    bench = Bench("undo-twice")
    base = bench.commit(bench.create(), insert(*FOUR))
    theirs = [
        optimize(add("c1"), remove("f1"), remove("f2")),
        optimize(add("c2"), remove("c1"), remove("f3")),
    ]
    mine = [update(add("m1"), remove("f1")), update(add("m2"), remove("f3"))]
    definition, changes = bench.rebase(base, mine, theirs)

    assert len(changes) == 3
    assert live_files(bench.entries(definition)) == {"f2", "f4", "m1", "m2"}


def test_undone_files_must_still_be_there() -> None:
    """If a later commit changed the compacted file, undoing would lose its work: refused."""
    bench = Bench("undo-touched")
    base = bench.commit(bench.create(), insert(*FOUR))
    theirs = [optimize(add("c"), remove("f1"), remove("f2")), update(add("t"), remove("c"))]

    assert "c" in refused(bench, base, [update(add("m"), remove("f1"))], theirs)


def test_undo_of_an_undo() -> None:
    """An undo is a rewrite like any other, so that others can follow it."""
    bench = Bench("undo-undo")
    base = bench.commit(bench.create(), insert(*FOUR))
    compacted = bench.commit(base, optimize(add("c"), remove("f1"), remove("f2")))
    undo = entry(
        UNDO_COMPACTION,
        *optimize(add("f1"), add("f2"), remove("c")).actions[1:],
    )
    definition, _ = bench.rebase(compacted, [update(add("m"), remove("c"))], [undo])

    assert live_files(bench.entries(definition)) == {"f3", "f4", "m"}


def test_files_that_came_and_went_are_put_back() -> None:
    """A compaction, its undoing, another compaction of the same files: all that is undone."""
    bench = Bench("undo-again")
    base = bench.commit(bench.create(), insert(*FOUR))
    theirs = [
        optimize(add("c1"), remove("f1"), remove("f2")),
        entry(UNDO_COMPACTION, *optimize(add("f1"), add("f2"), remove("c1")).actions[1:]),
        optimize(add("c2"), remove("f1"), remove("f2"), zOrderBy='["a"]'),
    ]
    definition, _ = bench.rebase(base, [update(add("m"), remove("f1"))], theirs)
    undo = bench.entries(definition)[-2]

    assert {a["path"] for a in undo.adds} == {"f1", "f2"}
    assert {r["path"] for r in undo.removes} == {"c2"}
    assert live_files(bench.entries(definition)) == {"f2", "f3", "f4", "m"}


def test_compaction_that_recorded_too_little_is_not_undone() -> None:
    """Without a removed file's size and partition it cannot be put back: refused by name."""
    bench = Bench("undo-little")
    base = bench.commit(bench.create(), insert(*FOUR))
    bare = ("remove", {"path": "f1", "deletionTimestamp": 1, "dataChange": False})

    rule = refused(
        bench, base, [update(add("m"), remove("f1"))], [optimize(add("c"), bare, remove("f2"))]
    )
    assert "put it back" in rule


def test_compaction_leaves_out_what_was_changed() -> None:
    """Cell C by partitions: the group that lost a file stays as it is, the other is compacted."""
    bench = Bench("leave-out")
    files = [add(f"{p}{i}", p) for p in "xy" for i in (1, 2)]
    base = bench.commit(bench.partitioned(), insert(*files))
    mine = optimize(
        add("cx", "x"), add("cy", "y"), *(remove(f"{p}{i}", p) for p in "xy" for i in (1, 2))
    )
    definition, _ = bench.rebase(base, [mine], [update(add("t", "x"), remove("x1", "x"))])

    assert live_files(bench.entries(definition)) == {"x2", "t", "cy"}


def test_work_on_a_left_out_compaction_isrefused() -> None:
    """A later entry of the same transaction must not work on files that will not exist."""
    bench = Bench("left-out-use")
    base = bench.commit(bench.create(), insert(*FOUR))
    mine = [optimize(add("c"), remove("f1"), remove("f2")), update(add("m"), remove("c"))]

    assert "compaction" in refused(bench, base, mine, [update(add("t"), remove("f1"))])


def test_overwrite_replaces_what_came_meanwhile() -> None:
    """Cell O: added files go too, with what their additions said; removed ones are not named."""
    bench = Bench("overwrite")
    base = bench.commit(bench.create(), insert(*FOUR))
    mine = overwrite(add("m"), *(remove(f"f{i}") for i in range(1, 5)))
    vector = {"storageType": "u", "pathOrInlineDv": "ab", "offset": 1, "sizeInBytes": 3}
    theirs = [
        update(remove("f1"), add("f1", deletionVector=vector, stats='{"numRecords":3}')),
        insert(add("t1")),
        update(remove("t1"), add("t2")),
    ]
    definition, _ = bench.rebase(base, [mine], theirs)
    removes = {r["path"]: r for r in bench.entries(definition)[-1].removes}

    assert live_files(bench.entries(definition)) == {"m"}
    assert set(removes) == {"f1", "f2", "f3", "f4", "t2"}
    assert vector == removes["f1"]["deletionVector"]
    assert removes["t2"]["size"] == 100
    assert removes["t2"]["dataChange"]


@pytest.mark.parametrize(
    ("predicate", "live"),
    [("p = 'x'", {"m", "y1", "ty"}), ("p IN ('x', 'z')", {"m", "y1", "ty"})],
)
def test_partial_overwrite_replaces_its_partitions(predicate: str, live: set[str]) -> None:
    """What was added to other partitions stays, in whatever way the predicate says which."""
    bench = Bench(f"partial-{predicate}")
    base = bench.commit(bench.partitioned(), insert(add("x1", "x"), add("y1", "y")))
    mine = overwrite(add("m", "x"), remove("x1", "x"), predicate=predicate)
    theirs = [insert(add("tx", "x"), add("ty", "y"), add("tz", "z"))]
    definition, _ = bench.rebase(base, [mine], theirs)

    expected = live | ({"tz"} if "z" not in predicate else set())
    assert live_files(bench.entries(definition)) == expected


def test_dynamic_overwrite_replaces_the_partitions_it_wrote() -> None:
    """Without a predicate the partitions of the new files are what is replaced."""
    bench = Bench("dynamic")
    base = bench.commit(bench.partitioned(), insert(add("x1", "x"), add("y1", "y")))
    mine = overwrite(add("m", "x"), remove("x1", "x"), isDynamicPartitionOverwrite=True)
    definition, _ = bench.rebase(base, [mine], [insert(add("tx", "x"), add("ty", "y"))])

    assert live_files(bench.entries(definition)) == {"m", "y1", "ty"}


def test_overwrite_of_rows_needs_rows_that_did_not_change() -> None:
    """A predicate on rows cannot be decided by file names: refused if rows changed, else fine."""
    bench = Bench("replace-where")
    base = bench.commit(bench.create(), insert(*FOUR))
    mine = overwrite(add("m"), remove("f1"), add("f1-rest"), predicate="(a > 3)")

    assert "file names" in refused(bench, base, [mine], [insert(add("t"))])
    bench.rebase(base, [mine], [update(remove("f2"))])
    definition, _ = bench.rebase(base, [mine], [optimize(add("c"), remove("f1"), remove("f2"))])
    assert live_files(bench.entries(definition)) == {"f2", "f3", "f4", "m", "f1-rest"}


def test_insert_into_a_partition_that_an_overwrite_would_reach() -> None:
    """An overwrite reaches all partitions of its predicate, also those it found empty."""
    bench = Bench("reach")
    base = bench.commit(bench.partitioned(), insert(add("x1", "x")))
    theirs = overwrite(add("t", "x"), remove("x1", "x"), predicate="p IN ('x', 'y')")

    refused(bench, base, [insert(add("m", "y"))], [theirs])
    bench.rebase(base, [insert(add("m", "z"))], [theirs])


def test_own_commits_of_a_statement_are_no_conflict() -> None:
    """The second commit of one statement follows its first, and still minds everybody else."""
    bench = Bench("own")
    base = bench.commit(bench.create(), insert(*FOUR))
    first = bench.stage(base, overwrite(add("m1"), *(remove(f"f{i}") for i in range(1, 5))))
    own = frozenset({first.commit.unique})
    second = bench.stage(first.definition, update(add("m2"), remove("m1")), own=own)
    definition = bench.follow(base, second, first.definition, first)
    assert live_files(bench.entries(definition)) == {"m2"}

    foreign = bench.stage(first.definition, update(add("m2"), remove("m1")))
    with pytest.raises(CommitConflictError):
        bench.follow(base, foreign, first.definition, first)
    other = bench.stage(first.definition, update(add("t"), remove("m1")))
    with pytest.raises(CommitConflictError):
        bench.follow(base, second, other.definition, first, other)


def test_live_writer_is_sent_back() -> None:
    """Who saw committed numbers only is never moved to another: it lists again and retries."""
    bench = Bench("live")
    base = bench.create()

    rule = refused(bench, base, [insert(add("m"))], [insert(add("t"))], options={"live": True})
    assert rule == "the table moved on"


def test_rolled_back_and_recreated_tables_arerefused() -> None:
    """A chain that does not hold my base, or another table of the same name."""
    bench = Bench("forks")
    base = bench.commit(bench.create(), insert(add("f1")))
    other = bench.commit(bench.create(), insert(add("f1")))
    mine = bench.stage(base, insert(add("m")))
    with pytest.raises(CommitConflictError, match="anew"):
        bench.follow(base, mine, other)

    forked = bench.commit(base, insert(add("a")))
    commits = forked.format_properties["delta.commits"]
    forked.format_properties["delta.commits"] = commits.replace(
        read_table(base).segment.commits[-1].unique, "another"
    )
    with pytest.raises(CommitConflictError, match="rolled back"):
        bench.follow(base, mine, forked)


def test_writer_that_recorded_nothing_is_judged_by_the_log() -> None:
    """A foreign writer without actions: its log entries tell what it did."""
    bench = Bench("foreign")
    base = bench.commit(bench.create(), insert(*FOUR))
    theirs = bench.commit(base, update(add("t"), remove("f1")))

    bench.follow(base, bench.stage(base, update(add("m"), remove("f2"))), theirs)
    with pytest.raises(CommitConflictError):
        bench.follow(base, bench.stage(base, update(add("m"), remove("f1"))), theirs)


def test_overwrite_after_an_undo_in_one_transaction() -> None:
    """An UPDATE undoes their compaction; the OVERWRITE that follows replaces what came back."""
    bench = Bench("undo-overwrite")
    base = bench.commit(bench.create(), insert(*FOUR))
    mine = [
        update(add("m1"), remove("f1")),
        overwrite(add("m2"), *(remove(f) for f in ("m1", "f2", "f3", "f4"))),
    ]
    compaction = optimize(add("c"), remove("f1"), remove("f2"))
    definition, _ = bench.rebase(base, mine, [compaction])

    assert live_files(bench.entries(definition)) == {"m2"}
    definition, _ = bench.rebase(
        base, [overwrite(add("m2"), *(remove(f"f{i}") for i in range(1, 5)))], [compaction]
    )
    assert live_files(bench.entries(definition)) == {"m2"}
