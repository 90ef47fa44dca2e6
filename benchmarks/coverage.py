"""Do 90 % intervals of f hold f in 90 of 100 cases? Data simulated from the model itself on a spiral.

    python benchmarks/coverage.py [--replicates 50] [--inference auto laplace ep] [--likelihood poisson ...]
                                  [--time 40]

Each function has a diffusion time of its own, log-uniform from 1/λ_M to 1/λ_1: from what the finest
eigenfunction can show to what is nearly constant. `--time` fixes it instead. Prints a Markdown table: average
coverage with the hyperparameters integrated out and optimised.
"""

import argparse
import time
import warnings

import numpy as np

from flgp import FLGPRegressor, HeatKernelFeatures
from flgp.datasets import spiral
from flgp.likelihoods import (
    Bernoulli,
    Binomial,
    Exponential,
    Gamma,
    Gaussian,
    NegativeBinomial,
    Poisson,
    StudentT,
)

N, ANCHORS, EIGENPAIRS, LABELED = 400, 100, 30, 80
GRAPH = {"n_anchors": ANCHORS, "n_eigenpairs": EIGENPAIRS, "random_state": 0, "residual": None, "n_jobs": 1}
# (true likelihood, what is fitted, standard deviation of f)
CASES = {
    "gaussian": (Gaussian(noise_variance=0.25), Gaussian(), 1.0),
    "bernoulli": (Bernoulli(), Bernoulli(), 2.0),
    "probit": (Bernoulli(link="probit"), Bernoulli(link="probit"), 1.0),
    "binomial": (Binomial(), Binomial(), 1.0),
    "poisson": (Poisson(), Poisson(), 1.0),
    "negative_binomial": (NegativeBinomial(dispersion=0.5), NegativeBinomial(), 1.0),
    "gamma": (Gamma(shape=2.0), Gamma(), 1.0),
    "exponential": (Exponential(), Exponential(), 1.0),
    "student_t": (StudentT(scale=0.5), StudentT(), 1.0),
}
TRIALS = 5


def simulated(name, replicates, fixed_time=None, seed=0):
    """Points, functions drawn from the prior (n, replicates), labels of the first rows (m, replicates)."""
    truth, _, spread = CASES[name]
    X = spiral(N, random_state=seed).X
    X = X[np.random.default_rng(seed).permutation(N)]
    feature_map = (
        HeatKernelFeatures(n_anchors=ANCHORS, n_eigenpairs=EIGENPAIRS, random_state=0, n_jobs=1)
        .fit(X)
        .feature_map_
    )
    features, eigenvalues = feature_map.features(feature_map.rows(X)), feature_map.eigenvalues
    rng = np.random.default_rng(seed + 1)
    slowest, finest = np.log(1 / eigenvalues[1]), np.log(1 / eigenvalues[-1])
    times = np.exp(rng.uniform(finest, slowest, replicates))
    if fixed_time is not None:
        times[:] = fixed_time
    weights = np.exp(-np.outer(eigenvalues, times))  # (M, replicates)
    draws = np.sqrt(weights / weights.sum(axis=0)) * rng.standard_normal(weights.shape)
    f = spread * features @ draws
    if name == "binomial":
        y = rng.binomial(TRIALS, truth.conditional_mean(f[:LABELED])).astype(float)
    else:
        y = truth.sample(f[:LABELED], rng)
    return X, f, y


def coverage(name, replicates, fixed_time=None, **options):
    """Average share of points whose f lies in its 90 % interval, its standard error, and seconds a fit."""
    X, functions, labels = simulated(name, replicates, fixed_time)
    shares, start = [], time.perf_counter()
    for f, y in zip(functions.T, labels.T, strict=True):
        target = np.concatenate([y, np.full(N - LABELED, np.nan)])
        known = {"trials": np.full(N, float(TRIALS))} if name == "binomial" else {}
        model = FLGPRegressor(likelihood=CASES[name][1], mean="zero", **GRAPH, **options)
        ends = model.fit(X, target, **known).latent_interval(X, 0.9)
        shares.append(np.mean((ends[:, 0] <= f) & (f <= ends[:, 1])))
    seconds = (time.perf_counter() - start) / replicates
    return np.mean(shares), np.std(shares) / np.sqrt(replicates), seconds


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--replicates", type=int, default=50)
    parser.add_argument("--inference", nargs="+", default=["auto"])
    parser.add_argument("--time", type=float, default=None)
    parser.add_argument("--likelihood", nargs="+", default=list(CASES))
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    print(
        "| likelihood | inference | integrate | optimize | seconds a fit |\n| --- | --- | --- | --- | --- |"
    )
    for name in arguments.likelihood:
        for inference in arguments.inference:
            (whole, error, seconds), (best, _, _) = (
                coverage(
                    name,
                    arguments.replicates,
                    arguments.time,
                    inference=inference,
                    hyperparameters=choice,
                )
                for choice in ("integrate", "optimize")
            )
            row = f"| {name} | {inference} | {100 * whole:.1f} ± {100 * error:.1f} % | {100 * best:.1f} % "
            print(row + f"| {seconds:.2f} |", flush=True)


if __name__ == "__main__":
    main()
