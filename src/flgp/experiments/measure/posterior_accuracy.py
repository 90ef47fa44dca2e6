"""Approximate posteriors of classifiers against long Markov chains at the same hyperparameters.

Prints a Markdown table: mean absolute difference of the class probabilities from the chains, negative
log-likelihood, expected calibration error and error rate at the unlabelled points. With --seeds, it uses the
paper's circles (n = 9000, s = 600, M = 100, m = 50) with that many seeds, and prints the column means.
"""

from __future__ import annotations

import time
import warnings
from argparse import ArgumentParser, Namespace
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from sklearn.datasets import load_digits

from ... import FLGPClassifier
from ..._typing import Array, IntArray
from ...datasets import circles
from ...estimators.class_probabilities import exactly_one
from ...inference.chains import run_chains
from ...inference.gibbs import gibbs_sampler
from ...inference.posterior import Design
from ...inference.sampler import WeightDensity
from ...metrics import expected_calibration_error, negative_log_likelihood
from ..labels import only_at

GIBBS = "Gibbs, one-vs-rest"
# Draws of the chains that probabilities of coupled classes are averaged over.
_KEPT_DRAWS = 400


@dataclass(frozen=True)
class Problem:
    """Points with their classes, and the number of labels."""

    name: str
    X: Array
    y: IntArray
    m: int
    options: dict[str, Any] = field(default_factory=dict)  # of the classifier
    seed: int = 0


def problems() -> Iterator[Problem]:
    """The circles, and digits with few and many labels."""
    data = circles(3000, random_state=0)
    yield Problem("circles, m = 50", data.X, data.y, 50)
    X, y = load_digits(return_X_y=True)
    yield Problem("digits, m = 50", X, y, 50, {"n_eigenpairs": 100})
    yield Problem("digits, m = 500", X, y, 500, {"n_eigenpairs": 100})


