"""Amazon S3's protocol, on three independent servers."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.servers.s3 import S3Proxy, SeaweedFS, VersityGW
from tests.support.s3_suite import S3Suite
from tests.support.store_suite import assert_every_read_fails
from trinitylake_spark.errors import StorageError
from trinitylake_spark.storage import open_storage
from trinitylake_spark.testing.storage_conformance import ODD_NAMES

if TYPE_CHECKING:
    from pathlib import Path

    from tests.servers.base import Server
    from trinitylake_spark.storage import Storage


@pytest.mark.servers
class TestS3Proxy(S3Suite):
    """S3Proxy over a folder."""

    kind = S3Proxy

    def test_nothing_lives_below_an_object(self, storage: Storage) -> None:
        """Its folder cannot look below a file and answers 500: a failure, not an absence."""
        storage.create("a", b"1")
        with pytest.raises(StorageError):
            storage.read("a/b")

    def test_credentials_of_the_environment(
        self, server: Server, prefix: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Keys, region and endpoint are found where AWS's own tools find them."""
        for name, value in self.options(server).items():
            monkeypatch.setenv(name.upper().replace("_ENDPOINT", "_ENDPOINT_URL"), value)
        with open_storage(server.url(prefix)) as storage:
            storage.create("a", b"1")
            assert storage.read("a") == b"1"

    @pytest.mark.parametrize("profile", ["default", "tests"])
    def test_credentials_of_a_profile(
        self,
        server: Server,
        prefix: str,
        tmp_path: Path,
        monkeypatch: pytest.MonkeyPatch,
        profile: str,
    ) -> None:
        """A profile of the shared files is used if it is named, and the default one if not."""
        given = self.options(server)
        file = tmp_path / "credentials"
        file.write_text(
            f"[{profile}]\n"
            f"aws_access_key_id = {given.pop('aws_access_key_id')}\n"
            f"aws_secret_access_key = {given.pop('aws_secret_access_key')}\n"
        )
        monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", str(file))
        named = {} if profile == "default" else {"aws_profile": profile}
        with open_storage(server.url(prefix), {**given, **named}) as storage:
            storage.create("a", b"1")
            assert storage.read("a") == b"1"

    def test_option_wins_over_the_environment(
        self, server: Server, prefix: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """An endpoint among the options is used, whatever the environment says."""
        monkeypatch.setenv("AWS_ENDPOINT_URL_S3", "http://127.0.0.1:9")
        with open_storage(server.url(prefix), self.options(server)) as storage:
            assert storage.list() == []


@pytest.mark.servers
class TestSeaweedFS(S3Suite):
    """SeaweedFS; its contended conditional puts wait seconds, so few contend."""

    kind = SeaweedFS
    creators = 2
    processes = 2

    @pytest.mark.parametrize("name", [name for name in ODD_NAMES if "\\" not in name])
    def test_odd_names(self, storage: Storage, name: str) -> None:
        """It takes a backslash for a slash; every other name is taken as it is."""
        super().test_odd_names(storage, name)

    def test_missing_container(self, server: Server) -> None:
        """Reads of a missing bucket fail; a create makes the bucket."""
        with open_storage("s3://no-such-bucket/prefix", self.options(server)) as storage:
            assert_every_read_fails(storage)
            storage.create("a", b"1")
            assert storage.list() == ["a"]


@pytest.mark.stores
class TestVersityGW(S3Suite):
    """The Versity gateway over a folder."""

    kind = VersityGW
