"""What one committed version changed, read from its root alone (format.md §6.5)."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from trinitylake_spark.format.definitions import LAYOUT_FIELDS
from trinitylake_spark.format.definitions_pb2 import ActionObjectType
from trinitylake_spark.format.system import CommitKind
from trinitylake_spark.lakehouse.actions import PHYSICAL, Aspect, actions_of, aspect_changed

if TYPE_CHECKING:
    from trinitylake_spark.commit.versions import Root
    from trinitylake_spark.format.definitions_pb2 import ActionDef
    from trinitylake_spark.format.keys import KeyCodec
    from trinitylake_spark.format.nodefile import Message
    from trinitylake_spark.lakehouse.definitions import DefinitionStore


@dataclass(frozen=True, slots=True)
class VersionChanges:
    """What a version did.

    Args:
        root: the version's root.
        messages: its writes: key to new value, None for a delete.
        actions: its writing actions by key.
        definition_changed: the lakehouse definition is another file.
        layout_changed: one of the fields changed that no transaction can follow.
    """

    root: Root
    messages: dict[str, str | None]
    actions: dict[str, list[ActionDef]] = field(default_factory=dict)
    definition_changed: bool = False
    layout_changed: bool = False

    @property
    def version(self) -> int:
        """The version."""
        return self.root.version

    @property
    def is_rollback(self) -> bool:
        """Whether the version took the content of an older one."""
        return self.root.info.rollback_from_root is not None

    def aspect(self, key: str) -> Aspect | None:
        """Return the first aspect of an object that its write changed (format.md §6.5).

        Args:
            key: one of ``messages``.

        Returns:
            None if no reader could notice: compaction changes nothing to see. The name, so
            everything, if nothing is known of the write.

        Raises:
            CorruptError: an action that cannot be read.
        """
        if self.root.info.commit_kind is CommitKind.PHYSICAL:
            return None
        actions = self.actions.get(key, [])
        if actions and all(action.type in PHYSICAL for action in actions):
            return None
        if not actions or self.messages[key] is None:
            return Aspect.NAME
        return aspect_changed(actions)


def changes_of(
    root: Root, previous: Root, keys: KeyCodec, definitions: DefinitionStore
) -> VersionChanges:
    """Read what a version changed.

    Args:
        root: the version's root.
        previous: the root before it.
        keys: name sizes of the version before it.
        definitions: reads lakehouse definitions.

    Raises:
        CorruptError: an action or a definition that cannot be read.
    """
    messages = {message.key: message.value for message in _own_messages(root, previous)}
    actions: dict[str, list[ActionDef]] = {}
    for action in actions_of(root):
        if not action.read:
            key = _key_of(action, keys)
            if key is not None:
                actions.setdefault(key, []).append(action)
    old, new = previous.info.lakehouse_def, root.info.lakehouse_def
    layout_changed = False
    if old != new:
        before, after = definitions.layout(old).definition, definitions.layout(new).definition
        layout_changed = any(getattr(before, f) != getattr(after, f) for f in LAYOUT_FIELDS)
    return VersionChanges(root, messages, actions, old != new, layout_changed)


def _own_messages(root: Root, previous: Root) -> list[Message]:
    """Return the messages of the transaction that made ``root``.

    A foreign writer may record no transaction id; then the bottom row of the buffer tells, unless
    the version before had messages of that transaction already.
    """
    buffer = root.node.buffer
    txn = root.info.txn_id
    if txn is None:
        if not buffer:
            return []
        txn = buffer[-1].txn
        if any(message.txn == txn for message in previous.node.buffer):
            return []
    return [message for message in buffer if message.txn == txn]


def _key_of(action: ActionDef, keys: KeyCodec) -> str | None:
    """Return the key that an action is about, or None if it is about the lakehouse."""
    if action.start_key:
        return action.start_key.decode(errors="replace")
    target = action.object_def
    if target.type == ActionObjectType.NAMESPACE:
        return keys.namespace_key(target.namespaceName)
    if target.type == ActionObjectType.TABLE:
        return keys.table_key(target.namespaceName, target.namespaceObjectName)
    if target.type == ActionObjectType.VIEW:
        return keys.view_key(target.namespaceName, target.namespaceObjectName)
    return None
