"""What a session needs is asked before a JVM starts, and the answer says how to mend it."""

from __future__ import annotations

from importlib import metadata
from typing import TYPE_CHECKING

import pytest
from pyspark.sql import SparkSession

import trinitylake_spark as tl
from trinitylake_spark.errors import Kind, UnsupportedError
from trinitylake_spark.spark import checks

if TYPE_CHECKING:
    from pathlib import Path


def _configure(**settings: str) -> SparkSession.Builder:
    builder = SparkSession.Builder()
    for key, value in settings.items():
        builder.config(key.replace("_", "."), value)
    return tl.configure(builder, catalog="lake", root="memory://never-opened")


def _refusal(**settings: str) -> UnsupportedError:
    with pytest.raises(UnsupportedError) as caught:
        _configure(**settings)
    assert caught.value.kind is Kind.SETUP
    return caught.value


def _java(folder: Path, version: str) -> str:
    folder.mkdir()
    (folder / "release").write_text(f'IMPLEMENTOR="x"\nJAVA_VERSION="{version}"\n')
    return str(folder)


@pytest.fixture(autouse=True)
def _jars(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The jars of the package, where they are not built yet."""
    folder = tmp_path / "jars"
    folder.mkdir()
    for name in ("trinitylake-spark-0.1.0.jar", "delta-spark_4.2_2.13-4.4.0.jar"):
        (folder / name).touch()
    monkeypatch.setattr(checks, "JARS", folder)


def test_a_good_setup_passes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With everything in place a builder is configured, without a JVM."""
    monkeypatch.setenv("JAVA_HOME", _java(tmp_path / "jdk", "17.0.9"))

    options = _configure()._options

    assert options["spark.sql.catalog.lake"] == "io.trinitylake.spark.TrinityLakeCatalog"
    assert all(finding.ok for finding in checks.findings())


@pytest.mark.parametrize("version", ["1.8.0_392", "11.0.2", "16"])
def test_an_old_java(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, version: str) -> None:
    """A Java that Spark cannot run on is named, with the one to install."""
    monkeypatch.setenv("JAVA_HOME", _java(tmp_path / "jdk", version))

    error = _refusal()

    assert error.fields["what"] == "Java"
    assert "install a JDK 17" in str(error)


def test_no_java(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without any Java the refusal says so; nothing was run that would hang."""
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))

    assert _refusal().fields["found"] is None


@pytest.mark.parametrize("package", ["pyspark", "delta-spark"])
@pytest.mark.parametrize("found", ["3.5.1", None])
def test_a_wrong_package(monkeypatch: pytest.MonkeyPatch, package: str, found: str | None) -> None:
    """Another version of pyspark or delta-spark, or none: the refusal has the command to run."""
    real = metadata.version

    def version(name: str) -> str:
        if name != package:
            return real(name)
        if found is None:
            raise metadata.PackageNotFoundError(name)
        return found

    monkeypatch.setattr(metadata, "version", version)

    error = _refusal()

    assert (error.fields["what"], error.fields["found"]) == (package, found)
    assert f"pip install {package}==" in error.fields["fix"]


def test_missing_jars(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A checkout whose jars were not built says how to build them."""
    monkeypatch.setattr(checks, "JARS", tmp_path / "nowhere")

    assert "make jars" in _refusal().fields["fix"]


@pytest.mark.parametrize(
    "settings",
    [
        {"spark_jars_packages": "io.delta:delta-spark_2.13:3.2.0"},
        {"spark_jars": "/opt/delta-spark_2.13-4.0.0.jar"},
    ],
    ids=["package", "jar"],
)
def test_a_delta_of_ones_own(settings: dict[str, str]) -> None:
    """A second Delta of another version in the session's settings would be loaded at random."""
    error = _refusal(**settings)

    assert error.fields["what"] == "delta-spark jar"


def test_the_same_delta_of_ones_own() -> None:
    """A Delta jar of the right version may stay."""
    _configure(spark_jars_packages="io.delta:delta-spark_4.2_2.13:4.4.0")


def test_spark_connect_clients() -> None:
    """A client of Spark Connect has no JVM to put jars into: it is told where they go."""
    assert "spark-conf" in str(_refusal(spark_remote="sc://somewhere"))
