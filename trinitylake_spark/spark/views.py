"""Views: through whose eyes a path ``trinity://<view>/…`` looks at a table's log.

======  ==========================  ==========================================================
letter  who                         shows
======  ==========================  ==========================================================
``r``   reads, time travel          the log exactly as one definition pins it; never changes
``w``   one writing statement       its version plus its own entries, under numbers of its own
``l``   handles, OPTIMIZE, RESTORE  the newest committed log, or the open transaction's
``s``   streams                     the newest committed log, never a transaction's
======  ==========================  ==========================================================

Delta caches what it reads under a path, and takes two logs for the same one if their length, their
commit 0 and their checkpoint look the same, whatever the commits in between are. That is so in
``r`` and ``w`` views. What ``l`` and ``s`` views show can be replaced by another log of the same
length, by a rollback of the lakehouse or of a transaction: see ``LiveView``.
"""

from __future__ import annotations

import hashlib
import threading
from abc import ABC, abstractmethod
from collections import OrderedDict
from itertools import count, islice
from typing import TYPE_CHECKING

from trinitylake_spark.errors import (
    EngineError,
    Kind,
    NotFoundError,
    ReadOnlyError,
    UnsupportedError,
)
from trinitylake_spark.lakehouse.transaction import TransactionState

if TYPE_CHECKING:
    from collections.abc import Iterable

    from trinitylake_spark.delta.segment import Segment
    from trinitylake_spark.delta.table import DeltaTable
    from trinitylake_spark.delta.table_format import StagedWrite
    from trinitylake_spark.format.definitions_pb2 import TableDef
    from trinitylake_spark.lakehouse.catalog import Catalog
    from trinitylake_spark.lakehouse.snapshot import Snapshot
    from trinitylake_spark.lakehouse.transaction import Transaction
    from trinitylake_spark.spark.lakes import Lake
    from trinitylake_spark.spark.sessions import Session

_SCHEME = "trinity://"
_REMEMBERED = {"r": 8192, "w": 64, "l": 8192, "s": 8192}
"""Views of each letter that are kept, the last used ones. A view that a running statement has yet
to write through is kept in any case, however long the statement takes."""


class View(ABC):
    """What one path shows.

    Args:
        name: the view's name, the authority of its paths.
        lake: the lakehouse.
        location: the table's location.
    """

    def __init__(self, name: str, lake: Lake, location: str) -> None:
        self.name = name
        self.lake = lake
        self.location = location

    @property
    def path(self) -> str:
        """The path that Delta gets: the view, then scheme, authority and path of the table."""
        scheme, _, rest = self.lake.hadoop_url(self.location).partition("://")
        authority, _, path = rest.partition("/")
        return f"{_SCHEME}{self.name}/{scheme}/{authority or '-'}/{path}"

    @abstractmethod
    def table(self) -> DeltaTable | None:
        """Return the table as it shows now; None before its first entry.

        Raises:
            NotFoundError: kind ``OBJECT_NOT_FOUND``: the table was dropped meanwhile.
        """

    @property
    def is_pending(self) -> bool:
        """Whether a statement has yet to write through the view for the first time."""
        return False

    def listed(self) -> DeltaTable | None:
        """Return the table for a listing; live views take note of what they showed."""
        return self.table()

    @property
    def replacements(self) -> int:
        """How often the log that the view shows was replaced by one that does not continue it."""
        return 0


class ReadView(View):
    """A table at one definition.

    Args:
        name: the view's name.
        lake: the lakehouse.
        table: the table there.
    """

    def __init__(self, name: str, lake: Lake, table: DeltaTable) -> None:
        super().__init__(name, lake, table.segment.location)
        self._table = table

    def table(self) -> DeltaTable:
        """Return the table, always the same."""
        return self._table


class WritableView(View):
    """A view that entries can be written through.

    Args:
        name: the view's name.
        session: whose it is.
        target: namespace and name of the table.
        location: the table's location.
    """

    def __init__(self, name: str, session: Session, target: tuple[str, str], location: str) -> None:
        super().__init__(name, session.lake, location)
        self.session = session
        self.target = target
        self.lock = threading.Lock()
        """Held while an entry is written through the view."""


