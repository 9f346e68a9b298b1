"""What bounds a node, and the soft targets that keep one commit small (format.md §3.5, §3.6).

The format fixes only the hard limit: a node whose file would exceed ``node_file_max_size_bytes``
flushes. Every commit writes the whole root, and every flush writes a whole child, so flushing at
that limit would make a small commit write a megabyte. The targets here make it flush earlier;
the numbers were measured with ``benchmarks/tree.py``.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

_KIB = 1024
_ARRIVALS_HELD = 16


class Room(NamedTuple):
    """Bytes of flushable messages that a node may hold: usually, and at most."""

    usual: int
    most: int


@dataclass(frozen=True, slots=True)
class Limits:
    """Order and sizes of the nodes to write; sizes are bytes of a node's file.

    Args:
        order: N; at most N children and N - 1 keys a node.
        node_file_max_size_bytes: the definition's target; a node above it flushes.
        root_target_bytes: size that a root without big transactions stays below.
        root_buffer_bytes: buffer that a root may have however large its table is.
        inner_buffer_bytes: buffer that an inner node may always have.
        batch_buffer_bytes: buffer that an inner node may have when batches arrive.
        bulk_bytes: a child with at least this much pending in a node that holds more than it
            usually does gets it at once: writing the child costs no more than keeping it.
        root_groups: children that a full root gives its messages to. More make flushes rarer and
            larger; an inner node that is full gives to one child, or as many as make it fit.
    """

    order: int = 128
    node_file_max_size_bytes: int = 1024 * _KIB
    root_target_bytes: int = 56 * _KIB
    root_buffer_bytes: int = 10 * _KIB
    inner_buffer_bytes: int = 20 * _KIB
    batch_buffer_bytes: int = 128 * _KIB
    bulk_bytes: int = 32 * _KIB
    root_groups: int = 3

    @property
    def max_keys(self) -> int:
        """Most keys of a node."""
        return self.order - 1

    @property
    def min_keys(self) -> int:
        """Fewest keys of a node that is not the root: ceil(N/2) - 1."""
        return (self.order + 1) // 2 - 1

    def root_room(self, rest: int, kept: int) -> Room:
        """Return how many bytes of flushable messages a root may hold.

        Args:
            rest: bytes of its system rows and table.
            kept: bytes of the messages that must stay. A root that is large because of them
                may hold as much again: bigger groups go down for little more writing.
        """
        usual = max(self.root_target_bytes - rest - kept, self.root_buffer_bytes)
        return self._room(usual, max(usual, kept), rest + kept)

    def inner_room(self, rest: int, arriving: int) -> Room:
        """Return how many bytes of messages an inner node may hold.

        Args:
            rest: bytes of its system rows and table.
            arriving: bytes of the messages that come in together. The node is rewritten for
                each such group, so what it holds back should be in proportion to it.
        """
        batch = min(_ARRIVALS_HELD * arriving, self.batch_buffer_bytes)
        return self._room(self.inner_buffer_bytes, max(self.inner_buffer_bytes, batch), rest)

    def _room(self, usual: int, most: int, rest: int) -> Room:
        left = max(self.node_file_max_size_bytes - rest, 0)
        return Room(min(usual, left), min(most, left))
