"""Client libraries that only a few tests need, kept out of the development environment."""

from __future__ import annotations

import sys

from tests.servers import install


def add_client(requirement: str, *more: str) -> None:
    """Make pinned packages importable; what the environment has itself comes first."""
    folder = str(install.wheel(requirement, *more))
    if folder not in sys.path:
        sys.path.append(folder)
