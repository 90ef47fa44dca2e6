"""Threads: how many, and a pool that never fights with BLAS for the cores.

Whoever starts a computation says how many, `with threads(n):`, and all that is called inside follows.
"""

from __future__ import annotations

import os
import signal
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import AbstractContextManager, contextmanager, nullcontext
from contextvars import ContextVar
from itertools import chain, islice
from typing import Any, TypeVar

from threadpoolctl import ThreadpoolController

T = TypeVar("T")
R = TypeVar("R")

# Up to this size one BLAS thread is enough.
_ONE_THREAD_SIZE = 1000

# Worker threads start with an empty context, so that whatever runs in one of them has that one only.
_count: ContextVar[int] = ContextVar("threads", default=1)


@contextmanager
def threads(count: int) -> Iterator[None]:
    """Let everything inside use `count` threads."""
    token = _count.set(count)
    try:
        yield
    finally:
        _count.reset(token)


def current_threads() -> int:
    """Threads that may be used here: those of the innermost `threads`, otherwise one."""
    return _count.get()


def thread_count(n_jobs: int | None) -> int:
    """Threads to use for `n_jobs`, scikit-learn's meaning of negative numbers included.

    None means all cores this process may use, or OMP_NUM_THREADS where that is lower, as for BLAS and
    OpenMP: joblib sets that variable in its workers, so that nested parallelism does not oversubscribe.
    """
    if hasattr(os, "sched_getaffinity"):
        cores = len(os.sched_getaffinity(0))
    else:  # pragma: no cover - platforms without affinity
        cores = os.cpu_count() or 1
    if n_jobs is None:
        limit = os.environ.get("OMP_NUM_THREADS", "")
        return min(cores, int(limit)) if limit.isdigit() and int(limit) > 0 else cores
    return max(1, cores + 1 + n_jobs) if n_jobs < 0 else n_jobs


class _Deferred:
    """SIGINT waits until the block ends: what is inside happens as a whole, or not at all.

    For changes of state of a few microseconds. Python runs its handlers in the main thread; in others, and
    where the signal is handled outside of Python, there is nothing to defer.
    """

    def __enter__(self) -> None:
        self._caught = False
        self._before: Any = None
        if threading.current_thread() is threading.main_thread():
            self._before = signal.getsignal(signal.SIGINT)
            if self._before is not None:
                signal.signal(signal.SIGINT, self._note)

    def _note(self, *_: object) -> None:
        self._caught = True

    def __exit__(self, *_: object) -> None:
        if self._before is not None:
            signal.signal(signal.SIGINT, self._before)
            if self._caught:
                signal.raise_signal(signal.SIGINT)


class _BlasLimit:
    """BLAS at one thread while anybody holds it there; safe when fits run in several threads."""

    def __init__(self) -> None:
        self._lock = threading.RLock()  # a hold may be collected while another is being settled
        self._libraries: list[Any] | None = None  # found once: that scans everything that is loaded
        self._before: list[int] | None = None  # threads of each library, while they are limited
        self.holds: set[int] = set()

    def settle(self, hold: int, wanted: bool) -> None:
        """Add or remove a hold, and limit BLAS if there is any."""
        with _Deferred(), self._lock:
            (self.holds.add if wanted else self.holds.discard)(hold)
            if self.holds and self._before is None:
                if self._libraries is None:
                    self._libraries = ThreadpoolController().select(user_api="blas").lib_controllers
                self._before = [library.get_num_threads() for library in self._libraries]
                for library in self._libraries:
                    _set_threads(library, 1)
            elif not self.holds and self._before is not None:
                for library, count in zip(self._libraries or [], self._before, strict=True):
                    _set_threads(library, count)
                self._before = None


def _set_threads(library: Any, count: int) -> None:
    """From any thread; threadpoolctl itself obeys only the first one that asked, for ever."""
    getattr(library, "_real_set_num_threads", library.set_num_threads)(count)


_blas = _BlasLimit()


class _Ended:
    """A hold that was given back: nothing is left to do when it is collected."""


class _Hold:
    """One BLAS thread inside.

    An interrupt after the end of the block but before the first line of `__exit__` skips that. The object is
    then collected, which ends its hold as well.
    """

    def __enter__(self) -> None:
        try:
            _blas.settle(id(self), True)
        except BaseException:  # an interrupt that waited
            _blas.settle(id(self), False)
            raise

    def __exit__(self, *_: object) -> None:
        _blas.settle(id(self), False)
        # An interrupt inside `__del__` would be lost, so that it is not even called in the ordinary course.
        self.__class__ = _Ended  # type: ignore[assignment]

    def __del__(self) -> None:
        if id(self) in _blas.holds:
            _blas.settle(id(self), False)


def single_threaded_blas() -> AbstractContextManager[None]:
    """One BLAS thread while anybody asks for it."""
    return _Hold()


def limited_blas() -> AbstractContextManager[None]:
    """Large dense algebra on as many BLAS threads as may be used; one thread is the shared limit above."""
    return single_threaded_blas() if current_threads() == 1 else nullcontext()


def blas_for(size: int) -> AbstractContextManager[None]:
    """BLAS for matrices of a size: small ones on one thread, which is as fast as two there.

    On a busy machine it is thirty times as fast, because BLAS threads wait for each other by spinning.
    """
    return limited_blas() if size > _ONE_THREAD_SIZE else single_threaded_blas()


def thread_map(function: Callable[[T], R], items: Iterable[T], at_most: int | None = None) -> Iterator[R]:
    """`map` in order, over the threads there are (or `at_most` so many), single-threaded BLAS inside each.

    The results are those of one thread, bit for bit: every item is computed alone and in order of use.
    """
    n_threads = current_threads() if at_most is None else min(current_threads(), at_most)
    with single_threaded_blas():
        items = iter(items)
        first = list(islice(items, 2))
        if n_threads == 1 or len(first) < 2:  # a pool for one item would cost more than small items do
            yield from map(function, chain(first, items))
            return
        # Only a few items ahead of their use: whoever sums many large results holds a few of them at a time,
        # and an interrupt has little to wait for.
        pending: deque[Future[R]] = deque()
        with ThreadPoolExecutor(n_threads) as pool:
            try:
                for item in chain(first, items):
                    pending.append(pool.submit(function, item))
                    if len(pending) > 2 * n_threads:
                        yield pending.popleft().result()
                while pending:
                    yield pending.popleft().result()
            finally:
                for future in pending:
                    future.cancel()
