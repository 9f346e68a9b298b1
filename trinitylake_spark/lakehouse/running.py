"""The running root: the work of a prepared transaction as a node file (format.md §6.7)."""

from __future__ import annotations

import base64
import binascii
from dataclasses import replace
from typing import TYPE_CHECKING

from trinitylake_spark.errors import CorruptError, UnsupportedError
from trinitylake_spark.format.definitions import (
    LAYOUT_FIELDS,
    action_detail,
    parse_constraint,
    parse_lakehouse_definition,
    serialise,
)
from trinitylake_spark.format.definitions_pb2 import ActionType, ConstraintDef, ConstraintType
from trinitylake_spark.format.nodefile import Message, NodeFile
from trinitylake_spark.format.system import parse_root_info
from trinitylake_spark.lakehouse.actions import object_action, parse_actions
from trinitylake_spark.lakehouse.formats import TableChange
from trinitylake_spark.lakehouse.pending import DefinitionChange, Pending, Step, Write
from trinitylake_spark.lakehouse.readset import Constraints, KeyRange, ReadSet

if TYPE_CHECKING:
    from collections.abc import Iterator

    from trinitylake_spark.format.definitions_pb2 import ActionDef
    from trinitylake_spark.format.keys import KeyCodec
    from trinitylake_spark.lakehouse.proposal import TransactionProposal
    from trinitylake_spark.lakehouse.services import Services
    from trinitylake_spark.lakehouse.snapshot import Snapshot

_CONSTRAINT_PREFIX = "constraint."


def running_root(base: Snapshot, pending: Pending, proposal: TransactionProposal) -> NodeFile:
    """Return a root on top of ``base`` that holds everything a transaction has done.

    It is no version, and it is never flushed: a commit builds another one.

    Args:
        base: what the transaction saw.
        pending: its work.
        proposal: says what a version would record of it.

    Raises:
        UnsupportedError: the transaction changes the layout of the tree.
    """
    _check_layout(base, pending)
    root = base.root
    info = proposal.info(root, root.info.created_at_millis + 1)
    # A read set that was coarsened names fewer keys than tables whose data was read.
    reads = pending.reads
    more = [key for key in reads.data if key not in reads.keys]
    more_actions = [_read_of_data(key, base.layout.keys) for key in sorted(more)]
    info = replace(info, actions=[*info.actions, *map(serialise, more_actions)])
    rows = info.to_rows()
    for i, constraint in enumerate(_constraint_messages(pending.constraints)):
        rows[f"{_CONSTRAINT_PREFIX}{i:08d}"] = base64.b64encode(serialise(constraint)).decode()
    own = [Message(k, write.path, proposal.transaction_id) for k, write in pending.writes.items()]
    node = root.node
    return NodeFile(rows, node.keys, node.values, node.children, [*node.buffer, *own])


def restore(services: Services, base: Snapshot, node: NodeFile, path: str) -> Pending:
    """Return the work that a running root holds.

    Args:
        services: of the open lakehouse.
        base: the version that the transaction saw.
        node: the running root.
        path: its file, for errors.

    Raises:
        CorruptError: the node or a definition breaks a rule.
        NotFoundError: a definition is gone, as the transaction has expired.
    """
    info = parse_root_info(node.system, path)
    keys = base.layout.keys
    pending = Pending(constraints=_constraints(node.system, path))
    for message in node.buffer:
        if message.txn == info.txn_id:
            before = base._path(message.key)  # noqa: SLF001 - as the transaction itself does
            write = Write(keys.decode(message.key), message.value, before)
            pending.writes[message.key] = write
    actions = parse_actions(info.actions, path)
    pending.reads = _reads(action for action in actions if action.read)
    for action in actions:
        if not action.read and action.start_key:
            key = action.start_key.decode()
            change = TableChange(action.type, action_detail(action))
            pending.steps.append(Step(key, keys.decode(key), change))
    if info.lakehouse_def != base.root.info.lakehouse_def:
        pending.definition = _definition_change(services, info.lakehouse_def, actions)
    # A renamed table keeps its definition, which is the base's.
    renamed = {write.base_path for write in pending.writes.values()}
    written = [write.path for write in pending.writes.values() if write.path is not None]
    paths = [path for path in written if path not in renamed]
    files = services.storage.read_all(paths)
    pending.definitions = dict(zip(paths, files, strict=True))
    own_definition = [] if pending.definition is None else [pending.definition.path]
    pending.stored = frozenset([*paths, *own_definition])
    return pending


def _check_layout(base: Snapshot, pending: Pending) -> None:
    if pending.definition is None:
        return
    old, new = base.layout.definition, pending.definition.definition
    if any(getattr(old, field) != getattr(new, field) for field in LAYOUT_FIELDS):
        raise UnsupportedError(
            "A transaction that changes the layout of the tree cannot be prepared, as any commit "
            "meanwhile would refuse it. COMMIT it."
        )


def _read_of_data(key: str, keys: KeyCodec) -> ActionDef:
    action = object_action(key, keys.decode(key), ActionType.TABLE_SELECT, b"")
    action.read = True
    return action


def _reads(actions: Iterator[ActionDef]) -> ReadSet:
    reads = ReadSet()
    for action in actions:
        if action.HasField("end_key"):
            found = KeyRange(action.start_key.decode(), action.end_key.decode())
            reads.ranges[found] = action.type
            continue
        key = action.start_key.decode()
        reads.keys[key] = action.type
        if action.type == ActionType.TABLE_SELECT:
            reads.data.add(key)
    return reads


def _definition_change(services: Services, path: str, actions: list[ActionDef]) -> DefinitionChange:
    definition = parse_lakehouse_definition(services.definitions.read(path), path)
    altered = [a for a in actions if a.type == ActionType.LAKEHOUSE_ALTER]
    names = tuple(action.object_def.namespaceObjectName for action in altered)
    return DefinitionChange(definition, path, names)


def _constraint_messages(constraints: Constraints) -> Iterator[ConstraintDef]:
    for key, why in constraints.present.items():
        yield ConstraintDef(type=ConstraintType.KEY_PRESENT, start_key=key.encode(), reason=why)
    for key, why in constraints.absent.items():
        yield ConstraintDef(type=ConstraintType.KEY_ABSENT, start_key=key.encode(), reason=why)
    for (low, high), why in constraints.empty.items():
        yield ConstraintDef(
            type=ConstraintType.RANGE_EMPTY,
            start_key=low.encode(),
            end_key=high.encode(),
            reason=why,
        )


def _constraints(rows: dict[str, str], path: str) -> Constraints:
    found = Constraints()
    for row, value in rows.items():
        if not row.startswith(_CONSTRAINT_PREFIX):
            continue
        try:
            stored = base64.b64decode(value, validate=True)
        except binascii.Error as error:
            raise CorruptError(
                f"{path} is corrupt: format.md §6.7 says that row {row} is padded base64.",
                path=path,
                rule=f"format.md §6.7: row {row} is padded base64",
                found=value[:80],
            ) from error
        constraint = parse_constraint(stored, path)
        key = constraint.start_key.decode()
        if constraint.type == ConstraintType.RANGE_EMPTY:
            found.empty[KeyRange(key, constraint.end_key.decode())] = constraint.reason
        elif constraint.type == ConstraintType.KEY_ABSENT:
            found.absent[key] = constraint.reason
        else:
            found.present[key] = constraint.reason
    return found
