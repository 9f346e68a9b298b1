"""Which calls of the bridge read a name, a definition or data (format.md §6.5)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from tests.support.bridge import altering, appending, compacting, overwriting, raises_kind
from trinitylake_spark import Lakehouse
from trinitylake_spark.lakehouse.actions import actions_of

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.support.bridge import Catalog, Statement

    Work = Callable[[Catalog], Any]


@pytest.fixture(autouse=True)
def u(catalog: Catalog) -> None:
    """A second table."""
    catalog.create("u", "u1")


def _alter(catalog: Catalog) -> None:
    log = catalog.statement().load("t", "write")
    log.commit(altering(log.entries(), {"steward": "they"}))


def _optimize(catalog: Catalog) -> None:
    catalog.statement().load("t", "live").commit(compacting("c", "f1", "f2"))


def _ends(catalog: Catalog, other: Catalog, mine: Work, theirs: Work, *, conflicts: bool) -> None:
    """Do mine in a SERIALIZABLE transaction that writes to u, theirs meanwhile."""
    catalog.procedure("begin", isolation="serializable")
    mine(catalog)
    catalog.insert("u", "u2")
    theirs(other)
    if conflicts:
        raises_kind("COMMIT_CONFLICT", lambda: catalog.procedure("commit"))
    else:
        catalog.procedure("commit")
        assert other.files("u") == {"u1", "u2"}


def _insert(catalog: Catalog) -> None:
    catalog.insert("t", "theirs")


def _exists(catalog: Catalog, table: str = "t", namespace: str = "ns") -> bool:
    statement = catalog.statement()
    answer = statement.call("table_exists", table=table, namespace=namespace)
    assert answer.keys() == {"exists"}
    return bool(answer["exists"])


def _both_kinds(catalog: Catalog) -> None:
    """A view that only needs the definition is analysed, then the query runs."""
    statement = catalog.statement()
    statement.load("t", definition_only=True)
    statement.load("t")


def _insert_and_count(catalog: Catalog) -> None:
    catalog.insert("t", "mine")
    assert catalog.files("t") == {"f1", "f2", "mine"}


@pytest.mark.parametrize(
    ("mine", "theirs", "conflicts"),
    [
        (lambda c: c.files("t"), _insert, True),
        (_insert_and_count, _insert, True),
        (_both_kinds, _insert, True),
        (lambda c: c.insert("t", "mine"), _insert, False),
        (_optimize, _insert, False),
        (_alter, _insert, False),
        (lambda c: c.statement().load("t", "live").list(), _insert, False),
        (lambda c: c.statement().load("t", definition_only=True), _insert, False),
        (_exists, _insert, False),
        (lambda c: c.statement().call("tables"), _insert, False),
        (lambda c: c.statement().call("namespaces"), _insert, False),
        (lambda c: c.statement().load("t", "live"), _alter, True),
        (lambda c: c.statement().load("t", definition_only=True), _alter, True),
        (_exists, _alter, False),
        (lambda c: c.statement().call("tables"), _alter, False),
        (_exists, lambda c: c.statement().call("table_drop", table="t"), True),
        (lambda c: _exists(c, "new"), lambda c: c.create("new"), True),
        (lambda c: _exists(c, "new"), lambda c: c.create("newer"), False),
        (
            lambda c: c.create("v", "v1"),
            lambda c: c.call("namespace_alter", namespace="ns", set={"a": "b"}),
            False,
        ),
    ],
    ids=[
        "SELECT, INSERT", "INSERT and SELECT, INSERT", "analysed and SELECT, INSERT",
        "INSERT, INSERT", "OPTIMIZE, INSERT", "ALTER, INSERT", "DESCRIBE, INSERT",
        "EXPLAIN, INSERT", "exists, INSERT", "SHOW TABLES, INSERT", "SHOW NAMESPACES, INSERT",
        "DESCRIBE, ALTER", "EXPLAIN, ALTER", "exists, ALTER", "SHOW TABLES, ALTER",
        "exists, DROP", "not there, CREATE", "not there, CREATE another",
        "CREATE, ALTER NAMESPACE",
    ],
)  # fmt: skip
def test_what_a_call_reads(
    catalog: Catalog, other: Catalog, mine: Work, theirs: Work, *, conflicts: bool
) -> None:
    """A transaction is refused if what its calls looked at has changed, and only then."""
    _ends(catalog, other, mine, theirs, conflicts=conflicts)


def test_a_refused_reader_says_that_it_read(catalog: Catalog, other: Catalog) -> None:
    """INSERT INTO t; SELECT count(*) FROM t: it is the SELECT that conflicts, not the INSERT."""
    catalog.procedure("begin", isolation="serializable")
    _insert_and_count(catalog)
    _insert(other)
    error = raises_kind("COMMIT_CONFLICT", lambda: catalog.procedure("commit"))
    assert (error.fields["table"], error.fields["my_operation"]) == ("ns.t", "SELECT")


def test_overwriting_replaces_what_came_in(catalog: Catalog, other: Catalog) -> None:
    """INSERT OVERWRITE without reading wins over a concurrent INSERT, after OPTIMIZE too."""
    catalog.procedure("begin", isolation="serializable")
    _optimize(catalog)
    catalog.statement().load("t", "write").commit(overwriting("mine", "c"))
    _insert(other)
    catalog.procedure("commit")
    assert other.files("t") == {"mine"}


def test_exists(catalog: Catalog) -> None:
    """The name alone decides; a transaction sees its own, and its own drops."""
    assert _exists(catalog)
    assert not _exists(catalog, "T")
    assert not _exists(catalog, "t", "elsewhere")
    catalog.procedure("begin")
    catalog.create("mine")
    catalog.statement().call("table_drop", table="t")
    assert (_exists(catalog, "mine"), _exists(catalog)) == (True, False)
    catalog.procedure("rollback")
    assert (_exists(catalog, "mine"), _exists(catalog)) == (False, True)
    raises_kind("INVALID_NAME", lambda: _exists(catalog, "x" * 101))


@pytest.mark.parametrize("namespace", ["system", "System"])
def test_system_tables_exist(catalog: Catalog, namespace: str) -> None:
    """Of the reserved namespace there are exactly the tables that can be read."""
    names = catalog.bridge.call("system_tables", namespace=namespace)["names"]
    assert all(_exists(catalog, name, namespace) for name in names)
    assert _exists(catalog, "VERSIONS", namespace)
    assert not _exists(catalog, "t", namespace)


def test_a_statement_of_its_own_sees_one_version(catalog: Catalog, other: Catalog) -> None:
    """Whether a table exists is asked of the statement's version."""
    statement = catalog.statement()
    statement.load("t")
    other.create("new")
    assert statement.call("table_exists", table="new") == {"exists": False}
    assert _exists(catalog, "new")


def test_a_write_through_a_handle_is_no_read(catalog: Catalog, tmp_path: Path) -> None:
    """OPTIMIZE outside of a transaction depends on what its entry says, and on nothing else."""
    serial = catalog.bridge.open(tmp_path / "lake", isolation="serializable")
    _optimize(serial)
    root = Lakehouse.open(str(tmp_path / "lake")).snapshot().root
    assert root.info.isolation == "SERIALIZABLE"
    assert [action.type for action in actions_of(root) if action.read] == []


def test_reads_of_a_statement_that_needs_no_data(
    catalog: Catalog, other: Catalog, tmp_path: Path
) -> None:
    """INSERT INTO u … FROM t, where only the definition of t was needed, follows any INSERT."""
    serial = catalog.bridge.open(tmp_path / "lake", isolation="serializable")

    def insert(statement: Statement, **how: Any) -> None:
        """Load t, then u to write to it, while others insert into t."""
        statement.load("t", **how)
        log = statement.load("u", "write")
        other.insert("t", f"from {statement.name}")
        log.commit(appending(f"u{statement.name}"))

    insert(serial.statement(), definition_only=True)
    raises_kind("COMMIT_CONFLICT", lambda: insert(serial.statement()))
