"""Predicates on partitions: true, false, or honestly unknown."""

from __future__ import annotations

import json

import pytest

from trinitylake_spark.delta.predicate import Column, holds

COLUMNS = {
    "p": Column("col-p", "string"),
    "n": Column("n", "integer"),
    "d": Column("d", "date"),
    "f": Column("f", "double"),
}
VALUES = {"col-p": "x", "n": "7", "d": "2026-01-31", "f": "1.5"}


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
        ("p < 'w' OR NULL IS NULL", None),
        ("p.x = 1", None),
        ("n = '7'", True),
        ("`p` = 'x'", True),
        ("true", True),
        ("false OR p = 'x'", True),
        ("f = 1.5", None),
        ("f IS NULL", None),
        ("year(d) = 2026", None),
        ("p LIKE 'x%'", None),
        ("cast(n as string) = '7'", None),
        ("p = 'x", None),
        ("", None),
        ("p =", None),
        ("(p = 'x'", None),
        ("p = 'it''s'", None),
        ("p = 'a\\'b'", None),
        ("n = p", None),
        ("(n) = (7)", None),
    ],
)
def test_predicates(predicate: str, expected: bool | None) -> None:
    """Only what follows from the partition's values is said; all else is unknown."""
    assert expected is holds(predicate, COLUMNS, VALUES)


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
    assert expected is holds(predicate, COLUMNS, {**VALUES, "col-p": null})


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
    assert expected is holds(json.dumps([printed]), COLUMNS, VALUES)


def test_all_conditions_of_a_list_must_hold() -> None:
    """Delta records the operands of a conjunction one by one, too."""
    assert holds('["(p#1 = x)","(n#2 = 8)"]', COLUMNS, VALUES) is False
    assert holds('["(p#1 = x)","(n#2 = 7)"]', COLUMNS, VALUES) is True
    assert holds('["(p#1 = x)","(a#2 = 7)"]', COLUMNS, VALUES) is None
