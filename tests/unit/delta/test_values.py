"""Values of every type that a partition column may have, as Spark and Delta write them."""

from __future__ import annotations

import json

import pytest

from tests.support.delta_tables import add, overwrite, remove
from trinitylake_spark.delta.local_times import in_utc
from trinitylake_spark.delta.predicate import holds, understand
from trinitylake_spark.delta.values import Column, read

# Type, partition, then pairs of a literal as Spark prints it in SQL and whether it is that value.
EQUAL = {
    "byte": ("-5", [("-5Y", True), ("5Y", False), ("-5", True), ("300Y", None)]),
    "short": ("5", [("5S", True), ("-6S", False), ("5BD", True)]),
    "integer": ("5", [("5", True), ("-6", False), ("'5'", True), ("'five'", None)]),
    "long": ("5000000000", [("5000000000L", True), ("5L", False), ("5000000000", True)]),
    "boolean": ("true", [("true", True), ("false", False), ("TRUE", True)]),
    "decimal(10,2)": (
        "1.50",
        [("1.50BD", True), ("1.5BD", True), ("2.50BD", False), ("1.5", True), ("1", False)],
    ),
    "decimal(20,10)": ("1E-10", [("1E-10BD", True), ("0.0000000001BD", True), ("0BD", False)]),
    "decimal(38,0)": ("5", [("5BD", True), ("5.5BD", None), ("5L", True)]),
    "float": (
        "1.1",
        [
            ("CAST('1.1' AS FLOAT)", True),
            ("CAST('1.2' AS FLOAT)", False),
            ("1.1D", False),
            ("1.100000023841858D", True),
            ("CAST('NaN' AS FLOAT)", False),
            ("CAST('1.0000000596046448' AS FLOAT)", None),
            ("CAST('1.0E-40' AS FLOAT)", None),
            ("1.1BD", None),
        ],
    ),
    "double": (
        "1.0E20",
        [
            ("1.0E20D", True),
            ("-1.0E20D", False),
            ("CAST('Infinity' AS DOUBLE)", False),
            ("1E20", None),
            ("5", None),
        ],
    ),
    "date": ("2026-01-01", [("DATE '2026-01-01'", True), ("DATE '2026-01-02'", False)]),
    "timestamp": (
        "2026-01-01T05:00:00.000000Z",
        [
            ("TIMESTAMP '2026-01-01 00:00:00'", None),
            ("TIMESTAMP '2026-01-01 23:00:00'", None),
            ("TIMESTAMP '2026-01-01 23:00:00.000001'", False),
            ("TIMESTAMP '2026-01-02 00:00:00'", False),
            ("TIMESTAMP '2026-01-01T05:00:00.000000Z'", True),
            ("TIMESTAMP '2026-01-01 00:00:00-05:00'", True),
            ("TIMESTAMP '2026-01-01 01:00:00-05:00'", False),
            ("TIMESTAMP '2026-13-01 01:00:00Z'", None),
            ("TIMESTAMP_NTZ '2026-03-01 00:00:00'", None),
            ("DATE '2026-03-01'", None),
        ],
    ),
    "timestamp_ntz": (
        "2026-01-01 00:00:00.5",
        [
            ("TIMESTAMP_NTZ '2026-01-01 00:00:00.5'", True),
            ("TIMESTAMP_NTZ '2026-01-01 00:00:00.500001'", False),
            ("TIMESTAMP '2026-01-01 00:00:00.5'", None),
        ],
    ),
    "binary": ("ab", [("X'6162'", True), ("X'6163'", False), ("X'616'", None)]),
    "string": ("it's", [(r"'it\'s'", None), ("'its'", False), (r"'a\\b'", False), ("5", None)]),
}
CASES = [
    (kind, partition, literal, expected)
    for kind, (partition, pairs) in EQUAL.items()
    for literal, expected in pairs
]


def _holds(kind: str, partition: str | None, predicate: str) -> bool | None:
    return holds(understand(predicate, {"p": Column("c", kind)}), {"c": partition})


@pytest.mark.parametrize(("kind", "partition", "literal", "expected"), CASES)
def test_literals_in_sql(kind: str, partition: str, literal: str, expected: bool | None) -> None:
    """Each literal is compared with a partition of its type; what is not sure stays unknown."""
    assert _holds(kind, partition, f"(p = {literal})") is expected
    assert _holds(kind, partition, f"({literal} <=> p)") is expected
    assert _holds(kind, partition, f"p IN ({literal})") is expected
    refuted = None if expected is None else not expected
    assert _holds(kind, partition, f"(NOT (p = {literal}))") is refuted
    assert _holds(kind, None, f"(p = {literal})") is not True


@pytest.mark.parametrize("kind", [*EQUAL, "variant", ""])
def test_null(kind: str) -> None:
    """NULL, with its type or without, is no value of any type."""
    for null in ("NULL", "CAST(NULL AS DECIMAL(10,2))"):
        assert _holds(kind, "x", f"(p = {null})") is (None if kind == "" else False)
    assert _holds(kind, "x", "(p IS NULL)") is False
    assert _holds(kind, None, "(p IS NULL)") is True
    if kind:
        assert _holds(kind, None, "(p <=> NULL)") is True


