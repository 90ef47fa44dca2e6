"""The methods for classes. Each has the package's own defaults unless its line says otherwise."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression, RidgeClassifierCV
from sklearn.model_selection import GridSearchCV, StratifiedKFold
from sklearn.neighbors import KNeighborsClassifier
from sklearn.semi_supervised import LabelSpreading
from sklearn.svm import LinearSVC

from ... import FLGPClassifier
from ..._typing import Array
from .problem import Answer, Problem

NEIGHBORS = (1, 3, 5, 10, 20)
PENALTIES = np.logspace(-2, 5, 15)


def partly_labelled(problem: Problem) -> Any:
    """The classes of all rows, -1 where there is no label."""
    y = np.full(len(problem.y), -1)
    y[problem.labeled] = problem.y[problem.labeled]
    return y


def ours(**settings: Any) -> Callable[[Problem], Answer]:
    """flgp, on all rows."""

    def run(problem: Problem) -> Answer:
        model: Any = FLGPClassifier(random_state=problem.seed, n_jobs=1, **settings)
        model.fit(problem.X, partly_labelled(problem))
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


def label_spreading(problem: Problem) -> Answer:
    """Label spreading on the graph of ten nearest neighbours; parts without labels get equal shares.

    With its defaults (alpha=0.2, 30 steps) labels do not reach most points.
    """
    model = LabelSpreading(kernel="knn", n_neighbors=10, alpha=0.99, max_iter=1_000)
    model.fit(problem.X, partly_labelled(problem))
    shares = np.nan_to_num(model.label_distributions_[problem.rest])
    total = shares.sum(axis=1, keepdims=True)
    return from_proba(np.where(total > 0, shares / np.where(total > 0, total, 1), 1 / shares.shape[1]))


def graph_learning(which: str) -> Callable[[Problem], Answer]:
    """GraphLearning on its graph of ten nearest neighbours; it gives scores, not probabilities."""

    def run(problem: Problem) -> Answer:
        import graphlearning as gl

        model = getattr(gl.ssl, which)(gl.weightmatrix.knn(problem.X, 10))
        return Answer(np.asarray(model.fit_predict(problem.labeled, problem.train[1]))[problem.rest])

    return run


def from_proba(proba: Array) -> Answer:
    """The most probable class of each row. The classes are 0, …, C-1, and each has a label."""
    return Answer(proba.argmax(axis=1), proba=proba)


CLASSIFIERS: dict[str, Callable[[Problem], Answer]] = {
    "flgp": ours(),
    "flgp one-vs-rest": ours(multi_class="one_vs_rest", linear=None, mean="zero"),
    "1-NN": supervised(lambda p: KNeighborsClassifier(1)),
    "k-NN": supervised(k_nearest),
    "logistic": supervised(lambda p: LogisticRegression(max_iter=1_000)),
    "ridge": supervised(lambda p: RidgeClassifierCV(PENALTIES)),
    "linear SVM": supervised(lambda p: LinearSVC(random_state=p.seed, max_iter=10_000)),
    "boosting": supervised(lambda p: HistGradientBoostingClassifier(random_state=p.seed)),
    "label spreading": label_spreading,
    "GraphLearning Laplace": graph_learning("laplace"),
    "GraphLearning Poisson": graph_learning("poisson"),
}
# What a user would pick instead: "flgp" should not be more than a point worse than the best of these.
SIMPLE = ("1-NN", "k-NN", "logistic", "ridge", "label spreading")
