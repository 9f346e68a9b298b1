"""The smallest lakehouse that has a tree: versions, roots and nodes, and no objects.

Every read goes through a new cache over the stored bytes, so nothing can be right only because it
is still in memory; every file is created exclusively, so nothing can be overwritten.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.support.independent_reader import IndependentReader
from trinitylake_spark.clock import ManualClock
from trinitylake_spark.format.nodefile import Message, NodeFile, decode_node, encode_node
from trinitylake_spark.format.paths import root_path
from trinitylake_spark.format.system import CommitKind, RootInfo
from trinitylake_spark.ids import SeededIds
from trinitylake_spark.storage.memory import MemoryStorage
from trinitylake_spark.tree.check import Problem, check_tree
from trinitylake_spark.tree.read import lookup, newest_txn, scan
from trinitylake_spark.tree.rebuild import rebuild
from trinitylake_spark.tree.store import NodeStore
from trinitylake_spark.tree.write import TreeChange, apply, compact

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from trinitylake_spark.storage.base import Storage
    from trinitylake_spark.tree.limits import Limits


class TreeLake:
    """Writes versions of one tree.

    Args:
        limits: order and sizes.
        storage: where; a memory of its own by default.
        seed: of the ids, so that a run repeats.
    """

    def __init__(self, limits: Limits, storage: Storage | None = None, seed: int = 0) -> None:
        self.ids = SeededIds(seed)
        self.clock = ManualClock()
        self.storage = storage or MemoryStorage(f"memory://tree-{id(self)}-{seed}")
        self.limits = limits
        self.version = 0
        self.written = 0
        self.files = 0
        self._define(limits.order)
        self._create_root(NodeFile(self._system(0, "t0"), [], [], []))

    def close(self) -> None:
        """Give the memory back."""
        for path in self.storage.list():
            self.storage.delete(path)

    def store(self) -> NodeStore:
        """A cache that knows nothing yet."""
        return NodeStore(self.storage)

    def root(self, version: int | None = None) -> NodeFile:
        """Read a root from the storage; the newest by default."""
        path = root_path(self.version if version is None else version)
        return decode_node(self.storage.read(path), path, None if version else self.limits.order)

    def commit(self, changes: Mapping[str, str | None], txn: str | None = None) -> TreeChange:
        """Commit one txn of sets and deletes (None); without any, one that only makes a version."""
        txn = txn or f"t{self.version + 1}"
        messages = [Message(key, value, txn) for key, value in changes.items()]
        change = self.attempt(messages, txn)
        self.write(change)
        return change

    def attempt(self, messages: list[Message], txn: str) -> TreeChange:
        """Build the next version without writing it."""
        root = self.root()
        return apply(
            self.store(),
            root,
            messages,
            self.limits,
            self.ids,
            self.clock,
            system=self._system(self.version + 1, txn),
            keep_txn=txn if messages else newest_txn(root),
        )

    def compact(self, emit: Callable[[dict[str, NodeFile]], None] | None = None) -> None:
        """Commit a compaction."""
        system = self._system(self.version + 1, f"t{self.version + 1}")
        self.write(
            compact(
                self.store(),
                self.root(),
                self.limits,
                self.ids,
                self.clock,
                system=system,
                emit=emit,
            )
        )

    def rebuild(
        self,
        limits: Limits,
        rekey: Callable[[str], str] = str,
        emit: Callable[[dict[str, NodeFile]], None] | None = None,
    ) -> None:
        """Commit a change of layout."""
        root, order = self.root(), self.limits.order
        self.limits = limits
        self._define(limits.order)
        self.write(
            rebuild(
                self.store(),
                root,
                order,
                limits,
                self.ids,
                self.clock,
                system=self._system(self.version + 1, f"t{self.version + 1}"),
                rekey=rekey,
                emit=emit,
            )
        )

    def rollback(self, version: int) -> None:
        """Commit the content of an older version of the same layout (format.md §8.3)."""
        old = self.root(version)
        system = self._system(self.version + 1, f"t{self.version + 1}")
        self.write(TreeChange(NodeFile(system, old.keys, old.values, old.children, old.buffer), {}))

    def write(self, change: TreeChange) -> None:
        """Write nodes, then the root."""
        self.write_nodes(change.nodes)
        self.version += 1
        self._create_root(change.root)

    def write_nodes(self, nodes: Mapping[str, NodeFile]) -> None:
        """Create node files."""
        for path, node in nodes.items():
            self._create(path, encode_node(node, self.limits.order))

    def content(self) -> dict[str, str]:
        """All pairs, as a scan gives them."""
        return dict(scan(self.store(), self.root(), order=self.limits.order))

    def scan(self, low: str, high: str | None) -> list[tuple[str, str]]:
        """The pairs of a range."""
        return list(scan(self.store(), self.root(), low, high, order=self.limits.order))

    def get(self, key: str) -> str | None:
        """The value of a key."""
        return lookup(self.store(), self.root(), key, self.limits.order)

    def problems(self) -> list[Problem]:
        """What ``check_tree`` finds."""
        return check_tree(
            self.store(),
            self.root(),
            self.limits.order,
            node_file_max_size_bytes=self.limits.node_file_max_size_bytes,
        )

    def independent(self, version: int | None = None) -> IndependentReader:
        """A reader that shares no code with the package."""
        return IndependentReader(self.storage.read, self.version if version is None else version)

    def _system(self, version: int, txn: str) -> dict[str, str]:
        previous = root_path(version - 1) if version else None
        return RootInfo(
            created_at_millis=self.clock.now_millis() + version,
            lakehouse_def=self._definition,
            version=version,
            previous_root=previous,
            txn_id=txn,
            commit_kind=CommitKind.LOGICAL,
        ).to_rows()

    def _define(self, order: int) -> None:
        """Write a definition with nothing but field 3, ``order``."""
        self._definition = f"_lakehouse_def_{self.ids.uuid4()}.binpb"
        low, high = order & 0x7F, order >> 7
        self.storage.create(
            self._definition, bytes([0x18, low | 0x80, high] if high else [0x18, low])
        )

    def _create_root(self, root: NodeFile) -> None:
        self._create(root_path(self.version), encode_node(root, self.limits.order))

    def _create(self, path: str, data: bytes) -> None:
        self.storage.create(path, data)
        self.written += len(data)
        self.files += 1
