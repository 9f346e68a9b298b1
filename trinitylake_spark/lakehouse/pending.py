"""What a transaction would change: writes over its base version, in order (format.md §6.2)."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from trinitylake_spark.lakehouse.actions import PHYSICAL, Effect, effect_of
from trinitylake_spark.lakehouse.readset import Constraints, ReadSet

if TYPE_CHECKING:
    from trinitylake_spark.format.definitions_pb2 import LakehouseDef
    from trinitylake_spark.format.keys import ObjectKey
    from trinitylake_spark.lakehouse.formats import TableChange


@dataclass(frozen=True, slots=True)
class Write:
    """The newest state of one key.

    Args:
        target: the key, taken apart.
        path: the definition it gets, or None to delete it.
        base_path: the definition it had in the base version, or None.
    """

    target: ObjectKey
    path: str | None
    base_path: str | None


@dataclass(frozen=True, slots=True)
class Step:
    """One operation, in order of execution.

    Args:
        key: the key it wrote.
        target: the key, taken apart.
        change: operation, detail, and for tables what the format needs.
    """

    key: str
    target: ObjectKey
    change: TableChange


@dataclass(frozen=True, slots=True)
class DefinitionChange:
    """A new lakehouse definition.

    Args:
        definition: the definition.
        path: its file.
        names: the properties that changed.
    """

    definition: LakehouseDef
    path: str
    names: tuple[str, ...]


@dataclass(slots=True)
class Pending:
    """Everything that a transaction has done so far."""

    writes: dict[str, Write] = field(default_factory=dict)
    definitions: dict[str, bytes] = field(default_factory=dict)
    """New definition files, by path; ``writes`` and ``definition`` name them."""
    steps: list[Step] = field(default_factory=list)
    """What was done to the keys in ``writes``."""
    files: dict[str, bytes] = field(default_factory=dict)
    """Warehouse files that must exist before the root does, by path."""
    stored: frozenset[str] = frozenset()
    """Definitions that exist already, as the transaction was prepared before; never deleted."""
    definition: DefinitionChange | None = None
    reads: ReadSet = field(default_factory=ReadSet)
    constraints: Constraints = field(default_factory=Constraints)

    @property
    def is_empty(self) -> bool:
        """Whether a commit would change nothing."""
        return not self.writes and self.definition is None

    def write(self, key: str, target: ObjectKey, path: str | None, base_path: str | None) -> None:
        """Set or delete a key; deleting what this transaction made leaves no trace."""
        before = self.writes.pop(key, None)
        if before is not None and before.path is not None:
            self.definitions.pop(before.path, None)
        if path is not None or base_path is not None:
            self.writes[key] = Write(target, path, base_path)
        else:
            self.steps = [step for step in self.steps if step.key != key]

    def step(self, key: str, target: ObjectKey, change: TableChange) -> None:
        """Take down an operation on a key that ``write`` has just set or deleted."""
        if key in self.writes:
            self.steps.append(Step(key, target, change))
        self.files.update(change.files)

    def move_steps(self, old: str, new: str, target: ObjectKey) -> None:
        """Let what was done under one name count for another, as done after all else there."""
        moved = [replace(step, key=new, target=target) for step in self.steps if step.key == old]
        self.steps = [step for step in self.steps if step.key != old] + moved

    def effects(self, key: str) -> list[Effect]:
        """Return what this transaction did to the object behind a key, in order."""
        effects = [effect_of(step.change.operation) for step in self.steps if step.key == key]
        return [effect for effect in effects if effect is not None]

    def is_physical(self) -> bool:
        """Whether all that was done is compaction or clustering."""
        return bool(self.steps) and all(s.change.operation in PHYSICAL for s in self.steps)

    def copy(self) -> Pending:
        """Return a copy that can change on its own."""
        return replace(
            self,
            writes=dict(self.writes),
            definitions=dict(self.definitions),
            steps=list(self.steps),
            files=dict(self.files),
            reads=self.reads.copy(),
            constraints=self.constraints.copy(),
        )
