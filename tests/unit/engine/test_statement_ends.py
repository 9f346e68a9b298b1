"""The engine keeps a statement until it hears of its end, and nothing of it afterwards."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.support.bridge import appending, raises_kind, replacing

if TYPE_CHECKING:
    from tests.support.bridge import Catalog

_STATEMENTS = 1_000
_KEPT_VIEWS = 64


def _end(catalog: Catalog, *statements: str) -> None:
    """Say that statements are over, as the JVM does with its next call."""
    catalog.call("tables", namespace="ns", statement=None, ended_statements=list(statements))


def test_a_statement_keeps_its_version_however_many_others_run(
    catalog: Catalog, other: Catalog
) -> None:
    """Its version and its reads are there until it ends, not until others push it out."""
    statement = catalog.statement()
    assert statement.files("t") == {"f1", "f2"}
    other.insert("t", "f3")
    for _ in range(_STATEMENTS):
        catalog.statement().load("t")

    assert statement.files("t") == {"f1", "f2"}


def test_statements_that_write_nothing_leave_nothing(catalog: Catalog) -> None:
    """A thousand statements that found no row to change are forgotten, views and all."""
    before = catalog.bridge.service.held()["statements"]
    for number in range(_STATEMENTS):
        statement = catalog.statement()
        statement.load("t", "write")
        _end(catalog, statement.name)
        assert catalog.bridge.service.held()["writer_views"] <= _KEPT_VIEWS + 1, number

    held = catalog.bridge.service.held()
    assert held["statements"] == before


def test_statements_of_a_transaction_leave_nothing(catalog: Catalog) -> None:
    """The same inside of a transaction that stays open."""
    before = catalog.bridge.service.held()["statements"]
    catalog.procedure("begin")
    for _ in range(_STATEMENTS):
        statement = catalog.statement()
        statement.load("t", "write")
        _end(catalog, statement.name)

    held = catalog.bridge.service.held()
    assert held["statements"] == before
    assert held["writer_views"] <= _KEPT_VIEWS + 1


def test_what_a_statement_did_not_find_is_a_read(catalog: Catalog, other: Catalog) -> None:
    """At SERIALIZABLE, that no row met a condition depends on the table; also after the end."""
    catalog.procedure("begin", isolation="serializable")
    statement = catalog.statement()
    statement.load("t", "write")
    _end(catalog, statement.name)
    catalog.create("u")
    other.insert("t", "f3")

    raises_kind("COMMIT_CONFLICT", lambda: catalog.procedure("commit"))


def test_a_compaction_without_work_has_read_nothing(catalog: Catalog, other: Catalog) -> None:
    """At SERIALIZABLE, an OPTIMIZE that left no entry depends on no row of its table."""
    catalog.procedure("begin", isolation="serializable")
    statement = catalog.statement()
    statement.load("t", "rewrite")
    _end(catalog, statement.name)
    catalog.create("u")
    other.insert("t", "f3")

    catalog.procedure("commit")
    assert catalog.files("t") == {"f1", "f2", "f3"}


def test_an_ended_writer_still_commits_in_its_transaction(catalog: Catalog) -> None:
    """What a statement wrote stays in the transaction after the statement is over."""
    catalog.procedure("begin")
    first = catalog.statement()
    first.load("t", "write").commit(appending("f3"))
    second = catalog.statement()
    second.load("t", "write").commit(replacing("f1", "f4"))
    _end(catalog, first.name, second.name)
    catalog.procedure("commit")

    assert catalog.files("t") == {"f2", "f3", "f4"}


def test_tables_of_a_plan_are_opened_at_one_version(catalog: Catalog, other: Catalog) -> None:
    """Tables that are opened together are of one version, and within a statement of its own."""
    catalog.create("u", "u1")
    statement = catalog.statement()
    assert statement.files("t") == {"f1", "f2"}
    other.insert("u", "u2")
    ask = {"tables": [["ns", "t"], ["ns", "u"]]}
    alone = catalog.call("tables_open", statement=None, **ask)["tables"]
    within = catalog.call("tables_open", statement=statement.name, **ask)["tables"]

    assert [t["delta_version"] for t in alone] == [0, 1]
    assert [t["delta_version"] for t in within] == [0, 0]
    assert {t["lake_version"] for t in alone} == {alone[0]["lake_version"]}


def test_another_session_sees_committed_tables_only(catalog: Catalog) -> None:
    """A plan that runs in a session without a catalog of its own sees no open transaction."""
    catalog.procedure("begin")
    catalog.insert("t", "f3")
    ask = {"tables": [["ns", "t"]], "statement": None}

    (own,) = catalog.call("tables_open", **ask)["tables"]
    (foreign,) = catalog.call("tables_open", committed_only=True, **ask)["tables"]
    assert (own["delta_version"], foreign["delta_version"]) == (1, 0)
