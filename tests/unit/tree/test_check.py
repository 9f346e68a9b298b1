"""``check_tree`` names every broken invariant, and reading a hostile tree ends."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from trinitylake_spark.clock import ManualClock
from trinitylake_spark.errors import CorruptError
from trinitylake_spark.format.nodefile import Message, NodeFile, encode_node
from trinitylake_spark.ids import SeededIds
from trinitylake_spark.storage.memory import MemoryStorage
from trinitylake_spark.tree.check import check_tree
from trinitylake_spark.tree.limits import Limits
from trinitylake_spark.tree.read import lookup, scan, walk
from trinitylake_spark.tree.store import NodeStore
from trinitylake_spark.tree.write import apply, compact

if TYPE_CHECKING:
    from collections.abc import Callable

ORDER = 5
SYSTEM = {"created_at_millis": "1", "lakehouse_def": "_lakehouse_def_x.binpb"}


def _leaf(*keys: str) -> NodeFile:
    return NodeFile({"created_at_millis": "1"}, list(keys), ["v"] * len(keys), [])


def _inner(children: list[str], *keys: str, buffer: list[Message] | None = None) -> NodeFile:
    created = {"created_at_millis": "1"}
    return NodeFile(created, list(keys), ["v"] * len(keys), children, buffer or [])


def _root(children: list[str], *keys: str, buffer: list[Message] | None = None) -> NodeFile:
    return NodeFile(dict(SYSTEM), list(keys), ["v"] * len(keys), children, buffer or [])


class Tree:
    """A sound tree of three levels that a test damages."""

    def __init__(self) -> None:
        self.root = _root(["L", "R"], "m")
        self.nodes = {
            "L": _inner(["a", "b", "c"], "d", "g"),
            "R": _inner(["n", "o", "p"], "q", "t"),
            "a": _leaf("a", "b"),
            "b": _leaf("e", "f"),
            "c": _leaf("h", "i"),
            "n": _leaf("n", "o"),
            "o": _leaf("r", "s"),
            "p": _leaf("u", "v"),
        }

    def store(self) -> NodeStore:
        """The nodes, written."""
        storage = MemoryStorage("memory://test-check")
        storage.clear()
        for path, node in self.nodes.items():
            storage.create(path, encode_node(node, ORDER))
        return NodeStore(storage)

    def rules(self) -> list[str]:
        """What ``check_tree`` complains about, with the file."""
        found = check_tree(self.store(), self.root, ORDER, node_file_max_size_bytes=3_000)
        return [f"{problem.path} {problem.rule}" for problem in found]


def _set(tree: Tree, path: str, node: NodeFile) -> None:
    tree.nodes[path] = node


DAMAGES: list[tuple[str, Callable[[Tree], None], str]] = [
    ("missing node", lambda t: t.nodes.pop("b"), "b §8.5"),
    ("key outside its bounds", lambda t: _set(t, "b", _leaf("e", "z")), "b §3.3: keys of a child"),
    ("key equal to a pivot", lambda t: _set(t, "b", _leaf("d", "f")), "b §3.3: keys of a child"),
    (
        "message outside its bounds",
        lambda t: _set(t, "L", _inner(["a", "b", "c"], "d", "g", buffer=[Message("x", "1", "t")])),
        "L §3.5: messages of a child",
    ),
    ("too few children", lambda t: _set(t, "L", _inner(["a", "b"], "d")), "L §3.3: an inner node"),
    ("two depths", lambda t: _set(t, "R", _leaf("n")), "R §3.3: all leaves"),
    (
        "a node reached twice",
        lambda t: _set(t, "R", _inner(["n", "o", "o"], "q", "t")),
        "o §3.3: a node has one parent",
    ),
    ("a cycle", lambda t: _set(t, "L", _inner(["a", "L", "c"], "d", "g")), "L §3.3: a node has"),
    (
        "the newest txn below the root",
        lambda t: (
            _set(t, "L", _inner(["a", "b", "c"], "d", "g", buffer=[Message("e", None, "t")])),
            t.root.buffer.append(Message("z", "1", "t")),
        ),
        "L §3.5: all messages of the newest",
    ),
    (
        "a node that should have flushed",
        lambda t: _set(
            t,
            "L",
            _inner(["a", "b", "c"], "d", "g", buffer=[Message("e", "x" * 3_000, "old")]),
        ),
        "L §3.5: a node above 3000 bytes",
    ),
    ("one child below the root", lambda t: setattr(t, "root", _root(["L"])), "§3.3: a root has"),
    (
        "unordered root",
        lambda t: setattr(t, "root", _root(["L", "R", "x"], "m", "b")),
        "§3.3: keys ascend",
    ),
    (
        "too many keys",
        lambda t: setattr(t, "root", _root([], *"abcde")),
        "§3.3: at most N - 1 keys",
    ),
    (
        "no previous root",
        lambda t: t.root.system.update(version="3"),
        "§3.2: a root above version 0",
    ),
]


def test_a_sound_tree_has_no_problem() -> None:
    """The tree that the other tests damage is sound."""
    assert Tree().rules() == []


@pytest.mark.parametrize(("damage", "rule"), [d[1:] for d in DAMAGES], ids=[d[0] for d in DAMAGES])
def test_every_broken_invariant_is_reported(damage: Callable[[Tree], object], rule: str) -> None:
    """The report names the file and the rule, and is no exception."""
    tree = Tree()
    damage(tree)

    found = tree.rules()

    assert any(each.strip().startswith(rule) for each in found), found


def test_a_node_that_does_not_decode_is_a_problem() -> None:
    """Damage of one file does not hide the rest."""
    tree = Tree()
    store = tree.store()
    store.storage.write("b", b"rubbish")
    store.storage.delete("n")

    assert [problem.path for problem in check_tree(store, tree.root, ORDER)] == ["b", "n"]


def test_all_damage_is_reported_at_once() -> None:
    """Two broken nodes are two problems."""
    tree = Tree()
    _set(tree, "b", _leaf("e", "z"))
    _set(tree, "p", _leaf("a", "v"))

    assert [rule.split()[0] for rule in tree.rules()] == ["b", "p"]


def test_reading_a_cycle_ends_in_an_error() -> None:
    """A node that is its own descendant cannot keep a reader or writer busy for ever."""
    tree = Tree()
    tree.root = _root(["L", "R"], "m", buffer=[Message("e", None, "old"), Message("z", "1", "t")])
    _set(tree, "L", _inner(["L", "b", "c"], "d", "g"))
    store, limits = tree.store(), Limits(order=ORDER, node_file_max_size_bytes=1)

    with pytest.raises(CorruptError):
        lookup(store, tree.root, "a", ORDER)
    with pytest.raises(CorruptError):
        list(scan(store, tree.root, order=ORDER))
    with pytest.raises(CorruptError):
        compact(store, tree.root, limits, SeededIds(0), ManualClock(), system=SYSTEM)
    assert len({visit.path for visit in walk(store, tree.root, order=ORDER)}) == 7


def test_writing_to_a_tree_of_two_depths_is_refused() -> None:
    """A merge of a leaf with an inner node is an error that names the rule, not a wrong tree."""
    tree = Tree()
    tree.root = _root(["L", "R"], "m", buffer=[Message("m", None, "old")])
    _set(tree, "R", _leaf("n"))
    limits = Limits(order=ORDER, node_file_max_size_bytes=1)

    with pytest.raises(CorruptError, match="one depth"):
        apply(
            tree.store(),
            tree.root,
            [Message("z", "1", "t")],
            limits,
            SeededIds(0),
            ManualClock(),
            system=SYSTEM,
            keep_txn="t",
        )
