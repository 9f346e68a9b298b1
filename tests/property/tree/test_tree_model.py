"""The tree against a dict: any sequence of commits, read back from storage after each."""

from __future__ import annotations

import random
from dataclasses import dataclass, replace

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from tests.support.tree_lake import TreeLake
from trinitylake_spark.format.nodefile import Message
from trinitylake_spark.tree.limits import Limits

ORDERS = (3, 4, 5, 7, 128)
KEYS = [f"C===ns{i % 3}__t{i:03d}" + ("größe" if i % 7 == 0 else "") for i in range(120)]
KEYS.sort()


def _limits(order: int, node_bytes: int, buffer_bytes: int, batch_bytes: int) -> Limits:
    return Limits(
        order=order,
        node_file_max_size_bytes=node_bytes,
        root_target_bytes=0,
        root_buffer_bytes=buffer_bytes,
        inner_buffer_bytes=buffer_bytes,
        batch_buffer_bytes=batch_bytes,
        bulk_bytes=batch_bytes,
    )


limits = st.one_of(
    # Nothing may wait in a buffer: every commit reshapes the tree.
    st.builds(_limits, st.sampled_from(ORDERS), st.just(1), st.just(0), st.just(0)),
    # Small buffers in every node, so that messages wait on all levels.
    st.builds(
        _limits,
        st.sampled_from(ORDERS[:4]),
        st.just(1_048_576),
        st.sampled_from([150, 400, 1_000]),
        st.sampled_from([0, 600, 100_000]),
    ),
    # The hard limit of a node decides.
    st.builds(
        _limits,
        st.sampled_from(ORDERS),
        st.sampled_from([1_500, 2_000, 3_000, 6_000]),
        st.just(100_000),
        st.just(100_000),
    ),
    # What users get.
    st.builds(Limits, order=st.sampled_from(ORDERS)),
)
seeds = st.integers(0, 2**32 - 1)
sizes = st.sampled_from([1, 1, 2, 4, 8, 20, 60])
delete_shares = st.sampled_from([0.0, 0.3, 0.7, 1.0])


@dataclass
class Version:
    """What one version must hold, and the messages that must be in its root."""

    content: dict[str, str]
    newest: dict[str, tuple[str | None, str]]
    layout: int


