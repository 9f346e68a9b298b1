"""Turn a proposal into the next version, however often others are faster (format.md §6.4)."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from trinitylake_spark.commit.commit import Committed, Lost
from trinitylake_spark.commit.unique import create_unique, discard_unique
from trinitylake_spark.errors import (
    CommitConflictError,
    CommitUnknownError,
    Kind,
    NotFoundError,
    TrinityLakeError,
)
from trinitylake_spark.format.nodefile import encode_node
from trinitylake_spark.format.system import CREATED_AT, OVERTAKEN, TIME_VERSION
from trinitylake_spark.lakehouse.contest import Contest
from trinitylake_spark.lakehouse.turns import TurnTimeoutError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from trinitylake_spark.commit.versions import Root
    from trinitylake_spark.format.nodefile import NodeFile
    from trinitylake_spark.format.system import RootInfo
    from trinitylake_spark.lakehouse.services import Services
    from trinitylake_spark.tree.write import Emit

    WriteNodes = Callable[[dict[str, NodeFile], int], None]
    """Writes nodes below the root, by path, with the order they are encoded with."""


_LOSSES_IN_A_ROW = 2
"""After so many a commit looks for the newest version, as others may be quicker by far."""


@dataclass(slots=True)
class Candidate:
    """A root that is ready to be created.

    Args:
        node: its content; the stamps are set just before the create.
        info: its system rows, typed.
        order: N of the definition it names.
        nodes: new nodes below it, still to be written.
    """

    node: NodeFile
    info: RootInfo
    order: int
    nodes: Mapping[str, NodeFile]


def emitter(write: WriteNodes, order: int) -> Emit:
    """Return what the tree calls to have nodes of one order written."""

    def emit(nodes: dict[str, NodeFile]) -> None:
        """Write them."""
        write(nodes, order)

    return emit


class AlreadyCommitted(Exception):  # noqa: N818 - an outcome, not an error
    """A version carries the transaction's idempotency key: the work is done.

    Args:
        version: that version.
    """

    def __init__(self, version: int) -> None:
        super().__init__(version)
        self.version = version


class Proposal(Protocol):
    """What is to become a version."""

    @property
    def transaction_id(self) -> str:
        """By which the root is recognised."""

    def follow(self, latest: Root) -> None:
        """Go from the version followed so far to ``latest``.

        Raises:
            CommitConflictError: it cannot.
            AlreadyCommitted: it need not.
        """

    def definitions(self) -> Mapping[str, bytes]:
        """Return the definition files that the next candidate names."""

    def files(self) -> Mapping[str, bytes]:
        """Return the warehouse files that must exist before the root does."""

    def candidate(self, base: Root, created_at_millis: int, write: WriteNodes) -> Candidate:
        """Build the root that follows ``base``, which is the version followed last.

        Args:
            base: what it stands on.
            created_at_millis: a stamp, for the size; the real one is set later.
            write: writes nodes at once, for a tree too large to hold.
        """


class Commit:
    """One run of the commit protocol.

    Args:
        services: of the open lakehouse.
        proposal: what to commit.
        base: the version that the proposal was made on.
    """

    def __init__(self, services: Services, proposal: Proposal, base: Root) -> None:
        self._services = services
        self._proposal = proposal
        self._base = base
        self._is_fresh = services.finder.is_fresh
        self._written: set[str] = set()
        self._files_written: set[str] = set()

    def run(self) -> Root:
        """Commit; return the root that was created.

        Raises:
            AlreadyCommitted: there is nothing left to do.
            CommitConflictError: another transaction got in the way, or was faster each time
                (kind ``COMMIT_RETRIES_EXHAUSTED``); nothing was committed.
            CommitUnknownError: the storage gave no answer; no file was deleted.
            NotFoundError: kind ``VERSION_EXPIRED``: the transaction took too long.
            StorageError: the storage failed; nothing was committed.
        """
        services = self._services
        turns = services.commit_turns
        contest = Contest(services.clock, services.ids, services.commit_seconds)
        try:
            self._follow(services.finder.known)
            self._store()
            with turns.turn(contest.seconds_left) as ahead:
                contest.queued(ahead)
                root = self._create(contest)
                turns.newest = root.version
        except CommitUnknownError:
            raise
        except TurnTimeoutError:
            self._discard()
            raise self._too_late(contest) from None
        except (TrinityLakeError, AlreadyCommitted):
            self._discard()
            raise
        self._services.committer.finish(root.version, self._proposal.transaction_id)
        return root

    def _create(self, contest: Contest) -> Root:
        self._follow(self._services.finder.known)
        self._catch_up(self._services.commit_turns.newest)
        while True:
            contest.attempt()
            self._store()
            outcome = self._attempt(contest.overtaken)
            if isinstance(outcome, Committed):
                return outcome.root
            contest.lost(outcome.winner)
            self._follow(outcome.winner)
            self._wait(contest)

    def _catch_up(self, newest: int) -> None:
        """Follow what other handles of this process committed; there is nothing to probe for."""
        finder = self._services.finder
        if newest <= self._base.version:
            return
        try:
            self._follow(finder.up_to(newest))
        except NotFoundError:
            self._follow(finder.latest())

    def _wait(self, contest: Contest) -> None:
        """After a loss: let those go first who have waited longer, and follow what they do."""
        clock = self._services.clock
        if contest.attempts == 1 and not self._is_fresh:
            self._follow(self._services.finder.latest())
        elif contest.attempts % _LOSSES_IN_A_ROW == 0:
            self._look(contest)
        while not contest.is_due():
            self._check_time(contest)
            clock.sleep(contest.pause())
            self._look(contest)
        self._check_time(contest)

    def _look(self, contest: Contest) -> None:
        """Follow the newest version."""
        followed = self._base.version
        latest = self._services.finder.latest()
        if latest.version > followed:
            self._follow(latest)
            contest.saw(latest, latest.version - followed)

    def _check_time(self, contest: Contest) -> None:
        if contest.seconds_left <= 0:
            raise self._too_late(contest)

    def _too_late(self, contest: Contest) -> CommitConflictError:
        seconds = self._services.commit_seconds
        return CommitConflictError(
            f"Other transactions were faster for {seconds:g} seconds, the last time with version "
            f"{self._base.version}. Nothing was committed, and nothing stands against the "
            "transaction itself: run it again.",
            kind=Kind.COMMIT_RETRIES_EXHAUSTED,
            transaction_id=self._proposal.transaction_id,
            attempts=contest.attempts,
            seconds=seconds,
        )

    def _follow(self, latest: Root | None) -> None:
        if latest is not None and latest.version > self._base.version:
            self._proposal.follow(latest)
            self._base = latest

    def _attempt(self, overtaken: int) -> Committed | Lost:
        base, clock = self._base, self._services.clock
        least = base.info.created_at_millis + 1
        candidate = self._proposal.candidate(base, max(clock.now_millis(), least), self._write)
        self._write(dict(candidate.nodes), candidate.order)
        stamp = max(clock.now_millis(), least)
        _stamp(candidate, stamp, overtaken)
        return self._services.committer.create_root(
            base.version + 1, candidate.node, candidate.info, candidate.order
        )

    def _write(self, nodes: dict[str, NodeFile], order: int) -> None:
        """Write nodes below the root, and keep them for reading."""
        self._written.update(nodes)
        create_unique(
            self._services.storage, {path: encode_node(n, order) for path, n in nodes.items()}
        )
        for path, node in nodes.items():
            self._services.nodes.put_cache(path, node)

    def _store(self) -> None:
        """Write the definitions and warehouse files that are not there yet, side by side."""
        definitions = {
            path: data
            for path, data in self._proposal.definitions().items()
            if path not in self._written
        }
        files = {
            path: data
            for path, data in self._proposal.files().items()
            if path not in self._files_written
        }
        self._written.update(definitions)
        self._files_written.update(files)
        store(self._services, definitions, files)

    def _discard(self) -> None:
        """Delete what was written, as far as possible: no version reaches it."""
        discard_unique(self._services.storage, self._written)
        if self._files_written:
            discard_unique(self._services.format_context.warehouse, self._files_written)


def store(services: Services, definitions: Mapping[str, bytes], files: Mapping[str, bytes]) -> None:
    """Write new definitions and new warehouse files, side by side; return when all are there.

    Raises:
        StorageError: the storage failed; some of them may be there.
        CorruptError: a name holds other bytes.
    """
    storage = services.storage
    if not files:
        create_unique(storage, definitions)
    else:
        warehouse = services.format_context.warehouse
        if storage.parallel and warehouse.parallel:
            with ThreadPoolExecutor(1) as pool:
                others = pool.submit(create_unique, warehouse, files)
                create_unique(storage, definitions)
                others.result()
        else:
            create_unique(storage, definitions)
            create_unique(warehouse, files)
    for path, data in definitions.items():
        services.definitions.put(path, data)


def _stamp(candidate: Candidate, stamp: int, overtaken: int) -> None:
    """Set what is known only now; the time of the commit as late as can be (format.md §8.1)."""
    info, rows = candidate.info, candidate.node.system
    if info.time_version == info.created_at_millis:
        info.time_version = stamp
        rows[TIME_VERSION] = str(stamp)
    info.created_at_millis = stamp
    rows[CREATED_AT] = str(stamp)
    info.overtaken = overtaken
    if overtaken:
        rows[OVERTAKEN] = str(overtaken)
