"""The 25 cells of the table-operation matrix, to the letter and optimised (format.md §7)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.support.delta_tables import (
    Bench,
    add,
    alter,
    entry,
    insert,
    live_files,
    optimize,
    overwrite,
    remove,
    update,
)
from trinitylake_spark.delta.entry import file_key
from trinitylake_spark.delta.matrix import COLUMNS, MATRIX, Code
from trinitylake_spark.delta.table import read_table
from trinitylake_spark.errors import CommitConflictError
from trinitylake_spark.format.system import Isolation

if TYPE_CHECKING:
    from trinitylake_spark.delta.entry import Entry
    from trinitylake_spark.format.definitions_pb2 import TableDef

# The seed's table, row by row: earlier job, then what each later job (OW IN UD MI MA) meets.
SEED = {"OW": "OEEEE", "IN": "OEECE", "UD": "OEECE", "MI": "ONNEC", "MA": "ONNEE"}
# What the optimised mode makes of the cells that say E, where both worked on the same files …
SAME_FILES = {"OW": "OEEEE", "IN": "O++C+", "UD": "O+ECE", "MI": "ONNEC", "MA": "ONNEE"}
# … and where they worked on different files of the same partition.
OTHER_FILES = {"OW": "OEEEE", "IN": "O++C+", "UD": "O++C+", "MI": "ONN+C", "MA": "ONN++"}

KINDS = ("OW", "IN", "UD", "MI", "MA")
CELLS = [(earlier, later) for earlier in KINDS for later in KINDS]
LEVELS = [Isolation.SNAPSHOT, Isolation.SERIALIZABLE]


def test_data_is_the_seeds_table() -> None:
    """The matrix in the code is the seed's, cell by cell."""
    assert {
        str(earlier): "".join(MATRIX[earlier][later].code for later in COLUMNS)
        for earlier in COLUMNS
    } == SEED


def test_later_overwrite_always_wins_and_errors_are_thirteen() -> None:
    """Two facts that the seed states of its table."""
    codes = [MATRIX[earlier][later].code for earlier in COLUMNS for later in COLUMNS]

    assert codes.count(Code.ERROR) == 13
    assert {MATRIX[earlier][COLUMNS[0]].code for earlier in COLUMNS} == {Code.OVERWRITES}


def _job(kind: str, who: str, files: tuple[str, str], partition: str | None) -> Entry:
    """Return a job of one kind on two files of a partition; its new file is ``who``'s."""
    new = f"{who}-new"
    if kind == "OW":
        if partition is None:
            return overwrite(add(new), *(remove(f) for f in ("f1", "f2", "f3", "f4")))
        present = ("f1", "f2", "f3", "f4") if partition == "x" else ("g1", "g2", "g3", "g4")
        return overwrite(
            add(new, partition),
            *(remove(f, partition) for f in present),
            predicate=f"(p = '{partition}')",
        )
    if kind == "IN":
        return insert(add(new, partition))
    if kind == "UD":
        condition = "(a#1 = 1)" if partition is None else f"((p#2 = {partition}) AND (a#1 = 1))"
        return update(add(new, partition), remove(files[0], partition), predicate=condition)
    major = {"zOrderBy": '["a"]'} if kind == "MA" else {}
    return optimize(add(new, partition), *(remove(f, partition) for f in files), **major)


def _base(bench: Bench, *, partitioned: bool, strict: bool) -> TableDef:
    properties = {"trinitylake.conflict-detection": "strict"} if strict else {}
    if not partitioned:
        return bench.commit(bench.create(properties), insert(*(add(f"f{i}") for i in range(1, 5))))
    files = [add(f"f{i}", "x") for i in range(1, 5)] + [add(f"g{i}", "y") for i in range(1, 5)]
    return bench.commit(bench.partitioned(properties), insert(*files))


def _code(earlier: str, later: str, *, strict: bool, same: bool, level: Isolation) -> str:
    """Return a cell's letter; + is a success beyond the seed's."""
    code = (SEED if strict else SAME_FILES if same else OTHER_FILES)[earlier][KINDS.index(later)]
    if level is Isolation.SERIALIZABLE and later == "UD" and earlier in ("IN", "UD", "OW"):
        # Rows came in that the row filter of the UPDATE may match.
        return "E"
    return "+" if strict and not same and code in "NC" else code


