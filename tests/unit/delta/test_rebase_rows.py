"""Two transactions that deleted rows of one data file by deletion vectors (format.md §7.3)."""

from __future__ import annotations

from itertools import count
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyroaring import BitMap64

from tests.support.delta_tables import (
    Bench,
    add,
    insert,
    live_files,
    optimize,
    overwrite,
    refused,
    remove,
    update,
)
from trinitylake_spark.delta.table import read_table
from trinitylake_spark.delta.vectors import new_vector, read_vector
from trinitylake_spark.errors import CommitConflictError
from trinitylake_spark.format.system import Isolation

if TYPE_CHECKING:
    from trinitylake_spark.delta.entry import Action, Entry
    from trinitylake_spark.format.definitions_pb2 import TableDef

_ROWS = 10
_benches = count(1)
_STATS = f'{{"numRecords":{_ROWS},"tightBounds":false}}'


class Writer:
    """Deletes rows of one file, as Delta would.

    Args:
        bench: where vectors are stored.
        base: the table.
        deleted: rows of the file that are deleted already.
    """

    def __init__(self, bench: Bench, base: TableDef, deleted: Action | None = None) -> None:
        self.bench = bench
        self.location = read_table(base).segment.location
        self.vector = deleted
        self.rows = set(read_vector(bench.context, self.location, deleted))

    def remove(self) -> tuple[str, Any]:
        """Return the removal of the file as it is now."""
        facts = {} if self.vector is None else {"deletionVector": self.vector}
        return remove("f", stats=_STATS, **facts)

    def delete(self, *rows: int, operation: str = "DELETE", also: tuple[Any, ...] = ()) -> Entry:
        """Return the entry that deletes some more rows."""
        gone = self.remove()
        self.rows |= set(rows)
        made = new_vector(self.bench.context, self.location, BitMap64(self.rows))
        self.bench.storage.create(made.path, made.data)
        self.vector = made.descriptor
        named = add("f", deletionVector=self.vector, stats=_STATS)
        return update(gone, named, *also, operation=operation)


def _table(name: str) -> tuple[Bench, TableDef]:
    bench = Bench(f"{name}-{next(_benches)}")
    return bench, bench.commit(bench.create(), insert(add("f", stats=_STATS), add("g")))


def _state(bench: Bench, definition: TableDef) -> dict[str, set[int]]:
    """Return the deleted rows of each file that is in the table; the log must be a sound one."""
    location = read_table(definition).segment.location
    files: dict[str, Action] = {}
    for log_entry in bench.entries(definition):
        for gone in log_entry.removes:
            assert files.pop(gone["path"]).get("deletionVector") == gone.get("deletionVector")
        for each in log_entry.adds:
            assert each["path"] not in files
            files[each["path"]] = each
    assert len(live_files(bench.entries(definition))) == len(files)
    return {
        path: set(read_vector(bench.context, location, each.get("deletionVector")))
        for path, each in files.items()
    }


def test_rows_of_both_are_deleted() -> None:
    """DELETE and UPDATE of different rows: no data file is read or written, only vectors."""
    bench, base = _table("rows-both")
    mine = Writer(bench, base).delete(1, 2, operation="UPDATE", also=(add("new"),))
    definition, changes = bench.rebase(base, [mine], [Writer(bench, base).delete(4)])
    last = bench.entries(definition)[-1]

    touched = {c.path for c in bench.rebase_calls} | {p for c in changes for p in c.files}
    assert touched
    assert all("/_delta_log/" in path or "/deletion_vector_" in path for path in touched)
    assert _state(bench, definition) == {"f": {1, 2, 4}, "g": set(), "new": set()}
    assert [a["deletionVector"]["cardinality"] for a in last.adds if a["path"] == "f"] == [3]
    assert [a["stats"] for a in last.adds if a["path"] == "f"] == [_STATS]


def test_a_row_of_both_is_a_conflict() -> None:
    """The same row twice, whichever statement: refused, and the file is named."""
    bench, base = _table("rows-clash")
    mine = [Writer(bench, base).delete(1, 2)]
    theirs = [Writer(bench, base).delete(2, 3, operation="UPDATE", also=(add("new"),))]

    assert refused(bench, base, mine, theirs) == (
        "both deleted or updated 1 rows of the data file f"
    )


def test_several_statements_on_both_sides() -> None:
    """Chains of vectors meet, over rows that were deleted before both began."""
    bench, base = _table("rows-chains")
    before = Writer(bench, base)
    base = bench.commit(base, before.delete(0))
    one, two = (Writer(bench, base, before.vector) for _ in range(2))
    mine = [one.delete(1), insert(add("n")), one.delete(2)]
    definition, _ = bench.rebase(base, mine, [two.delete(3), two.delete(4)])
    assert _state(bench, definition) == {"f": {0, 1, 2, 3, 4}, "g": set(), "n": set()}

    one, two = (Writer(bench, base, before.vector) for _ in range(2))
    mine = [one.delete(5), one.delete(4)]
    refused(bench, base, mine, [two.delete(3), two.delete(4)])


