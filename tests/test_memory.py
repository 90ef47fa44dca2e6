"""Nothing of size n×s, n×m or n×M is ever allocated."""

import subprocess
import sys

import pytest

SCRIPT = """
import resource, sys
import numpy as np
from flgp import FLGPClassifier

def peak():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024

n = int(sys.argv[1])
rng = np.random.default_rng(0)
angle = rng.uniform(0, 2 * np.pi, n)
X = np.column_stack([np.cos(angle), np.sin(angle)])
y = np.full(n, -1)
y[:400] = (X[:400, 0] > 0).astype(int)
FLGPClassifier(n_anchors=300, n_eigenpairs=100, random_state=0).fit(X[:5000], y[:5000])
before = peak()
model = FLGPClassifier(n_anchors=300, n_eigenpairs=100, random_state=0).fit(X, y)
model.predict_proba(X)
print((peak() - before) / 8)
"""


def extra_numbers(n):
    """Doubles at the peak of fit and predict, beyond the input and a small fit."""
    result = subprocess.run(
        [sys.executable, "-c", SCRIPT, str(n)], capture_output=True, text=True, check=True
    )
    return float(result.stdout)


@pytest.mark.slow
def test_memory_grows_with_n_times_r_only():
    small, large = 200_000, 800_000
    per_row = (extra_numbers(large) - extra_numbers(small)) / (large - small)
    # r = 3 neighbours: index, distance, weight, and the predictions; M = 100, m = 400, s = 300 are far off.
    assert per_row < 30
