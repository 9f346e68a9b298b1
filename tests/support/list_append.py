"""Finds isolation anomalies in a history of appends to lists, in the manner of Elle.

Every value is appended once, so a list that somebody read tells who wrote before whom. From that
come the dependencies between transactions: *ww* (my append follows yours), *wr* (I read yours) and
*rw* (you appended to what I had read). A cycle of them is an anomaly, named after its edges as by
Adya; which are allowed depends on the level. The checker knows nothing of versions or conflicts:
it takes what transactions saw and nothing else.

Kingsbury and Alvaro, "Elle: Inferring Isolation Anomalies from Experimental Observations", 2020;
Cerone and Gotsman, "Analysing Snapshot Isolation", 2018, for what SNAPSHOT forbids.
"""

from __future__ import annotations

from collections import defaultdict, deque
from dataclasses import dataclass, field
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

APPEND, READ = "append", "read"
WW, WR, RW = "ww", "wr", "rw"
ALLOWED = {"snapshot": frozenset({"G2"}), "serializable": frozenset()}
"""The anomalies that each level permits."""


class Op(NamedTuple):
    """One operation: an append of one value, or a read of the whole list."""

    kind: str
    key: str
    values: tuple[int, ...]


@dataclass
class Txn:
    """One transaction as its client saw it.

    Args:
        id: unique in the history.
        ops: in order.
        committed: whether the commit was acknowledged.
        begun: when it began, on a clock that all clients share.
        ended: when its commit was acknowledged or refused.
    """

    id: int
    ops: list[Op] = field(default_factory=list)
    committed: bool = False
    begun: float = 0.0
    ended: float = 0.0


class Anomaly(NamedTuple):
    """Something that must not be."""

    kind: str
    text: str


class Edge(NamedTuple):
    """A dependency between two transactions."""

    source: int
    target: int
    kind: str
    key: str

    def __str__(self) -> str:
        return f"T{self.source} -{self.kind} {self.key}-> T{self.target}"


Paths = dict[int, dict[int, tuple[Edge, ...]]]
"""A graph whose every edge stands for one dependency or for several in a row."""


def check(
    txns: Sequence[Txn],
    final: Mapping[str, Sequence[int]],
    level: str,
    *,
    sets: Collection[str] = (),
) -> list[Anomaly]:
    """Return every anomaly of a history that a level forbids.

    Args:
        txns: all transactions, refused ones too.
        final: each list when everybody had finished.
        level: ``snapshot`` or ``serializable``.
        sets: keys whose values are things of their own, such as rows, that only a search puts
            together: who adds one writes nothing that another one wrote.
    """
    found = [*_reads(txns, final), *_lost(txns, final), *_stale(txns, final)]
    if not found:
        found = list(cycles(list(dependencies(txns, final, sets))))
    return [anomaly for anomaly in found if anomaly.kind not in ALLOWED[level]]


# --- what single reads tell ----------------------------------------------------------------------


def _reads(txns: Sequence[Txn], final: Mapping[str, Sequence[int]]) -> Iterator[Anomaly]:
    writers = {(op.key, v): t for t in txns for op in t.ops if op.kind == APPEND for v in op.values}
    last = {(t.id, op.key): op.values[-1] for t in txns for op in t.ops if op.kind == APPEND}
    for key, values in final.items():
        if len(set(values)) != len(values):
            yield Anomaly("duplicate", f"{key} holds a value twice: {list(values)}")
        yield from _sources(f"the end state of {key}", key, tuple(values), writers, last)
    for txn in txns:
        own: dict[str, list[int]] = defaultdict(list)
        seen: dict[str, tuple[int, ...]] = {}
        for op in txn.ops:
            if op.kind == APPEND:
                own[op.key] += op.values
                continue
            others = _others(op.values, own[op.key])
            if others is None or seen.setdefault(op.key, others) != others:
                text = f"T{txn.id} read {op} after its own {own[op.key]} and {seen.get(op.key)}"
                yield Anomaly("internal", text)
                continue
            if tuple(final[op.key][: len(others)]) != others:
                text = f"T{txn.id} read {op}, the end state is {list(final[op.key])}"
                if set(others) <= set(final[op.key]):
                    yield Anomaly("incompatible order", text)
            yield from _sources(f"T{txn.id}'s {op}", op.key, others, writers, last)