@pytest.mark.parametrize(
    ("kind", "partition", "printed", "other"),
    [
        ("byte", "-5", "-5", "6"),
        ("short", "5", "5", "6"),
        ("long", "5", "5", "6"),
        ("boolean", "true", "true", "false"),
        ("decimal(10,2)", "1.50", "1.50", "2.50"),
        ("float", "1.1", "1.1", "1.2"),
        ("double", "1.0E20", "1.0E20", "NaN"),
        ("double", "NaN", "NaN", "-Infinity"),
        ("double", "0.0", "-0.0", "1.0E-5"),
        ("timestamp_ntz", "2026-01-01 00:00:00", "2026-01-01 00:00:00", "2026-01-01 01:00:00"),
        ("binary", "ab", "0x6162", "0x61"),
    ],
)
def test_printed_literals(kind: str, partition: str, printed: str, other: str) -> None:
    """Printed without quotes and suffixes, a literal has the type of its column."""
    for literal, expected in ((printed, True), (other, False)):
        predicate = json.dumps([f"((p#1 = {literal}) AND isnotnull(p#1))"])
        assert _holds(kind, partition, predicate) is expected


@pytest.mark.parametrize(
    ("kind", "printed", "expected"),
    [
        ("boolean", "p#1", True),
        ("boolean", "NOT p#1", False),
        ("boolean", "(p#1 AND (p#1 = true))", True),
        ("string", "p#1", None),
        ("boolean", "p#1.x", None),
        ("long", "p#1L INSET 1, 10, 5", None),
        ("integer", "(p#1 INSET 1, 10 AND isnotnull(p#1))", None),
        ("date", "p#1 IN (2026-01-01,2026-01-02)", None),
        ("string", "(p#1 INSET 7, 8 AND isnull(p#1))", None),
        ("string", "(p#1 IN (7,8) AND isnull(p#1))", None),
    ],
)
def test_printed_flags_and_sets(kind: str, printed: str, expected: bool | None) -> None:
    """A boolean column is a condition by itself; lists of texts are not told apart."""
    assert _holds(kind, "true", json.dumps([printed])) is expected


def test_printed_sets_of_numbers_and_times() -> None:
    """INSET is an IN of more than ten literals; dates and times in it are read as well."""
    for kind, inside, outside, printed in (
        ("long", "7", "8", "p#1L INSET 1, -5, 7, ... 3 more fields"),
        ("long", "7", "8", "p#1L INSET 1, -5, 7"),
        ("decimal(10,2)", "1.50", "2.50", "p#1 INSET 1.50, 3.50"),
        ("double", "1.0E20", "1.5", "p#1 IN (1.0E20,2.5)"),
        ("date", "2026-01-01", "2026-01-03", "p#1 IN (2026-01-01,2026-01-02)"),
        (
            "timestamp_ntz",
            "2026-01-01 00:00:00",
            "2026-01-02 00:00:00",
            "p#1 INSET 2026-01-01 00:00:00, 2026-01-01 01:00:00.5",
        ),
    ):
        is_cut = "more fields" in printed
        predicate = json.dumps([printed])
        assert _holds(kind, inside, predicate) is (None if is_cut else True)
        assert _holds(kind, outside, predicate) is (None if is_cut else False)


@pytest.mark.parametrize(
    ("kind", "text"),
    [
        ("integer", "2147483648"),
        ("long", "1.0"),
        ("boolean", "TRUE"),
        ("double", "1e5"),
        ("float", "3.5E38"),
        ("date", "+12026-01-01"),
        ("timestamp", "2026-01-01"),
        ("timestamp_ntz", "2026-01-01T00:00:00Z"),
        ("binary", "é"),
        ("binary", r"\u0001"),
        ("string", "\ud83d"),
        ("variant", "1"),
        ("", "1"),
    ],
)
def test_other_forms_are_unknown(kind: str, text: str) -> None:
    """Only the one form of a type is read; nothing is guessed."""
    assert read(kind, text) is None


BERLIN = "ts=2026-01-01%2001%253A00%253A00/part-0.parquet"
WRITTEN = {"partitionValues": {"ts": "2026-01-01T00:00:00.000000Z"}}


@pytest.mark.parametrize(
    ("actions", "told"),
    [
        ([add(BERLIN, **WRITTEN)], True),
        ([add(BERLIN.replace("ts=", "x=1/ts="), **WRITTEN)], True),
        ([add("part-0.parquet", **WRITTEN)], False),
        ([remove(BERLIN, **WRITTEN)], False),
        ([add(BERLIN, **WRITTEN), remove(BERLIN, **WRITTEN)], False),
        ([add(BERLIN, partitionValues={"ts": "2026-01-01 01:00:00"})], False),
        ([add(BERLIN, partitionValues={"ts": None})], False),
        ([add(BERLIN, partitionValues={"other": "2026-01-01T00:00:00.000000Z"})], False),
    ],
)
def test_paths_tell_the_time_zone(
    actions: list[tuple[str, dict[str, object]]], *, told: bool
) -> None:
    """A file that the statement wrote shows which instant a time of its session was."""
    entry = overwrite(*actions)
    condition = "(ts <=> TIMESTAMP '2026-01-01 01:00:00')"
    expected = "(ts <=> TIMESTAMP '2026-01-01T00:00:00.000000Z')" if told else condition

    assert in_utc(condition, entry) == expected
    for unchanged in (
        "(ts <=> TIMESTAMP '2026-01-01 02:00:00')",
        "(ts <=> TIMESTAMP_NTZ '2026-01-01 01:00:00')",
        "(p = 'x')",
    ):
        assert in_utc(unchanged, entry) == unchanged
