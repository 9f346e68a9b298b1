"""DynamoDB as a storage: an item is an object, a conditional put creates it (format.md §1.2).

Key schema: the partition key ``part`` is ``<prefix>#<one hexadecimal digit>``, the digit being
the low four bits of the path's CRC-32; the sort key ``path`` is the path. So the requests of one
lakehouse spread over 16 partitions, and a listing is 16 queries with ``begins_with``.
"""

from __future__ import annotations

import binascii
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any, NoReturn, TypeVar

import boto3
from botocore.config import Config
from botocore.exceptions import (
    BotoCoreError,
    ClientError,
    ConnectTimeoutError,
    EndpointConnectionError,
    NoCredentialsError,
    NoRegionError,
    ProxyConnectionError,
    SSLError,
)

from trinitylake_spark.errors import (
    AlreadyExistsError,
    InvalidInputError,
    NotFoundError,
    UnsupportedError,
)
from trinitylake_spark.storage.attempts import Attempts, storage_failure
from trinitylake_spark.storage.base import Storage
from trinitylake_spark.storage.location import Location, split_url
from trinitylake_spark.storage.options import Options
from trinitylake_spark.storage.paths import check_path, check_prefix

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

T = TypeVar("T")

_SHARDS = "0123456789abcdef"
_MAX_ITEM_BYTES = 400 * 1024
_POOL = 32

_NOT_SENT = (
    ConnectTimeoutError,
    EndpointConnectionError,
    NoCredentialsError,
    NoRegionError,
    ProxyConnectionError,
    SSLError,
)
_THROTTLED = frozenset(
    {
        "LimitExceededException",
        "ProvisionedThroughputExceededException",
        "RequestLimitExceeded",
        "SlowDown",
        "ThrottlingException",
        "TransactionInProgressException",
    }
)
_ADVICE = {
    "ResourceNotFoundException": (
        "Create the table with the keys part (S, HASH) and path (S, RANGE), "
        "or set the storage option dynamodb_create_table=true."
    ),
    "ValidationException": "The table's keys have to be part (S, HASH) and path (S, RANGE).",
    "AccessDeniedException": "The role needs GetItem, PutItem, DeleteItem and Query on the table.",
}


def open_storage(url: str, options: Mapping[str, Any] | None = None) -> Storage:
    """Open a table, or a prefix of one, so that lakehouses can share it.

    Args:
        url: ``dynamodb://<table>/<prefix>``.
        options: ``aws_region``, ``aws_access_key_id``, ``aws_secret_access_key``,
            ``aws_session_token``, ``aws_profile``, ``aws_endpoint``, ``dynamodb_create_table``,
            ``timeout``, ``connect_timeout``, ``max_retries``, ``retry_timeout``. boto3's
            environment variables and credential chain apply.

    Raises:
        InvalidInputError: a wrong URL, an unknown option, or no region anywhere.
    """
    location = split_url(url, "dynamodb://<table>/<prefix>")
    given = Options(options)
    session = boto3.Session(
        aws_access_key_id=given.text("aws_access_key_id"),
        aws_secret_access_key=given.text("aws_secret_access_key"),
        aws_session_token=given.text("aws_session_token"),
        region_name=given.text("aws_region", "aws_default_region"),
        profile_name=given.text("aws_profile"),
    )
    endpoint = given.text("aws_endpoint_url_dynamodb", "aws_endpoint_url", "aws_endpoint")
    attempts = Attempts(given.integer("max_retries", 5), given.seconds("retry_timeout", 60.0))
    config = Config(
        connect_timeout=given.seconds("connect_timeout", 5.0),
        read_timeout=given.seconds("timeout", 30.0),
        # Repeated by Attempts, which remembers what may have been applied.
        retries={"total_max_attempts": 1},
        max_pool_connections=_POOL,
    )
    create_table = given.flag("dynamodb_create_table")
    given.finish(location.scheme)
    try:
        client = session.client("dynamodb", endpoint_url=endpoint, config=config)
    except (BotoCoreError, ValueError) as error:
        raise InvalidInputError(f"Cannot open {location.url}: {error}") from error
    storage = DynamoDbStorage(location, client, attempts)
    if create_table:
        storage.create_table()
    return storage


