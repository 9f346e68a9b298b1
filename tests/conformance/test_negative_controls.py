"""The suite finds storages whose exclusive create is not exclusive."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.servers.s3 import Liar, S3Mock
from tests.support.race import run_race
from tests.support.s3_suite import S3Suite
from trinitylake_spark.errors import Kind, StorageError
from trinitylake_spark.lakehouse.lakehouse import Lakehouse
from trinitylake_spark.storage import open_storage

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.servers.base import Server

pytestmark = pytest.mark.servers

_ROUNDS = 100


class _Suite(S3Suite):
    rounds = _ROUNDS


@pytest.fixture(scope="module", params=[Liar, S3Mock], ids=["ignores-conditions", "races"])
def liar(request: pytest.FixtureRequest) -> Iterator[Server]:
    """A server that lies, and one that checks first and stores later."""
    with request.param() as server:
        yield server


def test_race_of_processes_finds_it(liar: Server) -> None:
    """Several processes find more than one winner."""
    race = run_race(liar.url("processes"), liar.options(), rounds=_ROUNDS)
    assert race.bad_rounds


def test_conformance_finds_it(liar: Server) -> None:
    """Threads of one process find it as well, in the suite that third parties run."""
    suite = _Suite()
    suite._server = liar
    with (
        open_storage(liar.url("threads"), liar.options()) as storage,
        pytest.raises(AssertionError),
    ):
        suite.test_one_of_many_creators_wins(storage)


def test_lakehouse_is_refused() -> None:
    """No lakehouse is made where every creator believes to be the first."""
    with Liar() as server, pytest.raises(StorageError) as caught:
        Lakehouse.create(server.url("lake"), storage_options=server.options())
    assert caught.value.kind is Kind.NOT_EXCLUSIVE
