"""Predicates on partitions: true, false, or honestly unknown."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from trinitylake_spark.delta.predicate import holds, understand
from trinitylake_spark.delta.truth import UNKNOWN, Range
from trinitylake_spark.delta.values import Column

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

COLUMNS = {
    "p": Column("col-p", "string"),
    "n": Column("n", "integer"),
    "d": Column("d", "date"),
    "f": Column("f", "double"),
}
VALUES = {"col-p": "x", "n": "7", "d": "2026-01-31", "f": "1.5"}


def _holds(predicate: str, values: Mapping[str, str | None] = VALUES) -> bool | None:
    return holds(understand(predicate, COLUMNS), values)


@pytest.mark.parametrize(
    ("predicate", "expected"),
    [
        ("p = 'x'", True),
        ("(p = 'y')", False),
        ("(p#12 = 'y')", None),
        ("P <=> 'x'", True),
        ("p != 'x'", False),
        ("n >= 7 AND n < 8", True),
        ("n > 7 OR p = 'x'", True),
        ("((p = 'x') AND (a > 3))", None),
        ("((p = 'y') AND (a > 3))", False),
        ("((p = 'x') OR (a > 3))", True),
        ("NOT (p = 'x')", False),
        ("NOT a > 1", None),
        ("n IN (1, 7)", True),
        ("n NOT IN (1, 7)", False),
        ("p IN ('y', a)", None),
        ("p IS NULL", False),
        ("p IS NOT NULL", True),
        ("d >= DATE '2026-01-01'", True),
        ("d = '2026-02-01'", False),
        ("d = '2026-1-31'", None),
        ("d = DATE '2026-1-31'", None),
        ("d > 5", None),
        ("p > 5", None),
        ("p < 'w' OR NULL IS NULL", True),
        ("p.x = 1", None),
        ("n = '7'", True),
        ("`p` = 'x'", True),
        ("true", True),
        ("false OR p = 'x'", True),
        ("f = 1.5", None),
        ("f IS NULL", False),
        ("year(d) = 2026", None),
        ("p LIKE 'x%'", None),
        ("cast(n as string) = '7'", None),
        ("p = 'x", None),
        ("", None),
        ("p =", None),
        ("(p = 'x'", None),
        ("p = 'it''s'", None),
        ("p = 'a\\'b'", False),
        ("n = p", None),
        ("(n) = (7)", None),
    ],
)
def test_predicates(predicate: str, expected: bool | None) -> None:
    """Only what follows from the partition's values is said; all else is unknown."""
    assert expected is _holds(predicate)


@pytest.mark.parametrize(
    ("predicate", "expected"),
    [
        ("p = 'x'", False),
        ("p <=> 'x'", False),
        ("p IS NULL", True),
        ("NOT (p = 'x')", False),
        ("p IN ('x', 'y')", False),
        ("p = 'x' OR p IS NULL", True),
        ("NOT (p = 'x' OR a = 1)", False),
    ],
)
@pytest.mark.parametrize("null", [None, ""])
def test_null_partition(predicate: str, expected: bool | None, null: str | None) -> None:
    """A comparison with NULL is neither true nor false, so it chooses no row."""
    assert expected is _holds(predicate, {**VALUES, "col-p": null})


@pytest.mark.parametrize(
    ("printed", "expected"),
    [
        ("(p#12 = x)", True),
        ("(P#12 = y)", False),
        ("(p#1 <=> x)", True),
        ("NOT (p#1 = x)", False),
        ("((p#1 = x) AND (a#2 > 3))", None),
        ("((p#1 = y) AND (a#2 > 3))", False),
        ("((p#1 = x) OR (a#2 > 3))", True),
        ("(NOT (n#1L >= 8) AND isnotnull(p#2))", True),
        ("isnull(p#1)", False),
        ("n#1 IN (1,7)", True),
        ("p#1 IN (x,y)", None),
        ("(d#1 >= 2026-01-01)", True),
        ("(d#1 = cast(2026-1-31 as date))", None),
        ("true", True),
        ("(p#1 = 7)", False),
        ("(p#1 = null)", None),
        ("(p#1 = 'x')", None),
        ("(p#1 = q#2)", None),
        ("(p#1 = y) AND (n#2 = 7)", None),
        ("((p#1 = y) OR (n#2 = 7) AND (n#2 = 8))", None),
        ("(x = p#1)", None),
        ("(cast(n#1 as string) = 7)", None),
        ("s#1.p", None),
    ],
)
def test_printed_conditions(printed: str, expected: bool | None) -> None:
    """Texts stand there without quotes; what they could be mistaken for is not understood."""
    assert expected is _holds(json.dumps([printed]))