def _sources(
    what: str,
    key: str,
    values: tuple[int, ...],
    writers: Mapping[tuple[str, int], Txn],
    last: Mapping[tuple[int, str], int],
) -> Iterator[Anomaly]:
    for value in values:
        writer = writers.get((key, value))
        if writer is None:
            yield Anomaly("made up", f"{what} has {value}, which nobody appended")
        elif not writer.committed:
            yield Anomaly("G1a", f"{what} has {value} of T{writer.id}, which did not commit")
    writer = writers.get((key, values[-1])) if values else None
    if writer is not None and last[writer.id, key] != values[-1]:
        yield Anomaly("G1b", f"{what} ends in the middle of what T{writer.id} appended")


def _others(values: tuple[int, ...], own: Sequence[int]) -> tuple[int, ...] | None:
    """Return what others had appended, or None if own appends are not at the end."""
    if not own:
        return values
    head, tail = values[: -len(own)], values[-len(own) :]
    return head if list(tail) == list(own) else None


def _lost(txns: Sequence[Txn], final: Mapping[str, Sequence[int]]) -> Iterator[Anomaly]:
    """Every acknowledged append is there in the end."""
    present = {key: set(values) for key, values in final.items()}
    for txn in txns:
        for op in txn.ops:
            if txn.committed and op.kind == APPEND and not present[op.key].issuperset(op.values):
                yield Anomaly("lost", f"T{txn.id} committed {op}, which is gone")


def _stale(txns: Sequence[Txn], final: Mapping[str, Sequence[int]]) -> Iterator[Anomaly]:
    """Who begins after a commit was acknowledged sees it."""
    positions = {key: {v: n for n, v in enumerate(values, 1)} for key, values in final.items()}
    commits = sorted((t for t in txns if t.committed), key=lambda t: t.ended)
    least: dict[str, int] = defaultdict(int)
    done = 0
    for txn in sorted(txns, key=lambda t: t.begun):
        while done < len(commits) and commits[done].ended < txn.begun:
            for op in commits[done].ops:
                if op.kind == APPEND:
                    position = max(positions[op.key].get(v, 0) for v in op.values)
                    least[op.key] = max(least[op.key], position)
            done += 1
        own: dict[str, int] = defaultdict(int)
        for op in txn.ops:
            if op.kind == APPEND:
                own[op.key] += len(op.values)
            elif max(0, len(op.values) - own[op.key]) < least[op.key]:
                text = f"T{txn.id} read {op}, but {least[op.key]} values were there before it"
                yield Anomaly("stale", text)


# --- what reads tell together --------------------------------------------------------------------


def dependencies(
    txns: Iterable[Txn], final: Mapping[str, Sequence[int]], sets: Collection[str] = ()
) -> Iterator[Edge]:
    """Yield dependencies between committed transactions; in lists the rest follows from them."""
    committed = [t for t in txns if t.committed]
    writer = {
        (op.key, v): t.id for t in committed for op in t.ops if op.kind == APPEND for v in op.values
    }
    for key, values in final.items():
        if key not in sets:
            for a, b in pairwise(values):
                yield from _edge(writer[key, a], writer[key, b], WW, key)
    for txn in committed:
        own: dict[str, int] = defaultdict(int)
        for op in txn.ops:
            if op.kind == APPEND:
                own[op.key] += len(op.values)
                continue
            length = len(op.values) - own[op.key]
            before, after = final[op.key][:length], final[op.key][length:]
            if op.key not in sets:
                before, after = before[-1:], after[:1]
            for value in before:
                yield from _edge(writer[op.key, value], txn.id, WR, op.key)
            for value in after:
                yield from _edge(txn.id, writer[op.key, value], RW, op.key)


