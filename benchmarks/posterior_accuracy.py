"""Approximate posteriors of classifiers against long Markov chains at the same hyperparameters.

    python benchmarks/posterior_accuracy.py [--draws 1000] [--softmax] [--only circles] [--seeds 10]

Prints a Markdown table: mean absolute difference of the class probabilities from the chains', negative
log-likelihood, expected calibration error and error rate at the points without a label. With --seeds, the
paper's circles (n = 9000, s = 600, M = 100, m = 50) for that many draws instead, and the mean of each column.
"""

import argparse
import time
import warnings
from dataclasses import replace

import numpy as np
from sklearn.datasets import load_digits

from flgp import FLGPClassifier
from flgp.datasets import circles
from flgp.estimators._component import gaussian_component, sampled_component, softmax_components
from flgp.estimators.classifier import exactly_one
from flgp.inference.draws import ChainSettings
from flgp.inference.laplace import LaplaceInference
from flgp.metrics import expected_calibration_error, negative_log_likelihood


def problems():
    """Name, points, labels and number of labels shown."""
    data = circles(3000, random_state=0)
    yield "circles, m = 50", data.X, data.y, 50, {}
    X, y = load_digits(return_X_y=True)
    yield "digits, m = 50", X, y, 50, {"n_eigenpairs": 100}
    yield "digits, m = 500", X, y, 500, {"n_eigenpairs": 100}


def probabilities(components, rows, n_classes):
    """Class probabilities (n, C) from one component for each latent function."""
    columns = np.stack([part.predictive_mean(rows) for part in components], axis=1)
    return np.column_stack([1 - columns, columns]) if n_classes == 2 else exactly_one(columns)


def laplace_at(head):
    """The same head, with Laplace's posterior at the same hyperparameters."""
    inference = LaplaceInference(head.evidence.inference.features, head.task.obs, head.task.offset)
    d = head.evidence.weights(head.fit.values)
    return replace(head, fit=replace(head.fit, evaluation=inference.evaluate(d, head.fit.likelihood)))


def compare(name, X, y, m, options, settings, softmax, seed=0):
    """By method: difference, NLL, ECE, error in %; and the worst R-hat."""
    rng = np.random.default_rng(seed)
    shown = rng.permutation(len(X))[:m]
    labels = np.full(len(X), -1)
    labels[shown] = y[shown]
    hidden = np.setdiff1d(np.arange(len(X)), shown)
    classes = np.unique(y[shown])
    model = FLGPClassifier(random_state=seed, n_jobs=1, **options).fit(X, labels)
    feature_map, rows = model.feature_map_, model.feature_map_.rows(X[hidden].astype(float))
    heads, table = model._heads_, {}
    exact = [sampled_component(feature_map, [(1.0, head)], settings, i) for i, head in enumerate(heads)]
    worst = max(chains.max_rhat for _, (chains,) in exact)
    table["Gibbs, one-vs-rest"] = probabilities([part for part, _ in exact], rows, len(classes))
    for label, change in (("EP", lambda head: head), ("Laplace", laplace_at)):
        parts = [gaussian_component(feature_map, change(head)) for head in heads]
        table[f"{label}, one-vs-rest"] = probabilities(parts, rows, len(classes))
    if len(classes) > 2 and softmax:
        model = FLGPClassifier(random_state=0, n_jobs=1, multi_class="softmax", **options).fit(X, labels)
        (head,), feature_map = model._heads_, model.feature_map_
        points = [(1.0, head)]
        table["Gibbs, softmax"] = softmax_components(feature_map, points, settings, 0)[0].probabilities(rows)
        table["Laplace, softmax"] = softmax_components(feature_map, points, None, 0)[0].probabilities(rows)
    found = {}
    for label, p in table.items():
        reference = table["Gibbs, softmax" if "softmax" in label else "Gibbs, one-vs-rest"]
        known = np.isin(y[hidden], classes)
        truth = y[hidden][known]
        found[label] = (
            np.abs(p - reference).mean(),
            negative_log_likelihood(truth, p[known], classes=classes),
            expected_calibration_error(truth, p[known], classes=classes),
            100 * np.mean(classes[p[known].argmax(axis=1)] != truth),
        )
    return found, worst


def show(name, found, worst):
    for label, (difference, nll, ece, error) in found.items():
        print(f"| {name} | {label} | {difference:.4f} | {nll:.3f} | {ece:.3f} | {error:.1f} % |")
    print(f"<!-- {name}: largest R-hat {worst:.3f} -->", flush=True)


def many_circles(seeds, settings):
    """The mean over seeds for the paper's circles."""
    runs = []
    for seed in range(seeds):
        data = circles(9000, random_state=seed)
        options = {"n_anchors": 600, "n_eigenpairs": 100}
        runs.append(compare("", data.X, data.y, 50, options, settings, False, seed))
    mean = {label: np.mean([found[label] for found, _ in runs], axis=0) for label in runs[0][0]}
    show(f"circles, n = 9000, {seeds} seeds", mean, max(worst for _, worst in runs))
    gaps = [abs(found["EP, one-vs-rest"][1] - found["Gibbs, one-vs-rest"][1]) for found, _ in runs]
    print(f"<!-- largest gap in NLL between EP and Gibbs {max(gaps):.3f} -->")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--draws", type=int, default=1000)
    parser.add_argument("--softmax", action="store_true")
    parser.add_argument("--seeds", type=int, default=0)
    parser.add_argument("--only", default="", help="problems whose name holds this")
    arguments = parser.parse_args()
    settings = ChainSettings(4, arguments.draws, arguments.draws // 2)
    warnings.simplefilter("ignore")
    print("| data | posterior | difference from Gibbs | NLL | ECE | error |")
    print("| --- | --- | --- | --- | --- | --- |")
    if arguments.seeds:
        many_circles(arguments.seeds, settings)
        return
    for problem in problems():
        if arguments.only not in problem[0]:
            continue
        start = time.perf_counter()
        show(problem[0], *compare(*problem, settings, arguments.softmax))
        print(f"<!-- {time.perf_counter() - start:.0f} s -->", flush=True)


if __name__ == "__main__":
    main()
