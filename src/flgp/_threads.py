"""Threads: how many, and a pool that never fights with BLAS for the cores.

Whoever starts a computation says how many, `with threads(n):`, and all that is called inside follows.
"""

from __future__ import annotations

import os
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


class _BlasLimit:
    """BLAS held at one thread while anybody asks for it; safe when fits run in several threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._users = 0
        self._controller: ThreadpoolController | None = None  # made once: it scans all loaded libraries
        self._limits: Any = None

    def __enter__(self) -> None:
        with self._lock:
            self._users += 1
            if self._users == 1:
                if self._controller is None:
                    self._controller = ThreadpoolController()
                self._limits = self._controller.limit(limits=1, user_api="blas")

    def __exit__(self, *_: object) -> None:
        with self._lock:
            self._users -= 1
            if self._users == 0:
                self._limits.restore_original_limits()


single_threaded_blas = _BlasLimit()


def limited_blas() -> AbstractContextManager[None]:
    """Large dense algebra on as many BLAS threads as may be used; one thread is the shared limit above."""
    return single_threaded_blas if current_threads() == 1 else nullcontext()


def blas_for(size: int) -> AbstractContextManager[None]:
    """BLAS for matrices of a size: small ones on one thread, which is as fast as two there.

    On a busy machine it is thirty times as fast, because BLAS threads wait for each other by spinning.
    """
    return limited_blas() if size > _ONE_THREAD_SIZE else single_threaded_blas


def thread_map(function: Callable[[T], R], items: Iterable[T], at_most: int | None = None) -> Iterator[R]:
    """`map` in order, over the threads there are (or `at_most` so many), single-threaded BLAS inside each.

    The results are those of one thread, bit for bit: every item is computed alone and in order of use.
    """
    n_threads = current_threads() if at_most is None else min(current_threads(), at_most)
    with single_threaded_blas:
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
