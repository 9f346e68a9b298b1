"""The Python API without Spark: a lakehouse of Delta tables."""

from __future__ import annotations

import getpass
from typing import TYPE_CHECKING, Any, Self

from trinitylake_spark.delta.table_format import DeltaFormat
from trinitylake_spark.lakehouse.contest import COMMIT_SECONDS
from trinitylake_spark.lakehouse.lakehouse import Lakehouse as AnyLakehouse

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from trinitylake_spark.clock import Clock
    from trinitylake_spark.ids import Ids
    from trinitylake_spark.lakehouse.formats import TableFormat


class Lakehouse(AnyLakehouse):
    """A lakehouse whose tables are Delta tables; see the base class for everything it can do."""

    @classmethod
    def create(  # noqa: PLR0913 - the settings of a catalog
        cls,
        url: str,
        *,
        storage_options: Mapping[str, Any] | None = None,
        fs: Any = None,  # noqa: ANN401 - fsspec has no types
        warehouse: str | None = None,
        formats: Sequence[TableFormat] = (),
        clock: Clock | None = None,
        ids: Ids | None = None,
        author: str = "",
        commit_seconds: float = COMMIT_SECONDS,
        message: str = "",
        **definition_fields: Any,  # noqa: ANN401 - each field has its own type
    ) -> Self:
        """Make a new lakehouse.

        Args:
            url: where the tree goes: ``file://``, ``s3://``, ``gs://``, ``abfs://``, ``hdfs://``,
                ``dynamodb://``, ``redis://``, ``memory://`` or an absolute path.
            storage_options: options of that storage.
            fs: your own fsspec filesystem to use for it.
            warehouse: URL of the data; default: ``data/`` below the root.
            formats: table formats instead of Delta.
            clock: time.
            ids: identifiers.
            author: who commits, where a transaction does not say; default: the user's login name.
            commit_seconds: how long a commit goes on while others are faster.
            message: stored in version 0.
            **definition_fields: fields of ``LakehouseDef`` by name, such as ``order=256``.

        Raises:
            AlreadyExistsError: kind ``LAKEHOUSE_ALREADY_EXISTS``.
            InvalidInputError: a URL or a field that can never work.
            StorageError: kind ``NOT_EXCLUSIVE``, or the storage failed.
        """
        return super().create(
            url,
            storage_options=storage_options,
            fs=fs,
            warehouse=warehouse,
            formats=formats or (DeltaFormat(),),
            clock=clock,
            ids=ids,
            author=author or login_name(),
            commit_seconds=commit_seconds,
            message=message,
            **definition_fields,
        )

    @classmethod
    def open(  # noqa: PLR0913 - the settings of a catalog
        cls,
        url: str,
        *,
        storage_options: Mapping[str, Any] | None = None,
        fs: Any = None,  # noqa: ANN401 - fsspec has no types
        warehouse: str | None = None,
        formats: Sequence[TableFormat] = (),
        clock: Clock | None = None,
        ids: Ids | None = None,
        author: str = "",
        commit_seconds: float = COMMIT_SECONDS,
    ) -> Self:
        """Open a lakehouse; arguments as for ``create``.

        Raises:
            NotFoundError: kind ``LAKEHOUSE_NOT_FOUND``.
            InvalidInputError: kind ``INVALID_URL``.
            StorageError: the storage failed.
        """
        return super().open(
            url,
            storage_options=storage_options,
            fs=fs,
            warehouse=warehouse,
            formats=formats or (DeltaFormat(),),
            clock=clock,
            ids=ids,
            author=author or login_name(),
            commit_seconds=commit_seconds,
        )


def login_name() -> str:
    """Return the name of whoever runs this process; empty if the system does not know."""
    try:
        return getpass.getuser()
    except (KeyError, OSError):
        return ""