class WriteView(WritableView):
    """A table as one writing statement sees it.

    Args:
        name: the view's name.
        session: whose it is.
        target: namespace and name of the table.
        location: the table's location.
        transaction: what the next entry becomes part of: the statement's own transaction, or the
            session's open one.
        table: the table at the statement's version; None if the statement creates it.
        definition: the definition of that table.
    """

    def __init__(
        self,
        name: str,
        session: Session,
        target: tuple[str, str],
        location: str,
        *,
        transaction: Transaction,
        table: DeltaTable | None,
        definition: TableDef | None,
    ) -> None:
        super().__init__(name, session, target, location)
        self.transaction: Transaction | None = transaction
        """None once the statement has committed: a finished transaction is not worth keeping."""
        self.definition = definition
        """What the next entry goes on top of."""
        self.base_version = transaction.base.version
        self.in_transaction = transaction is session.transaction
        self.own: set[str] = set()
        """UUIDs of the entries that were committed through this view."""
        self.committed: int | None = None
        """The last version that was committed through this view."""
        self._shown = table

    def table(self) -> DeltaTable | None:
        """Return the table with the statement's own entries."""
        return self._shown

    @property
    def is_pending(self) -> bool:
        """Whether an entry may still be written for the first time."""
        transaction = self.transaction
        return transaction is not None and transaction.state is TransactionState.OPEN

    def show(self, staged: StagedWrite) -> None:
        """Show one more entry of the statement's own."""
        self._shown, self.definition = staged.table, staged.definition


class LiveView(WritableView):
    """A table as it is now.

    When another log takes the place of the one shown, Delta must notice. From then on this view
    hides the table's checkpoints and lists commit 0 with a new time, so that Delta reads the log
    anew; whoever loads the table again gets a fresh view. A stream cannot go on at all, for its
    position is that of a log which is no longer there.

    Args:
        name: the view's name.
        session: whose it is.
        target: namespace and name of the table.
        location: the table's location.
        follows_transaction: show the session's open transaction.
    """

    def __init__(
        self,
        name: str,
        session: Session,
        target: tuple[str, str],
        location: str,
        *,
        follows_transaction: bool,
    ) -> None:
        super().__init__(name, session, target, location)
        self._follows_transaction = follows_transaction
        self._shown: Segment | None = None
        self._replacements = 0
        self.base: Snapshot | None = None
        """The version that was shown last, on which an entry written next is based."""

    @property
    def replacements(self) -> int:
        """How often the log was replaced; Delta's cache is told by this number."""
        return self._replacements

    @property
    def is_stream(self) -> bool:
        """Whether the view is for streams, which never see a transaction."""
        return not self._follows_transaction

    def in_transaction(self) -> bool:
        """Whether the view shows an open transaction now."""
        return self._follows_transaction and self.session.transaction is not None

    def continues(self, segment: Segment) -> bool:
        """Tell whether a log can be shown here as if it had only grown."""
        return not self._replacements and (self._shown is None or segment.extends(self._shown))

    def table(self) -> DeltaTable:
        """Return the table as last listed, or as it is now if it never was."""
        if self.base is None or self.in_transaction():
            return self.listed()
        return self._find(self.base)

    def listed(self) -> DeltaTable:
        """Return the newest state and take note of its version.

        Raises:
            NotFoundError: kind ``OBJECT_NOT_FOUND``: the table is gone.
            UnsupportedError: the view is a stream's, and the table was rolled back.
        """
        transaction = self.session.transaction
        if self._follows_transaction and transaction is not None:
            table = self._find(transaction)
            self.base = None
        else:
            base = self.lake.lakehouse.snapshot()
            table = self._find(base)
            self.base = base
        self.show(table)
        return table

    def show(self, table: DeltaTable) -> None:
        """Take note of what Delta gets to see.

        Raises:
            UnsupportedError: the view is a stream's, and the table was rolled back.
        """
        if self._shown is not None and not table.segment.extends(self._shown):
            if not self._follows_transaction:
                raise self._rolled_back()
            self._replacements += 1
        self._shown = table.segment

    def _rolled_back(self) -> UnsupportedError:
        return UnsupportedError(
            f"Table {'.'.join(self.target)} was rolled back under the stream, so the stream's"
            " position is no longer in its log. Start the query again with a new checkpoint"
            " location.",
            table=".".join(self.target),
        )

    def _find(self, catalog: Catalog) -> DeltaTable:
        namespace, name = self.target
        try:
            entry = catalog.table(namespace, name)
            table = self.lake.table(entry)
        except NotFoundError as error:
            raise self._gone() from error
        if table.segment.location != self.location:
            raise self._gone()
        return table

    def _gone(self) -> NotFoundError:
        return NotFoundError(
            f"Table {'.'.join(self.target)} was dropped, renamed or created anew since it was"
            " loaded. Load it again by its name.",
            kind=Kind.OBJECT_NOT_FOUND,
            table=".".join(self.target),
        )


