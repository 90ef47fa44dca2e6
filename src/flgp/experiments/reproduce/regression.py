"""Shared by the regression experiments: the measurement of one row."""

from __future__ import annotations

import time
from typing import Any

import numpy as np

from ...datasets.points import RegressionData
from ...metrics import gaussian_negative_log_likelihood
from ..labels import some_labels
from .experiment import Row

METRICS = ("rmse", "mse", "nll", "seconds")


def measure(model: Any, data: RegressionData, m: int, seed: int) -> Row:
    """Fit m noisy labels and predict the rest: error against f without noise, NLL of y."""
    y, rest = some_labels(data.y, m, seed)
    started = time.perf_counter()
    model.fit(data.X, y)
    mean, std = model.predict(data.X[rest], return_std=True)
    seconds = time.perf_counter() - started
    mse = float(np.mean((mean - data.f[rest]) ** 2))
    nll = gaussian_negative_log_likelihood(data.y[rest], mean, std)
    return {"rmse": mse**0.5, "mse": mse, "nll": nll, "seconds": seconds}
