"""Long and short range together against each alone, as Markdown tables.

`map` needs nilearn (extra "neuro"), whose bundled motor map it uses. The hyperparameters of the rivals
maximise the same evidence (30 neighbours, all labels), separately for each kernel: kriging predicts from the
30 nearest labels, EGP is the dense Gaussian process on up to 5,000 labels (variances only at every 20th
point). `counts` are Poisson counts on the folded sheet; there "u alone" is the model with an amplitude of h
near 0.
"""

from __future__ import annotations

import time
from argparse import ArgumentParser, Namespace
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from scipy import linalg
from scipy.optimize import minimize
from scipy.spatial.distance import cdist

from ... import FLGPRegressor
from ..._typing import Array, IntArray
from ...datasets import circles, folded_sheet, spiral
from ...geometry.point_cloud import NeighborSearch
from ...inference.joint import JointData, evaluate
from ...likelihoods import Observations
from ...metrics import gaussian_coverage, gaussian_negative_log_likelihood
from ...process.kriging import JointPosterior, kriged_moments, kriging_weights
from ...terms.local.euclidean import LocalModel, has_shape
from ...terms.local.neighborhoods import coarse_to_fine, previous_neighborhoods
from ..labels import only_at
from .evidence import timed

RIVAL_KERNELS = ("squared_exponential", "matern52", "rational_quadratic")
EGP_LABELS, NEIGHBORS = 5_000, 30


@dataclass(frozen=True)
class Problem:
    """One data set with its labels."""

    X: Array
    y: Array
    truth: Array  # f where it is known, otherwise y
    labeled: IntArray
    settings: dict[str, Any]

    @property
    def rest(self) -> IntArray:
        """The unlabelled rows."""
        return np.setdiff1d(np.arange(len(self.X)), self.labeled)


@dataclass(frozen=True)
class Result:
    """Predictions for the unlabelled rows."""

    mean: Array
    variance: Array  # of y
    seconds: float
    note: str = ""


def flgp(problem: Problem, residual: str | None) -> Result:
    """FLGP, with or without the short-range part."""
    start = time.perf_counter()
    y = only_at(problem.labeled, problem.y)
    model: Any = FLGPRegressor(residual=residual, random_state=0, **problem.settings).fit(problem.X, y)
    mean, sd = model.predict(problem.X[problem.rest], return_std=True)
    seconds = time.perf_counter() - start
    note = (
        f"{model.residual_kernel_}, l={model.residual_length_scale_:.3g}, a2={model.residual_variance_:.3g}, "
        f"noise={model.noise_variance_:.3g}, t={model.diffusion_time_:.3g}, a={model.amplitude_:.3g}, "
        f"evidence={model.log_marginal_likelihood_value_:.0f}, "
        f"{model.optimizer_result_.n_evaluations} evaluations"
    )
    return Result(mean, sd**2, seconds, note)


def tune(X: Array, y: Array, kernel: str) -> tuple[JointData, Array, LocalModel, float]:
    """Euclidean GP with a constant mean: hyperparameters by evidence."""
    near = previous_neighborhoods(X, NEIGHBORS, coarse_to_fine(X, np.random.default_rng(0)))
    data = JointData(np.ones((len(y), 1)), y - y.mean(), np.ones(len(y)), near)
    d, scale = np.array([y.var()]), np.median(np.sort(near.cross, axis=0)[0])
    variance = y.var()
    limits = [(0.1 * scale, 1e4 * scale), (1e-6 * variance, 1e4 * variance), (1e-8 * variance, 10 * variance)]
    bounds = np.log(limits + [(0.02, 50.0)] * has_shape(kernel))

    def objective(theta: Array) -> tuple[float, Array]:
        result = evaluate(data, d, LocalModel(kernel, *np.exp(theta)))
        length, variance, *shape = result.gradient_local
        return -result.log_evidence, -np.array([length, variance, *result.gradient_parameters, *shape])

    best: Any = None
    for factor in (3.0, 20.0):
        begin = np.log([factor * scale, y.var(), 0.1 * y.var(), 1.0])[: len(bounds)]
        found = minimize(objective, begin, jac=True, method="L-BFGS-B", bounds=bounds)
        best = found if best is None or found.fun < best.fun else best
    return data, d, LocalModel(kernel, *np.exp(best.x)), -best.fun


