"""Do 90 % intervals contain f in 90 of 100 cases? Data are simulated from the model itself on a spiral.

Each function has a different diffusion time, log-uniform from 1/λ_M to 1/λ_1: from the finest resolved scale
to nearly constant. `--time` fixes it instead. The standard deviation of f is fixed, 1 for most likelihoods;
labels that say little about f (small counts, few of them) then leave room for a smaller one, and intervals
cover less than they promise. `--from-prior` draws time and standard deviation from their priors instead: what
integrated intervals are calibrated for. Prints a Markdown table: average coverage with the hyperparameters
integrated out and optimised.
"""

from __future__ import annotations

import time
import warnings
from argparse import ArgumentParser, Namespace
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from ... import FLGPRegressor, HeatKernelFeatures
from ... import likelihoods as kinds
from ..._typing import Array
from ...datasets import spiral

N, ANCHORS, EIGENPAIRS, LABELED = 400, 100, 30, 80
GRAPH: dict[str, Any] = {
    "n_anchors": ANCHORS,
    "n_eigenpairs": EIGENPAIRS,
    "random_state": 0,
    "residual": None,
    "scaling": None,
    "n_jobs": 1,
}
# (true likelihood, fitted likelihood, standard deviation of f)
CASES: dict[str, tuple[Any, Any, float]] = {
    "gaussian": (kinds.Gaussian(noise_variance=0.25), kinds.Gaussian(), 1.0),
    "heteroscedastic": (kinds.Gaussian(noise_variance=0.25), kinds.Heteroscedastic(), 1.0),
    "bernoulli": (kinds.Bernoulli(), kinds.Bernoulli(), 2.0),
    "probit": (kinds.Bernoulli(link="probit"), kinds.Bernoulli(link="probit"), 1.0),
    "binomial": (kinds.Binomial(), kinds.Binomial(), 1.0),
    "poisson": (kinds.Poisson(), kinds.Poisson(), 1.0),
    "negative_binomial": (kinds.NegativeBinomial(dispersion=0.5), kinds.NegativeBinomial(), 1.0),
    "gamma": (kinds.Gamma(shape=2.0), kinds.Gamma(), 1.0),
    "exponential": (kinds.Exponential(), kinds.Exponential(), 1.0),
    "student_t": (kinds.StudentT(scale=0.5), kinds.StudentT(), 1.0),
    "beta": (kinds.Beta(precision=10.0), kinds.Beta(), 1.0),
    "ordinal": (kinds.Ordinal(levels=(0, 1, 2, 3), gaps=(1.5, 1.5)), kinds.Ordinal(levels=(0, 1, 2, 3)), 2.0),
    "tweedie": (kinds.Tweedie(dispersion=1.0), kinds.Tweedie(), 1.0),
    "zero_inflated_poisson": (kinds.ZeroInflatedPoisson(zero_odds=0.5), kinds.ZeroInflatedPoisson(), 1.0),
    "zero_inflated_negative_binomial": (
        kinds.ZeroInflatedNegativeBinomial(zero_odds=0.5, dispersion=0.5),
        kinds.ZeroInflatedNegativeBinomial(),
        1.0,
    ),
    "hurdle_poisson": (kinds.HurdlePoisson(zero_odds=0.5), kinds.HurdlePoisson(), 1.0),
    "hurdle_negative_binomial": (
        kinds.HurdleNegativeBinomial(zero_odds=0.5, dispersion=0.5),
        kinds.HurdleNegativeBinomial(),
        1.0,
    ),
    "asymmetric_laplace": (
        kinds.AsymmetricLaplace(scale=0.2, quantile=0.7),
        kinds.AsymmetricLaplace(quantile=0.7),
        1.0,
    ),
}
TRIALS = 5
# Eigenfunctions in the log-variance of noise that varies.
N_NOISE = 3
# The bounds of the time that --from-prior draws, in steps and in units of 1/λ_1, and of its labels.
SHORTEST, LONGEST, LARGEST = 2.5, 60.0, 1e6


class _Spiral(NamedTuple):
    """Points in any order, and the eigenfunctions there."""

    X: Array
    features: Array  # (n, M)
    eigenvalues: Array  # (M,)

    @classmethod
    def made(cls) -> _Spiral:
        X = spiral(N, random_state=0).X[np.random.default_rng(0).permutation(N)]
        model = HeatKernelFeatures(n_anchors=ANCHORS, n_eigenpairs=EIGENPAIRS, random_state=0, n_jobs=1)
        model.fit(X)
        return cls(X, model.basis_.features(model.geometry_.locate(X)), model.eigenvalues_)


