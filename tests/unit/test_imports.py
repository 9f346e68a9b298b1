"""What is useful without Spark does not load Spark."""

from __future__ import annotations

import subprocess
import sys

import pytest


@pytest.mark.parametrize(
    "module",
    [
        "trinitylake_spark",
        "trinitylake_spark.api",
        "trinitylake_spark.lakehouse.lakehouse",
        "trinitylake_spark.cli.main",
        "trinitylake_spark.testing.storage_conformance",
    ],
)
def test_a_jvm_is_not_needed(module: str) -> None:
    """Neither pyspark nor py4j nor delta is imported, directly or by anything imported."""
    program = (
        f"import sys, {module}; "
        "print(*{'pyspark', 'py4j', 'delta'} & {name.split('.')[0] for name in sys.modules})"
    )
    run = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True, timeout=60
    )

    assert run.stdout.strip() == ""
