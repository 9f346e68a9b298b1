"""The model of Spark programs: it agrees with itself, and finds every planted defect.

An actor without Spark does each step as a second model says; a liar among them does one thing
wrong, and the programs must find it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.support.program_commits import Verdict
from tests.support.program_model import (
    CONFLICT,
    FINISHED,
    STALE,
    Expected,
    Model,
    Outcome,
)
from tests.support.program_plays import Fault, Play, shortest, stage_held
from tests.support.programs import Program, program

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.support.program_model import Frame, Query, Txn
    from tests.support.program_rows import Row
    from tests.support.program_steps import Step

PROGRAMS = 150


class Puppet:
    """Does each step as a model says.

    Args:
        program: whose steps.
        kind: the model's class.
    """

    def __init__(self, program: Program, kind: type[Model]) -> None:
        self.model = kind(program.layouts, program.rows, program.sessions)

    def create(self, table: str, rows: list[Row]) -> None:
        """It is there."""

    def do(self, step: Step) -> Outcome:
        """Do what the model would like best."""
        expected = step.mean(self.model)
        return Outcome() if expected is None else _done(expected)

    def hold(self, step: Step, meanwhile: Callable[[], None]) -> Outcome:
        """Begin it, let others work, commit."""
        txn = stage_held(self.model, step)
        meanwhile()
        return Outcome() if txn is None else _done(self.model.commit(txn))

    def rollback(self, session: int) -> None:
        """Forget it."""
        self.model.open[session] = None

    def rows(self, table: str) -> list[Row]:
        """Return its rows."""
        return dict(self.model.state())[table]


def _done(expected: Expected) -> Outcome:
    if expected.must_fail:
        expected.refused()
        return Outcome(condition=min(expected.refusals))
    expected.done()
    return Outcome(sorted(expected.rows or []))


class KeepsVersions(Model):
    """Questions are answered as of the first version."""

    def ask(
        self, session: int, query: Query, answer: Callable[..., object] | None = None
    ) -> Expected:
        """Look at it."""
        newest = self.versions[-1]
        self.versions[-1] = self.versions[0]
        try:
            return super().ask(session, query, answer)
        finally:
            self.versions[-1] = newest


class ForgetsReads(Model):
    """Nothing that was read counts."""

    def note(self, *_: object, **__: object) -> None:
        """Note nothing."""


class LosesUpdates(Model):
    """Every COMMIT succeeds."""

    def verdict(self, txn: Txn) -> Verdict:
        """Let it pass."""
        super().verdict(txn)
        return Verdict.COMMITS


class RefusesAppends(Model):
    """Whoever writes beside others is refused."""

    def verdict(self, txn: Txn) -> Verdict:
        """Refuse it."""
        others = len(self.versions) - 1 > txn.base
        return Verdict.REFUSED if others and txn.changes else super().verdict(txn)


class ServesOldPlans(Model):
    """A second collect() gives the rows of the first, wherever it is."""

    def ask_again(self, frame: Frame) -> Expected:
        """Give the old rows."""
        if frame.plan is None:
            return super().ask_again(frame)
        return Expected(frame.plan.rows)


class PlansAgain(Model):
    """A second collect() gives the newest rows, which no Spark does."""

    def ask_again(self, frame: Frame) -> Expected:
        """Ask anew."""
        frame.plan = None
        return super().ask_again(frame)


class KeepsRolledBackRows(Model):
    """What was made in a transaction that did not commit can be used."""

    def refusal(self, query: Query) -> tuple[frozenset[str], bool]:
        """Refuse nothing."""
        super().refusal(query)
        return frozenset(), False


class ShowsOthersChanges(Model):
    """A transaction sees what others commit."""

    def view(self, session: int) -> dict[str, dict[int, Row]]:
        """Show the newest version, as long as nothing was changed here."""
        txn = self.open[session]
        if txn is not None and not txn.changes:
            return self.versions[-1]
        return super().view(session)


class CommitsRollbacks(Model):
    """A refused COMMIT leaves its changes."""

    def commit(self, txn: Txn) -> Expected:
        """Publish it whatever is said."""
        expected = super().commit(txn)
        refused = expected.refused

        def leaves() -> None:
            """Leave the changes."""
            self.publish(txn)
            refused()

        expected.refused = leaves
        return expected


LIARS = [
    KeepsVersions,
    ForgetsReads,
    LosesUpdates,
    RefusesAppends,
    ServesOldPlans,
    PlansAgain,
    KeepsRolledBackRows,
    ShowsOthersChanges,
    CommitsRollbacks,
]


def _play(program: Program, kind: type[Model]) -> Fault | None:
    return Play(program, Puppet(program, kind)).run()


@pytest.mark.parametrize("transactions", [True, False])
def test_the_model_agrees_with_itself(transactions: bool) -> None:
    """What it wants from a step it also accepts; the programs meet every kind of refusal."""
    met: set[str] = set()
    for seed in range(PROGRAMS):
        written = program(seed, transactions=transactions)
        play = Play(written, Puppet(written, Model))
        fault = play.run()
        assert fault is None, str(fault)
        met |= play.met
    assert met == ({CONFLICT, FINISHED, STALE} if transactions else set())


@pytest.mark.parametrize("kind", LIARS, ids=lambda kind: kind.__name__)
def test_every_planted_defect_is_found(kind: type[Model]) -> None:
    """Several of fifty programs meet it, and a short one shows it."""
    written = (program(seed, transactions=True) for seed in range(PROGRAMS))
    faults = [fault for one in written if (fault := _play(one, kind)) is not None]

    assert len(faults) > PROGRAMS / 25
    short = shortest(faults[0], lambda one: _play(one, kind))
    assert len(short.program.steps) <= len(faults[0].program.steps)
    assert _play(short.program, kind) is not None


def test_same_seed_same_program() -> None:
    """A seed stands for one program."""
    one, two = (program(17, transactions=True) for _ in range(2))

    assert [step.code for step in one.steps] == [step.code for step in two.steps]
