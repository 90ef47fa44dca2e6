"""Accuracy of the estimated heat kernel on a circle, a sphere and a flat torus."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from ..._threads import threads
from ..._typing import Array
from ...datasets import circle, sphere, torus
from ...geometry.landmarks import FittedLandmarks, join_to_landmarks
from ...geometry.point_cloud import FittedCloud, choose_anchors, join_to_anchors
from ...rows.blocks import row_blocks
from .experiment import Experiment, Options, Row, seeds, threads_for
from .tables import Table, cell, summarize

MANIFOLDS = ("circle", "sphere", "torus")
FLGP, GLGP = "flgp", "glgp"
# Diffusion times (manifold units) at which the kernel is peaked but its eigenfunctions are few.
TIMES = {"circle": 0.01, "sphere": 0.3, "torus": 0.5}
_MAKE: dict[str, Any] = {"circle": circle, "sphere": sphere, "torus": torus}

# The paper's grid on the circle, then schedules along which n, s and M grow and ε shrinks. There r reaches
# five bandwidths: a kernel truncated earlier diffuses more slowly than t/ε² suggests.
_PAPER = [("circle", 6000, 200, 10, M, epsilon) for epsilon in (0.02, 0.08) for M in (20, 25, 30, 40)]
_TOGETHER = [
    ("circle", 1500, 100, 26, 17, 0.16),
    ("circle", 3000, 200, 26, 25, 0.08),
    ("circle", 6000, 400, 26, 33, 0.04),
    ("circle", 12_000, 800, 26, 41, 0.02),
    ("sphere", 1000, 250, 125, 16, 0.28),
    ("sphere", 2000, 500, 125, 25, 0.2),
    ("sphere", 4000, 1000, 125, 36, 0.14),
    ("sphere", 8000, 1500, 125, 49, 0.115),
    ("torus", 1000, 250, 80, 37, 0.4),
    ("torus", 2000, 500, 80, 45, 0.28),
    ("torus", 4000, 1000, 80, 49, 0.2),
    ("torus", 8000, 1500, 80, 57, 0.16),
]
_GLGP_LARGEST = 6000


class Kernel(Experiment):
    """The supplement's experiment: estimated and exact heat kernels on circle, sphere and torus."""

    name = "kernel"
    keys = ("series", "manifold", "method", "n", "s", "r", "M", "epsilon", "repeat")
    metrics = ("max_error", "rms_error")
    methods = (FLGP, GLGP)

    def jobs(self, options: Options) -> list[Row]:
        """The paper's settings, and schedules in which all parameters change together."""
        settings = [("paper", *each) for each in _PAPER] + [("together", *each) for each in _TOGETHER]
        largest, largest_glgp = (6000, 3000) if options.quick else (np.inf, _GLGP_LARGEST)
        return [
            dict(zip(self.keys, (series, manifold, method, n, *numbers, repeat), strict=True))
            for repeat in range(options.repeats_or(3, 1))
            for series, manifold, n, *numbers in settings
            if n <= largest and (options.n is None or n in options.n)
            for method in self.chosen_methods(options)
            if method != GLGP or (n <= largest_glgp and repeat == 0)
        ]

    def run(self, job: Mapping[str, Any], options: Options) -> Row:
        """Largest and root mean squared error over all points, relative to the peak."""
        profile = kernel_profile(job, seeds(options, job["repeat"])[2])
        gap = (profile.estimate - profile.exact) / profile.exact.max()
        return {"max_error": float(np.abs(gap).max()), "rms_error": float(np.sqrt(np.mean(gap**2)))}

    def tables(self, rows: Sequence[Row], options: Options) -> list[Table]:
        lines = []
        for values in dict.fromkeys(tuple(row[name] for name in self.keys[:-1]) for row in rows):
            key = dict(zip(self.keys, values, strict=False))
            errors = [cell(summarize(rows, metric, **key), 2, 100) for metric in self.metrics]
            lines.append((*map(str, values), str(TIMES[key["manifold"]]), *errors))
        columns = (*self.keys[:-1], "t", "max error, % of peak", "rms error, % of peak")
        note = (
            "SE weights, k-means anchors (GLGP: all points). Error of the estimated kernel between one point "
            "and all others against the exact heat kernel, as densities against the uniform probability; "
            "t/ε² graph steps."
        )
        return [Table("kernel", "Accuracy of the heat kernel", columns, lines, note)]

    def figures(self, rows: Sequence[Row], options: Options) -> Iterator[tuple[str, Any]]:
        from .draw import kernel as draw

        yield "kernel-profiles", draw.profiles(seeds(options, 0)[2])
        yield "kernel-errors", draw.errors(rows)


class Profile(NamedTuple):
    """Exact and estimated kernel between point 0 and all points, with their geodesic distances."""

    distance: Array
    exact: Array
    estimate: Array


def kernel_profile(job: Mapping[str, Any], seed: int) -> Profile:
    """The kernel of one setting from point 0."""
    data = _MAKE[job["manifold"]](job["n"], sampling="grid")
    t = TIMES[job["manifold"]]
    eigenvalues, features = eigenfeatures(data.X, job, seed)
    weights = np.exp(-t / job["epsilon"] ** 2 * eigenvalues)
    estimate = features @ (weights * features[0])
    exact = data.heat_kernel_from(0, t, measure="probability")
    return Profile(data.distances_from(0), exact, estimate)


def eigenfeatures(X: Array, job: Mapping[str, Any], seed: int) -> tuple[Array, Array]:
    """λ (M,) and φ (n, M) of FLGP with SE weights, or of the GLGP, at a given ε."""
    with threads(threads_for(job["n"])):
        geometry: FittedLandmarks | FittedCloud
        if job["method"] == GLGP:
            geometry = join_to_landmarks(X, X, None)
        else:
            anchors = choose_anchors(X, job["s"], "kmeans", np.random.default_rng(seed))
            geometry = FittedCloud(join_to_anchors(row_blocks(X), anchors, job["r"], lae=False, counts=True))
        basis = geometry.basis(job["M"], job["epsilon"])
        return basis.eigenvalues, basis.features(geometry.locate(X))


EXPERIMENT = Kernel()
