"""Google Cloud Storage, on fake-gcs-server."""

from __future__ import annotations

import pytest

from tests.servers.fault_proxy import http_answer
from tests.servers.gcs import FakeGcs, FakeGcsBuilt
from tests.support.store_suite import FULL, Answers, ServerSuite


def _error(status: str, code: str) -> bytes:
    xml = f'<?xml version="1.0"?><Error><Code>{code}</Code><Message>a fault</Message></Error>'
    return http_answer(status, xml.encode())


class GcsSuite(ServerSuite):
    """What both releases have in common; the server asks nobody for credentials."""

    answers = Answers(
        throttled=_error("429 Too Many Requests", "SlowDown"),
        denied=_error("403 Forbidden", "AccessDenied"),
        broken=_error("500 Internal Server Error", "InternalError"),
        conflict=_error("409 Conflict", "Conflict"),
        foreign=http_answer("404 Not Found", b"<html>no such page</html>", "text/html"),
    )
    creates = rb"^PUT "
    # Each object in the server's memory makes the next one slower.
    many = 2500 if FULL else 1100


@pytest.mark.servers
class TestFakeGcs(GcsSuite):
    """Objects of a bucket, on the release that comes as a wheel."""

    kind = FakeGcs


@pytest.mark.stores
class TestFakeGcsBuilt(GcsSuite):
    """Objects of a bucket, on the release that is built from source."""

    kind = FakeGcsBuilt
