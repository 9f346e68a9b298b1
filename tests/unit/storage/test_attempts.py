"""Repeating requests: what is repeated, and what is remembered of a doubtful attempt."""

from __future__ import annotations

import pytest

from trinitylake_spark.clock import ManualClock
from trinitylake_spark.errors import AlreadyExistsError, Kind, StorageError
from trinitylake_spark.storage.attempts import Attempts, storage_failure


def _failure(*, unknown: bool = False, retryable: bool = True) -> StorageError:
    return storage_failure(
        "create", "s3://b/", "a", "the cause\nits details", unknown=unknown, retryable=retryable
    )


class _Script:
    """Raises one after the other what it was given; None is success."""

    def __init__(self, *steps: Exception | None) -> None:
        self.steps = list(steps)
        self.calls = 0

    def __call__(self) -> None:
        self.calls += 1
        step = self.steps.pop(0)
        if step is not None:
            raise step


@pytest.fixture
def attempts() -> Attempts:
    """Two repetitions, without waiting."""
    return Attempts(2, 60, clock=ManualClock())


def test_a_retryable_failure_is_repeated(attempts: Attempts) -> None:
    """A request that may succeed a moment later gets its chance."""
    script = _Script(_failure(), _failure(), None)
    attempts.run(script)
    assert script.calls == 3


def test_a_refusal_is_not_repeated(attempts: Attempts) -> None:
    """What will never succeed fails at once."""
    script = _Script(_failure(retryable=False))
    with pytest.raises(StorageError):
        attempts.run(script)
    assert script.calls == 1


def test_repetitions_end(attempts: Attempts) -> None:
    """The last failure is the caller's."""
    script = _Script(_failure(), _failure(), _failure(), None)
    with pytest.raises(StorageError) as caught:
        attempts.run(script)
    assert caught.value.kind is Kind.STORAGE
    assert script.calls == 3


def test_a_doubtful_attempt_is_never_forgotten(attempts: Attempts) -> None:
    """Later refusals do not tell what became of an attempt whose reply was lost."""
    script = _Script(_failure(unknown=True), _failure(), _failure(retryable=False))
    with pytest.raises(StorageError) as caught:
        attempts.create(script)
    assert caught.value.kind is Kind.CREATE_UNKNOWN
    assert caught.value.fields["path"] == "a"


def test_certain_failures_stay_certain(attempts: Attempts) -> None:
    """If no attempt can have been applied, the create has failed."""
    script = _Script(_failure(), _failure(retryable=False))
    with pytest.raises(StorageError) as caught:
        attempts.create(script)
    assert caught.value.kind is Kind.STORAGE


def test_existing_objects_end_the_attempts(attempts: Attempts) -> None:
    """An existing object is an answer, whatever came before; the caller reads it back."""
    script = _Script(_failure(unknown=True), AlreadyExistsError("there"))
    with pytest.raises(AlreadyExistsError):
        attempts.create(script)
    assert script.calls == 2


def test_success_after_doubt_is_success(attempts: Attempts) -> None:
    """A create that succeeds now proves that the earlier attempt was not applied."""
    attempts.create(_Script(_failure(unknown=True), None))


def test_message_is_one_line_and_says_what_to_do() -> None:
    """The client's details stay out of the message; the object, the place and the advice are in."""
    error = storage_failure("exists", "s3://b/", "a", "no\ndetails", advice="Ask somebody.")
    assert str(error) == "Storage failed to look for 'a' in s3://b/: no. Ask somebody."
    assert "read it back" in str(_failure(unknown=True))
