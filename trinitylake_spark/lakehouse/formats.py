"""What a table format does for a lakehouse: create, alter and rebase tables (format.md §6.6, §7).

The lakehouse decides *whether* a transaction may commit; for two writes on one table's key it
asks the format of that table, because only the format knows what a write did to the data.
A format never writes to the tree: it returns definitions, and the transaction commits them.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol

from trinitylake_spark.errors import InvalidInputError, UnsupportedError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from trinitylake_spark.clock import Clock
    from trinitylake_spark.format.definitions_pb2 import ActionDef, TableDef
    from trinitylake_spark.format.system import Isolation
    from trinitylake_spark.ids import Ids
    from trinitylake_spark.storage.base import Storage

Schema = Any
"""A ``pyarrow.Schema``; pyarrow comes without types."""


@dataclass(frozen=True, slots=True)
class TableChange:
    """One operation of a transaction on one table.

    Args:
        operation: number of ``ActionDef.type`` (format.md §5.4).
        detail: serialised ``DataChange``; stored as ``ActionDef.def`` in the root.
        payload: whatever the format needs to rebase this change; never stored, so it is None
            once a transaction was prepared and resumed. ``detail`` and the definitions must do
            then.
        files: warehouse objects that must exist before the root does. The commit creates them
            side by side with the definitions, each path once, and deletes them if the
            transaction ends without a version. A file that is stored already is left out.
        left_out: files that a compaction was to replace and does not, because others changed
            them meanwhile; told by ``rebase``.
    """

    operation: int
    detail: bytes = b""
    payload: object = None
    files: Mapping[str, bytes] = field(default_factory=dict)
    left_out: int = 0


@dataclass(frozen=True, slots=True)
class RebaseRequest:
    """Put my changes of one table on top of what others committed meanwhile.

    Each attempt of a commit starts from the transaction's own work again, so ``base``, ``mine``
    and ``my_changes`` never hold the result of an earlier rebase, and ``their_changes`` covers
    all versions after the transaction's base.

    Args:
        namespace: the table's namespace, as the transaction named it.
        name: the table's name.
        base: the definition that my transaction found when it began.
        mine: the definition with all my changes.
        my_changes: my changes in order; at least one.
        theirs: the definition at the version I want to follow.
        their_changes: (version, action) of every committed operation on this table after my
            base, in order. Each has ``read`` unset; ``CREATE`` and ``DROP`` never occur, as the
            lakehouse refuses those itself. May be empty if a foreign writer recorded none
            although the definition changed: then nothing is known about the change.
        isolation: my level.
        reads: my transaction read this table's data beyond what its own writes selected.
        multi_table: my transaction changes or reads other tables too.
    """

    namespace: str
    name: str
    base: TableDef
    mine: TableDef
    my_changes: Sequence[TableChange]
    theirs: TableDef
    their_changes: Sequence[tuple[int, ActionDef]]
    isolation: Isolation
    reads: bool
    multi_table: bool


@dataclass(frozen=True, slots=True)
class FormatContext:
    """What a format may use.

    Args:
        warehouse: where the data is, rooted at ``warehouse_url``.
        root_url: URL of the tree, ending in ``/``.
        warehouse_url: URL of the data, ending in ``/``.
        clock: tells the time.
        ids: makes identifiers.
    """

    warehouse: Storage
    root_url: str
    warehouse_url: str
    clock: Clock
    ids: Ids

    def new_location(self) -> str:
        """Return a location for a new table that nothing uses yet.

        Relative to the root while the warehouse lies below it, so that a whole lakehouse can be
        copied elsewhere (format.md §2.1); else a full URI.
        """
        url = f"{self.warehouse_url}{self.ids.uuid4()}"
        return url.removeprefix(self.root_url)

    def resolve(self, location: str) -> str:
        """Return the URL of a location, without a trailing ``/``."""
        url = location if "://" in location else self.root_url + location
        return url.rstrip("/")

    def warehouse_path(self, location: str) -> str:
        """Return the path of a location inside ``warehouse``.

        Raises:
            InvalidInputError: the location has a ``..`` segment.
            UnsupportedError: the location is outside of this session's warehouse.
        """
        url = self.resolve(location)
        if ".." in url.split("/"):
            raise InvalidInputError(
                f"Location {location!r} has a '..' segment; name the folder directly.",
                location=location,
            )
        if not url.startswith(self.warehouse_url):
            raise UnsupportedError(
                f"Location {location!r} is outside of the warehouse {self.warehouse_url}; "
                "open the lakehouse with the warehouse that the table was created in.",
                location=location,
                warehouse=self.warehouse_url,
            )
        return url.removeprefix(self.warehouse_url)


class TableFormat(Protocol):
    """A kind of managed table. Implementations hold no state of a transaction."""

    @property
    def name(self) -> str:
        """The value of ``TableDef.table_format``, such as ``DELTA``."""

    def create(
        self, context: FormatContext, schema: Schema, properties: Mapping[str, str]
    ) -> tuple[TableDef, TableChange]:
        """Make a new empty table.

        Args:
            context: storage and services.
            schema: the columns, a ``pyarrow.Schema``.
            properties: the user's table properties.

        Raises:
            InvalidInputError: a schema or property that can never work.
            UnsupportedError: a type or property this format refuses.
        """

    def alter_properties(
        self,
        context: FormatContext,
        base: TableDef,
        set_properties: Mapping[str, str],
        unset_properties: Sequence[str],
    ) -> tuple[TableDef, TableChange]:
        """Change properties of a table.

        Args:
            context: storage and services.
            base: the definition as the transaction sees it.
            set_properties: properties to set.
            unset_properties: properties to remove; absent ones are ignored.

        Raises:
            InvalidInputError: a value that can never work.
            UnsupportedError: a property this format refuses to change.
        """

    def rebase(
        self, context: FormatContext, request: RebaseRequest
    ) -> tuple[TableDef, Sequence[TableChange]]:
        """Return my changes on top of theirs, without reading or writing data (format.md §7.3).

        Raises:
            CommitConflictError: it cannot be done, or must not; with the fields ``rule``,
                ``version`` (theirs), ``my_operation``, ``their_operation`` and ``advice``. The
                lakehouse adds table, author and time, and lists all conflicts of all tables.
        """
