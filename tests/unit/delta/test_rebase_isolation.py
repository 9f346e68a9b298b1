"""What SERIALIZABLE and keys ask for beyond disjoint files."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

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
from trinitylake_spark.format.system import Isolation

if TYPE_CHECKING:
    from trinitylake_spark.delta.entry import Entry


@pytest.mark.parametrize(
    ("mine", "reads", "allowed"),
    [
        (insert(add("m")), False, True),
        (insert(add("m")), True, False),
        (update(add("m"), remove("f1")), False, False),
        (entry("DELETE", remove("f1"), predicate="[]"), False, False),
        (entry("DELETE", remove("f1"), predicate='["true"]'), False, False),
        (entry("TRUNCATE", remove("f1"), predicate='["true"]'), False, True),
        (update(add("m"), remove("f1"), operation="MERGE"), False, False),
        (optimize(add("m"), remove("f1"), remove("f2")), True, True),
        (overwrite(add("m"), *(remove(f"f{i}") for i in range(1, 5))), False, True),
    ],
)
def test_serializable_minds_added_rows(mine: Entry, *, reads: bool, allowed: bool) -> None:
    """Rows that my filter or my reading may have met refuse me; a blind append minds nothing."""
    bench = Bench(f"serial-{id(mine)}-{reads}")
    base = bench.commit(bench.create(), insert(*FOUR))
    theirs = [insert(add("t"))]

    bench.rebase(base, [mine], theirs, reads=reads)
    if allowed:
        bench.rebase(base, [mine], theirs, reads=reads, isolation=Isolation.SERIALIZABLE)
    else:
        refused(bench, base, [mine], theirs, reads=reads, isolation=Isolation.SERIALIZABLE)


def test_serializable_knows_partitions_of_a_filter() -> None:
    """Rows added to a partition that my filter excludes were not missed."""
    bench = Bench("serial-part")
    base = bench.commit(bench.partitioned(), insert(add("x1", "x"), add("y1", "y")))
    mine = update(add("m", "x"), remove("x1", "x"), predicate="((p#3 = x) AND (a#4 > 1))")

    options = {"isolation": Isolation.SERIALIZABLE}
    bench.rebase(base, [mine], [insert(add("t", "y"))], **options)
    refused(bench, base, [mine], [insert(add("t", "x"))], **options)


def test_an_overwrite_by_filter_reads_nothing() -> None:
    """INSERT OVERWRITE of a partition replaces what came in, so it has not missed it."""
    bench = Bench("serial-overwrite")
    base = bench.commit(bench.partitioned(), insert(add("x1", "x"), add("y1", "y")))
    mine = overwrite(add("m", "x"), remove("x1", "x"), predicate="(p = 'x')")
    theirs = [insert(add("tx", "x"), add("ty", "y"))]

    definition, _ = bench.rebase(base, [mine], theirs, isolation=Isolation.SERIALIZABLE)
    assert live_files(bench.entries(definition)) == {"m", "y1", "ty"}
    refused(bench, base, [mine], theirs, isolation=Isolation.SERIALIZABLE, reads=True)


@pytest.mark.parametrize(
    ("theirs", "allowed"),
    [
        (insert(add("t", "y")), True),
        (insert(add("t", "x")), False),
        (update(add("t", "x"), remove("x1", "x")), False),
        (overwrite(add("t", "x"), remove("x1", "x"), predicate="p = 'x'"), False),
        (entry("DELETE", remove("x1", "x"), predicate="[]"), False),
        (optimize(add("t", "x"), remove("x1", "x"), remove("x2", "x")), True),
    ],
)
@pytest.mark.parametrize(
    "how",
    [
        {"predicate": "p = 'x'"},
        {"predicate": "p = 'x' AND a > 1"},
        {"isDynamicPartitionOverwrite": True},
    ],
    ids=["partition", "rows", "dynamic"],
)
def test_overwrite_of_what_was_read(theirs: Entry, *, allowed: bool, how: dict[str, Any]) -> None:
    """A partition that was read and is overwritten must not have changed; others may have."""
    bench = Bench(f"self-{id(theirs)}-{how}")
    files = add("x1", "x"), add("x2", "x"), add("y1", "y")
    base = bench.commit(bench.partitioned(), insert(*files))
    mine = overwrite(add("m", "x"), remove("x1", "x"), remove("x2", "x"), **how)

    if allowed:
        bench.rebase(base, [mine], [theirs], reads=True)
    else:
        assert "read" in refused(bench, base, [mine], [theirs], reads=True)


def test_serializable_does_not_mind_compactions() -> None:
    """A compaction changes nothing that could have been read."""
    bench = Bench("serial-compact")
    base = bench.commit(bench.create(), insert(*FOUR))
    compaction = optimize(add("c"), remove("f1"), remove("f2"))

    bench.rebase(
        base, [insert(add("m"))], [compaction], reads=True, isolation=Isolation.SERIALIZABLE
    )


def test_serializable_merge_minds_deleted_rows() -> None:
    """A MERGE may have inserted a row because another was there, or not because it was."""
    bench = Bench("serial-merge")
    base = bench.commit(bench.create(), insert(*FOUR))
    gone = update(remove("f4"), operation="DELETE")
    options = {"isolation": Isolation.SERIALIZABLE}

    refused(bench, base, [update(add("m"), operation="MERGE")], [gone], **options)
    bench.rebase(base, [update(add("m"), remove("f1"))], [gone], **options)


@pytest.mark.parametrize("chosen", [{"replaceOnCond": "t.a = s.a"}, {"replaceUsingCols": "(a)"}])
def test_replace_on_and_using_delete_by_rows(chosen: dict[str, str]) -> None:
    """They delete the rows that match their source: rows that came in stay, or refuse them."""
    bench = Bench(f"replace-{min(chosen)}")
    base = bench.commit(bench.create(), insert(*FOUR))
    mine = overwrite(add("m"), remove("f1"), **chosen)
    definition, _ = bench.rebase(base, [mine], [insert(add("t"))])

    assert live_files(bench.entries(definition)) == {"m", "t", "f2", "f3", "f4"}
    options = {"isolation": Isolation.SERIALIZABLE}
    assert "row filter" in refused(bench, base, [mine], [insert(add("t"))], **options)


def test_keys_refuse_rows_of_two_writers() -> None:
    """With a primary key, added rows on both sides are not known to differ."""
    bench = Bench("keys")
    base = bench.commit(bench.create(), insert(*FOUR))
    base.primary_keys.append(1)

    assert "key" in refused(bench, base, [insert(add("m"))], [insert(add("t"))])
    bench.rebase(base, [insert(add("m"))], [update(remove("f1"))])
