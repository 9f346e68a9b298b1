"""The page of transactions shows the matrix that the code decides by."""

from __future__ import annotations

from tools.matrix_page import PAGE, written
from trinitylake_spark.delta.matrix import COLUMNS, MATRIX, Code


def test_the_page_has_the_tables_of_the_code() -> None:
    """Writing the page again changes nothing, and both tables are there."""
    page = PAGE.read_text(encoding="utf-8")

    assert page.count("<!-- matrix:") == 2
    assert written(page) == page


def test_the_code_has_the_25_outcomes() -> None:
    """The later job is refused in 13 cells, overwrites in 5, and so on, as format.md §7.2 says."""
    codes = [MATRIX[earlier][later].code for earlier in COLUMNS for later in COLUMNS]

    assert [codes.count(code) for code in Code] == [5, 13, 3, 4]
    assert "".join(codes) == "OEEEEOEECEOEECEONNECONNEE"