def test_all_conditions_of_a_list_must_hold() -> None:
    """Delta records the operands of a conjunction one by one, too."""
    assert _holds('["(p#1 = x)","(n#2 = 8)"]') is False
    assert _holds('["(p#1 = x)","(n#2 = 7)"]') is True
    assert _holds('["(p#1 = x)","(a#2 = 7)"]') is None


# --- size -----------------------------------------------------------------------------------------

LONG = 3_000
DEEP = 6_000


def _rows(**columns: Range) -> Callable[[Column], Range]:
    """Facts of a file in which all other columns are unknown."""
    return lambda column: columns.get(column.name, UNKNOWN)


def _left(word: str, terms: list[str]) -> str:
    """Join terms as Spark prints ``a OR b OR c``: ``((a OR b) OR c)``."""
    return "(" * (len(terms) - 1) + terms[0] + "".join(f" {word} {t})" for t in terms[1:])


def _right(word: str, terms: list[str]) -> str:
    """Join terms the other way round: ``(a OR (b OR c))``."""
    start = "".join(f"({term} {word} " for term in terms[:-1])
    return start + terms[-1] + ")" * (len(terms) - 1)


@pytest.mark.parametrize(
    "predicate",
    [
        json.dumps([f"n#1 IN ({','.join(map(str, range(LONG)))})"]),
        f"n IN ({', '.join(map(str, range(LONG)))})",
        f"(n IN ({', '.join(f'{number}L' for number in range(LONG))}))",
    ],
    ids=["printed", "typed", "as SQL"],
)
def test_long_lists_are_decided(predicate: str) -> None:
    """An IN of thousands of numbers is told from rows it cannot choose, NULLs among them or not."""
    condition = understand(predicate, COLUMNS)

    assert len(condition.steps) == 2 * LONG - 1
    for low, high, has_nulls, expected in (
        (0, LONG, True, {True, False, None}),
        (LONG, LONG + 9, True, {False, None}),
        (LONG, LONG + 9, False, {False}),
        (5, 5, False, {True}),
    ):
        facts = _rows(n=Range(low, high, has_nulls=has_nulls))
        assert condition.results(facts) == expected


@pytest.mark.parametrize("nested", [_left, _right])
@pytest.mark.parametrize("form", ["printed", "SQL"])
def test_deep_conditions_are_decided(nested: Callable[[str, list[str]], str], form: str) -> None:
    """Thousands of ORs, ANDs and NOTs, however they are nested, come to what one by one they do."""
    attribute = "n#1" if form == "printed" else "n"

    def decided(text: str, *values: int) -> list[bool | None]:
        predicate = json.dumps([text]) if form == "printed" else text
        condition = understand(predicate, COLUMNS)
        return [holds(condition, {**VALUES, "n": str(value)}) for value in values]

    any_of = nested("OR", [f"({attribute} = {number})" for number in range(DEEP)])
    assert decided(any_of, 0, DEEP - 1, DEEP) == [True, True, False]
    all_of = nested("AND", [f"({attribute} > {number})" for number in range(DEEP)])
    assert decided(all_of, DEEP, DEEP - 1) == [True, False]
    assert decided("NOT " * DEEP + f"({attribute} = 7)", 7, 8) == [True, False]
    assert decided("NOT " * (DEEP + 1) + f"({attribute} = 7)", 7, 8) == [False, True]


def test_deep_nonsense_is_not_understood() -> None:
    """What is no condition is given up, however long it is."""
    for text in ("(" * DEEP, "(" * DEEP + "p = 'x'" + ")" * (DEEP - 1), "NOT " * DEEP):
        assert _holds(text) is None
        assert _holds(json.dumps([text])) is None
    assert _holds("(" * DEEP + "p = 'x'" + ")" * DEEP) is True


def test_many_unknown_columns() -> None:
    """Where nothing is known of 120 operands, each of them counts once."""
    names = [f"c{number}" for number in range(120)]
    asked: list[str] = []

    def facts(column: Column) -> Range:
        asked.append(column.name)
        return UNKNOWN

    columns = {name: Column(name, "long") for name in names}
    for predicate in (
        json.dumps([f"(c{number}#{number}L = 1)" for number in range(120)]),
        json.dumps([_left("AND", [f"(c{number}#{number}L = 1)" for number in range(120)])]),
        " AND ".join(f"c{number} = 1" for number in range(120)),
    ):
        asked.clear()
        assert understand(predicate, columns).results(facts) == {True, False, None}
        assert asked == names
    assert understand(json.dumps([]), columns).results(facts) == {True}
