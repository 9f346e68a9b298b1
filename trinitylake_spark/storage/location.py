"""A root's URL taken apart: scheme, authority, and the prefix of every key below it."""

from __future__ import annotations

from dataclasses import dataclass

from trinitylake_spark.errors import InvalidInputError, Kind
from trinitylake_spark.storage.paths import check_url_path


@dataclass(frozen=True, slots=True)
class Location:
    """Where a root is; the text of the URL is taken as it is, nothing is percent-decoded."""

    scheme: str
    authority: str
    prefix: str
    """Empty, or segments that end in ``/``: a key is the prefix followed by the path."""

    @property
    def user(self) -> str:
        """What stands before ``@`` in the authority, or nothing."""
        return self.authority.rpartition("@")[0]

    @property
    def host(self) -> str:
        """The authority without user and password."""
        return self.authority.rpartition("@")[2]

    @property
    def url(self) -> str:
        """The URL, without a password if it has one; always ends in ``/``."""
        shown = self.host if ":" in self.user else self.authority
        return f"{self.scheme}://{shown}/{self.prefix}"


def split_url(url: str, expected: str) -> Location:
    """Take a root URL apart.

    Args:
        url: the URL as the user wrote it.
        expected: its form, for the message, such as ``s3://<bucket>/<prefix>``.

    Raises:
        InvalidInputError: kind ``INVALID_URL``: no authority, or a path that POSIX
            normalisation would change.
    """
    scheme, separator, rest = url.partition("://")
    authority, _, path = rest.partition("/")
    if not separator or not authority:
        raise InvalidInputError(
            f"Invalid root URL {url!r}: expected {expected}.", kind=Kind.INVALID_URL, url=url
        )
    check_url_path(url, f"/{path}")
    path = path.removesuffix("/")
    return Location(scheme.lower(), authority, f"{path}/" if path else "")
