"""How much the tests against storage servers do."""

from __future__ import annotations

import os

FULL = os.environ.get("TRINITYLAKE_STORES") == "full"
"""All rounds, objects and cases, as ``make test-stores`` does; otherwise what fits a coffee."""