def _check(
    bench: Bench,
    base: TableDef,
    earlier: Entry,
    later: Entry,
    *,
    succeeds: bool,
    level: Isolation = Isolation.SNAPSHOT,
) -> TableDef | None:
    if not succeeds:
        with pytest.raises(CommitConflictError) as caught:
            bench.rebase(base, [later], [earlier], isolation=level)
        fields = caught.value.fields
        assert fields["version"] == 8
        assert {"rule", "advice", "my_operation", "their_operation"} <= fields.keys()
        return None
    definition, _ = bench.rebase(base, [later], [earlier], isolation=level)
    assert not bench.storage.count("read", lambda path: not path.endswith(".json")), "data was read"
    return definition


def _expected_files(earlier: str, later: str, *, same: bool, partition: str | None) -> set[str]:
    """Return what must be in the table after both, from the meaning of the jobs alone."""
    files = {"f1", "f2", "f3", "f4"}
    mine = ("f1", "f2") if same else ("f3", "f4")
    other = {"g1", "g2", "g3", "g4"} if partition else set()
    if later == "OW":
        return {"mine-new"} | other
    live = set(files)
    undone = earlier in ("MI", "MA") and same and later in ("UD", "MA")
    if earlier == "UD":
        live -= {"f1"}
    elif earlier in ("MI", "MA") and not undone:
        live -= {"f1", "f2"}
    if not undone:
        live.add("theirs-new")
    left_out = (earlier, later) == ("UD", "MI") and same
    if later == "UD":
        live -= {mine[0]}
    elif later in ("MI", "MA") and not left_out:
        live -= set(mine)
    if not left_out:
        live.add("mine-new")
    return live | other


@pytest.mark.parametrize("partition", [None, "x"], ids=["unpartitioned", "same-partition"])
@pytest.mark.parametrize("same", [True, False], ids=["same-files", "other-files"])
@pytest.mark.parametrize("strict", [True, False], ids=["strict", "optimised"])
@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize(("earlier", "later"), CELLS)
def test_cell(
    earlier: str,
    later: str,
    level: Isolation,
    *,
    strict: bool,
    same: bool,
    partition: str | None,
) -> None:
    """Each cell ends as the matrix says, and the table then holds what both jobs mean."""
    bench = Bench(f"cell-{earlier}-{later}-{level}-{strict}-{same}-{partition}")
    base = _base(bench, partitioned=partition is not None, strict=strict)
    code = _code(earlier, later, strict=strict, same=same, level=level)
    first = _job(earlier, "theirs", ("f1", "f2"), partition)
    second = _job(later, "mine", ("f1", "f2") if same else ("f3", "f4"), partition)

    definition = _check(bench, base, first, second, succeeds=code != "E", level=level)
    if definition is not None:
        assert live_files(bench.entries(definition)) == _expected_files(
            earlier, later, same=same, partition=partition
        )


@pytest.mark.parametrize("strict", [True, False], ids=["strict", "optimised"])
@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize(("earlier", "later"), CELLS)
def test_different_partitions_never_conflict(
    earlier: str, later: str, level: Isolation, *, strict: bool
) -> None:
    """The matrix holds for one partition; jobs on two of them both succeed in either mode."""
    bench = Bench(f"apart-{earlier}-{later}-{level}-{strict}")
    base = _base(bench, partitioned=True, strict=strict)
    first = _job(earlier, "theirs", ("g1", "g2"), "y")
    second = _job(later, "mine", ("f1", "f2"), "x")

    definition, changes = bench.rebase(base, [second], [first], isolation=level)
    table = read_table(definition)
    # Nothing was undone or rewritten: the very entry got the next number.
    assert table.segment.version == 3
    assert len(changes) == 1
    commit = table.segment.commits[-1]
    assert commit.unique.endswith("_2")
    assert bench.entries(definition)[-1] == second


# DELETE without WHERE on all files: the UD row and column. TRUNCATE: the OW row and column.
WHOLE = {
    "delete": {
        "after": {"OW": "E", "IN": "+", "UD": "E", "MI": "N", "MA": "N"},
        "before": {"OW": "O", "IN": "+", "UD": "E", "MI": "C", "MA": "E"},
    },
    "truncate": {
        "after": dict.fromkeys(KINDS, "O"),
        "before": dict(zip(KINDS, "OEEEE", strict=True)),
    },
}


def _empty(statement: str) -> Entry:
    everything = [remove(f"f{i}") for i in range(1, 5)]
    if statement == "truncate":
        return entry("TRUNCATE", *everything)
    return update(*everything, operation="DELETE", predicate="true")


