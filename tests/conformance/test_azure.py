"""Azure Blob storage, on Azurite."""

from __future__ import annotations

import base64
from typing import ClassVar

import pytest

from tests.servers.azure import Azurite
from tests.servers.fault_proxy import http_answer
from tests.support.s3_suite import xml_error
from tests.support.scale import FULL
from tests.support.store_suite import Answers, ServerSuite


@pytest.mark.servers
class TestAzurite(ServerSuite):
    """Blobs of a container."""

    kind = Azurite
    answers = Answers(
        throttled=xml_error("503 Server Busy", "ServerBusy"),
        denied=xml_error("403 Forbidden", "AuthorizationFailure"),
        broken=xml_error("500 Internal Server Error", "InternalError"),
        conflict=xml_error("409 Conflict", "OperationInProgress"),
        foreign=http_answer("404 Not Found", b"<html>no such page</html>", "text/html"),
    )
    creates = rb"^PUT "
    roots = rb"^PUT \S*/_[01]{32}\.ipc"
    stranger: ClassVar[dict[str, str] | None] = {
        "azure_storage_account_key": base64.b64encode(b"wrong" * 8).decode()
    }
    missing = "az://no-such-container/prefix"
    many = 5500 if FULL else 1100
