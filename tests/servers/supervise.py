"""Runs a server until standard input ends, so that no server outlives the tests that wanted it.

``python supervise.py COMMAND …``: the end of input (its parent said so, or died) stops the
command; the command's own end ends this with the same code.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading

_PATIENCE = 3


def main(command: list[str]) -> int:
    """Start the command, watch standard input, and return the command's exit code."""
    server = subprocess.Popen(command, stdin=subprocess.DEVNULL)
    signal.signal(signal.SIGTERM, lambda *_: server.terminate())
    signal.signal(signal.SIGINT, signal.SIG_IGN)

    def watch() -> None:
        while os.read(0, 4096):
            pass
        server.terminate()
        try:
            server.wait(_PATIENCE)
        except subprocess.TimeoutExpired:
            server.kill()

    threading.Thread(target=watch, daemon=True).start()
    return server.wait()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
