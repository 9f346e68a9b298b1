"""The wheel works where nothing of this repository is."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import sysconfig
import zipfile
from pathlib import Path

import pytest

pytestmark = [pytest.mark.slow, pytest.mark.spark]

SESSION = """
import sys, trinitylake_spark as tl
assert "site-packages" in tl.__file__, tl.__file__
spark = tl.session(catalog="lake", root=sys.argv[1], create=True)
assert not spark.conf.get("spark.jars.packages", "")
spark.sql("CREATE NAMESPACE lake.n")
spark.sql("CREATE TABLE lake.n.t AS SELECT 42 AS answer")
print(spark.table("lake.n.t").first()[0])
spark.stop()
"""


@pytest.fixture(scope="module")
def wheel(repository: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel, built from the repository as it is."""
    folder = tmp_path_factory.mktemp("wheel")
    shutil.rmtree(repository / "build" / "lib", ignore_errors=True)  # files that are gone now
    pip = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--no-build-isolation"]
    subprocess.run([*pip, "--wheel-dir", str(folder), str(repository)], check=True)
    return next(folder.glob("*.whl"))


@pytest.fixture(scope="module")
def environment(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A virtual environment with the wheel; its dependencies are borrowed from this one."""
    folder = tmp_path_factory.mktemp("environment")
    subprocess.run([sys.executable, "-m", "venv", str(folder)], check=True)
    python = folder / "bin" / "python"
    subprocess.run([str(python), "-m", "pip", "install", "-q", "--no-deps", str(wheel)], check=True)
    # A path file found through another path file is not read, so the editable install of this
    # repository stays out of sight.
    libraries = folder / "lib" / f"python{sysconfig.get_python_version()}" / "site-packages"
    (libraries / "borrowed.pth").write_text(sysconfig.get_path("purelib") + "\n", encoding="utf-8")
    return folder


def test_the_wheel_carries_all_jars(wheel: Path) -> None:
    """The bridge and Delta's jars are inside, so that a session needs no network."""
    names = [Path(name).name for name in zipfile.ZipFile(wheel).namelist()]

    for prefix in (
        "trinitylake-spark-",
        "delta-spark_4.2_2.13-4.4.0",
        "delta-storage-4.4.0",
        "delta-kernel-api-4.4.0",
        "delta-kernel-defaults-4.4.0",
    ):
        assert any(name.startswith(prefix) and name.endswith(".jar") for name in names), prefix


def test_a_session_starts_from_the_wheel_without_network(environment: Path, tmp_path: Path) -> None:
    """Create, write and read with nothing but the wheel, and nobody to download from."""
    nowhere = {"HTTP_PROXY": "http://127.0.0.1:9", "HTTPS_PROXY": "http://127.0.0.1:9"}
    run = subprocess.run(
        [str(environment / "bin" / "python"), "-c", SESSION, (tmp_path / "lake").as_uri()],
        cwd=tmp_path,
        env={**os.environ, **nowhere, "PYTHONPATH": ""},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )

    assert run.returncode == 0, run.stderr[-4000:]
    assert run.stdout.split()[-1] == "42"


def test_the_command_is_on_the_path(environment: Path) -> None:
    """``trinitylake`` runs from the installed package."""
    run = subprocess.run(
        [str(environment / "bin" / "trinitylake"), "--help"],
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )

    assert "rollback" in run.stdout
