"""Progress on request: one line a stage on standard error, nothing unless `verbose`."""

from __future__ import annotations

import logging
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager

logger = logging.getLogger("flgp")


@contextmanager
def stage(name: str, verbose: int) -> Iterator[None]:
    """Say when a stage starts and how long it took."""
    started = time.perf_counter()
    if verbose:
        print(f"flgp: {name} …", end="", file=sys.stderr, flush=True)
    try:
        yield
    finally:
        seconds = time.perf_counter() - started
        logger.debug("%s: %.3f s", name, seconds)
        if verbose:
            print(f" {seconds:.2f} s", file=sys.stderr, flush=True)
