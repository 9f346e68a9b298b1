"""Azure Blob storage, on Azurite."""

from __future__ import annotations

import base64
from typing import ClassVar

import pytest

from tests.servers.azure import Azurite
from tests.servers.fault_proxy import http_answer
from tests.support.store_suite import FULL, Answers, ServerSuite


def _error(status: str, code: str) -> bytes:
    xml = f'<?xml version="1.0"?><Error><Code>{code}</Code><Message>a fault</Message></Error>'
    return http_answer(status, xml.encode())


@pytest.mark.servers
class TestAzurite(ServerSuite):
    """Blobs of a container."""

    kind = Azurite
    answers = Answers(
        throttled=_error("503 Server Busy", "ServerBusy"),
        denied=_error("403 Forbidden", "AuthorizationFailure"),
        broken=_error("500 Internal Server Error", "InternalError"),
        conflict=_error("409 Conflict", "OperationInProgress"),
        foreign=http_answer("404 Not Found", b"<html>no such page</html>", "text/html"),
    )
    creates = rb"^PUT "
    stranger: ClassVar[dict[str, str] | None] = {
        "azure_storage_account_key": base64.b64encode(b"wrong" * 8).decode()
    }
    missing = "az://no-such-container/prefix"
    many = 5500 if FULL else 1100
