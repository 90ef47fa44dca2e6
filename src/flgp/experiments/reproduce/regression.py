"""Shared by the regression experiments: the measurement of one row."""

from __future__ import annotations

import time
from typing import Any

import numpy as np

from ...datasets.points import RegressionData
from ...metrics import gaussian_negative_log_likelihood
from ..labels import only_at
from .experiment import Row

METRICS = ("rmse", "mse", "nll", "seconds")


def measure(model: Any, data: RegressionData, m: int, seed: int) -> Row:
    """Fit m noisy labels and predict the rest: error against f without noise, NLL of y."""
    n = len(data.f)
    known = np.random.default_rng(seed).choice(n, size=min(m, n), replace=False)
    y = only_at(known, data.y)
    rest = np.flatnonzero(np.isnan(y))
    started = time.perf_counter()
    model.fit(data.X, y)
    mean, std = model.predict(data.X[rest], return_std=True)
    seconds = time.perf_counter() - started
    mse = float(np.mean((mean - data.f[rest]) ** 2))
    nll = gaussian_negative_log_likelihood(data.y[rest], mean, std)
    return {"rmse": mse**0.5, "mse": mse, "nll": nll, "seconds": seconds}
