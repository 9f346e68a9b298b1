"""Hermitage's catalogue of anomalies at both levels, in one table and across tables.

The catalogue and the histories are Martin Kleppmann's, the names Atul Adya's. Row 1 starts as 10
and row 2 as 20; they live in one table, each in a file of its own, or in two tables. Where a
locking database would block, nobody waits here: the first to commit wins.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import pytest

from tests.support.row_tables import (
    ALL,
    SERIALIZABLE,
    SNAPSHOT,
    Conflict,
    Session,
    Summed,
    Where,
    adding,
    multiple,
    row,
    setting,
    values,
    where,
)

if TYPE_CHECKING:
    from tests.support.row_tables import Tables


@dataclass
class Actor:
    """A session that finds each row in the table where it lives.

    Args:
        session: the session.
        homes: the table of each row.
    """

    session: Session
    homes: dict[int, str]

    def begin(self, level: str | None = None) -> None:
        """BEGIN."""
        self.session.begin(level)

    def get(self, key: int) -> int | None:
        """The value of one row."""
        found = values(self.session.select(self.homes[key], where(k=key)))
        return found.get(key)

    def all(self, condition: Where = ALL) -> dict[int, int]:
        """Every row that meets a condition, in all tables, by its key."""
        found: dict[int, int] = {}
        for table in self._tables():
            found.update(values(self.session.select(table, condition)))
        return found

    def set(self, key: int, value: int) -> None:
        """UPDATE of one row."""
        assert self.session.update(self.homes[key], where(k=key), setting(value)) == 1

    def add(self, number: int) -> int:
        """UPDATE of every row: adds to its value."""
        return sum(self.session.update(t, ALL, adding(number)) for t in self._tables())

    def delete(self, condition: Where) -> int:
        """DELETE wherever the condition holds."""
        return sum(self.session.delete(t, condition) for t in self._tables())

    def insert(self, key: int, value: int) -> None:
        """INSERT: odd keys go where row 1 is, even keys where row 2 is."""
        self.session.insert(self.homes[2 - key % 2], row(key, value))

    def commits(self) -> None:
        """COMMIT, which must succeed."""
        self.session.commit()

    def refused(self) -> Conflict:
        """COMMIT, which must be refused."""
        return self.session.refused()

    def ends(self, level: str) -> None:
        """COMMIT, which must succeed at SNAPSHOT and be refused at SERIALIZABLE."""
        if level == SERIALIZABLE:
            self.refused()
        else:
            self.commits()

    def _tables(self) -> list[str]:
        return sorted(set(self.homes.values()))


@dataclass
class Stage:
    """Three transactions are about to begin.

    Args:
        tables: the lakehouse.
        homes: the table of each row.
    """

    tables: Tables
    homes: dict[int, str]

    def actors(self, level: str, number: int = 2) -> list[Actor]:
        """Begin some transactions at the same version."""
        actors = [Actor(self.tables.session(), self.homes) for _ in range(number)]
        for actor in actors:
            actor.begin(level)
        return actors

    def state(self) -> dict[int, int]:
        """What a newcomer sees."""
        return Actor(self.tables.session(), self.homes).all()


def staged(tables: Tables, layout: str) -> Stage:
    """Put row 1 (10) and row 2 (20) into "one table" or into "two tables"."""
    setup = tables.session()
    if layout == "one table":
        setup.create("t", row(1, 10), row(2, 20))
        return Stage(tables, {1: "t", 2: "t"})
    setup.create("t1", row(1, 10))
    setup.create("t2", row(2, 20))
    return Stage(tables, {1: "t1", 2: "t2"})


class Anomalies:
    """The catalogue; whoever inherits it says by a fixture what ``tables`` are."""

    @pytest.fixture(params=["one table", "two tables"])
    def stage(self, request: pytest.FixtureRequest, tables: Tables) -> Stage:
        """Rows 1 (10) and 2 (20), in one table or in two."""
        return staged(tables, request.param)

    def test_g0_dirty_write(self, stage: Stage, level: str) -> None:
        """Writes of two transactions never interleave: the second to commit is refused."""
        one, two = stage.actors(level)
        one.set(1, 11)
        two.set(1, 12)
        one.set(2, 21)
        one.commits()
        assert stage.state() == {1: 11, 2: 21}
        two.set(2, 22)
        two.refused()
        assert stage.state() == {1: 11, 2: 21}

    def test_g1a_aborted_read(self, stage: Stage, level: str) -> None:
        """Nobody sees what is rolled back, before or after."""
        one, two = stage.actors(level)
        one.set(1, 101)
        assert two.all() == {1: 10, 2: 20}
        one.session.rollback()
        assert two.all() == {1: 10, 2: 20}
        two.commits()
        assert stage.state() == {1: 10, 2: 20}

    def test_g1b_intermediate_read(self, stage: Stage, level: str) -> None:
        """Nobody sees a value that its writer replaced before it committed."""
        one, two = stage.actors(level)
        one.set(1, 101)
        assert two.all() == {1: 10, 2: 20}
        one.set(1, 11)
        one.commits()
        assert two.all() == {1: 10, 2: 20}
        two.commits()
        assert stage.state() == {1: 11, 2: 20}

    def test_g1c_circular_information_flow(self, stage: Stage, level: str) -> None:
        """Two transactions never see each other's writes; at SERIALIZABLE one of them goes."""
        one, two = stage.actors(level)
        one.set(1, 11)
        two.set(2, 22)
        assert one.get(2) == 20
        assert two.get(1) == 10
        one.commits()
        two.ends(level)

    def test_otv_observed_transaction_vanishes(self, stage: Stage, level: str) -> None:
        """Who saw one write of a transaction sees all of it, whatever is committed meanwhile."""
        one, two = stage.actors(level)
        one.set(1, 11)
        one.set(2, 19)
        two.set(1, 12)
        one.commits()
        (three,) = stage.actors(level, 1)
        assert three.get(1) == 11
        two.set(2, 18)
        assert three.get(2) == 19
        two.refused()
        assert three.all() == {1: 11, 2: 19}
        three.commits()

    def test_pmp_predicate_many_preceders_read(self, stage: Stage, level: str) -> None:
        """A search repeated in a transaction finds the same rows, others' inserts or not."""
        one, two = stage.actors(level)
        assert one.all(multiple(30)) == {}
        two.insert(3, 30)
        two.commits()
        assert one.all(multiple(3)) == {}
        one.commits()
        assert stage.state() == {1: 10, 2: 20, 3: 30}

    def test_pmp_predicate_many_preceders_write(self, stage: Stage, level: str) -> None:
        """A DELETE chooses rows at its own version, and is refused if one of them changed."""
        one, two = stage.actors(level)
        assert one.add(10) == 2
        assert two.delete(multiple(20)) == 1
        one.commits()
        two.refused()
        assert stage.state() == {1: 20, 2: 30}

    def test_p4_lost_update(self, stage: Stage, level: str) -> None:
        """Of two transactions that read a value and write it anew, one is refused."""
        one, two = stage.actors(level)
        assert one.get(1) == 10
        assert two.get(1) == 10
        one.set(1, 11)
        two.set(1, 11)
        one.commits()
        conflict = two.refused()
        assert conflict.fields["table"] == f"ns.{stage.homes[1]}"

    def test_g_single_read_skew(self, stage: Stage, level: str) -> None:
        """A reader never sees half of somebody's change."""
        one, two = stage.actors(level)
        assert one.get(1) == 10
        two.set(1, 12)
        two.set(2, 18)
        two.commits()
        assert one.get(2) == 20
        one.commits()

    def test_g_single_with_predicates(self, stage: Stage, level: str) -> None:
        """The same for searches: what a change moves out of sight stays in sight."""
        one, two = stage.actors(level)
        assert one.all(multiple(5)) == {1: 10, 2: 20}
        two.set(1, 12)
        two.commits()
        assert one.all(multiple(3)) == {}
        one.commits()

    def test_g_single_with_write(self, stage: Stage, level: str) -> None:
        """Who read before a change cannot delete after it."""
        one, two = stage.actors(level)
        assert one.get(1) == 10
        two.set(1, 12)
        two.set(2, 18)
        two.commits()
        assert one.delete(multiple(20)) == 1
        one.refused()
        assert stage.state() == {1: 12, 2: 18}

    def test_g2_item_write_skew(self, stage: Stage, level: str) -> None:
        """Both read both rows and each writes one: SNAPSHOT lets it pass, SERIALIZABLE does not."""
        one, two = stage.actors(level)
        assert one.all() == two.all() == {1: 10, 2: 20}
        one.set(1, 11)
        two.set(2, 21)
        one.commits()
        two.ends(level)
        assert stage.state() == {1: 11, 2: 21 if level == SNAPSHOT else 20}

    def test_g2_anti_dependency_cycle(self, stage: Stage, level: str) -> None:
        """Both search and find nothing, and each inserts what the other searched for."""
        one, two = stage.actors(level)
        assert one.all(multiple(3)) == two.all(multiple(3)) == {}
        one.insert(3, 30)
        two.insert(4, 42)
        one.commits()
        two.ends(level)

    def test_g2_two_edges(self, stage: Stage, level: str) -> None:
        """A reader alone makes a cycle of two writers (Fekete et al.): SERIALIZABLE refuses it."""
        (one,) = stage.actors(level, 1)
        assert one.all() == {1: 10, 2: 20}
        (two,) = stage.actors(level, 1)
        two.set(2, 25)
        two.commits()
        (three,) = stage.actors(level, 1)
        assert three.all() == {1: 10, 2: 25}
        three.commits()
        one.set(1, 0)
        one.ends(level)

    # --- reads that hide in writing statements ----------------------------------------------------

    def test_update_without_where_reads_all_rows(self, stage: Stage, level: str) -> None:
        """An UPDATE of every row depends on there being no others (predicate anti-dependency)."""
        one, two = stage.actors(level)
        assert one.add(1) == 2
        two.insert(3, 30)
        two.commits()
        one.ends(level)

    def test_update_with_where_reads_by_its_condition(self, stage: Stage, level: str) -> None:
        """An UPDATE depends on there being no more rows that meet its condition."""
        one, two = stage.actors(level)
        assert one.session.update(stage.homes[1], multiple(5), adding(1)) >= 1
        two.insert(3, 30)
        two.commits()
        one.ends(level)

    @pytest.mark.parametrize("statement", ["update", "delete", "merge"])
    def test_statement_that_changes_nothing_has_read(
        self, stage: Stage, level: str, statement: str
    ) -> None:
        """That no row met the condition is something that the transaction goes by.

        Both transactions look for the row that the other one inserts; neither finds it.
        """
        one, two = stage.actors(level)
        for actor, mine, other in ((one, 1, 2), (two, 2, 1)):
            table = stage.homes[other]
            if statement == "update":
                assert actor.session.update(table, multiple(7), setting(0)) == 0
            elif statement == "delete":
                assert actor.session.delete(table, multiple(7)) == 0
            else:
                assert actor.session.merge(table) == 0
            actor.insert(mine + 2, 7)
        one.commits()
        two.ends(level)

    def test_merge_reads_its_target(self, stage: Stage, level: str) -> None:
        """A MERGE inserts because there was no such row."""
        one, two = stage.actors(level)
        assert one.session.merge(stage.homes[1], row(3, 31)) == 1
        two.insert(3, 30)
        two.commits()
        one.ends(level)

    def test_insert_select_reads_its_source(self, stage: Stage, level: str) -> None:
        """Rows computed from another row depend on it, in the same table too."""
        one, two = stage.actors(level)

        one.session.insert_select(stage.homes[2], stage.homes[1], Summed(4))
        two.set(1, 100)
        two.commits()
        one.ends(level)
