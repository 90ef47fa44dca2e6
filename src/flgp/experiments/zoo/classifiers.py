"""The methods for classes. Each has the package's own defaults unless its line says otherwise."""

from __future__ import annotations

import time
from collections.abc import Callable
from hashlib import blake2b
from typing import Any

import numpy as np
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.gaussian_process import GaussianProcessClassifier
from sklearn.gaussian_process.kernels import RBF, ConstantKernel
from sklearn.linear_model import LogisticRegression, RidgeClassifierCV
from sklearn.model_selection import GridSearchCV, StratifiedKFold
from sklearn.neighbors import KNeighborsClassifier, NearestNeighbors
from sklearn.semi_supervised import LabelSpreading
from sklearn.svm import LinearSVC

from ... import FLGPClassifier
from ..._typing import Array
from ..labels import only_at
from .problem import Answer, Problem, SkippedError

NEIGHBORS = (1, 3, 5, 10, 20)
PENALTIES = np.logspace(-2, 5, 15)
ARD_COLUMNS, GP_LABELS, GRAPH_NEIGHBORS = 30, 1_500, 10


def ours(**settings: Any) -> Callable[[Problem], Answer]:
    """flgp, on all rows."""

    def run(problem: Problem) -> Answer:
        model: Any = FLGPClassifier(random_state=problem.seed, n_jobs=1, **settings)
        model.fit(problem.X, only_at(problem.labeled, problem.y))
        return from_proba(model.predict_proba(problem.new))

    return run


def supervised(make: Callable[[Problem], Any]) -> Callable[[Problem], Answer]:
    """A scikit-learn classifier, on the labelled rows."""

    def run(problem: Problem) -> Answer:
        model = make(problem).fit(*problem.train)
        if hasattr(model, "predict_proba"):
            return from_proba(model.predict_proba(problem.new))
        return Answer(model.predict(problem.new))

    return run


def k_nearest(problem: Problem) -> Any:
    """Neighbours, their number by cross-validation; 1 where every class has a single label."""
    largest = int(np.bincount(problem.train[1]).max())
    if largest < 2:
        return KNeighborsClassifier(1)
    folds = StratifiedKFold(min(5, largest), shuffle=True, random_state=problem.seed)
    few = len(problem.labeled) * (folds.n_splits - 1) // folds.n_splits
    grid = {"n_neighbors": [k for k in NEIGHBORS if k <= few]}
    return GridSearchCV(KNeighborsClassifier(), grid, cv=folds)


def scaled_rbf(columns: int, shortest: float = 1e-2, longest: float = 1e4) -> Any:
    """An amplitude and a squared exponential, with a length scale per column for up to 30 columns."""
    scale = np.sqrt(columns)
    scales = np.full(columns, scale) if columns <= ARD_COLUMNS else scale
    return ConstantKernel(1.0, (1e-4, 1e4)) * RBF(scales, (shortest, longest))


def gaussian_process(problem: Problem) -> Any:
    """scikit-learn's exact process by Laplace's method, one class against the rest.

    Length scales are bounded, because the evidence has a local maximum where f is constant.
    """
    if len(problem.labeled) > GP_LABELS:
        raise SkippedError(f"more than {GP_LABELS} labels")
    columns = problem.X.shape[1]
    kernel = scaled_rbf(columns, np.sqrt(columns) / 30, 10 * np.sqrt(columns))
    return GaussianProcessClassifier(kernel, random_state=problem.seed)


def label_spreading(problem: Problem) -> Answer:
    """Label spreading on the graph of ten nearest neighbours; parts without labels get equal shares.

    With its defaults (alpha=0.2, 30 steps) labels do not reach most points.
    """
    model = LabelSpreading(kernel="knn", n_neighbors=10, alpha=0.99, max_iter=1_000)
    model.fit(problem.X, only_at(problem.labeled, problem.y))
    shares = np.nan_to_num(model.label_distributions_[problem.rest])
    total = shares.sum(axis=1, keepdims=True)
    return from_proba(np.where(total > 0, shares / np.where(total > 0, total, 1), 1 / shares.shape[1]))


class NeighborGraph:
    """GraphLearning's graph of ten nearest neighbours; the last one is kept for the next method or draw.

    The neighbours are exact and found by scikit-learn: GraphLearning's own search needs another package.
    """

    def __init__(self) -> None:
        self.key, self.seconds = b"", 0.0
        self.weights: Any = None

    def of(self, X: Array) -> tuple[Any, float]:
        """The weights, and the seconds that an earlier call spent on them."""
        import graphlearning as gl

        key = blake2b(np.ascontiguousarray(X).view(np.uint8).data).digest()
        if key == self.key:
            return self.weights, self.seconds
        start = time.perf_counter()
        search = NearestNeighbors(n_neighbors=min(GRAPH_NEIGHBORS + 1, len(X))).fit(X)
        distances, places = search.kneighbors(X)
        self.weights = gl.weightmatrix.knn(X, GRAPH_NEIGHBORS, knn_data=(places, distances))
        self.key, self.seconds = key, time.perf_counter() - start
        return self.weights, 0.0


GRAPH = NeighborGraph()


def graph_learning(which: str, *, told_sizes: bool = False) -> Callable[[Problem], Answer]:
    """GraphLearning, which gives scores and not probabilities."""

    def run(problem: Problem) -> Answer:
        import graphlearning as gl

        weights, saved = GRAPH.of(problem.X)
        told = {"class_priors": problem.class_shares} if told_sizes else {}
        found = getattr(gl.ssl, which)(weights, **told).fit_predict(problem.labeled, problem.train[1])
        return Answer(np.asarray(found)[problem.rest], seconds_saved=saved)

    return run


def from_proba(proba: Array) -> Answer:
    """The most probable class of each row. The classes are 0, …, C-1, and each has a label."""
    return Answer(proba.argmax(axis=1), proba=proba)


CLASSIFIERS: dict[str, Callable[[Problem], Answer]] = {
    "flgp": ours(),
    "flgp told sizes": lambda problem: ours(class_prior=problem.class_shares)(problem),
    "flgp one-vs-rest": ours(multi_class="one_vs_rest", linear=None, mean="zero"),
    "1-NN": supervised(lambda p: KNeighborsClassifier(1)),
    "k-NN": supervised(k_nearest),
    "logistic": supervised(lambda p: LogisticRegression(max_iter=1_000)),
    "ridge": supervised(lambda p: RidgeClassifierCV(PENALTIES)),
    "linear SVM": supervised(lambda p: LinearSVC(random_state=p.seed, max_iter=10_000)),
    "GP": supervised(gaussian_process),
    "boosting": supervised(lambda p: HistGradientBoostingClassifier(random_state=p.seed)),
    "label spreading": label_spreading,
    "GraphLearning Laplace": graph_learning("laplace"),
    "GraphLearning Poisson": graph_learning("poisson"),
    "Poisson-MBO told sizes": graph_learning("poisson_mbo", told_sizes=True),
}
# These are told the true class sizes, so they are compared with each other only.
TOLD_SIZES = ("flgp told sizes", "Poisson-MBO told sizes")
# What a user would pick instead: "flgp" should not be more than a point worse than the best of these.
SIMPLE = ("1-NN", "k-NN", "logistic", "ridge", "label spreading")
