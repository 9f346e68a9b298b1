"""The page of errors says what the code says."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from trinitylake_spark import errors
from trinitylake_spark.errors import Kind, TrinityLakeError

if TYPE_CHECKING:
    from pathlib import Path


def test_the_page_has_every_condition_with_its_sql_state(repository: Path) -> None:
    """Conditions, their order and their SQLSTATEs are those of ``errors.Kind``."""
    page = (repository / "docs/errors.md").read_text(encoding="utf-8")
    found = re.findall(r"^\| `(TRINITYLAKE_\w+)` \| (\w{5}) \|", page, re.MULTILINE)

    assert [(kind.value, TrinityLakeError("", kind=kind).sql_state) for kind in Kind] == found


def test_the_page_has_every_class(repository: Path) -> None:
    """Classes and their order are those of the module."""
    page = (repository / "docs/errors.md").read_text(encoding="utf-8")
    classes = [
        name
        for name, value in vars(errors).items()
        if isinstance(value, type)
        and issubclass(value, TrinityLakeError)
        and value is not TrinityLakeError
    ]

    assert classes == re.findall(r"^\| `(\w+Error)` \|", page, re.MULTILINE)
