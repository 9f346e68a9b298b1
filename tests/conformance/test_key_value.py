"""Key-value storages: DynamoDB, Valkey, and Redis through its own client."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from tests.servers.fault_proxy import Effect, Fault, FaultProxy, http_answer
from tests.servers.keyvalue import DynamoDbLocal, Redis, Valkey
from tests.support.scale import FULL
from tests.support.store_suite import Answers, ServerSuite
from trinitylake_spark.errors import InvalidInputError, Kind, StorageError, UnsupportedError
from trinitylake_spark.storage import open_storage

if TYPE_CHECKING:
    from tests.servers.base import Server
    from trinitylake_spark.storage import Storage


def _dynamo(status: str, name: str) -> bytes:
    body = {"__type": f"com.amazonaws.dynamodb.v20120810#{name}", "message": "a fault"}
    return http_answer(status, json.dumps(body).encode(), "application/x-amz-json-1.0")


@pytest.mark.servers
class TestDynamoDb(ServerSuite):
    """Items of a table."""

    kind = DynamoDbLocal
    answers = Answers(
        throttled=_dynamo("400 Bad Request", "ThrottlingException"),
        denied=_dynamo("400 Bad Request", "AccessDeniedException"),
        broken=_dynamo("500 Internal Server Error", "InternalServerError"),
        foreign=http_answer("404 Not Found", b"<html>no such page</html>", "text/html"),
    )
    creates = rb"\.PutItem"
    # The body of a request, which may arrive apart from its head.
    roots = rb"(?s)_[01]{32}\.ipc.*attribute_not_exists|attribute_not_exists.*_[01]{32}\.ipc"
    requests = rb"\.(GetItem|Query|PutItem|DeleteItem)"
    big = 409_000
    many = 3000 if FULL else 1100

    def options(self, server: Server) -> dict[str, str]:
        """Without making the table again each time: the faults would hit that first."""
        given = server.options()
        create = given.pop("dynamodb_create_table")
        if not getattr(server, "has_table", False):
            open_storage(server.url(""), {**given, "dynamodb_create_table": create}).close()
            vars(server)["has_table"] = True
        return given

    def test_missing_container(self, server: Server) -> None:
        """A table that does not exist is a failure that says how to make it."""
        with (
            open_storage("dynamodb://no-such-table/lake", self.options(server)) as storage,
            pytest.raises(StorageError, match="dynamodb_create_table"),
        ):
            storage.read("a")

    def test_item_limit(self, storage: Storage) -> None:
        """An object beyond DynamoDB's limit is refused by name, and says what to set."""
        with pytest.raises(UnsupportedError, match="node_file_max_size_bytes"):
            storage.create("a", b"x" * 410_000)
        assert not storage.exists("a")

    def test_lakehouses_share_a_table(self, server: Server, storage: Storage) -> None:
        """A prefix sees nothing of another, also not of one that it starts with."""
        storage.create("a", b"1")
        with open_storage(storage.url.rstrip("/") + "x", self.options(server)) as other:
            assert other.list() == []
            assert not other.exists("a")


class KeyValueSuite(ServerSuite):
    """What Valkey and Redis have in common."""

    answers = Answers(
        throttled=b"-LOADING the dataset is being loaded\r\n",
        denied=b"-NOPERM this user has no permissions\r\n",
        broken=b"-ERR a fault\r\n",
    )
    creates = rb"\r\nSET\r\n"
    roots = rb"\r\nSET\r\n\S+\r\n\S+/_[01]{32}\.ipc"
    requests = rb"\r\n(SET|GET|EXISTS|SCAN|DEL)\r\n"
    stranger = {"redis_username": "nobody", "redis_password": "wrong"}  # noqa: RUF012

    def test_eviction_is_refused(self, storage: Storage) -> None:
        """A server that may throw keys away takes no lakehouse."""
        assert not storage.exists("a")
        client = storage._client  # type: ignore[attr-defined]
        client.config_set("maxmemory", "1gb")
        client.config_set("maxmemory-policy", "allkeys-lru")
        try:
            with (
                self.another(storage) as other,
                pytest.raises(UnsupportedError, match="noeviction"),
            ):
                other.create("a", b"1")
        finally:
            client.config_set("maxmemory", "0")
            client.config_set("maxmemory-policy", "noeviction")
        assert not storage.exists("a")

    def test_replica_is_refused(self, server: Server, storage: Storage) -> None:
        """A replica may be behind: it is not read, and what it refuses asks for the primary."""
        storage.create("a", b"1")
        client = storage._client  # type: ignore[attr-defined]
        host, _, port = server.address.rpartition(":")
        client.execute_command("REPLICAOF", host, str(int(port) - 1))
        try:
            with pytest.raises(StorageError, match="primary"):
                storage.create("b", b"1")
            with (
                self.another(storage) as other,
                pytest.raises(UnsupportedError, match="primary"),
            ):
                other.read("a")
        finally:
            client.execute_command("REPLICAOF", "NO", "ONE")

    def test_first_request_finds_no_server(self, shaky: Storage, proxy: FaultProxy) -> None:
        """A create whose first contact with the server is cut off has failed for certain."""
        proxy.break_with(Fault(Effect.DROP_REPLY, rb"INFO"))
        with pytest.raises(StorageError) as caught:
            shaky.create("a", b"1")
        assert caught.value.kind is Kind.STORAGE

    def test_no_key_expires(self, storage: Storage) -> None:
        """Objects have no time to live."""
        storage.create("a", b"1")
        storage.write("b", b"1")
        client = storage._client  # type: ignore[attr-defined]
        assert {client.ttl(key) for key in client.keys("*")} == {-1}

    def test_password_is_not_shown(self, server: Server) -> None:
        """Neither the URL of a storage nor its errors tell the password of the URL."""
        url = server.url("lake").replace("://", "://nobody:secret@")
        with open_storage(url, self.impatient) as storage:
            assert "secret" not in storage.url
            with pytest.raises(StorageError) as caught:
                storage.read("a")
        assert "secret" not in str(caught.value)
        with pytest.raises(InvalidInputError) as refused:
            open_storage(url.replace("/lake", "x/lake"))
        assert "secret" not in str(refused.value)


@pytest.mark.servers
class TestValkey(KeyValueSuite):
    """Keys of a Valkey database, through valkey-py."""

    kind = Valkey


@pytest.mark.servers
class TestRedis(KeyValueSuite):
    """Keys of a database, through redis-py."""

    kind = Redis
