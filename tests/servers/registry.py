"""All test servers by name, and which of them are quick to install and start."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.servers.azure import Azurite
from tests.servers.gcs import FakeGcs, FakeGcsBuilt
from tests.servers.hdfs import Hdfs
from tests.servers.keyvalue import DynamoDbLocal, Redis, Valkey
from tests.servers.s3 import Liar, S3Mock, S3Proxy, SeaweedFS, VersityGW

if TYPE_CHECKING:
    from tests.servers.base import Server

SERVERS: dict[str, type[Server]] = {
    kind.name: kind
    for kind in (
        S3Proxy,
        SeaweedFS,
        VersityGW,
        Hdfs,
        DynamoDbLocal,
        Valkey,
        Redis,
        Azurite,
        FakeGcs,
        FakeGcsBuilt,
        S3Mock,
        Liar,
    )
}
