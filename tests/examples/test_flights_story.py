"""The demonstration, whole."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from trinitylake_spark import Lakehouse

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = [pytest.mark.spark, pytest.mark.slow]


def test_the_demonstration_proves_every_number(repository: Path, tmp_path: Path) -> None:
    """It tells its seven steps, ends well, and leaves the lakehouse that it told of."""
    run = subprocess.run(
        [sys.executable, "-m", "examples.flights", "--root", str(tmp_path / "lake")],
        cwd=repository,
        env={**os.environ, "SPARK_LOCAL_IP": "127.0.0.1"},
        capture_output=True,
        text=True,
        timeout=800,
        check=False,
    )

    assert run.returncode == 0, run.stdout[-2000:] + run.stderr[-4000:]
    assert "74 facts, each the same as in the CSV files" in run.stdout
    assert Lakehouse.open(str(tmp_path / "lake")).version == 4
