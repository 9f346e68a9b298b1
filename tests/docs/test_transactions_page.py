"""The page of transactions shows the matrix that the code decides by."""

from __future__ import annotations

from typing import TYPE_CHECKING

from trinitylake_spark.delta.matrix import COLUMNS, MATRIX

if TYPE_CHECKING:
    from pathlib import Path


def _row(cells: list[str]) -> str:
    return f"| {' | '.join(cells)} |"


def test_the_page_has_the_25_outcomes(repository: Path) -> None:
    """The strict table of the page is the matrix, cell by cell."""
    page = (repository / "docs/transactions.md").read_text(encoding="utf-8")

    for earlier in COLUMNS:
        codes = [MATRIX[earlier][later].code.value for later in COLUMNS]
        assert _row([f"**{earlier}**", *codes]) in page


def test_the_page_has_the_rules_of_the_default_mode(repository: Path) -> None:
    """The optimised table of the page is the matrix, cell by cell."""
    page = (repository / "docs/transactions.md").read_text(encoding="utf-8")

    for earlier in COLUMNS:
        rules = [MATRIX[earlier][later].optimised.value for later in COLUMNS]
        assert _row([f"**{earlier}**", *rules]) in page
