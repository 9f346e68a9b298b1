"""The lakehouse against a list of dicts: several handles, transactions that overlap, time travel.

The model keeps, for every version, what each object holds, and for every open transaction the
version it began at and what it would change. Whether a commit may succeed is decided by the model
from the contents alone: it compares the versions in between object by object, and knows nothing
of messages, actions or roots.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import strategies as st
from hypothesis.stateful import (
    Bundle,
    RuleBasedStateMachine,
    consumes,
    initialize,
    invariant,
    rule,
)

from tests.support.lakes import memory, new_lake, other
from tests.support.list_table import append, read, rewrite
from trinitylake_spark.errors import CommitConflictError, InvalidInputError, TrinityLakeError
from trinitylake_spark.format.definitions_pb2 import ActionType

if TYPE_CHECKING:
    from trinitylake_spark.lakehouse.lakehouse import Lakehouse
    from trinitylake_spark.lakehouse.transaction import Transaction

NAMESPACES = st.sampled_from(["n", "n", "n-1", "größe"])
NAMES = st.sampled_from(["a", "a", "b", "c"])
PLACES = st.tuples(NAMESPACES, NAMES)
LEVELS = st.sampled_from(["snapshot", "serializable"])

KINDS = st.sampled_from(["table", "view"])
CHANGES = st.tuples(
    st.just("change_data"),
    NAMESPACES,
    NAMES,
    st.sampled_from(["append", "append", "append", "rewrite", "compact"]),
)
OPERATIONS = st.one_of(
    CHANGES,
    CHANGES,
    CHANGES,
    st.tuples(st.just("create_namespace"), NAMESPACES),
    st.tuples(st.just("drop_namespace"), NAMESPACES, st.booleans()),
    st.tuples(st.just("alter_namespace"), NAMESPACES),
    st.tuples(st.just("create"), NAMESPACES, NAMES, KINDS),
    st.tuples(st.just("drop"), NAMESPACES, NAMES, KINDS),
    st.tuples(st.just("alter"), NAMESPACES, NAMES, KINDS),
    st.tuples(st.just("rename_table"), PLACES, PLACES),
    st.tuples(st.just("read_data"), NAMESPACES, NAMES),
    st.tuples(st.just("describe"), NAMESPACES, NAMES, KINDS),
    st.tuples(st.just("describe_namespace"), NAMESPACES),
    st.tuples(st.just("look_for"), NAMESPACES, NAMES, KINDS),
    st.tuples(st.just("list_names"), NAMESPACES, KINDS),
)

NAME, DEFINITION, DATA = 1, 2, 3
"""What was read of an object; each depends on what comes before it, too."""

Content = dict[tuple[str, ...], Any]
"""("ns", n) → properties, ("table", n, t) → items and properties, ("view", n, v) → properties."""


@dataclass
class Version:
    """One version of the model."""

    content: Content
    kind: str
    wrote: dict[tuple[str, ...], set[str]] = field(default_factory=dict)
    """What was done to which object: create, alter, append, compact, rewrite, drop."""


@dataclass
class Open:
    """An open transaction and what the model knows about it."""

    real: Transaction
    base: int
    level: str
    content: Content
    wrote: dict[tuple[str, ...], list[str]] = field(default_factory=dict)
    appended: dict[tuple[str, ...], list[int]] = field(default_factory=dict)
    read: dict[tuple[str, ...], int] = field(default_factory=dict)
    """What was read of which object of the base version, or of none of that name."""
    listed: set[str] = field(default_factory=set)
    dropped_namespaces: set[str] = field(default_factory=set)
    needs_namespace: set[str] = field(default_factory=set)
    takes_name: set[tuple[str, str, str]] = field(default_factory=set)
    """(kind, namespace, name) of the other kind, which must stay absent."""


class LakehouseMachine(RuleBasedStateMachine):
    """Random work by three handles."""

    transactions = Bundle("transactions")

    @initialize(order=st.sampled_from([3, 4, 128]))
    def make_lakehouse(self, order: int) -> None:
        """Begin with an empty lakehouse; small nodes make trees deep."""
        size = 4096 if order < 128 else 1_048_576
        first = new_lake(
            memory("model"), definition={"order": order, "node_file_max_size_bytes": size}
        )
        self.handles: list[Lakehouse] = [first, other(first), other(first)]
        self.versions = [Version({}, "definition")]
        self.counter = 0
        begin = self.begin(0, "snapshot")
        for namespace in ("n", "n-1"):
            self._create_namespace(begin, namespace)
            for name in ("a", "b"):
                self._create(begin, namespace, name, "table")
            self._create(begin, namespace, "c", "view")
        self.commit(begin)

    # --- transactions ----------------------------------------------------------------------------

    @rule(target=transactions, handle=st.integers(0, 2), level=LEVELS)
    def begin(self, handle: int, level: str) -> Open:
        """Open a transaction at the newest version."""
        real = self.handles[handle].begin(isolation=level)
        assert real.base.version == len(self.versions) - 1
        return Open(real, len(self.versions) - 1, level, dict(self.versions[-1].content))

    @rule(tx=transactions, work=st.lists(OPERATIONS, min_size=1, max_size=4))
    def act(self, tx: Open, work: list[tuple[Any, ...]]) -> None:
        """Do something in a transaction; what the model forbids must be refused."""
        for operation, *arguments in work:
            getattr(self, f"_{operation}")(tx, *arguments)

    @rule(
        works=st.lists(
            st.tuples(LEVELS, st.lists(OPERATIONS, min_size=1, max_size=3)), min_size=1, max_size=3
        )
    )
    def race(self, works: list[tuple[str, list[tuple[Any, ...]]]]) -> None:
        """Transactions of several processes begin at one version, then commit one by one."""
        begun = [self.begin(handle, level) for handle, (level, _) in enumerate(works)]
        for tx, (_, work) in zip(begun, works, strict=True):
            self.act(tx, work)
        for tx in begun:
            self.commit(tx)

    @rule(tx=consumes(transactions))
    def commit(self, tx: Open) -> None:
        """Commit; the model says whether it must work."""
        changed = {k for k in tx.wrote if self._nets_out(tx, k)}
        tx.wrote = {k: v for k, v in tx.wrote.items() if k not in changed}
        if not tx.wrote:
            assert tx.real.commit() is None
            return
        reasons = self._conflicts(tx)
        if reasons:
            with pytest.raises(CommitConflictError) as caught:
                tx.real.commit()
            told = {c["their_version"] for c in caught.value.fields["conflicts"]}
            assert told <= set(reasons), (told, reasons)
            return
        assert tx.real.commit() == len(self.versions)
        physical = all(set(done) <= {"compact"} for done in tx.wrote.values())
        content = dict(self.versions[-1].content)
        for key, done in tx.wrote.items():
            content[key] = self._merged(tx, key, done)
        content = {key: value for key, value in content.items() if value is not None}
        self.versions.append(
            Version(
                content,
                "physical" if physical else "logical",
                {key: set(done) for key, done in tx.wrote.items()},
            )
        )

    @rule(tx=consumes(transactions))
    def abort(self, tx: Open) -> None:
        """Give up."""
        tx.real.abort()

    # --- the lakehouse as a whole ----------------------------------------------------------------

    @rule(
        handle=st.integers(0, 2),
        what=st.sampled_from(["rollback", "compact", "compact", "property", "property", "order"]),
        data=st.data(),
    )
    def maintain(self, handle: int, what: str, data: st.DataObject) -> None:
        """Make a version that no transaction makes."""
        lake, newest = self.handles[handle], self.versions[-1].content
        if what == "rollback":
            target = data.draw(st.integers(0, len(self.versions) - 1))
            if target == len(self.versions) - 1:
                with pytest.raises(InvalidInputError):
                    lake.rollback(to_version=target)
                return
            assert lake.rollback(to_version=target) == len(self.versions)
            self.versions.append(Version(dict(self.versions[target].content), "rollback"))
        elif what == "compact":
            assert lake.compact_tree() == len(self.versions)
            self.versions.append(Version(newest, "physical"))
        elif what == "property":
            assert lake.set_property("p", self._next()) == len(self.versions)
            self.versions.append(Version(newest, "definition"))
        elif lake.set_property("order", data.draw(st.sampled_from([3, 5, 8]))) is not None:
            self.versions.append(Version(newest, "layout"))

    @rule(handle=st.integers(0, 2), data=st.data())
    def travel(self, handle: int, data: st.DataObject) -> None:
        """Any version reads as it was, by number and by its time."""
        lake = self.handles[handle]
        version = data.draw(st.integers(0, len(self.versions) - 1))
        snapshot = lake.at(version=version)
        _same(snapshot, self.versions[version].content)
        assert lake.at(timestamp=snapshot.created_at).version == version

    @invariant()
    def every_handle_sees_the_newest_version(self) -> None:
        """Names, and the kind of the newest commit."""
        if not hasattr(self, "versions"):
            return
        for lake in self.handles:
            snapshot = lake.snapshot()
            assert snapshot.version == len(self.versions) - 1
        kind = self.versions[-1].kind
        assert lake.versions(1)[0].kind == ("definition" if kind == "layout" else kind)

    def teardown(self) -> None:
        """In the end every version is sound, and a fresh handle reads the same."""
        if not hasattr(self, "versions"):
            return
        fresh = other(self.handles[0])
        assert fresh.check(deep=True).problems == []
        for version, expected in enumerate(self.versions):
            _same(fresh.at(version=version), expected.content)
        assert [info.version for info in fresh.versions()] == [*reversed(range(len(self.versions)))]

    # --- what a transaction does ------------------------------------------------------------------

    def _create_namespace(self, tx: Open, namespace: str) -> None:
        """Create a namespace unless it is there."""
        key = ("ns", namespace)
        if self._expect(key not in tx.content, tx.real.create_namespace, namespace):
            self._write(tx, key, "create", {})
        else:
            self._note(tx, key)

    def _drop_namespace(self, tx: Open, namespace: str, cascade: bool) -> None:
        """Drop a namespace, with what is in it if told so."""
        key = ("ns", namespace)
        inside = [k for k in tx.content if k[0] != "ns" and k[1] == namespace]
        allowed = key in tx.content and (cascade or not inside)
        if self._expect(allowed, lambda: tx.real.drop_namespace(namespace, cascade=cascade)):
            for each in inside:
                self._write(tx, each, "drop", None)
            self._write(tx, key, "drop", None)
            tx.dropped_namespaces.add(namespace)
        else:
            self._note(tx, key)
            if key in tx.content:
                tx.listed |= {f"table {namespace}", f"view {namespace}"}

    def _alter_namespace(self, tx: Open, namespace: str) -> None:
        """Set a property of a namespace."""
        key, value = ("ns", namespace), {"p": self._next()}
        done = self._expect(
            key in tx.content, lambda: tx.real.set_namespace_properties(namespace, value)
        )
        if done:
            self._write(tx, key, "alter", {**tx.content[key], **value})
        else:
            self._note(tx, key)

    def _create(self, tx: Open, namespace: str, name: str, kind: str) -> None:
        """Create a table or a view; the two share their names."""
        key, twin = (kind, namespace, name), (_other(kind), namespace, name)
        allowed = ("ns", namespace) in tx.content and key not in tx.content
        allowed = allowed and twin not in tx.content
        make = (
            (lambda: tx.real.create_table(namespace, name, None))
            if kind == "table"
            else (lambda: tx.real.create_view(namespace, name, sql="SELECT 1"))
        )
        if self._expect(allowed, make):
            self._write(tx, key, "create", ([], {}) if kind == "table" else {})
            tx.needs_namespace.add(namespace)
            tx.takes_name.add(twin)
        else:
            self._note_taken(tx, namespace, key, twin)

    def _drop(self, tx: Open, namespace: str, name: str, kind: str) -> None:
        """Drop a table or a view."""
        key = (kind, namespace, name)
        act = tx.real.drop_table if kind == "table" else tx.real.drop_view
        if self._expect(key in tx.content, lambda: act(namespace, name)):
            self._write(tx, key, "drop", None)
        else:
            self._missed(tx, key)

    def _alter(self, tx: Open, namespace: str, name: str, kind: str) -> None:
        """Set a property of a table or a view."""
        key, value = (kind, namespace, name), {"p": self._next()}
        act = tx.real.set_table_properties if kind == "table" else tx.real.set_view_properties
        if self._expect(key in tx.content, lambda: act(namespace, name, value)):
            old = tx.content[key]
            new = (old[0], {**old[1], **value}) if kind == "table" else {**old, **value}
            self._write(tx, key, "alter", new)
        else:
            self._missed(tx, key)

    def _rename_table(self, tx: Open, old: tuple[str, str], new: tuple[str, str]) -> None:
        """Rename a table, also into another namespace."""
        source, target, twin = ("table", *old), ("table", *new), ("view", *new)
        free = ("ns", new[0]) in tx.content and target not in tx.content and twin not in tx.content
        if self._expect(source in tx.content and free, lambda: tx.real.rename_table(*old, *new)):
            content = tx.content[source]
            self._write(tx, source, "drop", None)
            self._write(tx, target, "create", content)
            tx.needs_namespace.add(new[0])
            tx.takes_name.add(twin)
        elif source not in tx.content:
            self._missed(tx, source)
        else:
            self._note_taken(tx, new[0], target, twin)

    def _change_data(self, tx: Open, namespace: str, name: str, how: str) -> None:
        """Append, rewrite or compact a table."""
        key = ("table", namespace, name)
        if key not in tx.content:
            return
        items, properties = tx.content[key]
        if how == "append":
            value = int(self._next())
            append(tx.real, name, value, namespace=namespace)
            tx.appended.setdefault(key, []).append(value)
            items = [*items, value]
        elif how == "rewrite":
            items = [len(items)]
            rewrite(tx.real, name, items, namespace)
        else:
            rewrite(tx.real, name, items, namespace, ActionType.MINOR_COMPACT)
        self._write(tx, key, how, (items, properties))

    def _read_data(self, tx: Open, namespace: str, name: str) -> None:
        """Read a table's data through the transaction."""
        key = ("table", namespace, name)
        if key not in tx.content:
            with pytest.raises(TrinityLakeError):
                read(tx.real, name, namespace)
            self._missed(tx, key)
            return
        assert read(tx.real, name, namespace) == tx.content[key][0]
        self._note(tx, key, DATA)

    def _describe(self, tx: Open, namespace: str, name: str, kind: str) -> None:
        """Look at the definition of a table or a view."""
        key = (kind, namespace, name)
        look = tx.real.table if kind == "table" else tx.real.view
        if self._expect(key in tx.content, look, namespace, name):
            content = tx.content[key]
            properties = dict(look(namespace, name).definition.properties)
            assert properties == (content[1] if kind == "table" else content)
            self._note(tx, key, DEFINITION)
        else:
            self._missed(tx, key)

    def _describe_namespace(self, tx: Open, namespace: str) -> None:
        """Look at the definition of a namespace."""
        key = ("ns", namespace)
        self._expect(key in tx.content, tx.real.namespace, namespace)
        self._note(tx, key, DEFINITION)

    def _look_for(self, tx: Open, namespace: str, name: str, kind: str) -> None:
        """Ask whether there is such a table or view."""
        key = (kind, namespace, name)
        look = tx.real.has_table if kind == "table" else tx.real.has_view
        assert look(namespace, name) == (key in tx.content)
        self._note(tx, key)

    def _list_names(self, tx: Open, namespace: str, kind: str) -> None:
        """List a namespace through the transaction."""
        self._note(tx, ("ns", namespace))
        act = tx.real.tables if kind == "table" else tx.real.views
        if self._expect(("ns", namespace) in tx.content, act, namespace):
            assert act(namespace) == _names(tx.content, kind, namespace)
            tx.listed.add(f"{kind} {namespace}")

    # --- the model's own rules -------------------------------------------------------------------

    def _next(self) -> str:
        self.counter += 1
        return str(self.counter)

    def _expect(self, allowed: bool, act: Any, *arguments: Any) -> bool:
        if allowed:
            act(*arguments)
        else:
            with pytest.raises(TrinityLakeError):
                act(*arguments)
        return allowed

    def _missed(self, tx: Open, key: tuple[str, ...]) -> None:
        """A lookup that found nothing read the name, its namespace, and the other kind."""
        self._note(tx, key)
        self._note(tx, ("ns", key[1]))
        if ("ns", key[1]) in tx.content:
            self._note(tx, (_other(key[0]), *key[1:]))

    def _note_taken(self, tx: Open, namespace: str, *keys: tuple[str, ...]) -> None:
        """A name that could not be given is taken, or has no namespace to be in."""
        if ("ns", namespace) not in tx.content:
            self._note(tx, ("ns", namespace))
            return
        for key in keys:
            if key in tx.content:
                self._note(tx, key)

    def _note(self, tx: Open, key: tuple[str, ...], what: int = NAME) -> None:
        """Take down a read, except of what the transaction itself has made."""
        if key not in tx.content or key in self.versions[tx.base].content:
            tx.read[key] = max(tx.read.get(key, NAME), what)

    def _write(self, tx: Open, key: tuple[str, ...], how: str, value: Any) -> None:
        tx.wrote.setdefault(key, []).append(how)
        if how in ("create", "drop"):
            tx.appended.pop(key, None)
        if value is None:
            tx.content.pop(key)
        else:
            tx.content[key] = value

    def _nets_out(self, tx: Open, key: tuple[str, ...]) -> bool:
        """An object that the transaction made and dropped was never there."""
        return key not in tx.content and key not in self.versions[tx.base].content

    def _conflicts(self, tx: Open) -> dict[int, str]:
        """Return why each version since the base stands against a commit."""
        reasons = {}
        for number in range(tx.base + 1, len(self.versions)):
            reason = self._conflict(tx, number)
            if reason:
                reasons[number] = reason
        return reasons

    def _conflict(self, tx: Open, number: int) -> str | None:  # noqa: PLR0911 - a list of rules
        version = self.versions[number]
        if version.kind in ("rollback", "layout"):
            return version.kind
        for key, theirs in version.wrote.items():
            gone, came = key not in version.content, key in version.content
            mine = set(tx.wrote.get(key, ()))
            if mine and not self._merges(key, theirs, mine):
                return f"{theirs} × {mine} on {key}"
            if key[0] == "ns" and gone and key[1] in tx.needs_namespace:
                return f"namespace {key[1]} is gone"
            if key[0] != "ns" and came and key[1] in tx.dropped_namespaces:
                return f"something came into namespace {key[1]}"
            if came and key in tx.takes_name:
                return f"{key} took the name"
            if tx.level != "serializable" or version.kind == "physical" or theirs == {"compact"}:
                continue
            is_listed = key[0] != "ns" and f"{key[0]} {key[1]}" in tx.listed
            if max(tx.read.get(key, 0), is_listed * NAME) >= self._changed(number, key):
                return f"{key} was read"
        return None

    def _changed(self, number: int, key: tuple[str, ...]) -> int:
        """What a version changed of an object first: its being there, its definition, its data."""
        before, after = self.versions[number - 1].content, self.versions[number].content
        if (key in before) != (key in after):
            return NAME
        made_anew = {"alter", "create", "drop"} & self.versions[number].wrote[key]
        return DEFINITION if made_anew else DATA

    def _merges(self, key: tuple[str, ...], theirs: set[str], mine: set[str]) -> bool:
        """The cells of format.md §6.6, and the list format's own rules for two changes of data."""
        if key[0] != "table" or (theirs | mine) & {"create", "drop"}:
            return False
        for each in theirs:
            for own in mine:
                if each == "alter":
                    good = own == "append"
                else:
                    good = own == "alter" or (own == "append" and each in ("append", "compact"))
                if not good:
                    return False
        return True

    def _merged(self, tx: Open, key: tuple[str, ...], done: list[str]) -> Any:
        """What a key holds after the commit, derived from the newest content."""
        mine = tx.content.get(key)
        base = self.versions[tx.base].content.get(key)
        now = self.versions[-1].content.get(key)
        if mine is None or key[0] != "table" or base == now or set(done) & {"create", "drop"}:
            return mine
        items = now[0] + tx.appended.get(key, []) if set(done) <= {"append", "alter"} else mine[0]
        changed = {k: v for k, v in mine[1].items() if base[1].get(k) != v}
        return items, {**now[1], **changed}


def _other(kind: str) -> str:
    return "view" if kind == "table" else "table"


def _names(content: Content, kind: str, namespace: str) -> list[str]:
    return sorted(key[2] for key in content if key[0] == kind and key[1] == namespace)


def _same(snapshot: Any, content: Content) -> None:
    """Compare everything in a snapshot with the model."""
    namespaces = sorted(key[1] for key in content if key[0] == "ns")
    assert snapshot.namespaces() == sorted(namespaces, key=str.encode)
    for namespace in namespaces:
        found = dict(snapshot.namespace(namespace).properties)
        assert found == content["ns", namespace]
        assert snapshot.tables(namespace) == _names(content, "table", namespace)
        assert snapshot.views(namespace) == _names(content, "view", namespace)
        for name in snapshot.tables(namespace):
            items, properties = content["table", namespace, name]
            assert read(snapshot, name, namespace) == items
            assert dict(snapshot.table(namespace, name).definition.properties) == properties
        for name in snapshot.views(namespace):
            found = dict(snapshot.view(namespace, name).definition.properties)
            assert found == content["view", namespace, name]


TestLakehouse = LakehouseMachine.TestCase
TestLakehouse.__doc__ = "Any sequence of work leaves the lakehouse as the model says."
