"""What every test server has: a name, an address, a start that waits for health, a stop."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from abc import ABC, abstractmethod
from copy import copy
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, Self

from tests.servers.install import ServerError

if TYPE_CHECKING:
    from collections.abc import Callable

HOST = "127.0.0.1"
USER = "testadmin"
PASSWORD = "testadmin123"  # noqa: S105 - of servers that live for a test
_START_SECONDS = 120
_STOP_SECONDS = 20


class Server(ABC):
    """One storage server, its processes and its data in a temporary folder.

    Use it as a context manager. ``address`` is the server's, ``endpoint`` what clients talk to;
    ``url`` and ``options`` are what ``open_storage`` takes; they
    are plain data, so that tests can hand them to other processes.
    """

    name: ClassVar[str]

    def __init__(self) -> None:
        self.address = ""
        self.endpoint = ""
        self._folder = Path()
        self._processes: list[subprocess.Popen[bytes]] = []

    @classmethod
    def variable(cls) -> str:
        """The environment variable with the address of a server that runs already."""
        return f"TRINITYLAKE_TEST_{cls.name.upper().replace('-', '_')}"

    @abstractmethod
    def install(self) -> None:
        """Fetch what the server needs, unless it is there."""

    @abstractmethod
    def launch(self) -> str:
        """Start the processes and return the address, ``host:port``."""

    @abstractmethod
    def healthy(self) -> bool:
        """Tell whether the server answers."""

    @abstractmethod
    def prepare(self) -> None:
        """Make the bucket, container or table that the tests use."""

    @abstractmethod
    def url(self, prefix: str) -> str:
        """The root URL of a prefix."""

    @abstractmethod
    def options(self) -> dict[str, str]:
        """Storage options for ``url``."""

    def start(self) -> Self:
        """Install, start, wait for health, prepare.

        Raises:
            ServerError: any of these failed.
        """
        running = os.environ.get(self.variable())
        if running:
            self.address = running.removeprefix("http://").rstrip("/")
        else:
            self.install()
        self._folder = Path(tempfile.mkdtemp(prefix=f"trinitylake-{self.name}-"))
        try:
            if not running:
                self.address = self.launch()
            self.wait_for(self.healthy)
            self.endpoint = self.address
            self.prepare()
        except BaseException:
            self.stop()
            raise
        return self

    def through(self, address: str) -> Self:
        """The same server, reached at another address: a proxy's."""
        other = copy(self)
        other.endpoint = address
        return other

    def stop(self) -> None:
        """Stop the processes and delete their data."""
        for process in reversed(self._processes):
            if process.stdin:
                process.stdin.close()
        for process in self._processes:
            try:
                process.wait(_STOP_SECONDS)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
        self._processes = []
        if self._folder != Path():
            shutil.rmtree(self._folder, ignore_errors=True)

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(self, *_: object) -> None:
        self.stop()

    def spawn(self, command: list[str], **variables: str) -> None:
        """Start a process that ends with this one; its output goes to a file of its folder."""
        supervisor = Path(__file__).with_name("supervise.py")
        log = self.log(len(self._processes))
        with log.open("wb") as output:
            process = subprocess.Popen(
                [sys.executable, str(supervisor), *command],
                stdin=subprocess.PIPE,
                stdout=output,
                stderr=subprocess.STDOUT,
                cwd=self._folder,
                env={**os.environ, **variables},
                start_new_session=True,
            )
        self._processes.append(process)

    def log(self, number: int) -> Path:
        """The file with the output of process ``number``."""
        return self._folder / f"process-{number}.log"

    def folder(self, name: str) -> Path:
        """An empty folder for the server's data."""
        path = self._folder / name
        path.mkdir()
        return path

    def file(self, name: str, content: str) -> Path:
        """A configuration file."""
        path = self._folder / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(content)
        return path

    def wait_for(self, check: Callable[[], bool]) -> None:
        """Wait until ``check`` holds; fail at once if a process ends."""
        deadline = time.monotonic() + _START_SECONDS
        while not _quietly(check):
            ended = [process for process in self._processes if process.poll() is not None]
            if ended or time.monotonic() > deadline:
                logs = [
                    self.log(number).read_text(errors="replace")[-2000:]
                    for number in range(len(self._processes))
                ]
                why = "ended at once" if ended else f"did not answer in {_START_SECONDS} s"
                message = f"The server {self.name} {why}:\n" + "\n".join(logs)
                raise ServerError(message)
            time.sleep(0.05)


def free_port() -> int:
    """A port that nobody listens on now."""
    with socket.socket() as probe:
        probe.bind((HOST, 0))
        return int(probe.getsockname()[1])


def answers(address: str) -> bool:
    """Tell whether somebody listens at ``host:port``."""
    host, _, port = address.rpartition(":")
    with socket.create_connection((host, int(port)), timeout=1):
        return True


def fetch(url: str) -> str:
    """Get a page; an HTTP error is an answer too."""
    try:
        with urllib.request.urlopen(url, timeout=2) as answer:  # noqa: S310 - our own server
            return str(answer.read().decode(errors="replace"))
    except urllib.error.HTTPError as error:
        return str(error.code)


def _quietly(check: Callable[[], bool]) -> bool:
    try:
        return check()
    except (OSError, ValueError):
        return False
