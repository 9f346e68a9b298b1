"""The tests that every storage passes against a real server, and what goes wrong on the way."""

from __future__ import annotations

import itertools
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import pytest

from tests.servers.fault_proxy import Effect, Fault, FaultProxy
from tests.support.commit_suite import CommitSuite
from tests.support.race import run_race
from tests.support.scale import FULL
from trinitylake_spark.errors import AlreadyExistsError, Kind, NotFoundError, StorageError
from trinitylake_spark.storage import Storage, open_storage
from trinitylake_spark.testing.storage_conformance import StorageConformance

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from tests.servers.base import Server

_numbers = itertools.count()


@dataclass(frozen=True)
class Answers:
    """Replies of one protocol, for the fault proxy to give in the server's stead."""

    throttled: bytes
    """Nothing was done, try again later."""
    denied: bytes
    """Nothing was done, and never will be."""
    broken: bytes
    """The server failed; nobody knows what was done."""
    conflict: bytes | None = None
    """Two creates met and neither was applied."""
    foreign: bytes | None = None
    """Something that is not the server says "not found"."""


class ServerSuite(CommitSuite, StorageConformance):
    """The conformance suite and more, for one server. Subclasses name it and its protocol."""

    kind: ClassVar[type[Server]]
    answers: ClassVar[Answers]
    creates: ClassVar[bytes]
    """Pattern of the request that creates."""
    requests: ClassVar[bytes] = b""
    """Pattern of any request."""
    stranger: ClassVar[dict[str, str] | None] = None
    """Options with which the server refuses; None for a server that trusts everybody."""
    missing: ClassVar[str | None] = None
    """A URL whose bucket, container or table does not exist."""
    impatient: ClassVar[dict[str, str]] = {
        "max_retries": "2",
        "timeout": "5s",
        "connect_timeout": "2s",
        "retry_timeout": "10s",
    }
    """Options with which trouble soon becomes a failure, also on a busy machine."""
    hasty: ClassVar[dict[str, str]] = {**impatient, "max_retries": "1", "timeout": "700ms"}
    """Options with which silence soon becomes a failure."""

    big = 5 * 2**20
    many = 10_000 if FULL else 1100
    rounds = 20 if FULL else 5
    race_rounds: ClassVar[int] = 200 if FULL else 20
    processes: ClassVar[int] = 4

    @pytest.fixture(scope="class")
    @classmethod
    def server(cls) -> Iterator[Server]:
        """The server, started once for all tests of a class."""
        with cls.kind() as server:
            yield server

    @pytest.fixture
    def prefix(self) -> str:
        """A prefix of the test's own."""
        return f"test-{next(_numbers)}"

    @pytest.fixture
    def storage(self, server: Server, prefix: str) -> Iterator[Storage]:
        """An empty storage on the server."""
        self._server = server
        with open_storage(server.url(prefix), self.options(server)) as storage:
            yield storage

    @pytest.fixture
    def proxy(self, server: Server) -> Iterator[FaultProxy]:
        """A proxy in front of the server."""
        with FaultProxy(server.endpoint) as proxy:
            yield proxy

    @pytest.fixture
    def shaky(self, server: Server, prefix: str, proxy: FaultProxy) -> Iterator[Storage]:
        """The same storage through the proxy, with little patience."""
        behind = server.through(proxy.address)
        options = {**self.options(behind), **self.impatient}
        with open_storage(behind.url(prefix), options) as storage:
            yield storage

    @pytest.fixture
    def curt(self, server: Server, prefix: str, proxy: FaultProxy) -> Iterator[Storage]:
        """The same through the proxy, with no patience at all."""
        behind = server.through(proxy.address)
        options = {**self.options(behind), **self.hasty}
        with open_storage(behind.url(prefix), options) as storage:
            yield storage

    def options(self, server: Server) -> dict[str, str]:
        """Options to open the server's storage with."""
        return server.options()

    def another(self, storage: Storage) -> Storage:
        """A second client of the same storage."""
        return open_storage(storage.url, self.options(self._server))

    # --- processes race -------------------------------------------------------------------------

    def test_creators_of_several_processes(self, server: Server, prefix: str) -> None:
        """Of many creators in several processes one wins, and nobody sees half an object."""
        race = run_race(
            server.url(prefix),
            self.options(server),
            rounds=self.race_rounds,
            processes=self.processes,
            threads=self.creators // self.processes,
        )
        assert race.flaws == []

    # --- replies and requests get lost ----------------------------------------------------------

    def test_lost_reply(self, storage: Storage, shaky: Storage, proxy: FaultProxy) -> None:
        """A create that was applied, though its reply was lost, is never reported as failed."""
        proxy.break_with(Fault(Effect.DROP_REPLY, self.creates, times=1))
        assert outcome(shaky, "a", b"mine") in ("created", "exists", "unknown")
        assert storage.read("a") == b"mine"

    def test_replies_stay_lost(self, storage: Storage, shaky: Storage, proxy: FaultProxy) -> None:
        """The same if every attempt's reply is lost."""
        proxy.break_with(Fault(Effect.DROP_REPLY, self.creates))
        assert outcome(shaky, "a", b"mine") in ("created", "exists", "unknown")
        assert storage.read("a") == b"mine"

    def test_lost_reply_of_a_loser(
        self, storage: Storage, shaky: Storage, proxy: FaultProxy
    ) -> None:
        """A create that lost is not reported as won, though its reply was lost."""
        storage.create("a", b"theirs")
        proxy.break_with(Fault(Effect.DROP_REPLY, self.creates, times=1))
        assert outcome(shaky, "a", b"mine") in ("exists", "unknown")
        assert storage.read("a") == b"theirs"

    def test_lost_request(self, storage: Storage, shaky: Storage, proxy: FaultProxy) -> None:
        """A create that never arrived is sent again."""
        proxy.break_with(Fault(Effect.DROP_REQUEST, self.creates, times=1))
        assert outcome(shaky, "a", b"mine") in ("created", "unknown")
        proxy.break_with(None)
        assert outcome(shaky, "b", b"mine") == "created"
        assert storage.read("b") == b"mine"

    def test_requests_stay_lost(self, storage: Storage, shaky: Storage, proxy: FaultProxy) -> None:
        """A create of which no attempt arrives is not reported as applied."""
        proxy.break_with(Fault(Effect.DROP_REQUEST, self.creates))
        assert outcome(shaky, "a", b"mine") in ("unknown", "failed")
        assert not storage.exists("a")

    def test_late_reply(self, storage: Storage, shaky: Storage, proxy: FaultProxy) -> None:
        """A reply within the timeout is waited for."""
        proxy.break_with(Fault(Effect.DELAY_REPLY, self.creates, seconds=0.4))
        assert outcome(shaky, "a", b"mine") == "created"
        assert storage.read("a") == b"mine"

    def test_reply_after_the_timeout(
        self, storage: Storage, curt: Storage, proxy: FaultProxy
    ) -> None:
        """A create whose reply comes too late is never reported as failed."""
        proxy.break_with(Fault(Effect.DELAY_REPLY, self.creates, seconds=2.5, times=1))
        assert outcome(curt, "a", b"mine") in ("created", "exists", "unknown")
        assert storage.read("a") == b"mine"

    # --- the server refuses ---------------------------------------------------------------------

    def test_throttled_once(self, storage: Storage, shaky: Storage, proxy: FaultProxy) -> None:
        """A create that was throttled is sent again."""
        answer = self.answers.throttled
        proxy.break_with(Fault(Effect.ANSWER, self.creates, times=1, answer=answer))
        assert outcome(shaky, "a", b"mine") == "created"
        assert storage.read("a") == b"mine"

    def test_throttled_for_ever(self, storage: Storage, shaky: Storage, proxy: FaultProxy) -> None:
        """A create that stays throttled has failed for certain."""
        proxy.break_with(Fault(Effect.ANSWER, self.creates, answer=self.answers.throttled))
        assert outcome(shaky, "a", b"mine") in ("failed", "unknown")
        assert not storage.exists("a")

    def test_throttled_hint(self, storage: Storage, shaky: Storage, proxy: FaultProxy) -> None:
        """A hint is worth no waiting: throttled, it is stored soon or fails soon."""
        shaky.write_hint("hint", b"1")
        assert storage.read("hint") == b"1"
        proxy.break_with(Fault(Effect.ANSWER, self.requests, answer=self.answers.throttled))
        begun = time.monotonic()
        with pytest.raises(StorageError):
            shaky.write_hint("hint", b"2")
        assert time.monotonic() - begun < 5

    def test_conflict_without_an_object(
        self, storage: Storage, shaky: Storage, proxy: FaultProxy
    ) -> None:
        """A create that is told of a conflict, while nothing is there, is sent again."""
        if self.answers.conflict is None:
            return  # the protocol has no such answer
        answer = self.answers.conflict
        proxy.break_with(Fault(Effect.ANSWER, self.creates, times=1, answer=answer))
        assert outcome(shaky, "a", b"mine") == "created"
        assert storage.read("a") == b"mine"

    def test_denied_create(self, storage: Storage, shaky: Storage, proxy: FaultProxy) -> None:
        """A create that is forbidden has failed for certain, and says so at once."""
        proxy.break_with(Fault(Effect.ANSWER, self.creates, answer=self.answers.denied))
        begun = time.monotonic()
        assert outcome(shaky, "a", b"mine") == "failed"
        assert time.monotonic() - begun < 5
        assert not storage.exists("a")

    @pytest.mark.parametrize("trouble", ["throttled", "denied", "broken", "foreign"])
    def test_refused_reads(
        self, storage: Storage, shaky: Storage, proxy: FaultProxy, trouble: str
    ) -> None:
        """Whatever a server says but "no such object", the object is not reported as absent."""
        answer: bytes | None = getattr(self.answers, trouble)
        if answer is None:
            return  # the protocol has no such answer
        storage.create("a", b"1")
        proxy.break_with(Fault(Effect.ANSWER, self.requests, answer=answer))
        assert_every_read_fails(shaky)

    @pytest.mark.parametrize("effect", [Effect.DROP_REQUEST, Effect.DROP_REPLY, Effect.HANG])
    def test_unanswered_reads(
        self, storage: Storage, curt: Storage, proxy: FaultProxy, effect: Effect
    ) -> None:
        """A read without an answer fails in bounded time, and is not reported as absent."""
        storage.create("a", b"1")
        proxy.break_with(Fault(effect, self.requests))
        begun = time.monotonic()
        assert_every_read_fails(curt)
        assert time.monotonic() - begun < 60

    def test_unanswered_create(self, storage: Storage, curt: Storage, proxy: FaultProxy) -> None:
        """A create without an answer ends in bounded time, and nobody says that it was made."""
        proxy.break_with(Fault(Effect.HANG, self.creates))
        begun = time.monotonic()
        assert outcome(curt, "a", b"mine") in ("unknown", "failed")
        assert time.monotonic() - begun < 30
        assert not storage.exists("a")

    def test_server_gone(self, shaky: Storage, proxy: FaultProxy) -> None:
        """Without a server everything fails; a create that was never sent has failed for sure."""
        proxy.close()
        assert_every_read_fails(shaky)
        assert outcome(shaky, "a", b"1") in ("failed", "unknown")
        for call in (lambda: shaky.write("a", b"1"), lambda: shaky.delete("a")):
            with pytest.raises(StorageError):
                call()

    def test_server_never_reached(self, server: Server, prefix: str, proxy: FaultProxy) -> None:
        """A create at an address where nobody listens has failed for certain."""
        proxy.close()
        gone = server.through(proxy.address)
        with open_storage(gone.url(prefix), {**self.options(gone), **self.impatient}) as storage:
            assert outcome(storage, "a", b"1") == "failed"

    def test_stranger(self, server: Server, prefix: str) -> None:
        """Wrong credentials are a failure that says so; nothing is reported as absent."""
        if self.stranger is None:
            return  # the server trusts everybody
        options = {**self.options(server), **self.impatient, **self.stranger}
        with open_storage(server.url(prefix), options) as storage:
            assert_every_read_fails(storage, reads=self.reads_of_a_stranger())
            assert outcome(storage, "a", b"1") == "failed"

    def reads_of_a_stranger(self) -> tuple[str, ...]:
        """The operations that the server refuses to a stranger."""
        return ("read", "exists", "list")

    def test_missing_container(self, server: Server) -> None:
        """A missing bucket or table is a failure; its objects are not reported as absent."""
        if self.missing is None:
            return  # the protocol has no containers
        options = {**self.options(server), **self.impatient}
        with open_storage(self.missing, options) as storage:
            assert_every_read_fails(storage)
            assert outcome(storage, "a", b"1") == "failed"


def outcome(storage: Storage, path: str, data: bytes) -> str:
    """What a create reports; "not found" would be an error of the test."""
    try:
        storage.create(path, data)
    except AlreadyExistsError:
        return "exists"
    except NotFoundError as error:
        message = f"a create reported {error}"
        raise AssertionError(message) from error
    except StorageError as error:
        return "unknown" if error.kind is Kind.CREATE_UNKNOWN else "failed"
    return "created"


def assert_every_read_fails(
    storage: Storage, reads: tuple[str, ...] = ("read", "exists", "list")
) -> None:
    """Each of these reads raises a failure of the storage, none says that nothing is there."""
    calls: dict[str, Callable[[], Any]] = {
        "read": lambda: storage.read("a"),
        "exists": lambda: storage.exists("a"),
        "list": lambda: storage.list(""),
    }
    for name in reads:
        with pytest.raises(StorageError) as caught:
            calls[name]()
        assert caught.value.kind is Kind.STORAGE
        assert caught.value.fields["path"] in ("a", "")