def _labels(name: str, f: Array, at: _Spiral, rng: np.random.Generator) -> Array:
    truth = CASES[name][0]
    if name == "binomial":
        return rng.binomial(TRIALS, truth.conditional_mean(f)).astype(float)
    y = truth.sample(f, rng)
    if name == "heteroscedastic":  # the log-variance of the noise is smooth, of standard deviation 1
        slow = at.features[:LABELED, 1 : 1 + N_NOISE]
        g = slow @ rng.standard_normal((N_NOISE, *f.shape[1:])) / np.sqrt(N_NOISE)
        return f + (y - f) * np.exp(0.5 * g)
    return y


def simulated(name: str, replicates: int, fixed_time: float | None = None) -> tuple[Array, Array, Array]:
    """Points, functions drawn from the prior (n, replicates), labels of the first rows (m, replicates)."""
    at = _Spiral.made()
    X, features, eigenvalues = at
    rng = np.random.default_rng(1)
    slowest, finest = np.log(1 / eigenvalues[1]), np.log(1 / eigenvalues[-1])
    times = np.exp(rng.uniform(finest, slowest, replicates))
    if fixed_time is not None:
        times[:] = fixed_time
    weights = np.exp(-np.outer(eigenvalues, times))  # (M, replicates)
    draws = np.sqrt(weights / weights.sum(axis=0)) * rng.standard_normal(weights.shape)
    f = CASES[name][2] * features @ draws
    return X, f, _labels(name, f[:LABELED], at, rng)


def simulated_from_prior(name: str, replicates: int) -> tuple[Array, Array, Array]:
    """The same with time log-uniform over all that the search allows, and a half-normal size of f.

    Functions whose labels are all equal, or too large for counts, are drawn again.
    """
    at = _Spiral.made()
    X, features, eigenvalues = at
    rng = np.random.default_rng(1)
    functions: list[Array] = []
    labels: list[Array] = []
    while len(functions) < replicates:
        time = np.exp(rng.uniform(np.log(SHORTEST), np.log(LONGEST / eigenvalues[1])))
        weights = np.exp(-eigenvalues * time)
        size = 3.0 * CASES[name][2] * abs(rng.standard_normal())
        draw = np.sqrt(weights / weights.sum()) * rng.standard_normal(len(weights))
        f = size * features @ draw
        y = _labels(name, f[:LABELED], at, rng)
        if np.ptp(y) > 0 and np.abs(y).max() < LARGEST:
            functions.append(f)
            labels.append(y)
    return X, np.column_stack(functions), np.column_stack(labels)


def coverage(
    name: str, replicates: int, fixed_time: float | None = None, from_prior: bool = False, **options: Any
) -> tuple[float, float, float]:
    """Average fraction of points with f in the 90 % interval, its standard error, and seconds per fit."""
    if from_prior:
        X, functions, labels = simulated_from_prior(name, replicates)
    else:
        X, functions, labels = simulated(name, replicates, fixed_time)
    shares, start = [], time.perf_counter()
    for f, y in zip(functions.T, labels.T, strict=True):
        target = np.concatenate([y, np.full(N - LABELED, np.nan)])
        known = {"trials": np.full(N, float(TRIALS))} if name == "binomial" else {}
        model = FLGPRegressor(likelihood=CASES[name][1], mean="zero", **GRAPH, **options)
        ends = model.fit(X, target, **known).latent_interval(X, 0.9)
        shares.append(np.mean((ends[:, 0] <= f) & (f <= ends[:, 1])))
    seconds = (time.perf_counter() - start) / replicates
    return float(np.mean(shares)), float(np.std(shares) / np.sqrt(replicates)), seconds


def add_options(parser: ArgumentParser) -> None:
    parser.add_argument("--replicates", type=int, default=50)
    parser.add_argument("--inference", nargs="+", default=["auto"], help="some of auto, laplace, ep")
    parser.add_argument("--time", type=float, default=None)
    parser.add_argument("--from-prior", action="store_true", help="truths from the priors of the model")
    parser.add_argument("--likelihood", nargs="+", choices=list(CASES), default=list(CASES))


def measure(options: Namespace) -> None:
    print("| likelihood | inference | integrate | optimize | seconds per fit |\n|" + " --- |" * 5)
    for name in options.likelihood:
        for inference in options.inference:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                ask = partial(coverage, name, options.replicates, options.time, options.from_prior)
                whole, error, seconds = ask(inference=inference, hyperparameters="integrate")
                best, _, _ = ask(inference=inference, hyperparameters="optimize")
            row = f"| {name} | {inference} | {100 * whole:.1f} ± {100 * error:.1f} % | {100 * best:.1f} % "
            print(row + f"| {seconds:.2f} |", flush=True)
