"""DELETE without WHERE and TRUNCATE remove the same files, and mean different things."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.support.bridge import deleting, raises_kind, truncating

if TYPE_CHECKING:
    from tests.support.bridge import Catalog

CONDITIONS = pytest.mark.parametrize("predicate", ["[]", '["true"]'], ids=["none", "true"])


def _recorded(catalog: Catalog) -> str:
    """The operations of the newest version, as system.versions tells them."""
    answer = catalog.call("system_table", table="versions", limit=1)
    return str(answer["rows"][0])


@CONDITIONS
def test_delete_keeps_rows_that_came_after_begin(
    catalog: Catalog, other: Catalog, predicate: str
) -> None:
    """A transaction deletes the rows that it saw; those that others insert meanwhile stay."""
    catalog.procedure("begin")
    catalog.statement().load("t", "write").commit(deleting("f1", "f2", predicate=predicate))
    other.insert("t", "f3")
    catalog.procedure("commit")

    assert other.files("t") == {"f3"}
    assert "DELETE" in _recorded(catalog)
    assert "TRUNCATE" not in _recorded(catalog)


@CONDITIONS
def test_two_deletes_of_the_same_rows_conflict(
    catalog: Catalog, other: Catalog, predicate: str
) -> None:
    """Only one of them deleted the rows, and the other one's client is told DELETE."""
    for session in (catalog, other):
        session.procedure("begin")
        session.statement().load("t", "write").commit(deleting("f1", "f2", predicate=predicate))
    catalog.procedure("commit")
    error = raises_kind("COMMIT_CONFLICT", lambda: other.procedure("commit"))

    assert (error.fields["my_operation"], error.fields["their_operation"]) == ("DELETE", "DELETE")
    assert "TRUNCATE" not in str(error)


@CONDITIONS
def test_serializable_delete_has_read_every_row(
    catalog: Catalog, other: Catalog, predicate: str
) -> None:
    """At SERIALIZABLE a row that came in should have been deleted too, so the commit is refused."""
    catalog.procedure("begin", isolation="serializable")
    catalog.statement().load("t", "write").commit(deleting("f1", "f2", predicate=predicate))
    other.insert("t", "f3")

    raises_kind("COMMIT_CONFLICT", lambda: catalog.procedure("commit"))
    assert other.files("t") == {"f1", "f2", "f3"}


@pytest.mark.parametrize("isolation", ["snapshot", "serializable"])
def test_truncate_leaves_no_row(catalog: Catalog, other: Catalog, isolation: str) -> None:
    """TRUNCATE overwrites at both levels: what came in before its commit is gone as well."""
    catalog.procedure("begin", isolation=isolation)
    catalog.statement().load("t", "write").commit(truncating("f1", "f2"))
    other.insert("t", "f3")
    catalog.procedure("commit")

    assert other.files("t") == set()
    assert "TRUNCATE" in _recorded(catalog)


def test_truncate_outside_of_a_transaction(catalog: Catalog, other: Catalog) -> None:
    """A statement of its own is an overwrite as well."""
    log = catalog.statement().load("t", "write")
    other.insert("t", "f3")
    log.commit(truncating("f1", "f2"))

    assert other.files("t") == set()


def test_prepared_statements_keep_their_meaning(
    catalog: Catalog, other: Catalog, stranger: Catalog
) -> None:
    """Another process that commits them has the entries only, and those say which is which."""
    catalog.create("u", "f1")
    for name, log_entry in (("t", truncating("f1", "f2")), ("u", deleting("f1"))):
        catalog.procedure("begin")
        catalog.statement().load(name, "write").commit(log_entry)
        catalog.procedure("prepare_transaction", name=name)
        other.insert(name, "f3")
        stranger.procedure("resume_transaction", name=name)
        stranger.procedure("commit")

    assert (other.files("t"), other.files("u")) == (set(), {"f3"})
