"""A TCP proxy that breaks chosen requests: before the server sees them, or after it applied them.

It knows just enough of HTTP to answer in a server's stead; everything else is bytes, so that it
serves Redis's protocol as well. A request is chosen by a pattern over the bytes that arrive.
"""

from __future__ import annotations

import contextlib
import re
import select
import socket
import threading
import time
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, Self

from tests.servers.base import HOST

if TYPE_CHECKING:
    from collections.abc import Iterator

_CHUNK = 2**16
_INTERIM = b"HTTP/1.1 100"
_LENGTH = re.compile(rb"content-length: *(\d+)", re.IGNORECASE)
_HEADER_END = b"\r\n\r\n"


class Effect(StrEnum):
    """What happens to a chosen request."""

    DROP_REQUEST = "drop request"
    """The connection is closed before the server sees it."""
    DROP_REPLY = "drop reply"
    """The server applies it; the connection is closed instead of a reply."""
    DIE = "die"
    """The server applies it; no reply comes, and from then on every connection is closed."""
    DELAY_REPLY = "delay reply"
    """The server applies it; the reply comes late."""
    HANG = "hang"
    """The server does not see it, and nothing ever comes."""
    ANSWER = "answer"
    """The server does not see it; a reply of the test's choice comes."""


@dataclass
class Fault:
    """Which requests are broken, and how.

    Args:
        effect: what happens.
        match: pattern searched in the first bytes of a request.
        times: stop after so many; None for no end.
        seconds: of ``DELAY_REPLY``.
        answer: the bytes of ``ANSWER``.
    """

    effect: Effect
    match: bytes = b""
    times: int | None = None
    seconds: float = 0.0
    answer: bytes = b""
    hits: int = field(default=0, init=False)


class FaultProxy:
    """Listens on a free port and passes connections on to ``target`` (``host:port``)."""

    def __init__(self, target: str) -> None:
        host, _, port = target.rpartition(":")
        self._target = (host, int(port))
        self._fault: Fault | None = None
        self._lock = threading.Lock()
        self._closed = threading.Event()
        self._dead = threading.Event()
        self._listener = socket.create_server((HOST, 0), backlog=128)
        self.address = f"{HOST}:{self._listener.getsockname()[1]}"
        threading.Thread(target=self._accept, daemon=True).start()

    def break_with(self, fault: Fault | None) -> None:
        """Apply ``fault`` from now on; None heals."""
        with self._lock:
            self._fault = fault
            self._dead.clear()

    def close(self) -> None:
        """Stop listening and drop all connections."""
        self._closed.set()
        with contextlib.suppress(OSError):
            # Wakes the thread that accepts; until then the port would go on listening.
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _accept(self) -> None:
        while not self._closed.is_set():
            try:
                client, _ = self._listener.accept()
            except OSError:
                return
            threading.Thread(target=self._serve, args=(client,), daemon=True).start()

    def _serve(self, client: socket.socket) -> None:
        with client:
            try:
                with socket.create_connection(self._target, timeout=5) as server:
                    for end in (client, server):
                        end.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                    self._pass_on(client, server)
            except OSError:
                return  # one end went away: so does the other

    def _pass_on(self, client: socket.socket, server: socket.socket) -> None:
        pending: Fault | None = None
        for source, data in self._chunks(client, server):
            if self._dead.is_set():
                return
            if source is client:
                fault = self._chosen(data)
                if fault is None:
                    server.sendall(data)
                    continue
                if fault.effect is Effect.DROP_REQUEST:
                    return
                if fault.effect is Effect.HANG:
                    self._wait_for_end(client)
                    return
                if fault.effect is Effect.ANSWER:
                    _read_rest(client, data)
                    client.sendall(fault.answer)
                    if fault.answer.startswith(b"HTTP/"):
                        return
                    continue
                pending = fault
                server.sendall(data)
                continue
            if pending is not None and not data.startswith(_INTERIM):
                if pending.effect is Effect.DIE:
                    self._dead.set()
                if pending.effect in (Effect.DROP_REPLY, Effect.DIE):
                    return
                time.sleep(pending.seconds)
                pending = None
            client.sendall(data)

    def _chunks(
        self, client: socket.socket, server: socket.socket
    ) -> Iterator[tuple[socket.socket, bytes]]:
        while not self._closed.is_set():
            ready, _, _ = select.select([client, server], [], [], 0.2)
            for source in ready:
                data = source.recv(_CHUNK)
                if not data:
                    return
                yield source, data

    def _chosen(self, data: bytes) -> Fault | None:
        with self._lock:
            fault = self._fault
            if fault is None or (fault.times is not None and fault.hits >= fault.times):
                return None
            if not re.search(fault.match, data):
                return None
            fault.hits += 1
            return fault

    def _wait_for_end(self, client: socket.socket) -> None:
        while not self._closed.is_set():
            ready, _, _ = select.select([client], [], [], 0.2)
            if ready and not client.recv(_CHUNK):
                return


def http_answer(status: str, body: bytes = b"", kind: str = "application/xml") -> bytes:
    """The bytes of a reply such as ``http_answer("503 Slow Down", b"<Error>…")``."""
    head = (
        f"HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nContent-Length: {len(body)}\r\n"
        "Connection: close\r\n\r\n"
    )
    return head.encode() + body


def _read_rest(client: socket.socket, data: bytes) -> None:
    """Take the whole request in, as a reply to half of one would be a reset connection."""
    head, end, body = data.partition(_HEADER_END)
    length = _LENGTH.search(head)
    if b"100-continue" in head.lower():
        return  # the client waits for leave to send the rest
    missing = int(length.group(1)) - len(body) if end and length else 0
    while missing > 0:
        missing -= len(client.recv(_CHUNK)) or missing
