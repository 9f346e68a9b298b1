"""A user's own fsspec filesystems: s3fs, gcsfs, adlfs, webhdfs."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING, ClassVar

import fsspec
import pytest

from tests.servers.azure import Azurite
from tests.servers.gcs import FakeGcsBuilt
from tests.servers.hdfs import Hdfs
from tests.servers.s3 import S3Proxy, VersityGW
from tests.support.clients import add_client
from tests.support.s3_suite import S3Suite
from tests.support.store_suite import outcome
from trinitylake_spark.errors import (
    AlreadyExistsError,
    NotFoundError,
    StorageError,
    UnsupportedError,
)
from trinitylake_spark.storage import open_storage
from trinitylake_spark.testing.storage_conformance import ODD_NAMES, StorageConformance

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from tests.servers.base import Server
    from tests.servers.fault_proxy import FaultProxy
    from trinitylake_spark.storage import Storage


def _patience(seconds: float) -> dict[str, str]:
    config = {
        "read_timeout": seconds,
        "connect_timeout": 2,
        "retries": {"total_max_attempts": 1},
    }
    return {"config_kwargs": json.dumps(config), "request_timeout": f"{4 * seconds}s"}


def _s3fs(server: Server) -> dict[str, str]:
    plain = server.options()
    region, endpoint = plain["aws_region"], plain["aws_endpoint"]
    return {
        "key": plain["aws_access_key_id"],
        "secret": plain["aws_secret_access_key"],
        "client_kwargs": json.dumps({"endpoint_url": endpoint, "region_name": region}),
        # A proxy per test is a filesystem per test, and fsspec would keep them all.
        "skip_instance_cache": "true",
    }


class S3fsSuite(S3Suite):
    """What differs through s3fs: the names of its options, its retries, its speed."""

    many = 1100
    creators = 16
    impatient: ClassVar[dict[str, str]] = _patience(5)
    hasty: ClassVar[dict[str, str]] = _patience(0.7)
    begins: ClassVar[dict[str, str]] = _patience(1.5)
    stranger: ClassVar[dict[str, str] | None] = {"secret": "wrong"}

    def options(self, server: Server) -> dict[str, str]:
        """s3fs's own names."""
        return {"client": "fsspec", **_s3fs(server)}

    def test_server_never_reached(self, server: Server, prefix: str, proxy: FaultProxy) -> None:
        """s3fs repeats requests and tells of the last only, so the outcome may be unknown."""
        proxy.close()
        gone = server.through(proxy.address)
        with open_storage(gone.url(prefix), {**self.options(gone), **self.impatient}) as storage:
            assert outcome(storage, "a", b"1") in ("failed", "unknown")


@pytest.mark.stores
class TestS3fsOnS3Proxy(S3fsSuite):
    """S3Proxy sends a 412 without a hint, which s3fs calls "invalid argument"."""

    kind = S3Proxy

    def test_nothing_lives_below_an_object(self, storage: Storage) -> None:
        """As through our own client: the server answers 500, and that is a failure."""
        storage.create("a", b"1")
        with pytest.raises(StorageError):
            storage.read("a/b")


@pytest.mark.stores
class TestS3fsOnVersityGW(S3fsSuite):
    """versitygw sends AWS's hint with a 412, which s3fs calls "file exists"."""

    kind = VersityGW


@pytest.mark.servers
def test_filesystem_object_of_the_user() -> None:
    """A filesystem that the user made creates exclusively, empty objects too."""
    with S3Proxy() as server:
        options = _s3fs(server)
        fs = fsspec.filesystem(
            "s3",
            key=options["key"],
            secret=options["secret"],
            client_kwargs=json.loads(options["client_kwargs"]),
            skip_instance_cache=True,
        )
        with open_storage(server.url("lake"), fs=fs) as storage:
            for body in (b"", b"body"):
                path = f"folder/{len(body)}"
                storage.create(path, body)
                for again in (b"", b"other"):
                    with pytest.raises(AlreadyExistsError):
                        storage.create(path, again)
                assert storage.read(path) == body
            assert storage.list("fol") == ["folder/0", "folder/4"]
            storage.delete("folder/0")
            assert not storage.exists("folder/0")
            with pytest.raises(NotFoundError):
                storage.read("folder/0")