def posteriors(
    X: Array, labels: IntArray, new: Array, draws: int, **options: Any
) -> tuple[dict[str, Array], float]:
    """Class probabilities (b, C) of `new` by method, all at the same hyperparameters; and the worst R-hat.

    The hyperparameters maximise the evidence of expectation propagation.
    """
    options = {"linear": None, "residual": None, "calibrate": False, "scaling": None, **options}
    learned = FLGPClassifier(**options).fit(X, labels)
    fixed: dict[str, Any] = {"diffusion_time": learned.diffusion_time_, "amplitude": learned.amplitude_}
    chains: dict[str, Any] = {"inference": "gibbs", "n_chains": 4, "n_draws": draws, "n_warmup": draws // 2}
    sampled: Any = FLGPClassifier(**options, **fixed, **chains).fit(X, labels)
    found = {"Gibbs": sampled.predict_proba(new)}
    found["EP"] = learned.predict_proba(new)
    found["Laplace"] = (
        FLGPClassifier(**options, **fixed, inference="laplace").fit(X, labels).predict_proba(new)
    )
    return found, sampled.chains_.max_rhat


def coupled(
    X: Array, labels: IntArray, new: Array, draws: int, **options: Any
) -> tuple[dict[str, Array], float]:
    """Probabilities of coupled classes by expectation propagation and by long chains; the worst R-hat."""
    model: Any = FLGPClassifier(linear=None, residual=None, calibrate=False, **options).fit(X, labels)
    (function,) = model._relearned()
    evidence, best = function.evidence, function.best
    d, target = evidence.variances(best.values), function.target
    design = Design.of(evidence.inference.features, d)
    chains = run_chains(
        gibbs_sampler(WeightDensity(design.matrix, target.obs, best.likelihood, target.constant.mean)),
        seed=0,
        n_draws=draws,
        n_warmup=draws // 2,
    )
    rows = target.with_constant(evidence.terms.features(model._inputs(new))) * design.root
    weights = chains.merged[:: max(len(chains.merged) // _KEPT_DRAWS, 1)]
    rng, total = np.random.default_rng(0), np.zeros((len(new), best.likelihood.n_classes))
    for v in weights:  # directions that no label sees keep their prior
        w = v
        if design.basis is not None:
            free = rng.standard_normal((len(d), v.shape[1]))
            w = design.basis @ v + free - design.basis @ (design.basis.T @ free)
        total += best.likelihood.conditional(target.constant.mean + rows @ w)
    found = {"Gibbs": total / len(weights), "EP": model.predict_proba(new)}
    return found, chains.max_rhat


def one_vs_rest(
    X: Array, labels: IntArray, new: Array, draws: int, **options: Any
) -> tuple[dict[str, Array], float]:
    """Like `posteriors`, with a latent function and hyperparameters for each class."""
    classes = np.unique(labels[labels >= 0])
    if len(classes) == 2:
        return posteriors(X, labels, new, draws, **options)
    # A separate classifier for each class: given hyperparameters apply to all functions of a classifier.
    known = labels >= 0
    parts = [posteriors(X, np.where(known, labels == c, -1), new, draws, **options) for c in classes.tolist()]
    names = parts[0][0]
    columns = {name: np.stack([found[name][:, 1] for found, _ in parts], axis=1) for name in names}
    return {name: exactly_one(p) for name, p in columns.items()}, max(worst for _, worst in parts)


def compare(
    problem: Problem, draws: int, with_coupled: bool = False
) -> tuple[dict[str, tuple[float, ...]], float]:
    """By method: difference, NLL, ECE, error in %; and the worst R-hat."""
    X, y = problem.X, problem.y
    shown = np.random.default_rng(problem.seed).permutation(len(X))[: problem.m]
    labels = only_at(shown, y)
    hidden = np.setdiff1d(np.arange(len(X)), shown)
    classes = np.unique(y[shown])
    options = {"random_state": problem.seed, "n_jobs": 1, **problem.options}
    found, worst = one_vs_rest(X, labels, X[hidden], draws, **options)
    table = {f"{name}, one-vs-rest": p for name, p in found.items()}
    if len(classes) > 2 and with_coupled:
        found, worst_coupled = coupled(X, labels, X[hidden], 4 * draws, **options)
        table |= {f"{name}, coupled": p for name, p in found.items()}
        worst = max(worst, worst_coupled)
    known = np.isin(y[hidden], classes)
    truth = y[hidden][known]
    scores: dict[str, tuple[float, ...]] = {}
    for name, p in table.items():
        reference = table["Gibbs, coupled" if "coupled" in name else GIBBS]
        scores[name] = (
            float(np.abs(p - reference).mean()),
            negative_log_likelihood(truth, p[known], classes=classes),
            expected_calibration_error(truth, p[known], classes=classes),
            100 * float(np.mean(classes[p[known].argmax(axis=1)] != truth)),
        )
    return scores, worst


def show(name: str, scores: dict[str, tuple[float, ...]], worst: float) -> None:
    """Print the rows of one problem."""
    for label, (difference, nll, ece, error) in scores.items():
        print(f"| {name} | {label} | {difference:.4f} | {nll:.3f} | {ece:.3f} | {error:.1f} % |")
    print(f"<!-- {name}: largest R-hat {worst:.3f} -->", flush=True)


def many_circles(seeds: int, draws: int) -> None:
    """Print the means over the seeds for the paper's circles."""
    runs = []
    for seed in range(seeds):
        data = circles(9000, random_state=seed)
        options = {"n_anchors": 600, "n_eigenpairs": 100}
        runs.append(compare(Problem("", data.X, data.y, 50, options, seed), draws))
    means = {
        label: tuple(np.mean([scores[label] for scores, _ in runs], axis=0).tolist()) for label in runs[0][0]
    }
    show(f"circles, n = 9000, {seeds} seeds", means, max(worst for _, worst in runs))
    gaps = [abs(scores["EP, one-vs-rest"][1] - scores[GIBBS][1]) for scores, _ in runs]
    print(f"<!-- largest gap in NLL between EP and Gibbs {max(gaps):.3f} -->")


def add_options(parser: ArgumentParser) -> None:
    parser.add_argument("--draws", type=int, default=1000, help="of each of four chains")
    parser.add_argument("--coupled", action="store_true", help="coupled classes as well")
    parser.add_argument("--seeds", type=int, default=0)
    parser.add_argument("--only", default="", help="problems whose name contains this")


def measure(options: Namespace) -> None:
    print("| data | posterior | difference from Gibbs | NLL | ECE | error |\n|" + " --- |" * 6)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if options.seeds:
            many_circles(options.seeds, options.draws)
            return
        for problem in problems():
            if options.only in problem.name:
                start = time.perf_counter()
                show(problem.name, *compare(problem, options.draws, options.coupled))
                print(f"<!-- {time.perf_counter() - start:.0f} s -->", flush=True)
