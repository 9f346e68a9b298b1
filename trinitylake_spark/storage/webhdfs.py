"""The WebHDFS protocol: one request to whichever NameNode is active, errors told apart."""

from __future__ import annotations

from enum import Enum
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

import requests
from requests.adapters import HTTPAdapter
from urllib3.exceptions import MaxRetryError, NewConnectionError

if TYPE_CHECKING:
    from collections.abc import Mapping

_POOL = 32
_OK = 200
_REDIRECT = (301, 302, 303, 307)
_TRY_AGAIN = frozenset({"StandbyException", "RetriableException", "SafeModeException"})


class Outcome(Enum):
    """What is known of a request that failed."""

    REFUSED = "refused"
    """The server said no, with an exception's name."""

    NOT_SENT = "not sent"
    """It did not reach the server, or the server asks to send it again."""

    UNKNOWN = "unknown"
    """It was sent and no answer came that can be understood."""


class WebHdfsError(Exception):
    """A request that failed.

    Args:
        outcome: what is known.
        message: what was said.
        exception: the Java exception's simple name, if the server sent one.
    """

    def __init__(self, outcome: Outcome, message: str, exception: str = "") -> None:
        super().__init__(f"{exception}: {message}" if exception else message)
        self.outcome = outcome
        self.exception = exception

    @property
    def retryable(self) -> bool:
        """The same request may succeed a moment later."""
        return self.outcome is not Outcome.REFUSED


class WebHdfs:
    """Requests below ``/webhdfs/v1``; safe to use from several threads.

    Args:
        addresses: base URLs of the NameNodes' web servers.
        parameters: sent with each request: ``user.name`` or ``delegation``.
        timeouts: to connect and to wait for data, in seconds.
        session: brings its own authentication.
    """

    def __init__(
        self,
        addresses: list[str],
        parameters: Mapping[str, str],
        timeouts: tuple[float, float],
        session: requests.Session | None = None,
    ) -> None:
        self._addresses = addresses
        self._parameters = dict(parameters)
        self._timeouts = timeouts
        self._active = 0
        self._session = session or requests.Session()
        for protocol in ("http://", "https://"):
            self._session.mount(protocol, HTTPAdapter(pool_connections=_POOL, pool_maxsize=_POOL))

    def ask(self, method: str, operation: str, path: str, **parameters: str) -> Any:  # noqa: ANN401 - JSON
        """Send a request that the NameNode answers itself; return its JSON, or None."""
        answer = self._ask_active(method, operation, path, parameters)
        return answer.json() if answer.content else None

    def open(self, path: str) -> bytes:
        """Read a file: the NameNode names a DataNode, which sends it."""
        answer = self._ask_active("GET", "OPEN", path, {})
        if answer.status_code in _REDIRECT:
            answer = self._send("GET", answer.headers["Location"])
        return answer.content

    def upload(self, path: str, data: bytes) -> None:
        """Write a file: the NameNode names a DataNode, which takes it."""
        answer = self._ask_active("PUT", "CREATE", path, {"overwrite": "true"})
        if answer.status_code not in _REDIRECT:
            raise WebHdfsError(Outcome.UNKNOWN, "the NameNode named no DataNode")
        self._send("PUT", answer.headers["Location"], data)

    def close(self) -> None:
        """Release the connections."""
        self._session.close()

    def _ask_active(
        self, method: str, operation: str, path: str, parameters: Mapping[str, str]
    ) -> requests.Response:
        query = {"op": operation, **self._parameters, **parameters}
        for turn in range(len(self._addresses)):
            number = (self._active + turn) % len(self._addresses)
            url = f"{self._addresses[number]}/webhdfs/v1/{quote(path)}"
            try:
                answer = self._send(method, url, None, query)
            except WebHdfsError as error:
                last = turn + 1 == len(self._addresses)
                if last or error.outcome is not Outcome.NOT_SENT:
                    raise
            else:
                self._active = number
                return answer
        raise AssertionError  # pragma: no cover - there is at least one address

    def _send(
        self,
        method: str,
        url: str,
        data: bytes | None = None,
        query: Mapping[str, str] | None = None,
    ) -> requests.Response:
        try:
            answer = self._session.request(
                method,
                url,
                params=query,
                data=data,
                headers={"Content-Type": "application/octet-stream"} if data is not None else {},
                timeout=self._timeouts,
                allow_redirects=False,
            )
        except requests.RequestException as error:
            outcome = Outcome.NOT_SENT if _was_never_sent(error) else Outcome.UNKNOWN
            raise WebHdfsError(outcome, str(error)) from error
        if answer.status_code in _REDIRECT or answer.status_code // 100 == _OK // 100:
            return answer
        raise _refusal(answer)


def _refusal(answer: requests.Response) -> WebHdfsError:
    try:
        said = answer.json()["RemoteException"]
        exception, message = str(said["exception"]), str(said.get("message", ""))
    except (ValueError, KeyError, TypeError):
        # A proxy, or a server that is going down: nobody knows what happened behind it.
        text = f"{answer.status_code} {answer.reason}"
        client_error = 400 <= answer.status_code < 500  # noqa: PLR2004 - HTTP's own numbers
        return WebHdfsError(Outcome.REFUSED if client_error else Outcome.UNKNOWN, text)
    outcome = Outcome.NOT_SENT if exception in _TRY_AGAIN else Outcome.REFUSED
    return WebHdfsError(outcome, message.splitlines()[0] if message else "", exception)


def _was_never_sent(error: requests.RequestException) -> bool:
    if isinstance(error, (requests.ConnectTimeout, requests.exceptions.InvalidURL)):
        return True
    reason = error.args[0] if error.args else None
    return isinstance(reason, MaxRetryError) and isinstance(reason.reason, NewConnectionError)
