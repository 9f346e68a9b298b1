"""What bounds a node, and the soft targets that keep one commit small (format.md §3.5, §3.6).

The format fixes only the hard limit: a node whose file would exceed ``node_file_max_size_bytes``
flushes. Every commit writes the whole root, and every flush writes a whole child, so flushing at
that limit would make a small commit write a megabyte. The targets here make it flush earlier;
the numbers were measured with ``benchmarks/tree_core.py``.
"""

from __future__ import annotations

from dataclasses import dataclass

_KIB = 1024


@dataclass(frozen=True, slots=True)
class Limits:
    """Order and sizes of the nodes to write; sizes are bytes of a node's file.

    Args:
        order: N; at most N children and N - 1 keys a node.
        node_file_max_size_bytes: the definition's target; a node above it flushes.
        root_target_bytes: size that a root without big transactions stays below.
        min_buffer_bytes: buffer that a root or inner node may always have (within the hard
            limit), however large its table is.
        max_buffer_bytes: most that batches make an inner node hold back.
        bulk_bytes: once a node flushes, every child with at least this much pending gets it.
    """

    order: int = 128
    node_file_max_size_bytes: int = 1024 * _KIB
    root_target_bytes: int = 56 * _KIB
    min_buffer_bytes: int = 10 * _KIB
    max_buffer_bytes: int = 128 * _KIB
    bulk_bytes: int = 12 * _KIB

    @property
    def max_keys(self) -> int:
        """Most keys of a node."""
        return self.order - 1

    @property
    def min_keys(self) -> int:
        """Fewest keys of a node that is not the root: ceil(N/2) - 1."""
        return (self.order + 1) // 2 - 1

    def root_buffer(self, rest: int, kept: int) -> int:
        """Return how many bytes of flushable messages a root may hold.

        Args:
            rest: bytes of its system rows and table.
            kept: bytes of the messages that must stay. A root that is large because of them
                may hold as much again: bigger groups go down for little more writing.
        """
        wanted = max(self.root_target_bytes - rest - kept, self.min_buffer_bytes, kept // 2)
        return max(min(wanted, self.node_file_max_size_bytes - rest - kept), 0)

    def inner_buffer(self, rest: int, arriving: int) -> int:
        """Return how many bytes of messages an inner node may hold.

        Args:
            rest: bytes of its system rows and table.
            arriving: bytes of the messages that come in together. The node is rewritten for
                each such group, so what it holds back should be in proportion to it.
        """
        wanted = max(min(8 * arriving, self.max_buffer_bytes), self.min_buffer_bytes)
        return max(min(wanted, self.node_file_max_size_bytes - rest), 0)