def euclidean(problem: Problem, kernel: str) -> Iterator[tuple[str, Result]]:
    """The rivals: kriging from the nearest labels, and a dense Gaussian process."""
    X, y = problem.X[problem.labeled], problem.y[problem.labeled]
    new, start = problem.X[problem.rest], time.perf_counter()
    data, d, local, value = tune(X, y, kernel)
    note = f"l={local.length_scale:.3g}, a2={local.variance:.3g}, noise={local.noise_variance:.3g}, "
    note += f"evidence={value:.0f}"
    weights = evaluate(data, d, local).posterior
    tuned = time.perf_counter() - start
    posterior = JointPosterior.of(X, data.features, data.y, data.noise_scale, weights, local, NEIGHBORS)
    search = NeighborSearch(X)
    parts = []
    for points in np.array_split(new, max(1, len(new) // 2000)):
        ones = np.ones((len(points), 1))
        kriging = kriging_weights(posterior, points, search)
        parts.append(kriged_moments(posterior, kriging, ones @ weights.mean, ones @ weights.factor))
    mean, variance = (np.concatenate([getattr(p, name) for p in parts]) for name in ("mean", "variance"))
    seconds = time.perf_counter() - start
    yield "kriging", Result(y.mean() + mean, variance + local.noise_variance, seconds, note)
    start = time.perf_counter()
    X, y = X[:EGP_LABELS], y[:EGP_LABELS]
    K = local.covariance(cdist(X, X)) + d[0]
    K[np.diag_indices_from(K)] += local.noise_variance + 1e-9 * local.variance
    factor = linalg.cholesky(K, lower=True, overwrite_a=True)
    alpha = linalg.cho_solve((factor, True), y - y.mean())
    mean, variance = np.empty(len(new)), np.full(len(new), np.nan)
    for rows in np.array_split(np.arange(len(new)), max(1, len(new) // 2000)):
        cross = local.covariance(cdist(new[rows], X)) + d[0]
        half = linalg.solve_triangular(factor, cross[::20].T, lower=True)
        mean[rows] = y.mean() + cross @ alpha
        variance[rows[::20]] = (
            local.variance + d[0] + local.noise_variance - np.einsum("ij,ij->j", half, half)
        )
    yield "EGP", Result(mean, variance, tuned + time.perf_counter() - start, note)


def scores(problem: Problem, result: Result) -> dict[str, float]:
    """Errors, density, coverage and seconds."""
    y, truth = problem.y[problem.rest], problem.truth[problem.rest]
    known = np.isfinite(result.variance)
    stated = y[known], result.mean[known], np.sqrt(result.variance[known])
    return {
        "MSE": float(np.mean((y - result.mean) ** 2)),
        "MSE of f": float(np.mean((truth - result.mean) ** 2)),
        "NLL": gaussian_negative_log_likelihood(*stated),
        "95 %": gaussian_coverage(*stated),
        "s": result.seconds,
    }


def spiral_problem(m: int, seed: int) -> Problem:
    """A function on a spiral, m noisy labels."""
    data = spiral(4000, random_state=seed)
    labeled = np.random.default_rng(1000 + seed).permutation(4000)[:m]
    return Problem(data.X, data.y, data.f, labeled, {"n_anchors": 500, "n_eigenpairs": 50})


def circles_problem(m: int, seed: int) -> Problem:
    """Targets ±1 by circle, with noise of standard deviation 0.3."""
    data = circles(3000, random_state=seed)
    rng = np.random.default_rng(1000 + seed)
    f = 2.0 * np.asarray(data.y, dtype=float) - 1.0
    y = f + 0.3 * rng.standard_normal(len(f))
    return Problem(data.X, y, f, rng.permutation(3000)[:m], {"n_anchors": 600, "n_eigenpairs": 100})


def sheet_problem(ratio: float, seed: int) -> Problem:
    """A signal of two ranges on a folded sheet, with this fraction labelled."""
    data = folded_sheet(20_000, random_state=seed)
    labeled = np.random.default_rng(1000 + seed).permutation(20_000)[: int(ratio * 20_000)]
    return Problem(data.X, data.y, data.f, labeled, {})


def map_problem(seed: int) -> Problem:
    """The motor map bundled with nilearn, with a fifth of it labelled."""
    import nibabel
    from nilearn.datasets import load_sample_motor_activation_image

    image: Any = nibabel.load(load_sample_motor_activation_image())
    values = image.get_fdata()
    active = np.isfinite(values) & (np.abs(values) > 0.674)
    X, y = np.argwhere(active).astype(float), values[active]
    labeled = np.random.default_rng(seed).permutation(len(y))[: len(y) // 5]
    return Problem(X, y, y, labeled, {})


def compare(title: str, make: Callable[[int], Problem], seeds: int, notes: bool) -> None:
    """A table of FLGP and the rivals, with means over the seeds."""
    table: dict[str, list[dict[str, float]]] = {}
    for seed in range(seeds):
        problem = make(seed)
        results = {f"FLGP, residual={r!r}": flgp(problem, r) for r in (None, "auto")}
        for kernel in RIVAL_KERNELS:
            results |= {f"{name}, {kernel}": result for name, result in euclidean(problem, kernel)}
        for name, result in results.items():
            table.setdefault(name, []).append(scores(problem, result))
            if notes:
                mse = table[name][-1]["MSE"]
                print(f"<!-- seed {seed} {name}: {result.note}, MSE={mse:.4f} -->", flush=True)
    columns = list(next(iter(table.values()))[0])
    means = {name: {c: np.mean([row[c] for row in rows]) for c in columns} for name, rows in table.items()}
    print(f"\n### {title}, {seeds} seeds\n\n| | {' | '.join(columns)} |\n|{' --- |' * (len(columns) + 1)}")
    for name, row in means.items():
        print(f"| {name} | {' | '.join(f'{row[c]:.4g}' for c in columns)} |")
    ours = means["FLGP, residual='auto'"]
    rivals = {name: row for name, row in means.items() if name != "FLGP, residual='auto'"}
    for kinds in (RIVAL_KERNELS[:1], RIVAL_KERNELS[:2], RIVAL_KERNELS):
        allowed = {n: row for n, row in rivals.items() if n.startswith("FLGP") or n.endswith(kinds)}
        lowest = min(allowed, key=lambda name: allowed[name]["MSE"])
        ratio, of_f = (ours[c] / allowed[lowest][c] for c in ("MSE", "MSE of f"))
        print(f"\nRivals with {', '.join(kinds)}: {ratio:.3f} × the MSE of {lowest} ({of_f:.3f} × for f).")
    ratio = np.sqrt(ours["MSE of f"] / means["FLGP, residual=None"]["MSE of f"])
    print(f"\nRMSE of f against FLGP without residual: {ratio:.3f}.", flush=True)


def counts(seeds: int) -> None:
    """Poisson counts with log-rate 1 + f/2 on the folded sheet: negative log predictive density."""
    kinds: dict[str, dict[str, Any]] = {
        "FLGP, residual=None": {"residual": None},
        "FLGP, residual='local'": {"residual": "local"},
        "u alone": {"residual": "local", "amplitude": 1e-8},
    }
    for m in (500, 2000):
        table: dict[str, list[tuple[float, ...]]] = {name: [] for name in kinds}
        for seed in range(seeds):
            data = folded_sheet(20_000, random_state=seed)
            rng = np.random.default_rng(1000 + seed)
            f = 1.0 + 0.5 * data.f
            y, order = rng.poisson(np.exp(f)).astype(float), rng.permutation(20_000)
            rest = order[m:]
            target = only_at(order[:m], y)
            for name, options in kinds.items():
                start = time.perf_counter()
                model: Any = FLGPRegressor(likelihood="poisson", random_state=0, **options)
                model.fit(data.X, target)
                mean, variance = model.latent_mean_and_variance(data.X[rest])
                seconds = time.perf_counter() - start
                nll = -model.likelihood_.tilted(
                    Observations.of(y[rest]), mean, variance
                ).log_normalizer.mean()
                inside = gaussian_coverage(f[rest], mean, np.sqrt(variance))
                evidence = model.log_marginal_likelihood_value_
                error = float(np.mean((f[rest] - mean) ** 2))
                table[name].append((nll, error, inside, evidence, seconds))
        head = ("NLL", "MSE of f", "95 % of f", "evidence", "s")
        print(f"\n### Counts on the folded sheet, m = {m}, {seeds} seeds\n\n| | {' | '.join(head)} |")
        print("|" + " --- |" * 6)
        for name, rows in table.items():
            print(f"| {name} | {' | '.join(f'{value:.4g}' for value in np.mean(rows, axis=0))} |", flush=True)


def cost() -> None:
    """One evaluation with gradient at m = 14,000, M = 500, k = 30, in Cholesky factors of size 2,000."""
    rng = np.random.default_rng(0)
    m, M = 14_000, 500
    points = rng.random((m, 3))
    near = previous_neighborhoods(points, NEIGHBORS, coarse_to_fine(points, rng))
    data = JointData(rng.standard_normal((m, M)), rng.standard_normal(m), np.ones(m), near)
    A = rng.standard_normal((2000, 2100))
    gram = A @ A.T

    def best(function: Callable[[], object]) -> float:
        return min(timed(function) for _ in range(3))

    unit = best(lambda: linalg.cholesky(gram, lower=True))
    print(f"\n### Cost\n\nOne Cholesky factorisation of size 2,000: {unit:.3f} s.\n")
    print("| kernel | one evaluation | in factorisations |\n| --- | --- | --- |")
    for kernel in RIVAL_KERNELS:
        local = LocalModel(kernel, 0.1, 1.0, 0.1)
        seconds = best(lambda local=local: evaluate(data, np.ones(M), local))  # type: ignore[misc]
        print(f"| {kernel} | {seconds:.2f} s | {seconds / unit:.1f} |", flush=True)


# The title of each table of a part, and its problem for a seed.
COMPARISONS: dict[str, dict[str, Callable[[int], Problem]]] = {
    "spiral": {f"Spiral, m = {m}": partial(spiral_problem, m) for m in (50, 200)},
    "circles": {f"Circles, m = {m}": partial(circles_problem, m) for m in (50, 200)},
    "sheet": {f"Folded sheet, m/n = {ratio}": partial(sheet_problem, ratio) for ratio in (0.05, 0.2)},
    "map": {"Motor map of nilearn, 20 % labelled": map_problem},
}
PARTS = (*COMPARISONS, "counts", "cost")


def add_options(parser: ArgumentParser) -> None:
    parser.add_argument("what", nargs="*", help=f"some of {', '.join(PARTS)}; default: all")
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--notes", action="store_true", help="hyperparameters of every fit, as comments")


def measure(options: Namespace) -> None:
    for what in options.what or PARTS:
        if what not in PARTS:
            raise ValueError(f"unknown part {what!r}. Use some of {', '.join(PARTS)}.")
        for title, make in COMPARISONS.get(what, {}).items():
            compare(title, make, options.seeds, options.notes)
        if what == "counts":
            counts(options.seeds)
        elif what == "cost":
            cost()
