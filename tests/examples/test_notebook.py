"""The notebook runs from top to bottom, and shows what its file shows."""

from __future__ import annotations

from typing import TYPE_CHECKING

import nbformat
import pytest
from nbclient import NotebookClient

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = [pytest.mark.spark, pytest.mark.slow]


def shown(notebook: nbformat.NotebookNode) -> list[str]:
    """The results of all cells, as text."""
    return [
        output["data"]["text/plain"]
        for cell in notebook.cells
        for output in cell.get("outputs", [])
        if output["output_type"] == "execute_result"
    ]


def test_the_notebook_shows_what_its_file_shows(repository: Path, tmp_path: Path) -> None:
    """Its own assertions hold, and each result is the one that was committed."""
    committed = nbformat.read(repository / "notebooks" / "flights.ipynb", as_version=4)
    expected = shown(committed)
    client = NotebookClient(
        committed, timeout=600, kernel_name="python3", resources={"metadata": {"path": tmp_path}}
    )

    assert expected == shown(client.execute())