class FilesystemSuite(StorageConformance):
    """The conformance suite through a filesystem object that a subclass makes."""

    kind: ClassVar[type[Server]]
    rounds = 5
    big = 5 * 2**20

    @pytest.fixture(scope="class")
    @classmethod
    def server(cls) -> Iterator[Server]:
        """The server, started once for all tests of a class."""
        with cls.kind() as server:
            yield server

    def filesystem(self, server: Server) -> Any:
        """The user's filesystem."""
        raise NotImplementedError

    @pytest.fixture
    def storage(self, server: Server, request: pytest.FixtureRequest) -> Iterator[Storage]:
        """An empty storage."""
        self._fs = self.filesystem(server)
        name = f"test-{abs(hash(request.node.nodeid))}"
        with open_storage(self.root(server, name), fs=self._fs) as storage:
            yield storage

    def root(self, server: Server, name: str) -> str:
        """The URL of a test's own prefix."""
        return server.url(name)

    def another(self, storage: Storage) -> Storage:
        """A second adapter, over the same filesystem."""
        return open_storage(storage.url, fs=self._fs)


@pytest.mark.stores
@pytest.mark.filterwarnings("ignore:Sending a large body:ResourceWarning")
class TestGcsfs(FilesystemSuite):
    """gcsfs on fake-gcs-server."""

    kind = FakeGcsBuilt

    @pytest.mark.parametrize("name", [name for name in ODD_NAMES if "#" not in name])
    def test_odd_names(self, storage: Storage, name: str) -> None:
        """Every name but one with ``#``, which it takes for a generation."""
        super().test_odd_names(storage, name)

    def test_misread_name_is_refused(self, storage: Storage) -> None:
        """The name that it would read as another is refused."""
        with pytest.raises(UnsupportedError, match="#"):
            storage.create("a#1", b"x")

    def filesystem(self, server: Server) -> Any:
        """Its own client, at the server itself."""
        # The server has no gRPC, where gcsfs would ask for the kind of bucket.
        os.environ["GCSFS_EXPERIMENTAL_ZB_HNS_SUPPORT"] = "false"
        add_client("gcsfs==2026.10.1")
        return fsspec.filesystem("gs", endpoint_url=f"http://{server.address}", token="anon")  # noqa: S106 - the name of no credentials


@pytest.mark.stores
@pytest.mark.filterwarnings("ignore:Sending a large body:ResourceWarning")
class TestAdlfs(FilesystemSuite):
    """adlfs on Azurite."""

    kind = Azurite

    @pytest.mark.parametrize("name", [name for name in ODD_NAMES if "?" not in name])
    def test_odd_names(self, storage: Storage, name: str) -> None:
        """Every name but one with ``?``, which it takes for a query."""
        super().test_odd_names(storage, name)

    def test_list_takes_no_patterns(self, storage: Storage) -> None:
        """Without the name that has ``?``."""
        for path in ("a1", "a*", "a[12]", "a\\1"):
            storage.create(path, b"x")
        for prefix in ("a*", "a[", "a\\"):
            assert storage.list(prefix) == [p for p in storage.list() if p.startswith(prefix)]

    def filesystem(self, server: Server) -> Any:
        """Its own client."""
        add_client("adlfs==2026.8.0")
        options = server.options()
        parts = {
            "DefaultEndpointsProtocol": "http",
            "AccountName": options["azure_storage_account_name"],
            "AccountKey": options["azure_storage_account_key"],
            "BlobEndpoint": options["azure_storage_endpoint"],
        }
        text = ";".join(f"{name}={value}" for name, value in parts.items())
        return fsspec.filesystem("az", connection_string=text)


@pytest.mark.stores
class TestFsspecWebHdfs(FilesystemSuite):
    """fsspec's webhdfs, whose own create races: our HDFS storage takes its place."""

    kind = Hdfs

    def filesystem(self, server: Server) -> Any:
        """Its address and user are taken over."""
        host, _, port = server.address.rpartition(":")
        return fsspec.filesystem(
            "webhdfs", host=host, port=int(port), user=server.options()["hdfs_user"]
        )
