"""Progress on request: one line per stage on standard error, nothing unless asked for."""

from __future__ import annotations

import logging
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

logger = logging.getLogger("flgp")

# Told the name of each stage as it starts, and None as it ends; the command line draws its bar from that.
_observer: ContextVar[Callable[[str | None], None] | None] = ContextVar("observer", default=None)
_verbose: ContextVar[int] = ContextVar("verbose", default=0)


@contextmanager
def observed(observer: Callable[[str | None], None]) -> Iterator[None]:
    """Tell `observer` about the stages inside."""
    token = _observer.set(observer)
    try:
        yield
    finally:
        _observer.reset(token)


@contextmanager
def verbosity(verbose: int) -> Iterator[None]:
    """Print the stages inside if `verbose` is above 0."""
    token = _verbose.set(verbose)
    try:
        yield
    finally:
        _verbose.reset(token)


@contextmanager
def stage(name: str) -> Iterator[None]:
    """Say when a stage starts and how long it took."""
    started = time.perf_counter()
    verbose = _verbose.get()
    if verbose:
        print(f"flgp: {name} …", end="", file=sys.stderr, flush=True)
    observer = _observer.get()
    if observer is not None:
        observer(name)
    try:
        yield
    finally:
        if observer is not None:
            observer(None)
        seconds = time.perf_counter() - started
        logger.debug("%s: %.3f s", name, seconds)
        if verbose:
            print(f" {seconds:.2f} s", file=sys.stderr, flush=True)
