"""Give a complete local file its name unless the name is taken, on any local file system."""

from __future__ import annotations

import ctypes
import errno
import os
from pathlib import Path

_AT_FDCWD = -100
_RENAME_NOREPLACE = 1
# What a file system says that has no hard links, or no rename that refuses to replace.
_NOT_SUPPORTED = frozenset(
    {errno.EPERM, errno.EOPNOTSUPP, errno.ENOTSUP, errno.ENOSYS, errno.EINVAL}
)


def publish(temporary: str, target: str) -> None:
    """Make ``target`` a name of the file ``temporary``, which may or may not keep its own.

    Uses ``link``; where the file system has no hard links ``renameat2(RENAME_NOREPLACE)``; where
    it has neither, ``O_EXCL`` and a copy, which is exclusive but lets readers see the file grow
    (format.md §1.2).

    Raises:
        FileExistsError: the name is taken.
        OSError: any other failure.
    """
    for method in (_link, _rename, _copy):
        try:
            method(temporary, target)
        except OSError as error:
            if method is _copy or error.errno not in _NOT_SUPPORTED:
                raise
        else:
            return


def _link(temporary: str, target: str) -> None:
    os.link(temporary, target)


def _rename(temporary: str, target: str) -> None:
    try:
        renameat2 = ctypes.CDLL(None, use_errno=True).renameat2
    except AttributeError as error:
        raise OSError(errno.ENOSYS, "no renameat2 in this C library") from error
    old, new = os.fsencode(temporary), os.fsencode(target)
    if renameat2(_AT_FDCWD, old, _AT_FDCWD, new, _RENAME_NOREPLACE) != 0:
        code = ctypes.get_errno()
        raise OSError(code, os.strerror(code), target)


def _copy(temporary: str, target: str) -> None:
    data = Path(temporary).read_bytes()
    with Path(target).open("xb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())
