"""Spark Connect: a remote client without a jar of ours sees what every other client sees."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from pyspark.sql import SparkSession


@pytest.fixture
def server(jvm_session: SparkSession) -> Iterator[str]:
    """The URL of a Connect server in the driver of the tests."""
    jvm = jvm_session._jvm
    assert jvm is not None
    package = jvm.org.apache.spark.sql.connect.service
    service = getattr(getattr(package, "SparkConnectService$"), "MODULE$")
    service.start(jvm_session._jsc.sc())
    yield f"sc://127.0.0.1:{service.localPort()}"
    service.stop(jvm.scala.Option.empty(), jvm.scala.Option.empty())


@pytest.mark.timeout(300)
def test_plans_of_a_remote_client_follow_the_rule(
    server: str, tmp_path: Path, repository: Path
) -> None:
    """DataFrames and views follow commits outside of transactions, and read them inside."""
    ran = subprocess.run(
        [sys.executable, "-m", "tests.support.connect_client", server, tmp_path.as_uri()],
        check=False,
        capture_output=True,
        cwd=repository,
        text=True,
    )

    assert ran.returncode == 0, ran.stderr[-3000:]
    assert [json.loads(line) for line in ran.stdout.splitlines()] == [
        ["made", 1],
        ["followed", 2, 2],
        ["inside", 3, 3],
        ["refused", "TRINITYLAKE_COMMIT_CONFLICT"],
        ["after", 3, 0],
        ["deleted", 2, 3],
        ["committed", 2],
    ]
