"""A lakehouse with one table, as two sessions of one engine see it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.support.bridge import Bridge, Catalog

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def catalog(tmp_path: Path) -> Catalog:
    """A catalog with namespace ns and table t of files f1 and f2."""
    catalog = Bridge().open(tmp_path / "lake")
    catalog.create_namespace()
    catalog.create("t", "f1", "f2")
    return catalog


@pytest.fixture
def other(catalog: Catalog, tmp_path: Path) -> Catalog:
    """Another session of the same engine on the same lakehouse."""
    return catalog.bridge.open(tmp_path / "lake")


@pytest.fixture
def stranger(catalog: Catalog, tmp_path: Path) -> Catalog:
    """A session of another engine on the same lakehouse."""
    assert catalog
    return Bridge().open(tmp_path / "lake")
