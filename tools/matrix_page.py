"""Write the tables of docs/transactions.md from the table-operation matrix of the code.

Each table stands between a comment that names it and one that ends it. Run as
``python -m tools.matrix_page`` after a change of the matrix; a test says when that is due.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

from trinitylake_spark.delta.matrix import COLUMNS, MATRIX

if TYPE_CHECKING:
    from trinitylake_spark.delta.change import Kind

PAGE = Path(__file__).parent.parent / "docs" / "transactions.md"
_TABLE = re.compile(r"<!-- matrix: (\w+) -->\n.*?<!-- end -->", re.DOTALL)


def written(page: str) -> str:
    """Return the page with its tables as the code has them."""
    return _TABLE.sub(lambda found: _section(found.group(1)), page)


def _section(mode: str) -> str:
    rows = [
        ["earlier ↓ later →", *map(str, COLUMNS)],
        ["---"] * (len(COLUMNS) + 1),
        *(
            [f"**{earlier}**", *(_cell(mode, earlier, later) for later in COLUMNS)]
            for earlier in COLUMNS
        ),
    ]
    table = "\n".join(f"| {' | '.join(row)} |" for row in rows)
    return f"<!-- matrix: {mode} -->\n{table}\n<!-- end -->"


def _cell(mode: str, earlier: Kind, later: Kind) -> str:
    cell = MATRIX[earlier][later]
    return cell.code.value if mode == "strict" else cell.optimised.value


if __name__ == "__main__":
    PAGE.write_text(written(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
