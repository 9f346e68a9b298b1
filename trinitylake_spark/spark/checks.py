"""Is what a session needs here, and does it fit together? Asked before a JVM starts."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING

from trinitylake_spark.errors import Kind, UnsupportedError

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

SPARK_VERSION = "4.2.0"
DELTA_VERSION = "4.4.0"
OLDEST_JAVA = 17
JARS = Path(__file__).parent.parent / "_jars"

_BRIDGE = "trinitylake-spark-"
_DELTA = re.compile(r"(?:^|[/:])delta-spark_[0-9._]+[:-](\d+\.\d+\.\d+[^/:]*?)(?:\.jar)?$")
_JAVA_VERSION = re.compile(r'version "(?:1\.)?(\d+)')
_JAVA_RELEASE = re.compile(r'^JAVA_VERSION="(?:1\.)?(\d+)', re.MULTILINE)
_JAVA_SECONDS = 20


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that was checked.

    Args:
        what: name of the part, such as ``pyspark``.
        found: its version or state; None if it is missing.
        wanted: what a session needs.
        fix: the command or setting that mends it.
        ok: whether it fits.
    """

    what: str
    found: str | None
    wanted: str
    fix: str
    ok: bool

    def sentence(self) -> str:
        """What was found, what is wanted, how to fix it: one sentence."""
        found = f"{self.what} {self.found}" if self.found else f"no {self.what}"
        return f"Found {found}, but a session needs {self.wanted}: {self.fix}."


def findings() -> list[Finding]:
    """Check everything that can be checked without starting a JVM."""
    return [
        _package("pyspark", SPARK_VERSION),
        _package("delta-spark", DELTA_VERSION),
        _java(),
        _jars(),
    ]


def require(settings: Mapping[str, str]) -> None:
    """Refuse what cannot work.

    Args:
        settings: the session's Spark settings, whose own jars and packages are checked too.

    Raises:
        UnsupportedError: kind ``SETUP``; the first thing that does not fit.
    """
    for finding in [*findings(), *_own_delta(settings)]:
        if not finding.ok:
            raise UnsupportedError(
                finding.sentence(),
                kind=Kind.SETUP,
                what=finding.what,
                found=finding.found,
                wanted=finding.wanted,
                fix=finding.fix,
            )


def jar_paths() -> list[str]:
    """Absolute paths of all jars that the package carries: the bridge's and Delta's."""
    return sorted(str(jar.resolve()) for jar in JARS.glob("*.jar"))


def _package(name: str, wanted: str) -> Finding:
    try:
        found = metadata.version(name)
    except metadata.PackageNotFoundError:
        found = None
    return Finding(
        name, found, f"{name} {wanted}", f"pip install {name}=={wanted}", found == wanted
    )


def _java() -> Finding:
    version = _java_version()
    return Finding(
        "Java",
        None if version is None else str(version),
        f"Java {OLDEST_JAVA} or newer",
        f"install a JDK {OLDEST_JAVA} and set JAVA_HOME to it",
        version is not None and version >= OLDEST_JAVA,
    )


def _java_version() -> int | None:
    home = os.environ.get("JAVA_HOME")
    if home:
        release = Path(home) / "release"
        if release.is_file():
            match = _JAVA_RELEASE.search(release.read_text(encoding="utf-8", errors="replace"))
            if match:
                return int(match[1])
    executable = str(Path(home) / "bin" / "java") if home else shutil.which("java")
    if executable is None:
        return None
    try:
        answer = subprocess.run(  # noqa: S603 - the Java that Spark itself would run
            [executable, "-version"],
            capture_output=True,
            text=True,
            timeout=_JAVA_SECONDS,
            check=False,
        )
    except (OSError, subprocess.SubprocessError):
        return None
    match = _JAVA_VERSION.search(answer.stderr + answer.stdout)
    return int(match[1]) if match else None


def _jars() -> Finding:
    names = [Path(jar).name for jar in jar_paths()]
    bridge = any(name.startswith(_BRIDGE) for name in names)
    return Finding(
        "bridge jar",
        f"{len(names)} jars in the package" if bridge else None,
        "the jars that belong to the package",
        "install a wheel, or run `make jars` in a checkout",
        bridge and any(_DELTA.search(f"/{name}") for name in names),
    )


def _own_delta(settings: Mapping[str, str]) -> Iterable[Finding]:
    """Delta jars that the user's own settings bring along must be of the same version."""
    for key in ("spark.jars", "spark.jars.packages"):
        for item in settings.get(key, "").split(","):
            match = _DELTA.search(item.strip())
            if match:
                yield Finding(
                    "delta-spark jar",
                    f"{match[1]} in {key}",
                    f"delta-spark {DELTA_VERSION}",
                    f"remove it from {key}, the package carries Delta's jars",
                    match[1] == DELTA_VERSION,
                )
