"""Lakehouses in memory and what every proof of isolation shares."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.support.row_tables import SERIALIZABLE, SNAPSHOT, Tables
from trinitylake_spark.storage.memory import MemoryStorage

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture
def tables(request: pytest.FixtureRequest) -> Iterator[Tables]:
    """A new lakehouse in memory with namespace ``ns``, through an engine of its own."""
    storage = MemoryStorage(f"memory://{request.node.nodeid.encode().hex()}")
    tables = Tables(storage.url)
    tables.session().create_namespace()
    yield tables
    storage.clear()


@pytest.fixture(params=[SNAPSHOT, SERIALIZABLE])
def level(request: pytest.FixtureRequest) -> str:
    """Each of the two isolation levels."""
    return str(request.param)
