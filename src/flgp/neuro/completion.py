"""What volumes and surfaces share: learning from the observed values, and completing the others."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.utils import check_random_state

from .._typing import Array, BoolArray
from ..estimators import FLGPRegressor
from ..metrics import gaussian_coverage, gaussian_negative_log_likelihood
from .errors import ImageError


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


def score_predictions(y: Array, mean: Array, std: Array, n_labeled: int) -> Scores:
    """Scores of predictive means and standard deviations (n,) against values y (n,)."""
    error = (y - mean) ** 2
    low, high = np.quantile(error, [0.01, 0.99])
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


def learn(
    estimator: Any, X: Array, values: Array, ratio: float | None, random_state: Any, **parameters: Any
) -> tuple[Any, BoolArray]:
    """A model of the values (n,) that are not NaN, and which of them it saw.

    With a `ratio`, a random fraction of the values is kept, at least one, and the others, at least one, are
    held out. `parameters` are set on a copy of the estimator, and a seed if it has none.
    """
    rng = check_random_state(random_state)
    labeled = ~np.isnan(values)
    if ratio is not None:
        if not 0 < ratio < 1:
            raise ImageError(f"labeled_ratio={ratio!r} must be between 0 and 1.")
        known = np.flatnonzero(labeled)
        if len(known) < 2:
            raise ImageError("labeled_ratio needs at least two observed values.")
        count = min(max(round(ratio * len(known)), 1), len(known) - 1)
        labeled = np.zeros(len(values), dtype=bool)
        labeled[rng.permutation(known)[:count]] = True
    model = FLGPRegressor(scaling=None) if estimator is None else clone(estimator)
    model.set_params(**parameters)
    if getattr(model, "random_state", 0) is None and random_state is not None:
        model.set_params(random_state=rng.randint(2**31 - 1))
    return model.fit(X, np.where(labeled, values, np.nan)), labeled


def complete(
    model: Any, X: Array, values: Array, labeled: BoolArray, smooth: bool
) -> tuple[Array, Array, Scores | None]:
    """Completed values and their standard deviations (n,), and the scores of values that were held out."""
    mean, std = model.predict(X, return_std=True)
    scores = None
    held_out = ~labeled & ~np.isnan(values)
    if held_out.any():
        scores = score_predictions(values[held_out], mean[held_out], std[held_out], int(labeled.sum()))
    if smooth:
        mean, variance = model.latent_mean_and_variance(X)
        return mean, np.sqrt(variance), scores
    return np.where(labeled, values, mean), np.where(labeled, 0.0, std), scores
