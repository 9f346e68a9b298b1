"""How much the proofs do, and from which seed (docs/proofs.md).

``TRINITYLAKE_PROOFS=20`` does twenty times as much; ``TRINITYLAKE_SEED=17`` replays the one run
with that seed, which every failure prints.
"""

from __future__ import annotations

import os

FACTOR = int(os.environ.get("TRINITYLAKE_PROOFS", "1"))
"""Times the work of a default run."""


def seeds(number: int) -> list[int]:
    """Return the seeds to run: ``number`` times the factor, or only the one to replay."""
    only = os.environ.get("TRINITYLAKE_SEED")
    return list(range(1, number * FACTOR + 1)) if only is None else [int(only)]
