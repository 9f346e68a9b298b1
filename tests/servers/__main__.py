"""``python -m tests.servers``: install or run the test servers without the tests.

``list``, ``install [NAME …]``, ``start NAME`` (prints its variable and options, runs until ^C).
"""

from __future__ import annotations

import sys
import time

from tests.servers.registry import SERVERS


def main(arguments: list[str]) -> int:
    """Do what the first argument says; return the exit code."""
    match arguments:
        case ["list"]:
            for name, kind in SERVERS.items():
                print(f"{name:14} {(kind.__doc__ or '').splitlines()[0]}")
        case ["install", *names]:
            for name in names or SERVERS:
                print(f"Installing {name}", flush=True)
                SERVERS[name]().install()
        case ["start", name]:
            with SERVERS[name]() as server:
                print(f"{server.variable()}=http://{server.address}")
                for option, value in server.options().items():
                    print(f"{option}={value}")
                _until_interrupted()
        case _:
            print(__doc__)
            return 2
    return 0


def _until_interrupted() -> None:
    try:
        while True:
            time.sleep(3600)
    except KeyboardInterrupt:
        return


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
