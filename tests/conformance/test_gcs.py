"""Google Cloud Storage, on fake-gcs-server."""

from __future__ import annotations

import pytest

from tests.servers.fault_proxy import http_answer
from tests.servers.gcs import FakeGcs, FakeGcsBuilt
from tests.support.s3_suite import xml_error
from tests.support.scale import FULL
from tests.support.store_suite import Answers, ServerSuite


class GcsSuite(ServerSuite):
    """What both releases have in common; the server asks nobody for credentials."""

    answers = Answers(
        throttled=xml_error("429 Too Many Requests", "SlowDown"),
        denied=xml_error("403 Forbidden", "AccessDenied"),
        broken=xml_error("500 Internal Server Error", "InternalError"),
        conflict=xml_error("409 Conflict", "Conflict"),
        foreign=http_answer("404 Not Found", b"<html>no such page</html>", "text/html"),
    )
    creates = rb"^PUT "
    roots = rb"^PUT \S*%5F[01]{32}%2Eipc"
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
