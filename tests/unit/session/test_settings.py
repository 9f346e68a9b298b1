"""A session's settings: ours are added, a user's own are kept."""

from __future__ import annotations

import pytest

from trinitylake_spark.errors import InvalidInputError
from trinitylake_spark.spark.settings import (
    EXTENSIONS,
    OUR_EXTENSION,
    catalog_settings,
    merged,
    session_settings,
)


def test_everything_about_a_catalog() -> None:
    """Each argument becomes the setting that the interface names."""
    found = catalog_settings(
        "lake",
        "s3://bucket/lake",
        warehouse="s3://bucket/data",
        storage_options={"region": "eu-west-1", "allow_http": True},
        isolation_level="serializable",
        create=True,
    )

    assert found == {
        "spark.sql.catalog.lake": "io.trinitylake.spark.TrinityLakeCatalog",
        "spark.sql.catalog.lake.root": "s3://bucket/lake",
        "spark.sql.catalog.lake.warehouse": "s3://bucket/data",
        "spark.sql.catalog.lake.storage.region": "eu-west-1",
        "spark.sql.catalog.lake.storage.allow_http": "true",
        "spark.sql.catalog.lake.isolation-level": "serializable",
        "spark.sql.catalog.lake.create": "true",
    }


@pytest.mark.parametrize("name", ["spark_catalog", "a-b", "a.b", "", "1a", "lake house"])
def test_names_that_sql_cannot_use(name: str) -> None:
    """A catalog that no statement could name is refused."""
    with pytest.raises(InvalidInputError):
        catalog_settings(name, "memory://x")


def test_extensions_and_jars_are_joined() -> None:
    """A user's extensions and jars stay first, and nothing is there twice."""
    ours = {EXTENSIONS: f"delta,{OUR_EXTENSION}", "spark.jars": "a.jar,b.jar"}
    found = merged({EXTENSIONS: "sedona, delta", "spark.jars": "b.jar"}, ours)

    assert found[EXTENSIONS] == f"sedona,delta,{OUR_EXTENSION}"
    assert found["spark.jars"] == "b.jar,a.jar"


def test_a_users_choice_is_kept() -> None:
    """The session catalog and the engine's Python are left as somebody chose them."""
    existing = {
        "spark.sql.catalog.spark_catalog": "org.example.Catalog",
        "spark.trinitylake.engine.python": "/opt/python",
    }

    assert not existing.keys() & merged(existing, session_settings()).keys()
    assert existing.keys() <= merged({}, session_settings()).keys()
