"""From a neighbour graph and labelled rows to a feature map and fitted heads: the one fit of all variants."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from .._threads import thread_map
from .._typing import Array, IntArray
from ..blocks import Blocks
from ..feature_map import FeatureMap, fit_feature_map
from ..graph import NeighborBlock, NeighborGraph
from ..kernels import SpectralKernel
from ..likelihoods import Bernoulli, Categorical, Gaussian, Observations
from .expectation_propagation import ExpectationPropagation
from .gaussian import GaussianInference
from .hyper import (
    AMPLITUDE,
    TIME,
    Evidence,
    Fit,
    HyperSpace,
    Inference,
    fit_at,
    maximize,
    starting_times,
    time_bounds,
)
from .laplace import LaplaceInference
from .priors import HalfNormal, InverseGamma, LogNormal, Prior, time_prior
from .softmax import SoftmaxLaplace

# Bandwidths are searched as c in 4ε² = c · mean d², the paper's grid, then refined around the best.
BANDWIDTH_GRID = np.geomspace(0.1, 10.0, 20)
_REFINEMENTS = 3
# Rows that the search for the bandwidth looks at, and more where there are many anchors, up to twice as many;
# the final graph uses all.
_SEARCH_ROWS, _SEARCH_ROWS_PER_ANCHOR = 65_536, 100
# m·M² from which heads are learned side by side.
_THREADED_SIZE = 5e7


@dataclass(frozen=True)
class Kept:
    """Hyperparameters of an earlier fit."""

    values: Mapping[str, float]
    likelihood: Any  # with its learned parameters


@dataclass(frozen=True)
class Task:
    """One latent function to learn: which labelled rows tell about it, and what they say."""

    rows: IntArray  # positions among the labelled rows
    obs: Observations
    likelihood: Any  # Likelihood, or Categorical for coupled classes
    offset: float = 0.0  # prior mean of f
    intercept_variance: float | None = None  # of a learned constant about `offset`
    kept: Kept | None = None  # hyperparameters that are not to be learned again


@dataclass(frozen=True)
class Settings:
    """Everything about the fit that is not data."""

    n_eigenpairs: int
    kernel: SpectralKernel = field(default_factory=SpectralKernel)
    bandwidth: float | None = None  # ε; None: searched (SE only)
    fixed: Mapping[str, float] = field(default_factory=dict)  # hyperparameters that are given
    inference: str = "auto"
    n_threads: int = 1
    time_prior: str | Prior = "graph"
    dimension: float | None = None  # d of the paper's prior
    bandwidths: Array = field(default_factory=lambda: BANDWIDTH_GRID)  # c, where ε is searched
    fit_map: Callable[..., FeatureMap] = fit_feature_map  # who supplies the eigenfeatures


@dataclass(frozen=True)
class Head:
    """A task with its evidence and its best hyperparameters."""

    task: Task
    evidence: Evidence
    fit: Fit


@dataclass(frozen=True)
class Learned:
    """The result of learning."""

    feature_map: FeatureMap
    heads: list[Head]
    bandwidth_trace: list[tuple[float, float]]  # (ε, log posterior) in the order tried

    @property
    def log_posterior(self) -> float:
        """Sum over the heads."""
        return sum(head.fit.log_posterior for head in self.heads)


def learn(graph: NeighborGraph, labeled: NeighborBlock, tasks: Sequence[Task], settings: Settings) -> Learned:
    """Choose the bandwidth (SE only) and the hyperparameters by evidence.

    Parameters
    ----------
    graph : NeighborGraph
        All rows.
    labeled : NeighborBlock
        Neighbours of the labelled rows.
    tasks : sequence of Task
    settings : Settings
    """
    if graph.local or settings.bandwidth is not None:
        return learn_at(graph, labeled, tasks, settings, None if graph.local else settings.bandwidth)
    sample = _search_blocks(graph)
    trace: list[tuple[float, float]] = []
    beside: Learned | None = None
    best: tuple[float, Learned] | None = None

    def attempt(c: float) -> None:
        nonlocal best, beside
        epsilon = float(np.sqrt(c * graph.mean_sqdist) / 2.0)
        beside = learn_at(graph, labeled, tasks, settings, epsilon, sample, beside, rough=True)
        trace.append((epsilon, beside.log_posterior))
        if best is None or beside.log_posterior > best[1].log_posterior:
            best = (c, beside)

    # The widest first: its eigenvectors are far apart, quickly found, and a start for those of the narrow
    # ones, which nearly take the graph to pieces.
    for c in settings.bandwidths[::-1]:
        attempt(float(c))
    step = float(settings.bandwidths[1] / settings.bandwidths[0])
    for _ in range(_REFINEMENTS):
        assert best is not None
        step, center = float(np.sqrt(step)), best[0]
        for c in (center * step, center / step):
            beside = best[1]
            attempt(c)
    assert best is not None
    epsilon = float(np.sqrt(best[0] * graph.mean_sqdist) / 2.0)
    final = learn_at(graph, labeled, tasks, settings, epsilon)
    return Learned(final.feature_map, final.heads, trace)


def _search_blocks(graph: NeighborGraph) -> Blocks[NeighborBlock] | None:
    """Every k-th row, enough of them to rank the bandwidths; None: all rows."""
    rows = int(np.clip(_SEARCH_ROWS_PER_ANCHOR * len(graph.anchors), _SEARCH_ROWS, 2 * _SEARCH_ROWS))
    stride = graph.n_rows // rows
    return graph.blocks.map_at(_Thin(stride)) if stride > 1 else None


class _Thin:
    def __init__(self, stride: int) -> None:
        self.stride = stride

    def __call__(self, block: NeighborBlock, start: int) -> NeighborBlock:
        # The same rows however they are divided into blocks.
        return block.thinned(self.stride, -start % self.stride)


def learn_at(
    graph: NeighborGraph,
    labeled: NeighborBlock,
    tasks: Sequence[Task],
    settings: Settings,
    epsilon: float | None,
    blocks: Blocks[NeighborBlock] | None = None,
    beside: Learned | None = None,
    rough: bool = False,
) -> Learned:
    """Feature map at one bandwidth, and the heads on it.

    `beside`: what was learned at another bandwidth, to begin from. `rough`: good enough to rank bandwidths.
    """
    near = None if beside is None else beside.feature_map
    feature_map = settings.fit_map(graph, settings.n_eigenpairs, epsilon, blocks, settings.n_threads, near)
    features = feature_map.features(feature_map.rows_of(labeled))
    warm: Sequence[Head | None] = [None] * len(tasks) if beside is None else beside.heads

    def fit_head(item: tuple[Task, Head | None]) -> Head:
        task, other = item
        return fit_task(task, features[task.rows], feature_map.eigenvalues, settings, other, rough)

    # Small matrices leave threads nothing but each other to wait for.
    n_threads = settings.n_threads if len(features) * features.shape[1] ** 2 > _THREADED_SIZE else 1
    heads = list(thread_map(fit_head, zip(tasks, warm, strict=True), n_threads))
    return Learned(feature_map, heads, [])


def fit_task(
    task: Task,
    features: Array,
    eigenvalues: Array,
    settings: Settings,
    warm: Head | None = None,
    rough: bool = False,
) -> Head:
    """Learn the hyperparameters of one head from its labelled features (m, M).

    `warm`: the same head on features that are not much different.
    """
    if task.intercept_variance is not None:
        features = np.column_stack([features, np.ones(len(features))])
    inference = make_inference(settings.inference, features, task)
    space = hyper_space(task, eigenvalues, settings)
    evidence = Evidence(
        inference, eigenvalues, settings.kernel, task.likelihood, space, task.intercept_variance
    )
    if task.kept is not None and set(space.free) <= set(task.kept.values):
        return Head(task, evidence, fit_at(evidence, space.theta(task.kept.values), None))
    starts, alternatives = _starts(task, evidence, warm)
    return Head(task, evidence, maximize(evidence, starts, alternatives, rough))


def make_inference(name: str, features: Array, task: Task) -> Inference:
    """The approximation by name; "auto": exact for Gaussian, EP for Bernoulli, Laplace for the rest."""
    likelihood = task.likelihood
    if isinstance(likelihood, Categorical):
        return SoftmaxLaplace(features, task.obs, likelihood.n_classes)
    if isinstance(likelihood, Gaussian):
        return GaussianInference(features, task.obs, task.offset)
    if name == "auto":
        name = "ep" if isinstance(likelihood, Bernoulli) else "laplace"
    kind = ExpectationPropagation if name == "ep" else LaplaceInference
    return kind(features, task.obs, task.offset)


def hyper_space(task: Task, eigenvalues: Array, settings: Settings) -> HyperSpace:
    """Names, bounds and priors of a head's hyperparameters; see `priors` for what they are."""
    likelihood, obs = task.likelihood, task.obs
    scale = likelihood.latent_scale(obs)
    initial = likelihood.initial_parameters(obs)
    own = likelihood.parameter_names
    set_already = {name: float(value) for name in own if (value := getattr(likelihood, name)) is not None}
    of_time = time_prior(settings.time_prior, eigenvalues, settings.dimension)
    priors: dict[str, Prior] = {TIME: of_time, AMPLITUDE: HalfNormal(3.0 * scale)}
    for name in own:
        if name == "noise_variance":
            priors[name] = InverseGamma(0.1, 1e-3 * scale**2)
        else:
            priors[name] = LogNormal(initial[name], 2.0)
    shortest, longest = time_bounds(eigenvalues)
    return HyperSpace(
        names=(TIME, AMPLITUDE, *own),
        fixed={**{k: v for k, v in settings.fixed.items() if k in (TIME, AMPLITUDE, *own)}, **set_already},
        bounds={
            TIME: (shortest, min(longest, getattr(of_time, "upper", longest))),
            AMPLITUDE: (1e-6 * scale**2, 1e6 * scale**2),
            **likelihood.parameter_bounds(obs),
        },
        priors=priors,
        eigenvalues=eigenvalues,
        kernel=settings.kernel,
    )


