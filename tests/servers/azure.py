"""Azurite, Microsoft's emulator of Azure Blob storage."""

from __future__ import annotations

import base64
import hashlib
import hmac
import urllib.error
import urllib.request
from datetime import UTC, datetime
from email.utils import format_datetime
from typing import ClassVar

from tests.servers import install
from tests.servers.base import HOST, Server, answers, free_port

CONTAINER = "trinitylake-test"
_ACCOUNT = "devstoreaccount1"
# The emulator's public key, the same everywhere.
_KEY = "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw=="
_VERSION = "2021-08-06"
_CONFLICT = 409


class Azurite(Server):
    """Azurite's blob service on a folder."""

    name: ClassVar[str] = "azurite"
    package: ClassVar[str] = "azurite@3.35.0"

    def install(self) -> None:
        """Node as a wheel, Azurite by npm."""
        install.npm(self.package)

    def launch(self) -> str:
        """Start the blob service only."""
        port = free_port()
        main = install.npm(self.package) / "azurite" / "dist" / "src" / "blob" / "main.js"
        self.spawn(
            [
                str(install.node()),
                str(main),
                "--blobHost",
                HOST,
                "--blobPort",
                str(port),
                "--location",
                str(self.folder("data")),
                "--silent",
                "--skipApiVersionCheck",
                "--loose",
                "--disableTelemetry",
            ]
        )
        return f"{HOST}:{port}"

    def healthy(self) -> bool:
        """It listens."""
        return answers(self.address)

    def prepare(self) -> None:
        """Create the container by a signed request."""
        date = format_datetime(datetime.now(UTC), usegmt=True)
        resource = f"/{_ACCOUNT}/{_ACCOUNT}/{CONTAINER}\nrestype:container"
        text = f"PUT{chr(10) * 12}x-ms-date:{date}\nx-ms-version:{_VERSION}\n{resource}"
        digest = hmac.new(base64.b64decode(_KEY), text.encode(), hashlib.sha256).digest()
        signature = base64.b64encode(digest).decode()
        request = urllib.request.Request(
            f"http://{self.address}/{_ACCOUNT}/{CONTAINER}?restype=container",
            method="PUT",
            headers={
                "Authorization": f"SharedKey {_ACCOUNT}:{signature}",
                "Content-Length": "0",
                "x-ms-date": date,
                "x-ms-version": _VERSION,
            },
        )
        try:
            urllib.request.urlopen(request, timeout=10).close()  # noqa: S310 - our own server
        except urllib.error.HTTPError as error:
            with error:
                if error.code != _CONFLICT:
                    raise

    def url(self, prefix: str) -> str:
        """A prefix in the container."""
        return f"az://{CONTAINER}/{prefix}"

    def options(self) -> dict[str, str]:
        """The emulator's account."""
        return {
            "azure_storage_endpoint": f"http://{self.endpoint}/{_ACCOUNT}",
            "azure_storage_account_name": _ACCOUNT,
            "azure_storage_account_key": _KEY,
        }