class TreeMachine(RuleBasedStateMachine):
    """Commits against a model; every rule ends in a version that the invariants read back."""

    def __init__(self) -> None:
        super().__init__()
        self.history: list[Version] = []

    @initialize(limits=limits, filled=st.booleans())
    def create(self, limits: Limits, filled: bool) -> None:
        """Begin with an empty lakehouse, or with one that has every second key."""
        self.lake = TreeLake(limits)
        self.history.append(Version({}, {}, 0))
        if filled:
            self._commit(dict.fromkeys(KEYS[::2], "v0"))
            self._commit({})

    def teardown(self) -> None:
        """Give the memory back."""
        if self.history:
            self.lake.close()

    def _record(self, changes: dict[str, str | None], txn: str) -> None:
        last = self.history[-1]
        content = last.content | {k: v for k, v in changes.items() if v is not None}
        content = {k: v for k, v in content.items() if changes.get(k, v) is not None}
        newest = {k: (v, txn) for k, v in changes.items()} or last.newest
        self.history.append(Version(content, newest, last.layout))

    def _commit(self, changes: dict[str, str | None]) -> None:
        txn = f"t{self.lake.version + 1}"
        self.lake.commit(changes, txn)
        self._record(changes, txn)

    @rule(seed=seeds, size=sizes, deleted=delete_shares)
    def scattered_transaction(self, seed: int, size: int, deleted: float) -> None:
        """Set and delete keys anywhere, present or absent."""
        chance = random.Random(seed)
        self._commit(self._changes(chance, chance.sample(KEYS, size), deleted))

    @rule(seed=seeds, size=sizes, deleted=delete_shares)
    def local_transaction(self, seed: int, size: int, deleted: float) -> None:
        """Set and delete neighbouring keys, so that whole nodes fill and run empty."""
        chance = random.Random(seed)
        first = chance.randrange(len(KEYS))
        self._commit(self._changes(chance, KEYS[first : first + size], deleted))

    def _changes(
        self, chance: random.Random, keys: list[str], deleted: float
    ) -> dict[str, str | None]:
        value = f"v{len(self.history)}"
        return {key: None if chance.random() < deleted else value for key in keys}

    @rule(seed=seeds, deleted=delete_shares)
    def changes_of_pivots(self, seed: int, deleted: float) -> None:
        """Set and delete keys that are pivots, in the root and below."""
        chance = random.Random(seed)
        pivots = [
            row.key or ""
            for node, _ in self.lake.independent().nodes()
            if not node.leaf
            for row in node.pairs
        ]
        self._commit(self._changes(chance, chance.sample(pivots, len(pivots) // 2), deleted))

    @rule()
    def no_changes(self) -> None:
        """A commit without messages makes a version and keeps L."""
        self._commit({})

    @rule()
    def delete_everything(self) -> None:
        """Delete whatever there is."""
        self._commit(dict.fromkeys(self.history[-1].content))

    @rule(seed=seeds)
    def two_changes_of_one_key(self, seed: int) -> None:
        """Within one txn the last message of a key wins; a change never written has no effect."""
        txn, key = f"t{self.lake.version + 1}", random.Random(seed).choice(KEYS)
        messages = [Message(key, "first", txn), Message(key, "last", txn)]
        self.lake.attempt([Message(key, "lost", "lost")], "lost")
        self.lake.write(self.lake.attempt(messages, txn))
        self._record({key: "last"}, txn)

    @rule(bounded=st.booleans())
    def compaction(self, bounded: bool) -> None:
        """Flush everything that may be flushed; nodes are written at the end or in between."""
        self.lake.compact(self.lake.write_nodes if bounded else None)
        self._record({}, "")
        root = self.lake.root()
        assert {m.key for m in root.buffer} == set(self.history[-1].newest)

    @rule(order=st.sampled_from(ORDERS))
    def change_of_order(self, order: int) -> None:
        """Rewrite every node for another N."""
        self.lake.rebuild(replace(self.lake.limits, order=order))
        self._record({}, "")
        self.history[-1].layout += 1

    @rule(back=st.integers(1, 10))
    def rollback(self, back: int) -> None:
        """Take the content of an older version, its newest txn included (format.md §8.3)."""
        version = max(len(self.history) - 1 - back, 0)
        if self.history[version].layout == self.history[-1].layout:
            self.lake.rollback(version)
            self.history.append(replace(self.history[version]))

    @invariant()
    def every_rule_of_the_format_holds(self) -> None:
        """No invariant of format.md §3 is broken, as the package and a stranger see it."""
        if self.history:
            assert self.lake.problems() == []
            self.lake.independent().check()

    @invariant()
    def the_content_is_the_models(self) -> None:
        """Scan and the independent reader see what was committed; so does an older version."""
        if self.history:
            expected = dict(sorted(self.history[-1].content.items()))
            assert list(self.lake.content().items()) == list(expected.items())
            assert self.lake.independent().content() == expected
            older = len(self.history) // 2
            seen = self.lake.independent(older).content()
            assert seen == dict(sorted(self.history[older].content.items()))

    @invariant()
    def the_newest_transaction_is_in_the_root(self) -> None:
        """All messages of L are in the root's buffer (format.md §3.5)."""
        if self.history:
            found = {m.key: (m.value, m.txn) for m in self.lake.root().buffer}
            assert found.items() >= self.history[-1].newest.items()

    @invariant()
    def lookups_and_ranges_agree(self) -> None:
        """A lookup finds what is there and nothing else; a range scan is half-open and ordered."""
        if self.history:
            content = self.history[-1].content
            chance = random.Random(len(self.history))
            independent = self.lake.independent()
            for key in [*chance.sample(KEYS, 4), "A", "C===ns0__zzz", "~"]:
                assert self.lake.get(key) == content.get(key)
                assert independent.get(key) == content.get(key)
            low, high = chance.choice(KEYS), chance.choice([*KEYS, None])
            pairs = sorted(content.items())
            expected = [(k, v) for k, v in pairs if low <= k and (high is None or k < high)]
            assert self.lake.scan(low, high) == expected


TestTree = TreeMachine.TestCase
TestTree.settings = settings(stateful_step_count=40)
