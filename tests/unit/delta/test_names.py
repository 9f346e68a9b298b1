"""Names of log files: renumbering copies nothing, and the stored name follows from the seen one."""

from __future__ import annotations

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from trinitylake_spark.delta.names import (
    checksum_name,
    checksum_number,
    commit_number,
    renumber,
    seen_name,
    stored_name,
)

NUMBERS = st.integers(min_value=1, max_value=10**6)
UUID = "6fcb514b-b878-4c9d-95b7-8dc3a7ce6fd8"


@given(st.lists(NUMBERS, min_size=2, max_size=6))
def test_stored_name_survives_any_renumbering(numbers: list[int]) -> None:
    """However often a commit moves, its stored name is the one it was first written under."""
    unique = UUID
    for old, new in pairwise(numbers):
        unique = renumber(unique, old, new)

    assert stored_name(numbers[0], UUID) == stored_name(numbers[-1], unique)


@given(NUMBERS, NUMBERS)
def test_moving_back_restores_the_name(first: int, other: int) -> None:
    """A commit that returns to its first number has its first name again."""
    assert renumber(renumber(UUID, first, other), other, first) == UUID


def test_commit_zero_has_the_canonical_name() -> None:
    """Delta checks that commit 0 is listed under its own name."""
    assert "00000000000000000000.json" == seen_name(0, "") == stored_name(0, "")


def test_seen_name_tells_the_stored_one() -> None:
    """The rule that executors apply: the number after the underscore is the stored one."""
    assert f"_staged_commits/00000000000000000007.{UUID}_5.json" == seen_name(7, f"{UUID}_5")
    assert f"_staged_commits/00000000000000000005.{UUID}.json" == stored_name(7, f"{UUID}_5")


def test_checksums_of_two_chains_differ() -> None:
    """A renumbered commit never finds the checksum of the chain it was written for."""
    assert checksum_name(7, UUID) != checksum_name(7, f"{UUID}_5")


def test_numbers_are_read_from_canonical_names_only() -> None:
    """Neither staged names nor other files pass for commits or checksums."""
    assert commit_number("00000000000000000012.json") == 12
    assert checksum_number("00000000000000000012.crc") == 12
    assert commit_number(f"00000000000000000012.{UUID}.json") is None
    assert checksum_number("00000000000000000012.json") is None
