"""The command `flgp`, also `python -m flgp`: ready for Ctrl-C before anything large is imported."""

from __future__ import annotations

import os
import signal


def _leave(*_: object) -> None:
    """Nothing is to be cleaned up yet, and an exception inside an import might get lost."""
    os.write(2, b"Stopped.\n")
    os._exit(130)


def main() -> None:
    """Import the command line and run it."""
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:  # not where Ctrl-C is ignored
        signal.signal(signal.SIGINT, _leave)
    from .cli import main as run

    try:
        run()
    finally:
        # All is done and said. While the interpreter ends, Ctrl-C would kill it without a word.
        signal.signal(signal.SIGINT, signal.SIG_IGN)


if __name__ == "__main__":
    main()
