"""What obstore says of failures: texts that a new release may change, and that decide commits."""

from __future__ import annotations

import socket
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING

import pytest

from trinitylake_spark.errors import AlreadyExistsError, Kind, NotFoundError, StorageError
from trinitylake_spark.storage import open_storage

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from trinitylake_spark.storage.base import Storage

Answer = tuple[int, str]


class Endpoint(ThreadingHTTPServer):
    """Answers every request with one status and one code of S3's."""

    daemon_threads = True
    answer: Answer = (200, "")

    @property
    def url(self) -> str:
        """Where it listens."""
        return f"http://127.0.0.1:{self.server_port}"


class Handler(BaseHTTPRequestHandler):
    """One request."""

    def do_PUT(self) -> None:
        """Take the body and answer; a status of 0 hangs up."""
        self.rfile.read(int(self.headers.get("Content-Length") or 0))
        assert isinstance(self.server, Endpoint)
        status, code = self.server.answer
        if not status:
            self.close_connection = True
            return
        body = f"<Error><Code>{code}</Code><Message>m</Message></Error>".encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def do_GET(self) -> None:
        """Answer as for a PUT."""
        self.do_PUT()

    def log_message(self, *_: object) -> None:
        """Say nothing."""


@pytest.fixture
def endpoint() -> Iterator[Endpoint]:
    """An endpoint that a test tells what to answer."""
    server = Endpoint(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield server
    server.shutdown()
    server.server_close()


@pytest.fixture
def storage(endpoint: Endpoint) -> Iterator[Storage]:
    """A bucket there; nothing is repeated."""
    with _bucket(endpoint.url) as opened:
        yield opened


def _bucket(url: str) -> Storage:
    options = {
        "endpoint": url,
        "access_key_id": "k",
        "secret_access_key": "s",
        "region": "us-east-1",
        "max_retries": 0,
    }
    return open_storage("s3://bucket/lake", options)


def _kind(call: Callable[[], object]) -> Kind:
    with pytest.raises((StorageError, AlreadyExistsError, NotFoundError)) as caught:
        call()
    return caught.value.kind


@pytest.mark.parametrize(
    ("answer", "kind"),
    [
        ((412, "PreconditionFailed"), Kind.OBJECT_ALREADY_EXISTS),
        ((500, "InternalError"), Kind.CREATE_UNKNOWN),
        ((502, "BadGateway"), Kind.CREATE_UNKNOWN),
        ((503, "SlowDown"), Kind.STORAGE),
        ((408, "RequestTimeout"), Kind.CREATE_UNKNOWN),
        ((400, "InvalidRequest"), Kind.STORAGE),
        ((403, "AccessDenied"), Kind.STORAGE),
        ((404, "NoSuchBucket"), Kind.STORAGE),
        ((0, ""), Kind.CREATE_UNKNOWN),
    ],
)
def test_what_became_of_a_create(
    endpoint: Endpoint, storage: Storage, answer: Answer, kind: Kind
) -> None:
    """Refused for certain, there already, or unknown: told apart by what the client says."""
    endpoint.answer = answer
    assert _kind(lambda: storage.create("a", b"x")) is kind


def test_a_create_that_was_never_sent() -> None:
    """Where nobody listens nothing was created, and that is certain."""
    with socket.create_server(("127.0.0.1", 0)) as gone:
        port = gone.getsockname()[1]
    with _bucket(f"http://127.0.0.1:{port}") as nobody:
        assert _kind(lambda: nobody.create("a", b"x")) is Kind.STORAGE


@pytest.mark.parametrize(
    ("answer", "kind"),
    [
        ((404, "NoSuchKey"), Kind.OBJECT_NOT_FOUND),
        ((404, "NoSuchBucket"), Kind.STORAGE),
        ((500, "InternalError"), Kind.STORAGE),
    ],
)
def test_a_missing_object_is_told_from_a_missing_bucket(
    endpoint: Endpoint, storage: Storage, answer: Answer, kind: Kind
) -> None:
    """Only the storage's own word that the object is missing counts as that."""
    endpoint.answer = answer
    assert _kind(lambda: storage.read("a")) is kind


def test_an_error_names_the_code(endpoint: Endpoint, storage: Storage) -> None:
    """The service's code is in the message, its XML is not."""
    endpoint.answer = (400, "EntityTooLarge")
    with pytest.raises(StorageError) as caught:
        storage.create("a", b"x")
    assert "(EntityTooLarge)" in str(caught.value)
    assert "<Code>" not in str(caught.value)
