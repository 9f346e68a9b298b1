"""Plays a program: each step is done by an actor, and judged by the model."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Protocol

from tests.support.program_model import SNAPSHOT, Model

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.support.program_model import Expected, Outcome, Txn
    from tests.support.program_rows import Row
    from tests.support.program_steps import Step
    from tests.support.programs import Program

_SHRINKING = 40


class Actor(Protocol):
    """Does the steps of one program."""

    def create(self, table: str, rows: list[Row]) -> None:
        """Make a table."""

    def do(self, step: Step) -> Outcome:
        """Do a step to its end."""

    def hold(self, step: Step, meanwhile: Callable[[], None]) -> Outcome:
        """Do a step, and something else when it has read and not yet committed."""

    def rollback(self, session: int) -> None:
        """Roll back what a session has open."""

    def rows(self, table: str) -> list[Row]:
        """Return a table's committed rows, sorted."""


@dataclass(frozen=True)
class Fault:
    """Where a program went wrong.

    Args:
        program: which.
        step: the position of the step that did; the number of steps for the rows in the end.
        text: what it did.
        skipped: the positions of steps that made no sense.
    """

    program: Program
    step: int
    text: str
    skipped: frozenset[int]

    def __str__(self) -> str:
        tables = [f"# {name}: {rows}" for name, rows in self.program.rows.items()]
        lines = [f"seed {self.program.seed}", *tables]
        for number, step in enumerate(self.program.steps):
            if number not in self.skipped:
                held = [f"    # meanwhile: {other.code}" for other in step.others]
                lines += [f"{'>' if number == self.step else ' '} {step.code}", *held]
        return "\n".join([*lines, f"> {self.text}"])


class Play:
    """One run of one program.

    Args:
        program: which.
        actor: who does it.
    """

    def __init__(self, program: Program, actor: Actor) -> None:
        self.model = Model(program.layouts, program.rows, program.sessions)
        self.met: set[str] = set()
        """The conditions with which steps were refused, as the model has it."""
        self._program = program
        self._actor = actor
        self._skipped: set[int] = set()

    def run(self) -> Fault | None:
        """Do all steps, then look at all rows; return what went wrong."""
        for table, rows in self._program.rows.items():
            self._actor.create(table, rows)
        for number, step in enumerate(self._program.steps):
            text = self._held(number, step) if step.others else self._step(number, step)
            if text:
                return self._fault(number, text)
        self.leave()
        text = self._compare()
        return self._fault(len(self._program.steps), text) if text else None

    def leave(self) -> None:
        """Roll back what is open."""
        for number, txn in enumerate(self.model.open):
            if txn is not None:
                self.model.open[number] = None
                self._actor.rollback(number)

    def _step(self, number: int, step: Step) -> str:
        expected = step.mean(self.model)
        if expected is None:
            self._skipped.add(number)
            return ""
        return self._judged(expected, self._actor.do(step))

    def _held(self, number: int, step: Step) -> str:
        """Do a statement that others overtake: a transaction of one statement."""
        txn = stage_held(self.model, step)
        if txn is None:
            self._skipped.add(number)
            return ""
        faults: list[str] = []

        def meanwhile() -> None:
            """What others do."""
            faults.extend(self._step(-1, other) for other in step.others)

        outcome = self._actor.hold(step, meanwhile)
        if any(faults):
            return "meanwhile: " + "; ".join(filter(None, faults))
        return self._judged(self.model.commit(txn), outcome)

    def _judged(self, expected: Expected, outcome: Outcome) -> str:
        fault = expected.fault(outcome)
        if outcome.condition is not None and not fault:
            self.met.add(outcome.condition)
        return fault

    def _compare(self) -> str:
        wrong = []
        for table, expected in self.model.state():
            found = self._actor.rows(table)
            if found != expected:
                wrong.append(f"{table} holds {found} in the end; expected {expected}")
        return "; ".join(wrong)

    def _fault(self, number: int, text: str) -> Fault:
        return Fault(self._program, number, text, frozenset(self._skipped))


def stage_held(model: Model, step: Step) -> Txn | None:
    """Begin a statement outside of a transaction in the model; None if it makes no sense."""
    if model.open[step.session] is not None:
        return None
    txn = model.open[step.session] = model.begin(step.session, SNAPSHOT)
    expected = step.mean(model)
    if expected is not None and not expected.refusals:
        expected.done()
    model.open[step.session] = None
    return None if expected is None or expected.refusals else txn


def shortest(fault: Fault, play: Callable[[Program], Fault | None]) -> Fault:
    """Leave out steps as long as the program still fails, or as patience lasts."""
    steps = fault.program.steps[: fault.step + 1]
    fault = replace(fault, program=replace(fault.program, steps=steps))
    first = max(0, fault.step - _SHRINKING)
    for position in range(min(fault.step, len(steps)) - 1, first - 1, -1):
        steps = fault.program.steps
        program = replace(fault.program, steps=(*steps[:position], *steps[position + 1 :]))
        fault = play(program) or fault
    return fault
