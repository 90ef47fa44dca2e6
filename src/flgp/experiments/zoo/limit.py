"""A time limit for a block of code."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any


class TookTooLong(BaseException):  # not an Exception: scikit-learn's searches catch those
    """The time limit was reached."""


@contextmanager
def time_limit(seconds: float | None) -> Iterator[None]:
    """Raise `TookTooLong` after so many seconds; code outside Python is only stopped when it returns.

    There is no limit on Windows and outside the main thread.
    """
    main = threading.current_thread() is threading.main_thread()
    if seconds is None or not main or not hasattr(signal, "setitimer"):
        yield
        return

    def stop(*_: Any) -> None:
        raise TookTooLong

    before = signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