class Views:
    """All views of this process by name. Safe to use from several threads."""

    def __init__(self) -> None:
        self._views: dict[str, OrderedDict[str, View]] = {k: OrderedDict() for k in _REMEMBERED}
        self._lock = threading.Lock()

    def read(self, lake: Lake, table: DeltaTable, definition_path: str) -> ReadView:
        """Return the view of a definition, one for everybody, so that Delta's cache stays warm."""
        name = "r" + _digest(lake.lakehouse.url, definition_path)
        with self._lock:
            known = self._find(name)
            if isinstance(known, ReadView):
                return known
            view = ReadView(name, lake, table)
            self._keep(view)
            return view

    def write(
        self,
        session: Session,
        target: tuple[str, str],
        location: str,
        transaction: Transaction,
        table: DeltaTable | None,
        definition: TableDef | None,
    ) -> WriteView:
        """Return a new view for a statement that writes to a table."""
        name = "w" + session.lake.context.ids.uuid4().replace("-", "")[:20]
        view = WriteView(
            name,
            session,
            target,
            location,
            transaction=transaction,
            table=table,
            definition=definition,
        )
        with self._lock:
            self._keep(view)
        return view

    def live(self, session: Session, target: tuple[str, str], segment: Segment) -> LiveView:
        """Return the session's live view of a table, the same as long as its log only grows."""
        return self._live("l", session, target, segment)

    def stream(self, session: Session, target: tuple[str, str], segment: Segment) -> LiveView:
        """Return the view of a table for streams, the same as long as its log only grows."""
        return self._live("s", session, target, segment)

    def at(self, path: str) -> tuple[View, str]:
        """Return the view of a path, and the file's name below the log folder (or nothing).

        Raises:
            EngineError: a path of another process, or one not used for very long.
        """
        name, _, rest = path.removeprefix(_SCHEME).partition("/")
        with self._lock:
            view = self._find(name)
        if view is None or not path.startswith(_SCHEME):
            raise EngineError(
                f"The engine does not know the view of {path}: it was restarted, or the path is"
                " of another session. Load the table again by its name.",
                path=path,
            )
        return view, rest.rpartition("/_delta_log/")[2] if "/_delta_log/" in rest else ""

    def writable(self, path: str) -> tuple[WritableView, str]:
        """Return the view of a path that is about to be written to.

        Raises:
            ReadOnlyError: the path shows a fixed version.
        """
        view, name = self.at(path)
        if not isinstance(view, WritableView):
            raise ReadOnlyError(
                "A past or fixed version of a table cannot be changed. Write to the table without"
                " VERSION AS OF or TIMESTAMP AS OF.",
                path=path,
            )
        return view, name

    def count(self, letter: str) -> int:
        """Return how many views of a letter there are."""
        with self._lock:
            return len(self._views[letter])

    def drop(self, path: str) -> None:
        """Forget the view of a path."""
        name = path.removeprefix(_SCHEME).partition("/")[0]
        with self._lock:
            self._views[name[:1]].pop(name, None)

    def retire(self, names: Iterable[str]) -> None:
        """Note that the statements which wrote through some views are over.

        The views themselves may still be looked at for a while.
        """
        with self._lock:
            for name in names:
                view = self._views[name[:1]].get(name)
                if isinstance(view, WriteView):
                    view.transaction = None

    def forget(self, session: Session) -> None:
        """Forget the views of a session that has ended."""
        with self._lock:
            for views in self._views.values():
                for name, view in list(views.items()):
                    if isinstance(view, WritableView) and view.session is session:
                        del views[name]

    def _live(
        self, letter: str, session: Session, target: tuple[str, str], segment: Segment
    ) -> LiveView:
        with self._lock:
            for generation in count():
                parts = (session.handle, *target, segment.location, str(generation))
                name = letter + _digest(*parts)
                known = self._find(name)
                if isinstance(known, LiveView) and known.continues(segment):
                    return known
                if known is None:
                    break
            view = LiveView(
                name, session, target, segment.location, follows_transaction=letter == "l"
            )
            self._keep(view)
            return view

    def _find(self, name: str) -> View | None:
        views = self._views.get(name[:1], OrderedDict())
        view = views.get(name)
        if view is not None:
            views.move_to_end(name)
        return view

    def _keep(self, view: View) -> None:
        views = self._views[view.name[0]]
        views[view.name] = view
        surplus = max(0, len(views) - _REMEMBERED[view.name[0]])
        unneeded = (name for name, kept in views.items() if not kept.is_pending)
        for name in list(islice(unneeded, surplus)):
            del views[name]


def _digest(*parts: str) -> str:
    return hashlib.blake2s("\0".join(parts).encode(), digest_size=10).hexdigest()
