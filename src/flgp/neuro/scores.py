"""Scores of predictions of held-out values."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .._typing import Array
from ..metrics import gaussian_coverage, gaussian_negative_log_likelihood


@dataclass(frozen=True)
class Scores:
    """Errors on held-out values."""

    n_labeled: int
    n_held_out: int
    mse: float
    trimmed_mse: float  # without the top and bottom 1 % of squared errors, as in the paper
    nll: float  # -mean log density of the value, noise included
    trimmed_nll: float  # over the same values as the trimmed MSE
    coverage: float  # of 95 % intervals


def score_predictions(y: Array, mean: Array, std: Array, n_labeled: int, trim: float = 0.01) -> Scores:
    """Scores of predictive means and standard deviations (n,) against values y (n,)."""
    error = (y - mean) ** 2
    low, high = np.quantile(error, [trim, 1 - trim])
    kept = (error >= low) & (error <= high)
    return Scores(
        n_labeled=n_labeled,
        n_held_out=len(y),
        mse=float(error.mean()),
        trimmed_mse=float(error[kept].mean()),
        nll=gaussian_negative_log_likelihood(y, mean, std),
        trimmed_nll=gaussian_negative_log_likelihood(y[kept], mean[kept], std[kept]),
        coverage=gaussian_coverage(y, mean, std, level=0.95),
    )