class DynamoDbStorage(Storage):
    """The items of one prefix in a table.

    Args:
        location: the table (authority) and the prefix.
        client: boto3's client, set to never repeat a request.
        attempts: how often requests are repeated.
    """

    def __init__(self, location: Location, client: Any, attempts: Attempts) -> None:  # noqa: ANN401 - boto3 has no types
        self.url = location.url
        self._table = location.authority
        self._prefix = location.prefix.removesuffix("/")
        self._client = client
        self._attempts = attempts

    def read(self, path: str) -> bytes:
        """Return the item's data, read consistently."""
        answer = self._run("read", path, lambda: self._get(path, "#d"))
        if "Item" not in answer:
            raise NotFoundError(f"No object {path!r} in {self.url}.", path=path)
        return bytes(answer["Item"]["data"]["B"])

    def write(self, path: str, data: bytes) -> None:
        """Put the item."""
        item = self._item(path, data)
        self._run("write", path, lambda: self._client.put_item(TableName=self._table, Item=item))

    def create(self, path: str, data: bytes) -> None:
        """Put the item on the condition that there is none."""
        item = self._item(path, data)
        self._attempts.create(lambda: self._create_once(path, item))

    def delete(self, path: str) -> None:
        """Delete the item if it is there."""
        key = self._key(path)
        self._run("delete", path, lambda: self._client.delete_item(TableName=self._table, Key=key))

    def exists(self, path: str) -> bool:
        """Read the item's key, consistently."""
        return "Item" in self._run("exists", path, lambda: self._get(path, "#p"))

    def list(self, prefix: str = "") -> list[str]:
        """Query all partitions of this prefix."""
        check_prefix(prefix)
        with ThreadPoolExecutor(len(_SHARDS)) as pool:
            parts = pool.map(lambda shard: [*self._query(shard, prefix)], _SHARDS)
            return sorted(path for part in parts for path in part)

    def create_table(self) -> None:
        """Create the table, paid by request, unless it is there; wait until it is usable."""
        try:
            self._client.create_table(
                TableName=self._table,
                BillingMode="PAY_PER_REQUEST",
                AttributeDefinitions=[
                    {"AttributeName": "part", "AttributeType": "S"},
                    {"AttributeName": "path", "AttributeType": "S"},
                ],
                KeySchema=[
                    {"AttributeName": "part", "KeyType": "HASH"},
                    {"AttributeName": "path", "KeyType": "RANGE"},
                ],
            )
        except ClientError as error:
            if _code(error) != "ResourceInUseException":
                self._fail("create", "", error)
        except BotoCoreError as error:
            self._fail("create", "", error)
        self._client.get_waiter("table_exists").wait(TableName=self._table)

    def close(self) -> None:
        """Release connections."""
        self._client.close()

    def _create_once(self, path: str, item: dict[str, Any]) -> None:
        try:
            self._client.put_item(
                TableName=self._table,
                Item=item,
                ConditionExpression="attribute_not_exists(#p)",
                ExpressionAttributeNames={"#p": "path"},
            )
        except ClientError as error:
            if _code(error) == "ConditionalCheckFailedException":
                raise AlreadyExistsError(
                    f"Object {path!r} exists already in {self.url}.", path=path
                ) from error
            self._fail("create", path, error, creating=True)
        except BotoCoreError as error:
            self._fail("create", path, error, creating=True)

    def _get(self, path: str, attribute: str) -> dict[str, Any]:
        names = {"#d": "data", "#p": "path"}
        answer: dict[str, Any] = self._client.get_item(
            TableName=self._table,
            Key=self._key(path),
            ConsistentRead=True,
            ProjectionExpression=attribute,
            ExpressionAttributeNames={attribute: names[attribute]},
        )
        return answer

    def _query(self, shard: str, prefix: str) -> Iterator[str]:
        request: dict[str, Any] = {
            "TableName": self._table,
            "ConsistentRead": True,
            "ProjectionExpression": "#p",
            "ExpressionAttributeNames": {"#p": "path", "#k": "part"},
            "KeyConditionExpression": "#k = :k",
            "ExpressionAttributeValues": {":k": {"S": self._part(shard)}},
        }
        if prefix:
            request["KeyConditionExpression"] += " AND begins_with(#p, :p)"
            request["ExpressionAttributeValues"][":p"] = {"S": prefix}
        while True:
            answer = self._run("list", prefix, lambda: self._client.query(**request))
            yield from (item["path"]["S"] for item in answer["Items"])
            if "LastEvaluatedKey" not in answer:
                return
            request["ExclusiveStartKey"] = answer["LastEvaluatedKey"]

    def _run(self, operation: str, path: str, call: Callable[[], T]) -> T:
        def once() -> T:
            try:
                return call()
            except (ClientError, BotoCoreError) as error:
                self._fail(operation, path, error)

        return self._attempts.run(once)

    def _fail(
        self, operation: str, path: str, error: Exception, *, creating: bool = False
    ) -> NoReturn:
        unknown, retryable = _outcome(error)
        raise storage_failure(
            operation,
            self.url,
            path,
            error,
            unknown=creating and unknown,
            retryable=retryable,
            advice=_ADVICE.get(_code(error), ""),
        ) from error

    def _item(self, path: str, data: bytes) -> dict[str, Any]:
        key = self._key(path)
        size = len(data) + sum(len(k) + len(v["S"].encode()) for k, v in key.items()) + len("data")
        if size > _MAX_ITEM_BYTES:
            raise UnsupportedError(
                f"Object {path!r} makes an item of {size} bytes; DynamoDB's limit is "
                f"{_MAX_ITEM_BYTES}. Set the lakehouse's node_file_max_size_bytes below it, or "
                "keep the tree on another storage.",
                path=path,
                bytes=size,
            )
        return {**key, "data": {"B": data}}

    def _key(self, path: str) -> dict[str, dict[str, str]]:
        check_path(path)
        shard = _SHARDS[binascii.crc32(path.encode()) % len(_SHARDS)]
        return {"part": {"S": self._part(shard)}, "path": {"S": path}}

    def _part(self, shard: str) -> str:
        return f"{self._prefix}#{shard}"


def _code(error: Exception) -> str:
    return str(error.response["Error"].get("Code", "")) if isinstance(error, ClientError) else ""


def _outcome(error: Exception) -> tuple[bool, bool]:
    """Tell of a failed request whether it may have been applied, and whether to send it again."""
    if isinstance(error, ClientError):
        if _code(error) in _THROTTLED:
            return False, True
        status = int(error.response.get("ResponseMetadata", {}).get("HTTPStatusCode", 0))
        unsure = not 400 <= status < 500  # noqa: PLR2004 - HTTP's own numbers
        return unsure, unsure
    if isinstance(error, (NoCredentialsError, NoRegionError, SSLError)):
        return False, False
    return not isinstance(error, _NOT_SENT), True