def _edge(source: int, target: int, kind: str, key: str) -> Iterator[Edge]:
    if source != target:
        yield Edge(source, target, kind, key)


def cycles(edges: Sequence[Edge]) -> Iterator[Anomaly]:
    """Yield one cycle of each kind, the worst first.

    G0 has writes only; G1c reads of committed values too; G-single one anti-dependency;
    G-nonadjacent several, never two in a row. A cycle with two in a row is G2, write skew, which
    is all that snapshot isolation lets pass.
    """
    writes = _graph([e for e in edges if e.kind == WW])
    values = _graph([e for e in edges if e.kind != RW])
    anti = _graph([e for e in edges if e.kind == RW])
    everything = _graph(edges)
    for kind, graph in (
        ("G0", writes),
        ("G1c", values),
        ("G-nonadjacent", _with_one_anti(values, anti)),
        ("G2", everything),
    ):
        cycle = _cycle(graph)
        if cycle is not None:
            single = kind == "G-nonadjacent" and [e.kind for e in cycle].count(RW) == 1
            yield Anomaly("G-single" if single else kind, ", ".join(map(str, cycle)))
            return


def _graph(edges: Iterable[Edge]) -> Paths:
    graph: Paths = defaultdict(dict)
    for edge in edges:
        graph[edge.source].setdefault(edge.target, (edge,))
    return graph


def _with_one_anti(values: Paths, anti: Paths) -> Paths:
    """Return the graph in which each step is a dependency, then at most one anti-dependency."""
    graph: Paths = defaultdict(dict)
    for source, targets in values.items():
        for middle, path in targets.items():
            graph[source][middle] = path
    for source, targets in values.items():
        for middle, path in targets.items():
            for target, last in anti.get(middle, {}).items():
                graph[source].setdefault(target, path + last)
    return graph


def _cycle(graph: Paths) -> list[Edge] | None:
    """Return a shortest cycle, or None."""
    best: list[Edge] | None = None
    for component in _components(graph):
        for start in component:
            found = _shortest(graph, start, component)
            if found is not None and (best is None or len(found) < len(best)):
                best = found
        if best is not None:
            return best
    return None


def _shortest(graph: Paths, start: int, within: set[int]) -> list[Edge] | None:
    came: dict[int, int] = {}
    queue = deque([start])
    while queue:
        node = queue.popleft()
        for target in graph.get(node, {}):
            if target == start:
                steps = [node, start]
                while steps[0] != start:
                    steps.insert(0, came[steps[0]])
                return [edge for a, b in pairwise(steps) for edge in graph[a][b]]
            if target in within and target not in came:
                came[target] = node
                queue.append(target)
    return None


def _components(graph: Paths) -> Iterator[set[int]]:
    """Yield the strongly connected components that hold a cycle (Tarjan, without recursion)."""
    index: dict[int, int] = {}
    low: dict[int, int] = {}
    stack: list[int] = []
    waiting: set[int] = set()
    for root in list(graph):
        work = [] if root in index else [(root, iter(graph.get(root, {})))]
        while work:
            node, targets = work[-1]
            if node not in index:
                index[node] = low[node] = len(index)
                stack.append(node)
                waiting.add(node)
            for target in targets:
                if target not in index:
                    work.append((target, iter(graph.get(target, {}))))
                    break
                if target in waiting:
                    low[node] = min(low[node], low[target])
            else:
                work.pop()
                if work:
                    low[work[-1][0]] = min(low[work[-1][0]], low[node])
                if low[node] == index[node]:
                    component = {stack.pop()}
                    while node not in component:
                        component.add(stack.pop())
                    waiting -= component
                    if len(component) > 1 or node in graph.get(node, {}):
                        yield component
