"""The Spark settings of a session: what a catalog needs, merged with what is there already."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from trinitylake_spark.errors import InvalidInputError
from trinitylake_spark.spark.checks import jar_paths

if TYPE_CHECKING:
    from collections.abc import Mapping

EXTENSIONS = "spark.sql.extensions"
OUR_EXTENSION = "io.trinitylake.spark.TrinityLakeSparkExtension"
_DELTA_EXTENSION = "io.delta.sql.DeltaSparkSessionExtension"
_SESSION_CATALOG = "spark.sql.catalog.spark_catalog"
_DELTA_CATALOG = "org.apache.spark.sql.delta.catalog.DeltaCatalog"
_ENGINE_PYTHON = "spark.trinitylake.engine.python"
_CATALOG_CLASS = "io.trinitylake.spark.TrinityLakeCatalog"
_CATALOG_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_LISTS = (EXTENSIONS, "spark.jars")
_USERS_CHOICE = (_SESSION_CATALOG, _ENGINE_PYTHON)


def catalog_settings(
    catalog: str,
    root: str,
    *,
    warehouse: str | None = None,
    storage_options: Mapping[str, object] | None = None,
    isolation_level: str | None = None,
    create: bool = False,
) -> dict[str, str]:
    """Return the settings of one catalog (interface: ``spark.sql.catalog.<name>…``).

    Args:
        catalog: the catalog's name in SQL; letters, digits and ``_``.
        root: URL of the tree, or a local path.
        warehouse: URL of the data; ``<root>/data`` if left out.
        storage_options: options of the root's storage.
        isolation_level: ``snapshot`` or ``serializable``; the lakehouse's own if left out.
        create: create the lakehouse if there is none.

    Raises:
        InvalidInputError: a catalog name that SQL cannot use, or ``spark_catalog``.
    """
    if not _CATALOG_NAME.fullmatch(catalog) or catalog == "spark_catalog":
        raise InvalidInputError(
            f"Invalid catalog name {catalog!r}: use letters, digits and '_', and not"
            " 'spark_catalog', which stays Delta's.",
            catalog=catalog,
        )
    prefix = f"spark.sql.catalog.{catalog}"
    settings = {prefix: _CATALOG_CLASS, f"{prefix}.root": _url(root)}
    if warehouse is not None:
        settings[f"{prefix}.warehouse"] = _url(warehouse)
    for option, value in (storage_options or {}).items():
        text = str(value).lower() if isinstance(value, bool) else str(value)
        settings[f"{prefix}.storage.{option}"] = text
    if isolation_level is not None:
        settings[f"{prefix}.isolation-level"] = isolation_level
    if create:
        settings[f"{prefix}.create"] = "true"
    return settings


def session_settings() -> dict[str, str]:
    """Return the settings that a session needs once, whatever its catalogs."""
    return {
        EXTENSIONS: f"{_DELTA_EXTENSION},{OUR_EXTENSION}",
        _SESSION_CATALOG: _DELTA_CATALOG,
        "spark.jars": ",".join(jar_paths()),
        # This Python has the package; the one that Spark would find on the path may not.
        _ENGINE_PYTHON: sys.executable,
    }


def merged(existing: Mapping[str, str], ours: Mapping[str, str]) -> dict[str, str]:
    """Return what to set so that ours works beside what exists.

    Lists (extensions, jars) are joined without doubles; the session catalog and the engine's
    Python are left as they are if somebody chose one.
    """
    kept = {*_LISTS, *(key for key in _USERS_CHOICE if key in existing)}
    result = {key: value for key, value in ours.items() if key not in kept}
    for key in _LISTS:
        items = [*existing.get(key, "").split(","), *ours.get(key, "").split(",")]
        named = list(dict.fromkeys(item.strip() for item in items if item.strip()))
        if named:
            result[key] = ",".join(named)
    return result


def _url(location: str) -> str:
    return location if "://" in location else f"file://{Path(location).absolute()}"
