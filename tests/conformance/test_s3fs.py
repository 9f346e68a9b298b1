"""A user's s3fs filesystem, on two servers whose answers differ."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, ClassVar

import pytest

from tests.servers.s3 import S3Proxy, VersityGW
from tests.support.s3_suite import S3Suite
from trinitylake_spark.errors import StorageError

if TYPE_CHECKING:
    from tests.servers.base import Server
    from trinitylake_spark.storage import Storage


def _filesystem_options(server: Server) -> dict[str, str]:
    plain = server.options()
    return {
        "client": "fsspec",
        "key": plain["aws_access_key_id"],
        "secret": plain["aws_secret_access_key"],
        "client_kwargs": json.dumps(
            {"endpoint_url": plain["aws_endpoint"], "region_name": plain["aws_region"]}
        ),
        # A proxy per test is a filesystem per test, and fsspec would keep them all.
        "skip_instance_cache": "true",
    }


class S3fsSuite(S3Suite):
    """What differs through s3fs: the names of its options, and its speed."""

    many = 1100
    creators = 16
    impatient: ClassVar[dict[str, str]] = {
        "config_kwargs": json.dumps(
            {"read_timeout": 0.7, "connect_timeout": 1, "retries": {"total_max_attempts": 1}}
        )
    }
    stranger: ClassVar[dict[str, str] | None] = {"secret": "wrong"}

    def options(self, server: Server) -> dict[str, str]:
        """s3fs's own names."""
        return _filesystem_options(server)


@pytest.mark.servers
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
