"""Which names an object may have (format.md §4)."""

from __future__ import annotations

import pytest

from trinitylake_spark.errors import InvalidInputError, Kind
from trinitylake_spark.format.names import validate_name


@pytest.mark.parametrize(
    "name",
    ["a", "x" * 100, "é" * 50, "größe", "表", "😀", "a/b", "a.b", "-", ".", "..", "\u00a0", "~"],
)
def test_allowed(name: str) -> None:
    """Everything that no rule forbids, up to the last byte; nothing is normalised."""
    validate_name("table", name, 100)


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("", "empty"),
        (" ", "U\\+0020"),
        ("a b", "U\\+0020"),
        ("a\tb", "U\\+0009"),
        ("a\0", "U\\+0000"),
        ("\x1f", "U\\+001F"),
        ("a\x7f", "U\\+007F"),
        ("a\ud800", "surrogate"),
        ("x" * 101, "101 bytes.*100"),
        ("é" * 51, "102 bytes.*100"),
    ],
)
def test_refused(name: str, why: str) -> None:
    """The message says what is wrong; sizes count bytes, not characters."""
    with pytest.raises(InvalidInputError, match=why) as caught:
        validate_name("namespace", name, 100)
    assert caught.value.kind is Kind.INVALID_NAME
    assert caught.value.fields["name"] == name
