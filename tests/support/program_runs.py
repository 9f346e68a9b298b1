"""Runs programs in Spark beside the model, and makes those that fail short."""

from __future__ import annotations

import re
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import count
from typing import TYPE_CHECKING, Any

from delta.tables import DeltaTable
from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame
from pyspark.sql.functions import expr

from tests.support.overlap import Overlap
from tests.support.program_model import SNAPSHOT, Model, Outcome

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from pyspark.sql import SparkSession

    from tests.support.program_model import Expected
    from tests.support.program_steps import Step
    from tests.support.programs import Program

QUICK = {
    # Rows are few and plans many, so compiling each of them is most of the work.
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
    "spark.sql.adaptive.enabled": "false",
    "spark.sql.shuffle.partitions": "1",
    "spark.databricks.delta.snapshotPartitions": "1",
}
"""Settings for sessions that run programs."""
_SHRINKING = 40
_runs = count(1)


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


class Stage:
    """Sessions that play programs, one after the other.

    Args:
        sessions: of one application on one lakehouse, or on none.
        namespace: where tables are made, with its catalog.
        folder: for the signals that hold statements.
    """

    def __init__(self, sessions: Sequence[SparkSession], namespace: str, folder: Path) -> None:
        self._sessions = sessions
        self._namespace = namespace
        self.met: set[str] = set()
        """The conditions with which steps were refused, as the model has it."""
        self._gates = [Overlap(s, folder / f"gate{n}") for n, s in enumerate(sessions)]
        for session in sessions:
            for key, value in QUICK.items():
                session.conf.set(key, value)

    def play(self, program: Program) -> Fault | None:
        """Play a program on tables of its own; return what went wrong."""
        run = _Run(self._sessions, self._gates, self._namespace, program)
        try:
            return run.play()
        finally:
            self.met |= run.met
            run.close()

    def shortest(self, fault: Fault) -> Fault:
        """Leave out steps as long as the program still fails."""
        program = fault.program
        fault = replace(fault, program=replace(program, steps=program.steps[: fault.step + 1]))
        tries = iter(range(_SHRINKING))
        position = fault.step
        while position > 0 and next(tries, None) is not None:
            position -= 1
            steps = fault.program.steps
            shorter = replace(fault.program, steps=(*steps[:position], *steps[position + 1 :]))
            fault = self.play(shorter) or fault
        return fault


class _Run:
    """One run of one program."""

    def __init__(
        self,
        sessions: Sequence[SparkSession],
        gates: Sequence[Overlap],
        namespace: str,
        program: Program,
    ) -> None:
        self._sessions = sessions
        self._gates = gates
        self._program = program
        self._suffix = f"_{next(_runs)}"
        self._names = {t: f"{namespace}.{t}{self._suffix}" for t in program.rows}
        self._scope: dict[str, Any] = {"DeltaTable": DeltaTable, "expr": expr}
        self._scope |= {f"c{n}": session for n, session in enumerate(sessions)}
        self._model = Model(program.layouts, program.rows, program.sessions)
        self._skipped: set[int] = set()
        self.met: set[str] = set()

    def play(self) -> Fault | None:
        """Do all steps, then look at all rows."""
        for table, rows in self._program.rows.items():
            self._create(table, rows)
        for number, step in enumerate(self._program.steps):
            text = self._step(number, step)
            if text:
                return self._fault(number, text)
        self._leave()
        text = self._compare()
        return self._fault(len(self._program.steps), text) if text else None

    def close(self) -> None:
        """Leave nothing behind that another program could meet."""
        self._leave()
        for made in self._scope.values():
            if isinstance(made, DataFrame):
                with suppress(PySparkException):
                    made.unpersist(blocking=True)
        for view, (owner, _) in self._model.views.items():
            catalog = self._sessions[owner or 0].catalog
            drop = catalog.dropGlobalTempView if owner is None else catalog.dropTempView
            drop(self._name(view).removeprefix("global_temp."))
        for name in self._names.values():
            self._sessions[0].sql(f"DROP TABLE IF EXISTS {name}")

    def _create(self, table: str, rows: list[tuple[int, int]]) -> None:
        layout = self._model.layouts[table]
        partitions = "PARTITIONED BY (id)" if layout.partitioned else ""
        vectors = str(layout.vectors).lower()
        values = ", ".join(map(str, rows))
        self._sessions[0].sql(
            f"CREATE TABLE {self._names[table]} USING delta {partitions}"
            f" TBLPROPERTIES ('delta.enableDeletionVectors' = '{vectors}')"
            f" AS SELECT /*+ REPARTITION(2) */ id, v FROM VALUES {values} AS t (id, v)"
        )

    def _step(self, number: int, step: Step) -> str:
        if step.others:
            return self._held(number, step)
        expected = step.mean(self._model)
        if expected is None:
            self._skipped.add(number)
            return ""
        return self._judged(expected, self._do(step))

    def _held(self, number: int, step: Step) -> str:
        """Do a statement that others overtake: a transaction of one statement."""
        model = self._model
        if model.open[step.session] is not None:
            self._skipped.add(number)
            return ""
        txn = model.open[step.session] = model.begin(step.session, SNAPSHOT)
        staged = step.mean(model)
        model.open[step.session] = None
        if staged is None or staged.refusals:
            self._skipped.add(number)
            return ""
        model.open[step.session] = txn
        staged.done()
        model.open[step.session] = None
        with self._gates[step.session].running(lambda: self._value(step)) as failed:
            faults = [self._step(-1, other) for other in step.others]
        if any(faults):
            return "meanwhile " + "; ".join(faults)
        return self._judged(model.commit(txn), _error(failed[0]) if failed else Outcome())

    def _judged(self, expected: Expected, outcome: Outcome) -> str:
        fault = expected.fault(outcome)
        if outcome.condition is not None and not fault:
            self.met.add(outcome.condition)
        return fault

    def _do(self, step: Step) -> Outcome:
        try:
            return _rows(self._value(step))
        except (PySparkException, Py4JJavaError) as error:
            return _error(error)

    def _value(self, step: Step) -> Any:
        """Run a step's line of Python."""
        code = re.sub(r"\{([\w.]+)\}", lambda m: self._name(m[1]), step.code)
        if re.match(r"\w+ = ", code):
            exec(code, self._scope)  # noqa: S102 - the author's own line
            return None
        return eval(code, self._scope)  # noqa: S307 - the author's own line

    def _name(self, name: str) -> str:
        return self._names.get(name, name + self._suffix)

    def _leave(self) -> None:
        for number, txn in enumerate(self._model.open):
            if txn is not None:
                self._model.open[number] = None
                self._sessions[number].sql("ROLLBACK")

    def _compare(self) -> str:
        wrong = []
        for table, expected in self._model.state():
            found = _rows(self._sessions[0].sql(f"SELECT * FROM {self._names[table]}").collect())
            if found.rows != expected:
                wrong.append(f"{table} holds {found.rows} in the end; expected {expected}")
        return "; ".join(wrong)

    def _fault(self, number: int, text: str) -> Fault:
        return Fault(self._program, number, text, frozenset(self._skipped))


def _rows(value: Any) -> Outcome:
    if isinstance(value, int):
        return Outcome([(value,)])
    if value is None or isinstance(value, DataFrame):
        return Outcome()
    return Outcome(sorted(tuple(row) for row in value))


def _error(error: BaseException) -> Outcome:
    condition = error.getCondition() if isinstance(error, PySparkException) else None
    return Outcome(condition=condition or type(error).__name__, text=str(error)[:600])
