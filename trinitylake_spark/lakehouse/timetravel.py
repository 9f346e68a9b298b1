"""Older versions by number, time or export name (format.md §8.1, §8.2)."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, NoReturn

from trinitylake_spark.commit.versions import Root
from trinitylake_spark.errors import InvalidInputError, Kind, NotFoundError
from trinitylake_spark.format.nodefile import decode_node
from trinitylake_spark.format.paths import check_relative_path, parse_root_path
from trinitylake_spark.format.system import parse_root_info
from trinitylake_spark.lakehouse.services import Services
from trinitylake_spark.lakehouse.snapshot import Snapshot, to_datetime
from trinitylake_spark.storage.registry import open_storage

if TYPE_CHECKING:
    from trinitylake_spark.storage.base import Storage

_DIGITS = re.compile(r"[0-9]+", re.ASCII)
_NUMBER = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?", re.ASCII)
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def parse_reference(text: str) -> int | str:
    """Return what ``VERSION AS OF '<text>'`` means: a version, or the name of an export.

    Raises:
        InvalidInputError: kind ``INVALID_VERSION``: a number that is no version.
    """
    if _DIGITS.fullmatch(text):
        return int(text)
    if _NUMBER.fullmatch(text):
        _invalid(text)
    return text


def to_millis(when: datetime | int | str) -> int:
    """Return a point in time as UTC epoch milliseconds, rounded down.

    Args:
        when: milliseconds, a datetime, or ISO 8601 text; without a zone it is UTC.

    Raises:
        InvalidInputError: text that is no time.
    """
    if isinstance(when, int):
        return when
    if isinstance(when, str):
        try:
            when = datetime.fromisoformat(when)
        except ValueError as error:
            raise InvalidInputError(
                f"{when!r} is no timestamp. Write it like '2026-11-01 10:00:00+00:00'."
            ) from error
    if when.tzinfo is None:
        when = when.replace(tzinfo=UTC)
    return (when - _EPOCH) // timedelta(milliseconds=1)


class TimeTravel:
    """Finds older versions as seen from one version.

    Args:
        services: of the open lakehouse.
        base: the version of the transaction that looks back, or the newest.
    """

    def __init__(self, services: Services, base: Snapshot) -> None:
        self._services = services
        self._base = base

    def version(self, version: int | str) -> Snapshot:
        """Return a version by its number, which text may hold too (``'003'`` is 3).

        Raises:
            InvalidInputError: kind ``INVALID_VERSION``: not a whole number from 0 up.
            NotFoundError: kind ``VERSION_NOT_FOUND`` or ``VERSION_EXPIRED``.
        """
        number = parse_reference(version) if isinstance(version, str) else version
        if not isinstance(number, int) or isinstance(number, bool) or number < 0:
            _invalid(version)
        if number > self._base.version:
            raise self._not_found(
                f"Version {number} does not exist", Kind.VERSION_NOT_FOUND, version=number
            )
        if number < self._services.finder.known_floor and not self._is_protected(number):
            raise self._expired(number)
        try:
            return Snapshot(self._services, self._services.finder.root(number))
        except NotFoundError as error:
            self._services.finder.floor()
            raise self._expired(number) from error

    def timestamp(self, when: datetime | int | str) -> Snapshot:
        """Return the version that was the newest at a point in time, inclusive.

        Raises:
            NotFoundError: kind ``TIMESTAMP_OUT_OF_RANGE``: before the oldest version kept, or in
                the future.
            InvalidInputError: not a time.
        """
        millis = to_millis(when)
        newest = self._base.root
        if millis > max(self._services.clock.now_millis(), newest.info.created_at_millis):
            raise self._not_found(
                f"{_show(millis)} is in the future", Kind.TIMESTAMP_OUT_OF_RANGE, timestamp=millis
            )
        if newest.info.created_at_millis <= millis:
            return self._base
        return Snapshot(self._services, self._search(millis))

    def snapshot(self, name: str) -> Snapshot:
        """Return an exported snapshot by its name.

        Raises:
            NotFoundError: kind ``SNAPSHOT_NOT_FOUND``.
        """
        location = self._base.layout.definition.exported_snapshots.get(name)
        if location is None:
            raise self._not_found(
                f"There is no exported snapshot {name!r}", Kind.SNAPSHOT_NOT_FOUND, snapshot=name
            )
        if "://" in location:
            folder, _, file = location.rpartition("/")
            services = Services(
                open_storage(folder, self._services.storage_options, fs=self._services.fs),
                formats=self._services.formats,
                clock=self._services.clock,
                ids=self._services.ids,
            )
            return Snapshot(services, _read_root(services.storage, file))
        return Snapshot(self._services, _read_root(self._services.storage, location))

    def _search(self, millis: int) -> Root:
        """Halve the numbers between the floor and the base; stamps rise strictly."""
        finder = self._services.finder
        low, high = finder.known_floor, self._base.version
        found: Root | None = None
        while low < high:
            middle = (low + high) // 2
            try:
                root = finder.root(middle)
            except NotFoundError:
                if finder.floor() <= middle:
                    return self._walk(millis)
                low = max(low, finder.known_floor)
                continue
            if root.info.created_at_millis <= millis:
                found, low = root, middle + 1
            else:
                high = middle
        return found or self._walk_below(finder.root(finder.known_floor), millis)

    def _walk(self, millis: int) -> Root:
        """Follow ``previous_root`` one by one, where numbers have gaps."""
        return self._walk_below(self._base.root, millis, any_version=True)

    def _walk_below(self, root: Root, millis: int, *, any_version: bool = False) -> Root:
        oldest = root
        while oldest.info.created_at_millis > millis:
            path = oldest.info.previous_root
            version = None if path is None else parse_root_path(path)
            if version is None or not (any_version or self._is_protected(version)):
                raise self._before_history(oldest, millis)
            try:
                oldest = self._services.finder.root(version)
            except NotFoundError as error:
                raise self._before_history(oldest, millis) from error
        return oldest

    def _is_protected(self, version: int) -> bool:
        return version in self._base.layout.definition.maximum_version_age_millis_overrides

    def _before_history(self, oldest: Root, millis: int) -> NotFoundError:
        created = oldest.info.created_at_millis
        return self._not_found(
            f"{_show(millis)} is before {_show(created)}, when the oldest version kept, "
            f"{oldest.version}, was committed",
            Kind.TIMESTAMP_OUT_OF_RANGE,
            timestamp=millis,
        )

    def _expired(self, version: int) -> NotFoundError:
        return self._not_found(
            f"Version {version} has been expired", Kind.VERSION_EXPIRED, version=version
        )

    def _not_found(self, what: str, kind: Kind, **fields: object) -> NotFoundError:
        oldest, latest = self._services.finder.known_floor, self._base.version
        exported = sorted(self._base.layout.definition.exported_snapshots)
        exports = f"; exported snapshots: {', '.join(exported)}" if exported else ""
        return NotFoundError(
            f"{what}. Choose a version from {oldest} to {latest}, committed up to "
            f"{_show(self._base.root.info.created_at_millis)}{exports}.",
            kind=kind,
            oldest=oldest,
            latest=latest,
            exported=exported,
            **fields,
        )


def _read_root(storage: Storage, path: str) -> Root:
    check_relative_path(path)
    node = decode_node(storage.read(path), path)
    info = parse_root_info(node.system, path, parse_root_path(path))
    return Root(info.version or 0, node, info)


def _show(millis: int) -> str:
    return to_datetime(millis).isoformat(sep=" ", timespec="milliseconds")


def _invalid(version: object) -> NoReturn:
    raise InvalidInputError(
        f"{version!r} is no version: write a whole number from 0 up, or the name of an exported "
        "snapshot as text.",
        kind=Kind.INVALID_VERSION,
        version=version,
    )
