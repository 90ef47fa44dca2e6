"""The theorems of the paper, empirically: prediction error against kernel error, and error against m."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from scipy.stats import linregress

from ... import FLGPRegressor
from ..._typing import Array
from ...datasets import circle, circle_heat_kernel
from ..labels import some_labels
from .experiment import Experiment, Options, Row, seeds, threads_for
from .kernel import FLGP, eigenfeatures
from .tables import Table, means_along

THEOREM_3, CONTRACTION = "kernel-error", "contraction"
# Theorem 3: manifold time, noise and labels of the approximated posterior.
_TIME, _NOISE, _LABELS = 0.05, 0.5, 60
# (s, M, ε), with M large enough that the truncation is negligible.
_APPROXIMATIONS = [(s, 31, epsilon) for s in (200, 400) for epsilon in (0.16, 0.11, 0.08, 0.055, 0.04, 0.03)]
SMOOTHNESS = (1.0, 2.0, 4.0)
_COUNTS = (25, 50, 100, 200, 400, 800, 1600, 3200)


class Theory(Experiment):
    """Prediction error against kernel error (Theorem 3), and error against the number of labels."""

    name = "theory"
    keys = ("part", "n", "s", "M", "epsilon", "smoothness", "m", "repeat")
    metrics = ("kernel_error", "prediction_error")

    def jobs(self, options: Options) -> list[Row]:
        """Approximations of one posterior, then functions of three degrees of smoothness."""
        repeats = options.repeats_or(10, 1)
        (n,) = options.sizes_or((6000,), (3000,))[:1]
        counts = [m for m in _COUNTS if m <= (800 if options.quick else n)]
        first = [
            (THEOREM_3, n, s, M, epsilon, 0.0, _LABELS, repeat)
            for repeat in range(min(repeats, 3))
            for s, M, epsilon in _APPROXIMATIONS
        ]
        second = [
            (CONTRACTION, n, 600, 200, 0.0, smoothness, m, repeat)
            for repeat in range(repeats)
            for smoothness in SMOOTHNESS
            for m in counts
        ]
        return [dict(zip(self.keys, values, strict=True)) for values in first + second]

    def run(self, job: Mapping[str, Any], options: Options) -> Row:
        """Both errors of a job; a contraction has no kernel error."""
        one = seeds(options, job["repeat"])
        return _theorem_3(job, one) if job["part"] == THEOREM_3 else _contraction(job, one)

    def tables(self, rows: Sequence[Row], options: Options) -> list[Table]:
        lines: list[tuple[str, ...]] = []
        x, y = theorem_3_points(rows)
        if len(x) > 2:
            slope, error = fitted_slope(x, y)
            lines.append(("prediction error against kernel error", f"{slope:.2f} ± {error:.2f}", "1 (bound)"))
        for smoothness in SMOOTHNESS:
            m, errors = contraction_points(rows, smoothness)
            if len(m) > 2:
                slope, error = fitted_slope(m, errors)
                rate = -smoothness / (2 * smoothness + 1)
                lines.append(
                    (f"error against m, β = {smoothness:g}", f"{slope:.2f} ± {error:.2f}", f"{rate:.2f}")
                )
        note = (
            "Slopes of log-log lines by least squares, with standard errors. Theorem 3 bounds the gap "
            "between the predictions of the estimated and the exact heat kernel by a multiple of the kernel "
            "error. Contraction: root mean squared error of f on the circle with coefficients k^(-β-1/2); "
            "the best possible rate is m^(-β/(2β+1))."
        )
        return [Table("theory", "Theory, empirically", ("relation", "slope here", "theory"), lines, note)]

    def figures(self, rows: Sequence[Row], options: Options) -> Iterator[tuple[str, Any]]:
        from .draw import theory as draw

        yield "theory", draw.both(rows)


def _theorem_3(job: Mapping[str, Any], one: list[int]) -> Row:
    """Posterior means under the exact and the estimated kernel, with the same labels and noise."""
    data = circle(job["n"], noise_sd=_NOISE, random_state=one[0])
    known = np.random.default_rng(one[1]).choice(job["n"], size=job["m"], replace=False)
    reach = int(np.ceil(10 * job["epsilon"] * job["s"] / (2 * np.pi)))  # anchors within five bandwidths
    eigenvalues, features = eigenfeatures(data.X, {**job, "method": FLGP, "r": reach}, one[2])
    weights = np.exp(-_TIME / job["epsilon"] ** 2 * eigenvalues)
    estimate = (features * weights) @ features[known].T
    exact = circle_heat_kernel(data.theta[:, None], data.theta[known], _TIME, measure="probability")
    y = data.y[known]
    gap = _posterior_mean(estimate, known, y) - _posterior_mean(exact, known, y)
    return {
        "kernel_error": float(np.abs(estimate - exact).max() / exact.max()),
        "prediction_error": float(np.sqrt(np.mean(gap**2))),
    }


def _posterior_mean(cross: Array, known: Array, y: Array) -> Array:
    joint = cross[known] + _NOISE**2 * np.eye(len(known))
    return cross @ np.linalg.solve(joint, y)


def _contraction(job: Mapping[str, Any], one: list[int]) -> Row:
    """Error of FLGP for a function of known smoothness."""
    n = job["n"]
    data = circle(n, noise_sd=0.3, random_state=one[0])
    f = rough_function(data.theta, job["smoothness"], one[3])
    labels, _ = some_labels(f + data.noise, job["m"], one[1])
    model = FLGPRegressor(
        n_anchors=job["s"],
        n_eigenpairs=job["M"],
        residual=None,
        scaling=None,
        random_state=one[2],
        n_jobs=threads_for(n),
    ).fit(data.X, labels)
    return {"kernel_error": "", "prediction_error": float(np.sqrt(np.mean((model.transduction_ - f) ** 2)))}


def rough_function(theta: Array, smoothness: float, seed: int) -> Array:
    """Σ_k k^(-β-1/2) cos(kθ + random phase), scaled to variance 1: in every Sobolev ball below β."""
    k = np.arange(1, 80)
    phase = np.random.default_rng(seed).uniform(0, 2 * np.pi, len(k))
    f = np.cos(np.multiply.outer(theta, k) + phase) @ k ** (-smoothness - 0.5)
    return f / f.std()


def theorem_3_points(rows: Sequence[Row]) -> tuple[Array, Array]:
    """Kernel and prediction errors, one point per approximation and repeat."""
    chosen = [row for row in rows if row["part"] == THEOREM_3]
    return (
        np.array([row["kernel_error"] for row in chosen], dtype=float),
        np.array([row["prediction_error"] for row in chosen], dtype=float),
    )


def contraction_points(rows: Sequence[Row], smoothness: float) -> tuple[Array, Array]:
    """Numbers of labels and the mean error at each."""
    means = means_along(rows, "prediction_error", "m", part=CONTRACTION, smoothness=smoothness)
    points = np.array(means, dtype=np.float64).reshape(-1, 2)
    return points[:, 0], points[:, 1]


def fitted_slope(x: Array, y: Array) -> tuple[float, float]:
    """Slope of log y against log x, and its standard error."""
    line = linregress(np.log(x), np.log(y))
    return float(line.slope), float(line.stderr)


EXPERIMENT = Theory()
