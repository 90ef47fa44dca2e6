"""Runs the jobs of an experiment, one at a time or in parallel."""

from __future__ import annotations

import multiprocessing
import resource
import signal
import sys
import warnings
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from contextlib import contextmanager
from multiprocessing import resource_tracker

from threadpoolctl import threadpool_limits

from .catalogue import find
from .experiment import Experiment, Failure, Options, Row, threads_for


def run_jobs(
    experiment: Experiment, jobs: Sequence[Row], options: Options, n_jobs: int = 1
) -> Iterator[Row | Failure]:
    """Rows with keys and metrics, as they become ready; failures where the experiment survives them.

    Parallel jobs run in separate processes. The results of a job depend on its keys and the seed alone, so
    they stay the same.
    """
    if n_jobs == 1 or len(jobs) < 2:
        for job in jobs:
            yield _run(experiment, job, options)
        return
    context = multiprocessing.get_context("spawn")  # a fork of a process with threads may hang
    pool = ProcessPoolExecutor(n_jobs, mp_context=context)
    complete = False
    try:
        with _deaf_children():
            futures = [pool.submit(_run_by_name, experiment.name, job, options) for job in jobs]
        for future in as_completed(futures):
            yield future.result()
        complete = True
    finally:
        if not complete:  # rows that come later would not be stored
            for process in list((getattr(pool, "_processes", None) or {}).values()):
                process.terminate()
        pool.shutdown(cancel_futures=True)


@contextmanager
def _deaf_children() -> Iterator[None]:
    """Processes that start inside do not receive Ctrl-C: their parent does, and terminates them."""
    if not hasattr(signal, "pthread_sigmask"):  # pragma: no cover - Windows
        yield
        return
    resource_tracker.ensure_running()  # it would lift the block
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})


def _run_by_name(name: str, job: Row, options: Options) -> Row | Failure:
    return _run(find(name), job, options)


def _run(experiment: Experiment, job: Row, options: Options) -> Row | Failure:
    with threadpool_limits(threads_for(int(job.get("n", 0)))), warnings.catch_warnings():
        # Disconnected graphs and searches that end at a bound are part of the measurement.
        warnings.simplefilter("ignore")
        try:
            return {**job, **experiment.run(job, options)}
        except Exception as error:
            if not experiment.survives_failures:
                raise
            return Failure(job, f"{type(error).__name__}: {error}")


def peak_gigabytes() -> float:
    """Peak memory of this process."""
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak / (2**30 if sys.platform == "darwin" else 2**20)