@pytest.mark.parametrize("strict", [True, False], ids=["strict", "optimised"])
@pytest.mark.parametrize("order", ["after", "before"])
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("statement", ["delete", "truncate"])
def test_statements_that_empty_a_table(
    statement: str, kind: str, order: str, *, strict: bool
) -> None:
    """DELETE without WHERE goes by the UD row and column, in both modes; only TRUNCATE by OW's."""
    bench = Bench(f"whole-{statement}-{kind}-{order}-{strict}")
    base = _base(bench, partitioned=False, strict=strict)
    mine, theirs = _empty(statement), _job(kind, "theirs", ("f1", "f2"), None)
    if order == "before":
        mine, theirs = _job(kind, "mine", ("f1", "f2"), None), _empty(statement)
    cell = ("OW" if statement == "truncate" else "UD", kind)
    earlier, later = cell if order == "before" else reversed(cell)
    code = SEED[earlier][KINDS.index(later)] if strict else WHOLE[statement][order][kind]

    definition = _check(bench, base, theirs, mine, succeeds=code != "E")
    if definition is not None:
        added = {file_key(a) for a in [*mine.adds, *theirs.adds]}
        kept = added if (code, kind) in {("+", "IN"), ("O", "OW")} or order == "before" else set()
        kept -= {"theirs-new"} if order == "after" and statement == "truncate" else set()
        kept -= {"mine-new"} if code == "C" else set()
        assert live_files(bench.entries(definition)) == kept


@pytest.mark.parametrize("statement", ["delete", "truncate"])
def test_conflicts_name_the_statement(statement: str) -> None:
    """Who wrote DELETE reads DELETE, who wrote TRUNCATE reads TRUNCATE, as mine and as theirs."""
    bench = Bench(f"named-{statement}")
    base = _base(bench, partitioned=False, strict=True)
    with pytest.raises(CommitConflictError) as caught:
        bench.rebase(base, [_job("UD", "mine", ("f1", "f2"), None)], [_empty(statement)])
    assert caught.value.fields["their_operation"] == statement.upper()
    if statement == "delete":
        with pytest.raises(CommitConflictError) as caught:
            bench.rebase(base, [_empty("delete")], [_empty("delete")])
        assert caught.value.fields["my_operation"] == "DELETE"
        assert "TRUNCATE" not in caught.value.message


@pytest.mark.parametrize("is_first", [True, False], ids=["ALTER first", "ALTER last"])
@pytest.mark.parametrize("strict", [True, False], ids=["strict", "optimised"])
@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("kind", KINDS)
def test_alter(kind: str, level: Isolation, *, strict: bool, is_first: bool) -> None:
    """A property that no writer has to obey is set before or after any job, at both levels."""
    bench = Bench(f"alter-{kind}-{level}-{strict}-{is_first}")
    base = _base(bench, partitioned=False, strict=strict)
    jobs = [alter(base, {"steward": "they"}), _job(kind, "mine", ("f1", "f2"), None)]
    earlier, later = jobs if is_first else reversed(jobs)

    definition = _check(bench, base, earlier, later, succeeds=True, level=level)
    assert definition is not None
    assert read_table(definition).configuration["steward"] == "they"
    expected = live_files([*bench.entries(base), jobs[1]])
    assert live_files(bench.entries(definition)) == expected


@pytest.mark.parametrize(
    ("earlier", "later", "succeeds"),
    [
        ("CL", "IN", True),
        ("IN", "CL", True),
        ("CL", "OW", True),
        ("OW", "CL", False),
        ("CL", "UD", True),
        ("UD", "CL", False),
        ("CL", "MI", False),
        ("MI", "CL", False),
        ("CL", "CL", False),
    ],
)
@pytest.mark.parametrize("strict", [True, False], ids=["strict", "optimised"])
def test_clustering(earlier: str, later: str, *, succeeds: bool, strict: bool) -> None:
    """Clustering goes with INSERT either way, and by files with the rest (format.md §7.3)."""
    bench = Bench(f"cluster-{earlier}-{later}-{strict}")
    base = _base(bench, partitioned=False, strict=strict)

    def job(kind: str, who: str) -> Entry:
        if kind == "CL":
            files = (add(f"{who}-new"), remove("f1"), remove("f2"))
            return optimize(*files, clusterBy='["a"]')
        return _job(kind, who, ("f1", "f2"), None)

    _check(bench, base, job(earlier, "theirs"), job(later, "mine"), succeeds=succeeds)
