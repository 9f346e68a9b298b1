"""Predicates on partitions: true, false, or honestly unknown."""

from __future__ import annotations

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
        ("(p#12 = 'y')", False),
        ("P <=> 'x'", True),
        ("p != 'x'", False),
        ("n#3 >= 7 AND n < 8", True),
        ("n > 7 OR p = 'x'", True),
        ("((p = 'x') AND (a#3 > 3))", None),
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
        ("p = 'it''s'", False),
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
        ("p = 'x'", None),
        ("p <=> 'x'", False),
        ("p IS NULL", True),
        ("NOT (p = 'x')", None),
        ("p IN ('x', 'y')", None),
    ],
)
def test_null_partition(predicate: str, expected: bool | None) -> None:
    """A comparison with NULL is neither true nor false."""
    assert expected is holds(predicate, COLUMNS, {"col-p": None})
