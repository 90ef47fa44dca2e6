"""Intervals of f hold f as often as they say; `flgp bench coverage` has all likelihoods."""

import numpy as np

from flgp import FLGPRegressor
from flgp.datasets import spiral

GRAPH = {
    "n_anchors": 100,
    "n_eigenpairs": 30,
    "random_state": 0,
    "residual": None,
    "mean": "zero",
    "n_jobs": 1,
}


def test_coverage_of_functions_drawn_from_the_model():
    n, m, replicates = 400, 80, 8
    X = spiral(n, random_state=0).X[np.random.default_rng(0).permutation(n)]
    given = {"diffusion_time": 40.0, "amplitude": 0.1, "noise_variance": 0.25, "hyperparameters": "fixed"}
    shown = np.arange(n) < m
    model = FLGPRegressor(**given, **GRAPH).fit(X, np.where(shown, 0.0, np.nan))
    functions = model.sample_f(X, replicates, prior=True)
    rng, shares = np.random.default_rng(1), []
    for f in functions.T:
        y = np.where(shown, f + 0.5 * rng.normal(size=n), np.nan)
        fitted = FLGPRegressor(hyperparameters="integrate", **GRAPH).fit(X, y)
        low, high = fitted.latent_interval(X, 0.9).T
        shares.append(np.mean((low <= f) & (f <= high)))
    assert 0.84 < np.mean(shares) < 0.96
