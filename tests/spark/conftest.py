"""A Spark session for each module, over a lakehouse of its own, in one JVM."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from pyspark.sql import SparkSession

# Small tables need few partitions; the defaults are 50 and 200 tasks for each log and shuffle.
SMALL = {
    # A statement that a test holds open keeps its task slots, and the others need some too.
    "spark.master": "local[6]",
    "spark.ui.enabled": "false",
    "spark.sql.shuffle.partitions": "2",
    "spark.databricks.delta.snapshotPartitions": "2",
    "spark.sql.sources.parallelPartitionDiscovery.parallelism": "2",
    "spark.driver.extraJavaOptions": "-XX:+UseSerialGC",
    "spark.log.level": "ERROR",
    "spark.connect.grpc.binding.port": "0",
}


@pytest.fixture(scope="session")
def jvm_session(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    """The session that starts the JVM; its catalog `lake` is nobody's."""
    os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    from trinitylake_spark.spark.session import session

    folder = tmp_path_factory.mktemp("jvm")
    spark = session(
        "lake",
        (folder / "lake").as_uri(),
        create=True,
        settings={**SMALL, "spark.sql.warehouse.dir": str(folder / "warehouse")},
    )
    yield spark
    spark.stop()


@pytest.fixture(scope="session")
def new_session(jvm_session: SparkSession) -> Callable[..., SparkSession]:
    """Makes a session with a catalog over a root: ``new_session(root, catalog="lake")``."""
    from trinitylake_spark.spark.settings import catalog_settings

    def make(root: str, catalog: str = "lake", **settings: Any) -> SparkSession:
        spark = jvm_session.newSession()
        for key, value in catalog_settings(catalog, root, create=True, **settings).items():
            spark.conf.set(key, value)
        return spark

    return make


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The root of the module's lakehouse."""
    return (tmp_path_factory.mktemp("lakehouse") / "lake").as_uri()


@pytest.fixture(scope="module")
def spark(new_session: Callable[..., SparkSession], root: str) -> SparkSession:
    """The module's session."""
    spark = new_session(root)
    spark.sql("CREATE NAMESPACE lake.db")
    return spark


@pytest.fixture
def other(new_session: Callable[..., SparkSession], root: str) -> SparkSession:
    """A second session on the module's lakehouse, with a transaction of its own."""
    return new_session(root)


@pytest.fixture
def table(request: pytest.FixtureRequest) -> str:
    """A name for a table that no other test of the module uses."""
    name = "".join(c if c.isalnum() else "_" for c in request.node.name.removeprefix("test_"))
    return f"lake.db.{name[:60]}"
