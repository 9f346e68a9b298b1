"""What a checkout needs of the machine is asked for, and installed only where nobody minds."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def bare(tmp_path: Path) -> Path:
    """A PATH of a Debian, as root, on which nothing is installed yet; apt-get records its calls."""
    tools = tmp_path / "bin"
    tools.mkdir()
    for name in ("bash", "sed", "env"):
        (tools / name).symlink_to(shutil.which(name) or name)
    for name, body in (
        ("id", "echo 0"),
        ("apt-get", f'echo "$*" >> {tmp_path}/calls'),
    ):
        (tools / name).write_text(f"#!{shutil.which('bash')}\n{body}\n")
        (tools / name).chmod(0o755)
    return tmp_path


def _run(bare: Path, ci: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [str(ROOT / "tools/prerequisites.sh")],
        env={"PATH": str(bare / "bin"), "CI": ci, "JAVA_HOME": str(bare)},
        capture_output=True,
        text=True,
        check=False,
    )


def test_nothing_is_installed_unasked(bare: Path) -> None:
    """Outside of CI root is told what to install, with the command, and nothing is run."""
    run = _run(bare, "false")
    assert run.returncode == 1
    assert not (bare / "calls").exists()
    assert "Please install: Python 3.11 or newer with venv,a JDK 17" in run.stderr
    assert "apt-get install python3 python3-venv openjdk-17-jdk-headless maven" in run.stderr


def test_ci_installs(bare: Path) -> None:
    """In CI a fresh machine gets what it lacks."""
    run = _run(bare, "true")
    assert run.returncode == 1, "the apt-get of this test installs nothing"
    assert (bare / "calls").read_text().splitlines() == [
        "update -qq",
        "install -y -qq python3 python3-venv openjdk-17-jdk-headless maven",
    ]


def test_an_old_make_says_so() -> None:
    """A make without .ONESHELL, such as 3.81, ends with one line instead of odd shell errors."""
    make = shutil.which("make")
    assert make
    run = subprocess.run(
        [make, ".FEATURES=target-specific", "help"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.returncode == 2
    assert len(run.stderr.splitlines()) == 1
    assert "GNU make 3.82 or newer is needed" in run.stderr
