"""The suite for servers that speak Amazon S3's protocol."""

from __future__ import annotations

from typing import ClassVar

from tests.servers.fault_proxy import http_answer
from tests.support.store_suite import Answers, ServerSuite


def xml_error(status: str, code: str) -> bytes:
    """A refusal as S3, GCS and Azure word it."""
    xml = f'<?xml version="1.0"?><Error><Code>{code}</Code><Message>a fault</Message></Error>'
    return http_answer(status, xml.encode())


class S3Suite(ServerSuite):
    """What the S3 servers have in common."""

    answers = Answers(
        throttled=xml_error("503 Slow Down", "SlowDown"),
        denied=xml_error("403 Forbidden", "AccessDenied"),
        broken=xml_error("500 Internal Server Error", "InternalError"),
        conflict=xml_error("409 Conflict", "ConditionalRequestConflict"),
        foreign=http_answer("404 Not Found", b"<html>no such page</html>", "text/html"),
    )
    creates = rb"^PUT "
    roots = rb"^PUT \S*/_[01]{32}\.ipc"
    stranger: ClassVar[dict[str, str] | None] = {"aws_secret_access_key": "wrong"}
    missing = "s3://no-such-bucket/prefix"
