"""One version of the lakehouse, read-only (format.md §6.1)."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

from trinitylake_spark.errors import CorruptError, Kind, NotFoundError
from trinitylake_spark.lakehouse.catalog import Catalog
from trinitylake_spark.tree.read import lookup, scan

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import NoReturn

    from trinitylake_spark.commit.versions import Root
    from trinitylake_spark.lakehouse.services import Services

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def to_datetime(millis: int) -> datetime:
    """Return UTC epoch milliseconds as a time, exactly."""
    return _EPOCH + timedelta(milliseconds=millis)


class Snapshot(Catalog):
    """All namespaces, tables and views of one version; later commits do not show.

    Args:
        services: of the open lakehouse.
        root: the version's root.
    """

    def __init__(self, services: Services, root: Root) -> None:
        self._services = services
        self.root = root
        try:
            self.layout = services.layout(root)
        except NotFoundError as error:
            self._explain(error)

    @property
    def version(self) -> int:
        """The version."""
        return self.root.version

    @property
    def at_version(self) -> int:
        """The version that reads show."""
        return self.root.version

    @property
    def created_at(self) -> datetime:
        """When the version was committed, UTC."""
        return to_datetime(self.root.info.created_at_millis)

    def __repr__(self) -> str:
        return f"Snapshot(version={self.version}, created_at={self.created_at.isoformat()})"

    def _path(self, key: str) -> str | None:
        try:
            return lookup(self._services.nodes, self.root.node, key, self.layout.order)
        except NotFoundError as error:
            self._explain(error)

    def _pairs(self, low: str, high: str) -> Iterator[tuple[str, str]]:
        try:
            yield from scan(
                self._services.nodes, self.root.node, low, high, order=self.layout.order
            )
        except NotFoundError as error:
            self._explain(error)

    def _bytes(self, path: str) -> bytes:
        try:
            return self._services.definitions.read(path)
        except NotFoundError as error:
            self._explain(error)

    def _explain(self, error: NotFoundError) -> NoReturn:
        """Tell a file that went with its expired version from one that is missing."""
        if error.kind is not Kind.OBJECT_NOT_FOUND:
            raise error
        floor = self._services.finder.floor()
        if self.version < floor:
            raise NotFoundError(
                f"Version {self.version} has been expired while it was read; the oldest "
                f"version kept is {floor}. Read a newer version.",
                kind=Kind.VERSION_EXPIRED,
                version=self.version,
                oldest=floor,
            ) from error
        raise CorruptError(
            f"Version {self.version} names the file {error.fields.get('path')!r}, which is "
            "not there. Run the check, and restore the file or roll back.",
            path=error.fields.get("path"),
            rule="format.md §8.5: a file that a kept version reaches exists",
            found="no such file",
        ) from error
