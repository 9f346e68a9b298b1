"""Random transactions of several processes leave no forbidden cycle on S3's protocol either."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.isolation.profile import FACTOR, seeds
from tests.servers.s3 import SeaweedFS
from tests.support.appenders import report, several_processes

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.servers.base import Server


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    """One S3 server for all runs."""
    with SeaweedFS() as server:
        yield server


@pytest.mark.servers
@pytest.mark.parametrize("seed", seeds(1))
def test_processes_on_s3(server: Server, level: str, seed: int) -> None:
    """Conditional puts decide who commits: no anomaly."""
    history = several_processes(
        server.url(f"proofs-{level}-{seed}"),
        seed,
        level,
        processes=2,
        clients=4,
        number=130 * min(FACTOR, 10),
        storage=server.options(),
    )

    assert report(history, level, seed) == ""
    assert len(history.txns) >= 1040
    assert history.commits > 200
