"""The bins of a compaction: told by Delta's order, or not told apart within a partition."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from tests.support.delta_tables import (
    Bench,
    add,
    insert,
    live_files,
    optimize,
    remove,
    update,
    written_by_delta,
)
from trinitylake_spark.delta.bins import bins

if TYPE_CHECKING:
    from collections.abc import Callable

    from trinitylake_spark.delta.entry import Action, Entry

DELTA = "Apache-Spark/4.2.0 Delta-Lake/4.4.0"
Files = tuple[tuple[str, dict[str, Any]], ...]


def by_delta(log_entry: Entry, writer: str = DELTA) -> Entry:
    """Return an entry as a writer signs it."""
    info = {**log_entry.commit_info, "engineInfo": writer}
    return log_entry.replaced([("commitInfo", info), *log_entry.actions[1:]])


def _rows(number: int, *, deleted: int = 0) -> dict[str, Any]:
    facts: dict[str, Any] = {"stats": json.dumps({"numRecords": number})}
    if deleted:
        vector = {"storageType": "u", "pathOrInlineDv": "v", "cardinality": deleted}
        facts["deletionVector"] = vector
    return facts


def _bins(log_entry: Entry) -> list[tuple[set[str], set[str]]]:
    found = bins(log_entry, lambda action: str(action["partitionValues"]))
    return [(_paths(one.removed), _paths(one.added)) for one in found]


def _paths(files: dict[str, Action]) -> set[str]:
    return {action["path"] for action in files.values()}


TWO: Files = (
    add("c1", **_rows(2)),
    remove("f1", **_rows(1)),
    remove("f2", **_rows(1)),
    add("c2", **_rows(1)),
    add("c3", **_rows(1)),
    remove("f3", **_rows(2)),
)
"""c1 is made of f1 and f2, c2 and c3 of f3."""
WHOLE = [({"f1", "f2", "f3"}, {"c1", "c2", "c3"})]


def test_an_addition_after_a_removal_begins_a_bin() -> None:
    """Delta writes bin by bin, the new files of each before the old ones."""
    assert _bins(by_delta(optimize(*TWO))) == [({"f1", "f2"}, {"c1"}), ({"f3"}, {"c2", "c3"})]


def test_a_bin_of_which_nothing_is_left() -> None:
    """A bin whose rows were all deleted has no new file; it joins the bin before it, if any."""
    vector = remove("f4", **_rows(3, deleted=3))
    first = by_delta(optimize(vector, *TWO))
    assert len(_bins(first)) == 3
    last = by_delta(optimize(*TWO, vector))
    assert [len(removed) for removed, _ in _bins(last)] == [2, 2]


@pytest.mark.parametrize(
    ("actions", "writer"),
    [
        (TWO, "Apache-Spark/4.2.0 Delta-Lake/4.5.0"),
        (TWO, "delta-rs"),
        (TWO, ""),
        ((*TWO[:1], *TWO[2:], TWO[1]), DELTA),
        ((*TWO[:5], remove("f3", **_rows(3))), DELTA),
        ((*TWO[:5], remove("f3", **_rows(2, deleted=1))), DELTA),
        ((*TWO[:5], remove("f3", stats=None)), DELTA),
        ((TWO[0], *TWO[3:5], TWO[1], TWO[2], TWO[5]), DELTA),
    ],
    ids=["newer", "foreign", "unsigned", "moved", "rows", "deleted", "no rows", "unsorted"],
)
def test_what_is_not_sure_stays_together(actions: Files, writer: str) -> None:
    """Another writer, another order or other numbers of rows: one group a partition."""
    assert _bins(by_delta(optimize(*actions), writer)) == WHOLE


def test_partitions_are_never_mixed() -> None:
    """A group over two partitions shows that the order is another one."""
    actions = (
        add("c1", "x", **_rows(2)),
        remove("f1", "y", **_rows(2)),
        add("c2", "y", **_rows(2)),
        remove("f2", "x", **_rows(2)),
    )
    assert _bins(by_delta(optimize(*actions))) == [({"f1"}, {"c2"}), ({"f2"}, {"c1"})]


@pytest.mark.parametrize(("table", "version"), [("p", 9), ("p", 11), ("c", 3)])
def test_compactions_of_delta_are_read(table: str, version: int) -> None:
    """Entries that Delta wrote have their rows in order, so they are taken bin by bin."""
    log_entry = written_by_delta(table, version)
    (one,) = bins(log_entry, lambda action: str(action["partitionValues"]))
    assert set(one.removed) == {r["path"] for r in log_entry.removes}
    assert set(one.added) == {a["path"] for a in log_entry.adds}


def _with_four_files(name: str) -> tuple[Bench, Any]:
    bench = Bench(name)
    files = [add(f"f{number}", **_rows(1)) for number in range(1, 5)]
    return bench, bench.commit(bench.create(), insert(*files))


def _two_bins() -> tuple[tuple[str, dict[str, Any]], ...]:
    first = add("c1", **_rows(2)), remove("f1", **_rows(1)), remove("f2", **_rows(1))
    second = add("c2", **_rows(2)), remove("f3", **_rows(1)), remove("f4", **_rows(1))
    return (*first, *second)


@pytest.mark.parametrize(
    ("sign", "expected", "left_out"),
    [
        (by_delta, {"t", "f2", "c2"}, 2),
        (lambda log_entry: log_entry, {"t", "f2", "f3", "f4"}, 4),
    ],
    ids=["by Delta", "unsigned"],
)
def test_a_compaction_leaves_out_one_bin(
    sign: Callable[[Entry], Entry], expected: set[str], left_out: int
) -> None:
    """UD, then MI: only the bin of the file that changed stays as it was, and that is told."""
    bench, base = _with_four_files(f"leave-{left_out}")
    theirs = update(add("t", **_rows(1)), remove("f1", **_rows(1)))
    definition, changes = bench.rebase(base, [sign(optimize(*_two_bins()))], [theirs])

    assert live_files(bench.entries(definition)) == expected
    assert [change.left_out for change in changes] == [left_out]


@pytest.mark.parametrize(
    ("sign", "expected"),
    [
        (by_delta, {"m", "f2", "c2"}),
        (lambda log_entry: log_entry, {"m", "f2", "f3", "f4"}),
    ],
    ids=["by Delta", "unsigned"],
)
def test_an_update_undoes_one_bin(sign: Callable[[Entry], Entry], expected: set[str]) -> None:
    """MI, then UD: the other bins of the compaction stay compacted."""
    bench, base = _with_four_files(f"undo-{len(expected)}")
    mine = update(add("m", **_rows(1)), remove("f1", **_rows(1)))
    definition, changes = bench.rebase(base, [mine], [sign(optimize(*_two_bins()))])

    assert live_files(bench.entries(definition)) == expected
    assert [change.left_out for change in changes] == [0, 0]
