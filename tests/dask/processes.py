"""A scheduler and workers as separate processes on loopback, as several machines would run them."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from contextlib import contextmanager

import distributed


class Cluster:
    """Processes that can be killed and started one by one."""

    def __init__(self, folder, settings=None):
        self.folder = folder
        self.file = folder / "scheduler.json"
        self.environment = {**os.environ, **(settings or {})}
        self.workers = []
        self.scheduler = self._start("dask_scheduler", "--port", "0")
        for _ in range(300):
            if self.file.exists():
                break
            time.sleep(0.1)

    def _start(self, program, *options):
        command = [sys.executable, "-m", f"distributed.cli.{program}", "--no-dashboard"]
        command += ["--host", "127.0.0.1", "--scheduler-file", str(self.file), *options]
        quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL, "cwd": self.folder}
        return subprocess.Popen(command, env=self.environment, **quiet)

    def add_worker(self, *options):
        """A worker with one thread; with a nanny that starts it again, unless told otherwise."""
        worker = self._start(
            "dask_worker", "--nthreads", "1", "--local-directory", str(self.folder), *options
        )
        self.workers.append(worker)
        return worker

    def close(self):
        for process in [*reversed(self.workers), self.scheduler]:  # workers first
            process.terminate()
        for process in [*reversed(self.workers), self.scheduler]:
            try:
                process.wait(timeout=10)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


@contextmanager
def running(folder, *options, n_workers=2, settings=None):
    """A cluster with that many workers and its client."""
    cluster = Cluster(folder, settings)
    try:
        for _ in range(n_workers):
            cluster.add_worker(*options)
        with distributed.Client(scheduler_file=str(cluster.file), timeout="30s") as client:
            client.wait_for_workers(n_workers, timeout=60)
            yield cluster, client
    finally:
        cluster.close()
