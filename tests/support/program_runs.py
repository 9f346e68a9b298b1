"""Plays programs in Spark sessions."""

from __future__ import annotations

import re
from contextlib import suppress
from itertools import count
from typing import TYPE_CHECKING, Any

from delta.tables import DeltaTable
from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame
from pyspark.sql.functions import expr

from tests.support.overlap import Overlap
from tests.support.program_model import Outcome
from tests.support.program_plays import Fault, Play, shortest
from tests.support.spark_rows import quicken

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from pyspark.sql import SparkSession

    from tests.support.program_model import Model
    from tests.support.program_rows import Row
    from tests.support.program_steps import Step
    from tests.support.programs import Program

_runs = count(1)


class Stage:
    """Sessions that play programs, one after the other.

    Args:
        sessions: of one application on one lakehouse, or on none.
        namespace: where tables are made, with its catalog.
        folder: for the signals that hold statements.
    """

    def __init__(self, sessions: Sequence[SparkSession], namespace: str, folder: Path) -> None:
        self.met: set[str] = set()
        """The conditions with which steps were refused, as the model has it."""
        self._sessions = sessions
        self._namespace = namespace
        self._gates = [Overlap(s, folder / f"gate{n}") for n, s in enumerate(sessions)]
        for session in sessions:
            quicken(session)

    def play(self, program: Program) -> Fault | None:
        """Play a program on tables of its own; return what went wrong."""
        actor = _Actor(self._sessions, self._gates, self._namespace, program)
        play = Play(program, actor)
        try:
            return play.run()
        finally:
            self.met |= play.met
            play.leave()
            actor.close(play.model)

    def shortest(self, fault: Fault) -> Fault:
        """Leave out steps as long as the program still fails."""
        return shortest(fault, self.play)


class _Actor:
    """Does the steps of one program in Spark."""

    def __init__(
        self,
        sessions: Sequence[SparkSession],
        gates: Sequence[Overlap],
        namespace: str,
        program: Program,
    ) -> None:
        self._sessions = sessions
        self._gates = gates
        self._layouts = program.layouts
        self._suffix = f"_{next(_runs)}"
        self._names = {t: f"{namespace}.{t}{self._suffix}" for t in program.rows}
        self._scope: dict[str, Any] = {"DeltaTable": DeltaTable, "expr": expr}
        self._scope |= {f"c{n}": session for n, session in enumerate(sessions)}

    def create(self, table: str, rows: list[Row]) -> None:
        """Make a table of two files (or partitions)."""
        layout = self._layouts[table]
        partitions = "PARTITIONED BY (id)" if layout.partitioned else ""
        vectors = str(layout.vectors).lower()
        values = ", ".join(map(str, rows))
        self._sessions[0].sql(
            f"CREATE TABLE {self._names[table]} USING delta {partitions}"
            f" TBLPROPERTIES ('delta.enableDeletionVectors' = '{vectors}')"
            f" AS SELECT /*+ REPARTITION(2) */ id, v FROM VALUES {values} AS t (id, v)"
        )

    def do(self, step: Step) -> Outcome:
        """Run a step's line of Python."""
        try:
            return _outcome(self._value(step))
        except (PySparkException, Py4JJavaError) as error:
            return _refusal(error)

    def hold(self, step: Step, meanwhile: Callable[[], None]) -> Outcome:
        """Run a step's line while its statement is held in the middle."""
        with self._gates[step.session].running(lambda: self._value(step)) as failed:
            meanwhile()
        return _refusal(failed[0]) if failed else Outcome()

    def rollback(self, session: int) -> None:
        """ROLLBACK."""
        self._sessions[session].sql("ROLLBACK")

    def rows(self, table: str) -> list[Row]:
        """Read all of a table."""
        return _outcome(self._sessions[0].table(self._names[table]).collect()).rows

    def close(self, model: Model) -> None:
        """Leave nothing behind that another program could meet."""
        for made in self._scope.values():
            if isinstance(made, DataFrame):
                with suppress(PySparkException):
                    made.unpersist(blocking=True)
        for view, (owner, _) in model.views.items():
            catalog = self._sessions[owner or 0].catalog
            drop = catalog.dropGlobalTempView if owner is None else catalog.dropTempView
            drop(self._name(view).removeprefix("global_temp."))
        for name in self._names.values():
            self._sessions[0].sql(f"DROP TABLE IF EXISTS {name}")

    def _value(self, step: Step) -> Any:
        code = re.sub(r"\{([\w.]+)\}", lambda m: self._name(m[1]), step.code)
        if re.match(r"\w+ = ", code):
            exec(code, self._scope)  # noqa: S102 - the author's own line
            return None
        return eval(code, self._scope)  # noqa: S307 - the author's own line

    def _name(self, name: str) -> str:
        return self._names.get(name, name + self._suffix)


def _outcome(value: Any) -> Outcome:
    if isinstance(value, int):
        return Outcome([(value,)])
    if value is None or isinstance(value, DataFrame):
        return Outcome()
    return Outcome(sorted(tuple(row) for row in value))


def _refusal(error: BaseException) -> Outcome:
    condition = error.getCondition() if isinstance(error, PySparkException) else None
    return Outcome(condition=condition or type(error).__name__, text=str(error)[:600])
