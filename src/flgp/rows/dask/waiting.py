"""Wait for a cluster: return the result or raise one clear error, and never wait forever.

Dask runs the tasks of a dead worker again elsewhere. If no worker is left, it waits silently and without end;
if the scheduler is gone, its errors are about keys and connections. Two settings of Dask's configuration
limit the wait: ``flgp.no-workers-timeout`` and ``flgp.pass-timeout``.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from concurrent.futures import CancelledError
from typing import Any, NoReturn

import dask
from dask.utils import parse_timedelta

from ..errors import ClusterError

# A cluster that grows with its load may take minutes to start its first worker.
NO_WORKERS_TIMEOUT = "10 minutes"
# How often a pass that takes long looks for workers, and how long it waits for the answer, in seconds.
_LOOK_EVERY, _ANSWER_WITHIN = 1.0, 5.0


def compute(*collections: Any) -> tuple[Any, ...]:
    """`dask.compute`, within the time limits, and with a `ClusterError` where the cluster fails.

    Raises
    ------
    ClusterError
        The scheduler is lost, a chunk kills every worker that reads it, or a time limit has passed.
    """
    client = _client()
    if client is None:
        return tuple(dask.compute(*collections))
    from distributed import wait

    futures: list[Any] = []

    def run() -> tuple[Any, ...]:
        futures.extend(client.compute(list(collections)))
        limits = _Limits(client)
        while not any(future.status == "error" for future in futures):
            try:
                wait(futures, timeout=_LOOK_EVERY)
                break
            except TimeoutError:
                limits.check()
        return tuple(client.gather(futures))

    try:
        return tuple(_translated(run))
    finally:
        for future in futures:  # an error keeps this frame alive, and the cluster would go on with the rest
            future.release()


def persist(*collections: Any) -> tuple[Any, ...]:
    """`dask.persist`; a lost scheduler is a `ClusterError`."""
    return tuple(_translated(lambda: dask.persist(*collections)))


class _Limits:
    """How long one pass has lasted, and how long there has been no worker."""

    def __init__(self, client: Any) -> None:
        self.client = client
        self.started = self.last_seen = time.monotonic()
        self.without_workers = _seconds("no-workers-timeout", NO_WORKERS_TIMEOUT)
        self.of_pass = _seconds("pass-timeout", None)

    def check(self) -> None:
        now = time.monotonic()
        if self.of_pass is not None and now - self.started > self.of_pass:
            raise ClusterError(
                f"One pass over the rows took more than {self.of_pass:g} s, the limit set by "
                "flgp.pass-timeout in Dask's configuration. Add workers, or raise the limit."
            )
        if self._has_workers():
            self.last_seen = time.monotonic()
        elif self.without_workers is not None and now - self.last_seen > self.without_workers:
            raise ClusterError(
                f"The Dask cluster has had no worker for {self.without_workers:g} s. Start workers, or raise "
                "flgp.no-workers-timeout in Dask's configuration."
            )

    def _has_workers(self) -> bool:
        try:
            return bool(self.client.sync(self.client.scheduler.ncores, callback_timeout=_ANSWER_WITHIN))
        except (TimeoutError, OSError):  # the scheduler does not answer: it has no worker for us
            return False


def _client() -> Any:
    """The client that `dask.compute` would use; None for threads and processes of this machine.

    Also None inside a task of a worker, which must give up its slot while it waits, as `dask.compute` does.
    """
    client = getattr(dask.base.get_scheduler(), "__self__", None)
    if client is None or not hasattr(client, "scheduler_info"):
        return None
    from distributed import get_worker

    try:
        get_worker()
    except ValueError:
        return client
    return None


def _seconds(name: str, default: str | None) -> float | None:
    value = dask.config.get(f"flgp.{name}", default)
    if value is None:
        return None
    try:
        seconds = float(parse_timedelta(value, default="seconds"))
    except (TypeError, ValueError, LookupError):
        seconds = 0.0
    if not seconds > 0.0:
        raise ValueError(
            f"flgp.{name}={value!r} in Dask's configuration is not a time. Use seconds, or text such as "
            "'5 minutes'; None for no limit."
        )
    return seconds


def _translated(run: Callable[[], Any]) -> Any:
    """What `run` returns; failures of the cluster, but not those of tasks, become a `ClusterError`."""
    try:
        return run()
    except CancelledError as error:
        _lost(error)
    except Exception as error:
        name, module = type(error).__name__, type(error).__module__
        if not module.startswith("distributed."):
            raise
        if name == "KilledWorker":
            raise ClusterError(
                "A chunk of X was given up: every worker that read it died, most often because it ran out of "
                "memory. Use smaller chunks (X.rechunk), or workers with more memory. Dask says: "
                + str(error)
            ) from error
        if name in ("NoValidWorkerError", "NoWorkerError"):
            raise ClusterError(f"The Dask cluster has no worker for a task. Dask says: {error}") from error
        _lost(error)


def _lost(error: Exception) -> NoReturn:
    raise ClusterError(
        "The connection to the Dask scheduler was lost, and with it all that the workers held. Start the "
        f"cluster again and repeat the call. Dask says: {error}"
    ) from error