def _starts(task: Task, evidence: Evidence, warm: Head | None) -> tuple[list[Array], int]:
    """Starting points: several diffusion times, each with amplitudes that give f a plausible variance.

    Gaussian labels show the variance of f. Others only bound it from below, so two amplitudes are tried:
    with a large one alone, a smooth function with little noise looks worse than a constant.

    Beside another bandwidth the variance of f and the likelihood's parameters are those found there (`warm`);
    t is counted in steps of the graph, which are others there, so it starts anew. The noise depends on the
    mode in t, so its first guess is tried as well.

    Returns
    -------
    starts : list of arrays (k,), in order of t
    alternatives : int
        Starts for each t.
    """
    free = evidence.space.free
    scale = task.likelihood.latent_scale(task.obs)
    initial = task.likelihood.initial_parameters(task.obs)
    spreads = (1.0,) if isinstance(task.likelihood, Gaussian) else (0.6, 3.0)
    choices = [((spread * scale) ** 2, initial) for spread in spreads]
    if warm is not None:
        known = warm.fit.values
        variance = known[AMPLITUDE] * _trace(warm.evidence, known[TIME])
        there = (variance, {name: known[name] for name in initial})
        choices = [there, choices[0]] if set(initial) & set(free) else [there]
    elif AMPLITUDE not in free:
        choices = choices[:1]  # they differ in nothing that is learned
    starts = []
    for time in starting_times(evidence.eigenvalues):
        for variance, own in choices:
            values = {TIME: time, AMPLITUDE: variance / _trace(evidence, time), **own}
            starts.append(np.log([values[name] for name in free]))
    return starts, len(choices)


def _trace(evidence: Evidence, time: float) -> float:
    """Σ_j of the kernel's spectral density: n times the mean variance of f at amplitude 1."""
    return float(np.exp(evidence.kernel.log_density(evidence.eigenvalues, time)).sum())
