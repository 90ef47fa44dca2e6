"""Progress on request: what is being done, how far it is, and the time left; nothing unless asked for."""

from __future__ import annotations

import logging
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Protocol

logger = logging.getLogger("flgp")

# Updates of a line come at most this often, in seconds; those of a log file, where lines stay, less often.
_PAUSE, _LOG_PAUSE = 0.2, 10.0
# Before this much time and this share of the work there is no telling how long the rest takes.
_LEAST_SECONDS, _LEAST_SHARE = 1.0, 0.02


class Observer(Protocol):
    """Told about the stages; the command line draws its bar from that."""

    def started(self, name: str) -> None:
        """A stage starts, possibly inside another."""
        ...

    def advanced(self, share: float, text: str) -> None:
        """The innermost stage is so far, from 0 to 1, which `text` says in words."""
        ...

    def ended(self) -> None:
        """The innermost stage ends."""
        ...


@dataclass
class _Stage:
    name: str
    started: float = field(default_factory=lambda: time.perf_counter())
    told: float = field(default_factory=lambda: time.perf_counter())


_observer: ContextVar[Observer | None] = ContextVar("observer", default=None)
_verbose: ContextVar[int] = ContextVar("verbose", default=0)
_stages: ContextVar[tuple[_Stage, ...]] = ContextVar("stages", default=())


@contextmanager
def observed(observer: Observer) -> Iterator[None]:
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
    """Say when a stage starts and how long it took; an interrupt is told what it interrupted."""
    own = _Stage(name)
    token = _stages.set((*_stages.get(), own))
    observer = _observer.get()
    _print(f"flgp: {name} …", end="")
    if observer is not None:
        observer.started(name)
    try:
        yield
    except BaseException as error:
        if not isinstance(error, Exception):
            error.add_note(f"{name}, after {time.perf_counter() - own.started:.1f} s")
        raise
    finally:
        _stages.reset(token)
        if observer is not None:
            observer.ended()
        seconds = time.perf_counter() - own.started
        logger.debug("%s: %.3f s", name, seconds)
        _print(f"{_again()}flgp: {name} … {seconds:.2f} s" if _rewrites() else f" {seconds:.2f} s")


def advance(done: int, total: int, unit: str = "") -> None:
    """Say how far the current stage is: `done` of `total` parts."""
    stages = _stages.get()
    if not stages or total <= 0 or (_observer.get() is None and not _verbose.get()):
        return
    own, now = stages[-1], time.perf_counter()
    share = done / total
    text = f"{done:,} of {total:,}{f' {unit}' if unit else ''}"
    pause = _PAUSE if _rewrites() or not _verbose.get() else _LOG_PAUSE
    if now - own.told < pause:
        return
    own.told = now
    observer = _observer.get()
    if observer is not None:
        observer.advanced(share, text)
    left = _left(now - own.started, share)
    _print(f"{_again()}flgp: {own.name} … {text}{left}" if _rewrites() else f" {text}{left} …", end="")


def note(text: str) -> None:
    """Say what was decided, to the log "flgp" and on request."""
    logger.info(text)
    _print(f"flgp: {text}")


def _left(seconds: float, share: float) -> str:
    """The time left, if that can be told."""
    if seconds < _LEAST_SECONDS or share < _LEAST_SHARE:
        return ""
    return f", {seconds * (1.0 - share) / share:.0f} s left"


def _print(text: str, end: str = "\n") -> None:
    if _verbose.get():
        print(text, end=end, file=sys.stderr, flush=True)


def _rewrites() -> bool:
    """Whether a line can be written over: on a terminal and in notebooks, not in a file."""
    return sys.stderr.isatty() or "ipykernel" in sys.modules


def _again() -> str:
    """To the start of the line, which is cleared."""
    return "\r\x1b[2K" if sys.stderr.isatty() else "\r"
