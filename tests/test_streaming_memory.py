"""Rows in a file: the memory of `fit` does not grow with them, that of `predict` only by its result."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

SCRIPT = """
import ctypes, gc, sys, threading
import numpy as np
from flgp import FLGPClassifier
from flgp.geometry.point_cloud import cloud

def anonymous():
    with open("/proc/self/status") as status:
        return next(int(line.split()[1]) for line in status if line.startswith("RssAnon")) * 1024

def extra(work):
    # The result of `work`, and its largest memory above what there was before it: each piece of work has
    # a watcher of its own, and starts after the allocator has given back what the one before left.
    gc.collect()
    ctypes.CDLL(None).malloc_trim(0)
    before, seen, done = anonymous(), [], threading.Event()
    def watch():
        while not done.wait(0.002):
            seen.append(anonymous())
    watcher = threading.Thread(target=watch)
    watcher.start()
    result = work()
    done.set()
    watcher.join()
    return result, max(seen) - before

cloud.CACHED_PAIRS = 0
X = np.memmap(sys.argv[1], np.float32, "r").reshape(-1, 2)
labels = np.array([[1.0, 0.0], [0.0, 1.0], [2.0, 0.0], [0.0, 2.0]])
model = FLGPClassifier(n_anchors=50, n_eigenpairs=20, random_state=0, n_jobs=2, base_kernel=sys.argv[2])
model.fit(labels, [0, 0, 1, 1], X[:10_000])  # everything that is loaded once
_, fitted = extra(lambda: model.fit(labels, [0, 0, 1, 1], X))
p, predicted = extra(lambda: model.predict(X))
right = np.mean(p == (np.hypot(*X.T) > 1.5))
print(fitted, predicted, right)
"""


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="needs Linux's account of memory")
@pytest.mark.parametrize("base_kernel", ["lae", "se"])
def test_anonymous_memory_at_two_lengths(tmp_path, base_kernel):
    peaks = []
    for n in (270_000, 800_000):
        rng = np.random.default_rng(0)
        angle = rng.uniform(0, 2 * np.pi, n)
        X = (rng.integers(1, 3, n) * np.stack([np.cos(angle), np.sin(angle)])).T.astype(np.float32)
        X.tofile(tmp_path / "X.bin")
        command = [sys.executable, "-c", SCRIPT, str(tmp_path / "X.bin"), base_kernel]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        fit, predict, right = map(float, done.stdout.split())
        assert right == 1.0
        peaks.append((fit, predict))
    megabyte = 2**20
    # Cached neighbours would be 32 MB (SE: 19 MB) more.
    assert peaks[1][0] - peaks[0][0] < 10 * megabyte
    # The result of `predict` is 8 bytes a row: 4 MB more.
    assert peaks[1][1] - peaks[0][1] < 16 * megabyte
