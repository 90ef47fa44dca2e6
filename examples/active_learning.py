"""Which point should a person label next? Uncertainty sampling against random choice, on one graph.

Six circles of alternating class. The graph of all points is made once; every further label is an `update`, a
few milliseconds. The hyperparameters are kept from query to query and learned again at every tenth.
"""

import warnings

import numpy as np

from flgp import FLGPClassifier
from flgp.datasets import circles

POINTS, QUERIES, RUNS = 3000, 30, 4


def least_certain(model, X, rng):
    """The row whose class is nearest to a toss of a coin."""
    return int(np.abs(model.predict_proba(X)[:, 1] - 0.5).argmin())


def any_row(model, X, rng):
    """A row at random."""
    return int(rng.integers(len(X)))


def accuracies(data, choose, seed):
    """Accuracy on all points after each query, starting from one label of each class."""
    rng = np.random.default_rng(seed)
    start = [rng.choice(np.flatnonzero(data.y == label)) for label in np.unique(data.y)]
    y = np.full(POINTS, -1)
    y[start] = data.y[start]
    model = FLGPClassifier(random_state=0).fit(data.X, y)
    history = [model.score(data.X, data.y)]
    for query in range(1, QUERIES + 1):
        row = choose(model, data.X, rng)
        model.update(data.X[[row]], data.y[[row]], relearn=query % 10 == 0)
        history.append(model.score(data.X, data.y))
    return np.array(history)


def main(runs=RUNS):
    data = circles(POINTS, random_state=0)
    rules = {"least certain": least_certain, "random": any_row}
    curves = {}
    with warnings.catch_warnings():
        # While a circle has no label, every update says so.
        warnings.filterwarnings("ignore", ".*hold no label", UserWarning)
        for name, rule in rules.items():
            curves[name] = np.mean([accuracies(data, rule, seed) for seed in range(runs)], axis=0)
    print("labels" + "".join(f"{name:>16}" for name in curves))
    for query in range(0, QUERIES + 1, 5):
        print(f"{2 + query:6}" + "".join(f"{curve[query]:16.3f}" for curve in curves.values()))
    return curves


if __name__ == "__main__":
    main()
