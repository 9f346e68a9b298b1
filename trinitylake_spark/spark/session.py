"""A Spark session with our catalog in it: built, or made from the one that runs already."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql import SparkSession

from trinitylake_spark.errors import InvalidInputError, Kind, UnsupportedError
from trinitylake_spark.spark.checks import require
from trinitylake_spark.spark.settings import (
    EXTENSIONS,
    OUR_EXTENSION,
    catalog_settings,
    merged,
    session_settings,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

_REMOTE = ("spark.remote", "spark.connect.uri")


def session(
    catalog: str,
    root: str,
    *,
    warehouse: str | None = None,
    storage_options: Mapping[str, object] | None = None,
    isolation_level: str | None = None,
    create: bool = False,
    settings: Mapping[str, str] | None = None,
) -> SparkSession:
    """Build a SparkSession with the catalog, or add the catalog to the session that runs.

    Args:
        catalog: the catalog's name in SQL.
        root: URL of the tree, or a local path.
        warehouse: URL of the data; ``<root>/data`` if left out.
        storage_options: options of the root's storage.
        isolation_level: ``snapshot`` or ``serializable``; the lakehouse's own if left out.
        create: create the lakehouse if there is none.
        settings: more Spark settings, for a session that is built here.

    Raises:
        InvalidInputError: a bad catalog name, or one that stands for another root already.
        UnsupportedError: kind ``SETUP``: Java, pyspark, Delta or a jar is of a wrong version, or
            a session runs that was started without us.
    """
    ours = catalog_settings(
        catalog,
        root,
        warehouse=warehouse,
        storage_options=storage_options,
        isolation_level=isolation_level,
        create=create,
    )
    running = SparkSession.getActiveSession()
    if running is not None:
        _add_catalog(running, catalog, ours)
        return running
    builder = SparkSession.builder
    for key, value in (settings or {}).items():
        builder = builder.config(key, value)
    return _configure(builder, ours).getOrCreate()


def configure(
    builder: SparkSession.Builder,
    catalog: str,
    root: str,
    *,
    warehouse: str | None = None,
    storage_options: Mapping[str, object] | None = None,
    isolation_level: str | None = None,
    create: bool = False,
) -> SparkSession.Builder:
    """Add the catalog, and all it needs, to a builder; what the builder has is kept.

    Call it once for each catalog. Arguments and errors are those of ``session``.
    """
    return _configure(
        builder,
        catalog_settings(
            catalog,
            root,
            warehouse=warehouse,
            storage_options=storage_options,
            isolation_level=isolation_level,
            create=create,
        ),
    )


def _configure(builder: SparkSession.Builder, ours: Mapping[str, str]) -> SparkSession.Builder:
    existing = {key: str(value) for key, value in builder._options.items()}  # noqa: SLF001 - there is no public way to see what a builder has
    if any(key in existing for key in _REMOTE):
        raise UnsupportedError(
            "A Spark Connect client cannot bring jars to its server: start the server with the"
            " settings that `trinitylake spark-conf` prints.",
            kind=Kind.SETUP,
        )
    require(existing)
    for key, value in merged(existing, {**session_settings(), **ours}).items():
        builder = builder.config(key, value)
    return builder


def _add_catalog(running: SparkSession, catalog: str, ours: Mapping[str, str]) -> None:
    """Catalogs are looked up by their settings when first used, so a running session can learn."""
    if OUR_EXTENSION not in (running.conf.get(EXTENSIONS, "") or ""):
        raise UnsupportedError(
            "The running Spark session was started without TrinityLake: stop it"
            " (`spark.stop()`), or build it with trinitylake_spark.configure(builder, …).",
            kind=Kind.SETUP,
        )
    key = f"spark.sql.catalog.{catalog}.root"
    known = running.conf.get(key, None)
    if known is not None and known != ours[key]:
        raise InvalidInputError(
            f"Catalog {catalog!r} stands for {known} in the running session: choose another name"
            f" for {ours[key]}, or stop the session.",
            catalog=catalog,
            root=known,
        )
    for name, value in ours.items():
        running.conf.set(name, value)
