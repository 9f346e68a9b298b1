"""Tables computed from others: the hole that the seed admits, and its cure (format.md §6.5)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.support.row_tables import (
    ALL,
    SERIALIZABLE,
    Conflict,
    Row,
    Session,
    adding,
    row,
    setting,
    values,
    where,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.support.row_tables import Tables


def _sum(rows: list[Row]) -> list[Row]:
    return [row(99, sum(one["v"] for one in rows))]


@pytest.fixture
def sessions(tables: Tables, level: str) -> tuple[Session, Session]:
    """Two sessions of one level on t1 (rows 1 and 2) and t2 (row 3)."""
    one, two = tables.session(isolation=level), tables.session(isolation=level)
    one.create("t1", row(1, 10), row(2, 20))
    one.create("t2", row(3, 30))
    return one, two


def _ends(level: str, work: Callable[[], object]) -> None:
    """Work that SERIALIZABLE must refuse and SNAPSHOT let pass."""
    if level == SERIALIZABLE:
        with pytest.raises(Conflict) as refused:
            work()
        assert "t1" in str(refused.value.fields["table"])
    else:
        work()


@pytest.mark.parametrize("way", ["statement", "transaction"])
def test_t2_computed_from_t1(sessions: tuple[Session, Session], level: str, way: str) -> None:
    """INSERT INTO t2 SELECT … FROM t1 against an UPDATE of t1 that commits first."""
    one, two = sessions

    def change() -> object:
        """What commits in between."""
        return one.update("t1", where(k=1), setting(11))

    if way == "statement":
        two.meanwhile = change
        _ends(level, lambda: two.insert_select("t2", "t1", _sum))
    else:
        two.begin()
        two.insert_select("t2", "t1", _sum)
        change()
        _ends(level, two.commit)
    expected = {3: 30} if level == SERIALIZABLE else {3: 30, 99: 30}
    assert values(one.select("t2")) == expected


def test_t2_alone_follows_t1(sessions: tuple[Session, Session]) -> None:
    """A transaction that touches only t2 commits after a change of t1 at both levels."""
    one, two = sessions
    two.begin()
    two.update("t2", where(k=3), adding(1))
    one.update("t1", where(k=1), setting(11))
    assert two.commit() is not None


def test_compaction_changes_nothing_read(sessions: tuple[Session, Session]) -> None:
    """What was read is still so after a compaction of t1, so both levels let it pass."""
    one, two = sessions
    two.begin()
    two.insert_select("t2", "t1", _sum)
    one.compact("t1")
    assert two.commit() is not None


@pytest.mark.parametrize("way", ["statement", "transaction", "select before"])
@pytest.mark.parametrize("theirs", ["update", "insert"])
def test_overwrite_of_itself(sessions: tuple[Session, Session], way: str, theirs: str) -> None:
    """INSERT OVERWRITE t with what was read from t loses nobody's change, at either level (P4)."""
    one, two = sessions

    def change() -> object:
        """What commits in between."""
        if theirs == "insert":
            return one.insert("t1", row(3, 30))
        return one.update("t1", where(k=1), setting(100))

    def more(rows: list[Row]) -> list[Row]:
        """Each value, and one."""
        return [{**r, "v": r["v"] + 1} for r in rows]

    if way == "statement":
        two.meanwhile = change
        with pytest.raises(Conflict) as caught:
            two.overwrite_select("t1", more)
        refused = caught.value
    else:
        two.begin()
        if way == "transaction":
            two.overwrite_select("t1", more)
        else:
            rows = two.select("t1")
            two.overwrite("t1", *more(rows))
        change()
        refused = two.refused()
    assert "read" in refused.fields["rule"]
    expected = {1: 10, 2: 20, 3: 30} if theirs == "insert" else {1: 100, 2: 20}
    assert values(one.select("t1")) == expected


def test_overwrite_of_what_was_not_read(sessions: tuple[Session, Session]) -> None:
    """INSERT OVERWRITE with other data replaces a concurrent change at both levels (cell O)."""
    one, two = sessions
    two.begin()
    two.overwrite("t1", row(9, 90))
    one.update("t1", where(k=1), setting(100))
    two.commit()
    assert values(one.select("t1")) == {9: 90}


def test_chain_of_tables(sessions: tuple[Session, Session], tables: Tables, level: str) -> None:
    """Two tables, each computed from the other by another transaction: no serial order has it."""
    one, two = sessions
    one.begin()
    two.begin()
    one.insert_select("t2", "t1", _sum)
    two.insert_select("t1", "t2", _sum)
    one.commit()
    if level == SERIALIZABLE:
        two.refused()
    else:
        two.commit()
    three = tables.session()
    sums = values(three.select("t2"))[99], values(three.select("t1")).get(99)
    assert sums == ((30, None) if level == SERIALIZABLE else (30, 30))


def test_read_only_transactions_are_never_refused(sessions: tuple[Session, Session]) -> None:
    """Who only reads stands at its own version, so there is nothing to check."""
    one, two = sessions
    two.begin()
    assert values(two.select("t1")) == {1: 10, 2: 20}
    one.update("t1", ALL, adding(1))
    assert values(two.select("t1")) == {1: 10, 2: 20}
    assert two.commit() is None


def test_other_levels_writers_count(tables: Tables) -> None:
    """SERIALIZABLE is checked against whatever committed, at whichever level that was."""
    setup = tables.session()
    setup.create("t1", row(1, 10))
    setup.create("t2")
    one, two = tables.session(isolation="snapshot"), tables.session()
    two.begin(SERIALIZABLE)
    two.insert_select("t2", "t1", _sum)
    one.update("t1", where(k=1), setting(11))
    two.refused()
