"""Stands in front of fake-gcs-server and translates the one request that it does not know.

``obstore`` uploads with Google's XML API (``PUT /<bucket>/<object>``); fake-gcs-server only
understands the JSON API's upload. The condition ``x-goog-if-generation-match`` goes along as
``ifGenerationMatch``. Every other request passes through unchanged.

``python -m tests.servers.gcs_shim PORT TARGET``
"""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING
from urllib.parse import unquote, urlencode

import aiohttp
import yarl
from aiohttp import web

from tests.servers.base import HOST

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

_JSON_API = ("/storage/", "/upload/", "/download/", "/_internal", "/batch")
_HOP_BY_HOP = frozenset({"connection", "transfer-encoding"})
_MAX_BYTES = 2**30
_BOUNDARY = b"e1f3a9c2-7d64-4b0f-9c58-boundary-of-the-shim"
_CLIENT = web.AppKey("client", aiohttp.ClientSession)
_OK = 200


class Shim:
    """Forwards requests to one server.

    Args:
        target: the server's base URL.
    """

    def __init__(self, target: str) -> None:
        self._target = target

    def application(self) -> web.Application:
        """The application with its one route and its client."""
        application = web.Application(client_max_size=_MAX_BYTES)
        application.cleanup_ctx.append(self._client)
        application.router.add_route("*", "/{path:.*}", self._handle)
        return application

    async def _client(self, application: web.Application) -> AsyncIterator[None]:
        connector = aiohttp.TCPConnector(limit=64)
        async with aiohttp.ClientSession(connector=connector, auto_decompress=False) as client:
            application[_CLIENT] = client
            yield

    async def _handle(self, request: web.Request) -> web.Response:
        if request.method == "PUT" and not request.raw_path.startswith(_JSON_API):
            return await self._upload(request)
        return await self._forward(request)

    async def _upload(self, request: web.Request) -> web.Response:
        path = request.raw_path.partition("?")[0].lstrip("/")
        bucket, _, name = path.partition("/")
        # Of the kinds of upload this is the one whose condition all releases check.
        query = {"uploadType": "multipart"}
        condition = request.headers.get("x-goog-if-generation-match")
        if condition is not None:
            query["ifGenerationMatch"] = condition
        url = f"{self._target}/upload/storage/v1/b/{bucket}/o?{urlencode(query)}"
        metadata = json.dumps({"name": unquote(name)}).encode()
        async with request.app[_CLIENT].post(
            yarl.URL(url, encoded=True),
            data=b"\r\n".join(
                [
                    *(b"--" + _BOUNDARY, b"Content-Type: application/json", b"", metadata),
                    *(b"--" + _BOUNDARY, b"Content-Type: application/octet-stream", b""),
                    *(await request.read(), b"--" + _BOUNDARY + b"--", b""),
                ]
            ),
            headers={"Content-Type": f"multipart/related; boundary={_BOUNDARY.decode()}"},
        ) as answer:
            body = await answer.read()
            if answer.status != _OK:
                return web.Response(status=answer.status, body=body)
            stored = await answer.json(content_type=None)
        etag = stored["etag"].strip('"')
        return web.Response(
            headers={"ETag": f'"{etag}"', "x-goog-generation": str(stored["generation"])}
        )

    async def _forward(self, request: web.Request) -> web.Response:
        # The server knows an XML request by the host that it was sent to.
        headers = {**request.headers, "Host": self._target.partition("://")[2]}
        async with request.app[_CLIENT].request(
            request.method,
            yarl.URL(self._target + request.raw_path, encoded=True),
            headers=headers,
            data=await request.read(),
            skip_auto_headers=["Content-Type", "Accept", "Accept-Encoding", "User-Agent"],
            allow_redirects=False,
        ) as answer:
            body = await answer.read()
            # The answer to a HEAD names the length of a body that it does not carry.
            dropped = _HOP_BY_HOP | (set() if request.method == "HEAD" else {"content-length"})
            kept = [(k, v) for k, v in answer.headers.items() if k.lower() not in dropped]
            return web.Response(
                status=answer.status,
                body=None if request.method == "HEAD" else body,
                headers=kept,
            )


if __name__ == "__main__":
    web.run_app(
        Shim(sys.argv[2]).application(), host=HOST, port=int(sys.argv[1]), print=lambda *_: None
    )
