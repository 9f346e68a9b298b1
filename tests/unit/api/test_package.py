"""The package's own names, and that importing it costs nothing."""

from __future__ import annotations

import subprocess
import sys

import pytest

import trinitylake_spark as tl


def test_names_are_complete_and_sorted() -> None:
    """Each public name can be used, and is listed."""
    assert sorted(tl.__all__) == tl.__all__
    assert set(tl.__all__) <= set(dir(tl))
    for name in tl.__all__:
        assert callable(getattr(tl, name))


def test_unknown_names_are_attribute_errors() -> None:
    """As for any module."""
    with pytest.raises(AttributeError, match="nothing_of_the_kind"):
        _ = tl.nothing_of_the_kind


@pytest.mark.parametrize(
    ("statement", "absent"),
    [
        ("import trinitylake_spark", ("pyspark", "py4j", "pyarrow", "google")),
        ("from trinitylake_spark import Lakehouse", ("pyspark", "py4j", "delta")),
    ],
)
def test_import_needs_no_spark(statement: str, absent: tuple[str, ...]) -> None:
    """The package loads nothing; the lakehouse loads no Spark."""
    code = f"{statement}; import sys; print([m for m in {absent!r} if m in sys.modules])"
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert found.stdout.strip() == "[]"
