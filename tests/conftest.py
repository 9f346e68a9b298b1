"""What every test shares: hypothesis profiles and where the repository is."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

# One test may not choose its own number of examples; the profile does (HYPOTHESIS_PROFILE).
_COMMON = {"deadline": None, "suppress_health_check": [HealthCheck.too_slow]}
settings.register_profile("fast", max_examples=20, derandomize=True, **_COMMON)
settings.register_profile("default", max_examples=60, derandomize=True, **_COMMON)
settings.register_profile("nightly", max_examples=1000, print_blob=True, **_COMMON)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "default"))


@pytest.fixture(scope="session")
def repository() -> Path:
    """The folder of the repository."""
    return Path(__file__).resolve().parent.parent


@pytest.fixture(autouse=True)
def _quiet_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests see no credentials or defaults of whoever runs them."""
    for name in list(os.environ):
        if name.startswith(("AWS_", "AZURE_", "GOOGLE_", "TRINITYLAKE_CATALOG")):
            monkeypatch.delenv(name)
