"""An S3 server that ignores If-None-Match, so that every creator believes to be the first."""

from __future__ import annotations

import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, unquote, urlsplit
from xml.sax.saxutils import escape

from tests.servers.base import HOST


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    # A reply in two segments would wait for the first one's acknowledgement.
    disable_nagle_algorithm = True
    wbufsize = -1
    server: _Liar

    def do_PUT(self) -> None:
        """Store the body, whatever the conditions say."""
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        with self.server.lock:
            self.server.objects[unquote(urlsplit(self.path).path)] = body
        self._answer(200)

    def do_GET(self) -> None:
        """Answer an object or a listing."""
        parts = urlsplit(self.path)
        if "list-type" in parse_qs(parts.query):
            self._answer(200, self._listing(parts.path, parse_qs(parts.query)))
            return
        with self.server.lock:
            body = self.server.objects.get(unquote(parts.path))
        if body is None:
            self._answer(404, b"<Error><Code>NoSuchKey</Code></Error>")
        else:
            self._answer(200, body)

    do_HEAD = do_GET  # noqa: N815 - the name that http.server calls

    def do_DELETE(self) -> None:
        """Forget an object."""
        with self.server.lock:
            self.server.objects.pop(unquote(urlsplit(self.path).path), None)
        self._answer(204)

    def log_message(self, *_: object) -> None:
        """Say nothing."""

    def _listing(self, bucket: str, query: dict[str, list[str]]) -> bytes:
        start = f"{bucket.rstrip('/')}/"
        prefix = query.get("prefix", [""])[0]
        delimiter = query.get("delimiter", [""])[0]
        with self.server.lock:
            keys = {key.removeprefix(start) for key in self.server.objects}
        found, folders = [], set()
        for key in sorted(key for key in keys if key.startswith(prefix)):
            name, slash, _ = key.removeprefix(prefix).partition(delimiter or "\0")
            if slash:
                folders.add(prefix + name + slash)
            else:
                found.append(key)
        entries = "".join(
            f"<Contents><Key>{escape(key)}</Key><Size>0</Size>"
            "<LastModified>2026-01-01T00:00:00.000Z</LastModified></Contents>"
            for key in found
        ) + "".join(
            f"<CommonPrefixes><Prefix>{escape(folder)}</Prefix></CommonPrefixes>"
            for folder in sorted(folders)
        )
        return (
            "<ListBucketResult><IsTruncated>false</IsTruncated>" + entries + "</ListBucketResult>"
        ).encode()

    def _answer(self, status: int, body: bytes = b"") -> None:
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.send_header("ETag", '"0"')
        self.send_header("Last-Modified", "Thu, 01 Jan 2026 00:00:00 GMT")
        self.end_headers()
        if self.command != "HEAD" and status != 204:
            self.wfile.write(body)


class _Liar(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 128

    def __init__(self) -> None:
        super().__init__((HOST, 0), _Handler)
        self.objects: dict[str, bytes] = {}
        self.lock = threading.Lock()


def run_liar() -> _Liar:
    """Serve in a thread; ``shutdown`` ends it."""
    liar = _Liar()
    threading.Thread(target=liar.serve_forever, daemon=True).start()
    return liar