def test_a_third_transaction_follows_both() -> None:
    """What was put together is an ordinary vector to whoever comes next."""
    bench, base = _table("rows-third")
    first = bench.stage(base, Writer(bench, base).delete(1))
    second = bench.stage(base, Writer(bench, base).delete(2))
    third = bench.stage(base, Writer(bench, base).delete(3))
    then = bench.follow(base, second, first.definition, first)
    last = bench.follow(base, third, then)

    assert _state(bench, last)["f"] == {1, 2, 3}


def test_the_last_rows_take_the_file_along() -> None:
    """When no row is left the file is removed, as Delta would."""
    bench, base = _table("rows-all")
    mine = Writer(bench, base).delete(*range(5))
    definition, _ = bench.rebase(base, [mine], [Writer(bench, base).delete(*range(5, 10))])
    assert _state(bench, definition) == {"g": set()}


def test_whole_files_and_rewrites_stay_conflicts() -> None:
    """A file that either side removed or rewrote as a whole is not decided by rows."""
    bench, base = _table("rows-whole")
    delete = [Writer(bench, base).delete(1)]
    for other in (update(remove("f")), update(add("f2"), remove("f"))):
        assert "data file f" in refused(bench, base, delete, [other])
        assert "data file f" in refused(bench, base, [other], delete)

    own = Writer(bench, base)
    rewritten = [own.delete(1), update(add("f3"), own.remove())]
    assert "data file f" in refused(bench, base, rewritten, [Writer(bench, base).delete(2)])


def test_overwrite_after_a_delete_in_one_transaction() -> None:
    """My OVERWRITE replaces the file with the rows of both deleted, and nothing else of theirs."""
    bench, base = _table("rows-overwrite")
    own = Writer(bench, base)
    mine = [own.delete(1), overwrite(add("m"), own.remove(), remove("g"))]
    definition, _ = bench.rebase(base, mine, [Writer(bench, base).delete(2), insert(add("t"))])
    assert _state(bench, definition) == {"m": set()}


def test_their_compaction_after_their_delete_is_undone() -> None:
    """The vector that the compaction had applied comes back, and mine goes on top of it."""
    bench, base = _table("rows-undo")
    other = Writer(bench, base)
    theirs = [other.delete(2), optimize(add("c"), other.remove(), remove("g"))]
    definition, _ = bench.rebase(base, [Writer(bench, base).delete(1)], theirs)
    assert _state(bench, definition) == {"f": {1, 2}, "g": set()}


def test_strict_tables_are_not_decided_by_rows() -> None:
    """UD after UD is an error in the matrix."""
    bench = Bench("rows-strict")
    table = bench.create({"trinitylake.conflict-detection": "strict"})
    base = bench.commit(table, insert(add("f", stats=_STATS)))
    rule = refused(bench, base, [Writer(bench, base).delete(1)], [Writer(bench, base).delete(2)])
    assert "matrix" in rule


@pytest.mark.parametrize(
    ("their_new_file", "allowed"), [((), True), ((add("new"),), False)], ids=["DELETE", "UPDATE"]
)
def test_serializable_minds_rows_that_came_in(
    their_new_file: tuple[Any, ...], allowed: bool
) -> None:
    """Deleted rows that my filter met are mine to delete, too; a new row it may have missed."""
    bench, base = _table(f"rows-serializable-{allowed}")
    mine = [Writer(bench, base).delete(1)]
    theirs = [Writer(bench, base).delete(2, also=their_new_file)]
    how = {"isolation": Isolation.SERIALIZABLE}
    if allowed:
        bench.rebase(base, mine, theirs, **how)
    else:
        assert "row filter" in refused(bench, base, mine, theirs, **how)
    assert "read the table" in refused(bench, base, mine, theirs, reads=True, **how)


_DELETIONS = st.lists(st.sets(st.integers(0, _ROWS - 1), min_size=1), min_size=1, max_size=3)


@given(before=st.sets(st.integers(0, 3), max_size=2), mine=_DELETIONS, theirs=_DELETIONS)
def test_any_deletions(before: set[int], mine: list[set[int]], theirs: list[set[int]]) -> None:
    """Disjoint rows always go together, common ones never do, and no row is lost or comes back."""
    bench, base = _table("rows-any")
    first = Writer(bench, base)
    if before:
        base = bench.commit(base, first.delete(*before))
    entries = []
    for deletions in (mine, theirs):
        writer = Writer(bench, base, first.vector)
        chain = [rows - writer.rows for rows in deletions]
        entries.append([writer.delete(*fresh) for fresh in chain if fresh - writer.rows])
        deletions[:] = [writer.rows - before]
    if not all(entries):
        return
    together = mine[0] | theirs[0]
    try:
        definition, _ = bench.rebase(base, entries[0], entries[1])
    except CommitConflictError:
        assert mine[0] & theirs[0]
        return
    assert not mine[0] & theirs[0]
    gone = before | together
    expected = {} if len(gone) == _ROWS else {"f": gone}
    assert _state(bench, definition) == {**expected, "g": set()}
