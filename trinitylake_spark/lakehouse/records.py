"""The records of prepared transactions: a chain of files for each name (format.md §6.7).

Whoever creates the next file of a chain has decided what becomes of the transaction; everybody
else who tried finds the file of another and is told so.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from trinitylake_spark.errors import (
    AlreadyExistsError,
    CorruptError,
    Kind,
    NotFoundError,
    StorageError,
    TransactionStateError,
)
from trinitylake_spark.format.definitions import parse_transaction_definition, serialise
from trinitylake_spark.format.definitions_pb2 import DistributedTransactionDef, TransactionState
from trinitylake_spark.format.paths import (
    PREPARED_PREFIX,
    check_relative_path,
    parse_prepared_path,
    parse_root_path,
    prepared_path,
)

if TYPE_CHECKING:
    from trinitylake_spark.ids import Ids
    from trinitylake_spark.storage.base import Storage

OPEN = TransactionState.OPEN
COMMITTING = TransactionState.COMMITTING
COMMITTED = TransactionState.COMMITTED
ABORTED = TransactionState.ABORTED

_WRITER = "trinitylake.writer"
_MAX_CREATES = 5


@dataclass(frozen=True, slots=True)
class Record:
    """One record.

    Args:
        name: of the prepared transaction.
        sequence: its place in the chain.
        definition: what it says.
    """

    name: str
    sequence: int
    definition: DistributedTransactionDef

    @property
    def path(self) -> str:
        """Its file."""
        return prepared_path(self.name, self.sequence)

    @property
    def state(self) -> TransactionState:
        """What it says about the transaction."""
        return self.definition.state

    @property
    def writer(self) -> str:
        """A UUID that nobody but its writer knew before."""
        return self.definition.properties.get(_WRITER, "")

    @property
    def base_version(self) -> int:
        """The version at which the transaction began.

        Raises:
            CorruptError: the record names no root.
        """
        version = parse_root_path(self.definition.beginning_root_node_file_path)
        if version is None:
            raise CorruptError(
                f"{self.path} is corrupt: it names no root at which its transaction began.",
                path=self.path,
                rule="format.md §6.7: a record names the begin root",
                found=self.definition.beginning_root_node_file_path,
            )
        return version

    @property
    def version(self) -> int | None:
        """The version it was committed as, if it was and made one."""
        definition = self.definition
        return definition.committed_version if definition.HasField("committed_version") else None

    @property
    def is_over(self) -> bool:
        """Whether the transaction was committed or rolled back."""
        return self.state in (COMMITTED, ABORTED)

    def expired(self, now_millis: int) -> bool:
        """Tell whether the transaction can no longer be committed, for its age."""
        return now_millis >= self.definition.expire_at_millis


class Records:
    """Reads and creates records.

    Args:
        storage: where the tree is.
        ids: tells writers apart.
    """

    def __init__(self, storage: Storage, ids: Ids) -> None:
        self._storage = storage
        self._ids = ids

    def newest(self, name: str) -> Record | None:
        """Return the last record of a chain, or None if there is none.

        Raises:
            CorruptError: it cannot be read.
        """
        found = self._newest_sequences(f"{PREPARED_PREFIX}{name}_").get(name)
        return None if found is None else self._read(name, found)

    def all(self) -> list[Record]:
        """Return the last record of every chain, by name."""
        newest = sorted(self._newest_sequences(PREPARED_PREFIX).items())
        files = self._storage.read_all([prepared_path(*each) for each in newest])
        return [
            _parse(name, sequence, data)
            for (name, sequence), data in zip(newest, files, strict=True)
        ]

    def create(self, name: str, sequence: int, definition: DistributedTransactionDef) -> Record:
        """Create one record.

        Raises:
            TransactionStateError: kind ``TRANSACTION_MOVED``: somebody else has created it.
            StorageError: the storage failed; kind ``CREATE_UNKNOWN`` if it may have been created.
        """
        mine = DistributedTransactionDef()
        mine.CopyFrom(definition)
        mine.properties[_WRITER] = self._ids.uuid4()
        record = Record(name, sequence, mine)
        data = serialise(mine)
        for attempt in range(1, _MAX_CREATES + 1):
            try:
                self._storage.create(record.path, data)
            except AlreadyExistsError as error:
                # The writer's UUID is in the bytes, so equal bytes are our own, reply lost.
                if self._storage.read(record.path) != data:
                    raise _moved(name, definition.id) from error
            except StorageError as error:
                if error.kind is not Kind.CREATE_UNKNOWN or attempt == _MAX_CREATES:
                    raise
                continue
            break
        return record

    def follow(
        self,
        record: Record,
        state: TransactionState,
        *,
        running: str | None = None,
        version: int | None = None,
    ) -> Record:
        """Create the record that comes after another.

        Args:
            record: the last one as it was seen.
            state: what becomes of the transaction.
            running: the file of its running root, if that is a new one.
            version: the version it was committed as.

        Raises:
            TransactionStateError, StorageError: as ``create``.
        """
        definition = DistributedTransactionDef()
        definition.CopyFrom(record.definition)
        definition.state = state
        if running is not None:
            definition.running_root_node_file_path = running
        if version is not None:
            definition.committed_version = version
        return self.create(record.name, record.sequence + 1, definition)

    def _newest_sequences(self, prefix: str) -> dict[str, int]:
        newest: dict[str, int] = {}
        for path in self._storage.list(prefix):
            found = parse_prepared_path(path)
            if found is not None:
                name, sequence = found
                newest[name] = max(newest.get(name, 0), sequence)
        return newest

    def _read(self, name: str, sequence: int) -> Record | None:
        try:
            data = self._storage.read(prepared_path(name, sequence))
        except NotFoundError:
            return None
        return _parse(name, sequence, data)


def _parse(name: str, sequence: int, data: bytes) -> Record:
    path = prepared_path(name, sequence)
    definition = parse_transaction_definition(data, path)
    check_relative_path(definition.running_root_node_file_path, file=path)
    return Record(name, sequence, definition)


def _moved(name: str, transaction_id: str) -> TransactionStateError:
    return TransactionStateError(
        f"Prepared transaction {name!r} was stored, committed or rolled back by somebody else "
        "since it was read here, so what was done here is not part of it. SHOW TRANSACTIONS tells "
        "its state; resume it again if it is still prepared.",
        kind=Kind.TRANSACTION_MOVED,
        name=name,
        transaction_id=transaction_id,
    )
