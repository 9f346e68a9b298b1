"""What every part of one open lakehouse uses: storage, caches, time, chance, formats."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING

from trinitylake_spark.clock import Clock, SystemClock
from trinitylake_spark.commit.commit import Committer
from trinitylake_spark.commit.versions import VersionFinder
from trinitylake_spark.errors import InvalidInputError, UnsupportedError
from trinitylake_spark.ids import Ids, SystemIds
from trinitylake_spark.lakehouse.contest import COMMIT_SECONDS
from trinitylake_spark.lakehouse.definitions import DefinitionStore
from trinitylake_spark.lakehouse.formats import FormatContext
from trinitylake_spark.lakehouse.history import IdempotencyKeys
from trinitylake_spark.lakehouse.turns import Turns, shared_turns
from trinitylake_spark.storage.registry import open_storage
from trinitylake_spark.tree.store import NodeStore

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

    from trinitylake_spark.commit.versions import Root
    from trinitylake_spark.lakehouse.definitions import Layout
    from trinitylake_spark.lakehouse.formats import TableFormat
    from trinitylake_spark.storage.base import Storage

_KEY_VALUE_SCHEMES = ("dynamodb", "redis", "rediss", "valkey", "valkeys")


@dataclass
class Services:
    """The parts of one open lakehouse; everything with a default can be replaced.

    Args:
        storage: where the tree is.
        formats: table formats; new tables get the first one.
        warehouse: where the data is; opened at ``warehouse_url`` when first needed.
        warehouse_url: default: ``data/`` below the root.
        storage_options: for opening the warehouse.
        fs: the caller's own fsspec filesystem, for opening the warehouse.
        clock: time.
        ids: identifiers and jitter.
        turns: who may commit now; default: a queue shared by this process.
        author: who commits, where a transaction does not say.
        commit_seconds: how long a commit goes on while others are faster.
    """

    storage: Storage
    formats: Sequence[TableFormat] = ()
    warehouse: Storage | None = None
    warehouse_url: str | None = None
    storage_options: Mapping[str, Any] | None = None
    fs: Any = None
    clock: Clock = field(default_factory=SystemClock)
    ids: Ids = field(default_factory=SystemIds)
    turns: Turns | None = None
    author: str = ""
    commit_seconds: float = COMMIT_SECONDS

    nodes: NodeStore = field(init=False)
    """Non-root nodes, cached."""
    definitions: DefinitionStore = field(init=False)
    """Definition files, cached."""
    finder: VersionFinder = field(init=False)
    """Versions and their roots."""
    committer: Committer = field(init=False)
    """Creates roots."""
    idempotency_keys: IdempotencyKeys = field(init=False)
    """Which versions used which keys."""
    commit_turns: Turns = field(init=False)
    """The queue of commits."""

    def __post_init__(self) -> None:
        self.nodes = NodeStore(self.storage)
        self.definitions = DefinitionStore(self.storage)
        self.finder = VersionFinder(self.storage, self.clock)
        self.committer = Committer(self.storage, self.finder)
        self.idempotency_keys = IdempotencyKeys(self.finder)
        self.commit_turns = self.turns or shared_turns(self.storage.url)

    @cached_property
    def format_context(self) -> FormatContext:
        """What table formats get.

        Raises:
            InvalidInputError: the root is a key-value store, and no warehouse was named.
        """
        warehouse = self.warehouse or self._open_warehouse()
        return FormatContext(warehouse, self.storage.url, warehouse.url, self.clock, self.ids)

    def close(self) -> None:
        """Release connections."""
        self.storage.close()
        if "format_context" in self.__dict__:
            self.format_context.warehouse.close()

    def layout(self, root: Root) -> Layout:
        """Return the definition that a root names."""
        return self.definitions.layout(root.info.lakehouse_def, root.node.table_rows)

    def table_format(self, name: str | None = None) -> TableFormat:
        """Return a table format by its name, or the one for new tables.

        Raises:
            UnsupportedError: this session has no such format.
        """
        for table_format in self.formats:
            if name in (None, table_format.name):
                return table_format
        known = ", ".join(each.name for each in self.formats) or "none"
        raise UnsupportedError(
            f"Table format {name or '(default)'} is not available here; there is: {known}. "
            "Open the lakehouse with that format, or through a Spark session.",
            table_format=name,
        )

    def _open_warehouse(self) -> Storage:
        url = self.warehouse_url
        if url is None:
            scheme = self.storage.url.partition("://")[0]
            if scheme in _KEY_VALUE_SCHEMES:
                raise InvalidInputError(
                    f"The root {self.storage.url} is a key-value store, which holds no table "
                    "data: name a warehouse, such as warehouse='s3://bucket/data'.",
                    url=self.storage.url,
                )
            url = f"{self.storage.url}data"
        return open_storage(url, self.storage_options, fs=self.fs)
