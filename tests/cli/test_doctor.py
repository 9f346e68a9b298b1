"""``doctor`` and ``spark-conf``: is this machine ready, and what to tell Spark."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    import pytest

    from tests.cli.conftest import Result


def test_doctor_finds_nothing_wrong_here(run: Callable[..., Result], url: str) -> None:
    """Versions, jars and the storage of an existing lakehouse."""
    result = run("doctor", url, "--json")
    found = {row["what"]: row["found"] for row in result.json}

    assert result.code == 0
    assert (found["pyspark"], found["delta-spark"]) == ("4.2.0", "4.4.0")
    assert (found["storage creates exclusively"], found["lakehouse"]) == ("yes", "yes")


def test_doctor_says_how_to_mend(
    run: Callable[..., Result], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A missing Java is a fault with a remedy, and the exit code says so."""
    monkeypatch.setenv("JAVA_HOME", "/nowhere")
    result = run("doctor")

    assert result.code == 1
    line = next(line for line in result.out.splitlines() if "Java" in line)
    assert line.startswith("✗")
    assert "JAVA_HOME" in line


def test_doctor_does_not_mind_that_there_is_no_lakehouse_yet(
    run: Callable[..., Result], tmp_path: object
) -> None:
    """A storage can be tried before a lakehouse is created in it."""
    result = run("doctor", f"{tmp_path}/empty")

    assert result.code == 0
    assert "none yet" in result.out


def test_spark_conf_prints_what_a_session_needs(run: Callable[..., Result], url: str) -> None:
    """Lines for spark-defaults.conf: extensions, catalog, root, options."""
    result = run("spark-conf", url, "--catalog", "lh", "-o", "aws_region=eu", "--create")
    settings = dict(line.split(" ", 1) for line in result.out.splitlines())

    assert settings["spark.sql.catalog.lh"] == "io.trinitylake.spark.TrinityLakeCatalog"
    assert settings["spark.sql.catalog.lh.root"] == url
    assert settings["spark.sql.catalog.lh.storage.aws_region"] == "eu"
    assert settings["spark.sql.catalog.lh.create"] == "true"
    assert "TrinityLakeSparkExtension" in settings["spark.sql.extensions"]
    assert run("spark-conf", url, "--json").json["spark.sql.catalog.lake.root"] == url


def test_spark_conf_can_be_pasted_behind_spark_submit(run: Callable[..., Result], url: str) -> None:
    """As arguments, quoted for a shell."""
    words = shlex.split(run("spark-conf", url, "--format", "args").out)

    assert words[::2] == ["--conf"] * (len(words) // 2)
    assert f"spark.sql.catalog.lake.root={url}" in words[1::2]
