"""Repeat what may be repeated, and remember what may have been applied (format.md §1.1).

Clients below us repeat requests on their own. For a read that is welcome; for an exclusive
create it hides whether an earlier attempt was applied, so creates are sent once by the client
and repeated here, where a lost reply is remembered.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

from tenacity import (
    Retrying,
    retry_if_exception,
    stop_after_attempt,
    stop_after_delay,
    wait_random_exponential,
)

from trinitylake_spark.clock import Clock, SystemClock
from trinitylake_spark.errors import Kind, StorageError

if TYPE_CHECKING:
    from collections.abc import Callable

T = TypeVar("T")

_FIRST_PAUSE = 0.1
_LONGEST_PAUSE = 5.0
_VERBS = {"exists": "look for"}


def storage_failure(
    operation: str,
    url: str,
    path: str,
    cause: object,
    *,
    unknown: bool = False,
    retryable: bool = False,
    advice: str = "",
) -> StorageError:
    """Build the error of a failed request.

    Args:
        operation: ``read``, ``write``, ``create``, ``delete``, ``exists`` or ``list``.
        url: the storage's root, without credentials.
        path: the object's path, or the prefix of a listing.
        cause: what the client said; its first line goes into the message.
        unknown: the request may have been applied (kind ``CREATE_UNKNOWN``, creates only).
        retryable: the same request may succeed a moment later.
        advice: what the reader can do about it.
    """
    lines = str(cause).strip().splitlines()
    said = (lines[0] if lines else type(cause).__name__).rstrip(" .:")
    ending = " The object may exist or not: read it back." if unknown else ""
    return StorageError(
        f"Storage failed to {_VERBS.get(operation, operation)} {path!r} in {url}: {said}.{ending}"
        + (f" {advice}" if advice else ""),
        kind=Kind.CREATE_UNKNOWN if unknown else Kind.STORAGE,
        operation=operation,
        path=path,
        cause=said,
        retryable=retryable,
    )


class Attempts:
    """How often, how long and with which pauses a request is repeated.

    Args:
        retries: repetitions after the first attempt.
        seconds: no repetition starts later than this after the first attempt.
        clock: who waits during the pauses.
    """

    def __init__(
        self, retries: int = 5, seconds: float = 60.0, *, clock: Clock | None = None
    ) -> None:
        self._retries = retries
        self._seconds = seconds
        self._clock = clock or SystemClock()

    def run(self, operation: Callable[[], T]) -> T:
        """Repeat ``operation`` while its error says ``retryable``; raise the last error."""
        return self._retrying()(operation)

    def create(self, operation: Callable[[], None]) -> None:
        """Repeat an exclusive create; once an attempt's outcome is unknown, failure is unknown.

        Raises:
            AlreadyExistsError: as ``operation`` raised it; after an unknown attempt the object
                may be our own.
            StorageError: ``CREATE_UNKNOWN`` if any attempt may have been applied, else
                ``STORAGE``.
        """
        doubtful = False

        def once() -> None:
            nonlocal doubtful
            try:
                operation()
            except StorageError as error:
                doubtful = doubtful or error.kind is Kind.CREATE_UNKNOWN
                raise

        try:
            self.run(once)
        except StorageError as error:
            if doubtful and error.kind is not Kind.CREATE_UNKNOWN:
                raise StorageError(error.message, kind=Kind.CREATE_UNKNOWN, **error.fields) from (
                    error
                )
            raise

    def _retrying(self) -> Retrying:
        return Retrying(
            retry=retry_if_exception(_is_retryable),
            stop=stop_after_attempt(self._retries + 1) | stop_after_delay(self._seconds),
            wait=wait_random_exponential(multiplier=_FIRST_PAUSE, max=_LONGEST_PAUSE),
            sleep=self._clock.sleep,
            reraise=True,
        )


def _is_retryable(error: BaseException) -> bool:
    return isinstance(error, StorageError) and bool(error.fields.get("retryable"))
