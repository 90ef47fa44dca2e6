"""Held-out predictions of all labelled rows, by a model and by plain methods."""

from __future__ import annotations

import copy
import warnings
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import logsumexp, ndtri
from sklearn.base import clone, is_classifier
from sklearn.utils import _safe_indexing

from .._progress import stage
from .._typing import Array, IntArray
from ..estimators import FLGPClassifier, FLGPRegressor
from ..likelihoods import Observations
from ..metrics import expected_calibration_error
from .evaluation import FEWEST_LABELS, Evaluation
from .references import CLASSIFIERS, REGRESSORS, class_probabilities, numbers
from .transductive import Transductive, folds_for

# Probabilities below this count as this much in the log loss: a class that no training row has gets zero.
_LEAST_PROBABILITY = 1e-6
_NODES = 32  # of the quadrature over f


def evaluate(
    estimator: Any,
    X: Any,
    y: Any,
    *,
    cv: int = 5,
    random_state: Any = 0,
    coverage: float = 0.95,
    prefit: bool = False,
    known: Mapping[str, Any] | None = None,
) -> Evaluation:
    """Predict every labelled row from the others, and score that beside plain methods.

    Held-out rows lose their label but stay in the graph. The plain methods (majority, k-NN, logistic
    regression; mean, k-NN, ridge regression) see the labelled rows only; those for numbers predict rates
    where there is an exposure or a number of trials. The graph does not depend on the labels, so that it is
    made once: this takes little more than one fit, where there are many points.

    Parameters
    ----------
    estimator : FLGPClassifier, FLGPRegressor, or a pipeline that ends in one
    X : array-like of shape (n, p)
    y : array-like of shape (n,)
        Unlabelled rows are marked as in `fit`.
    cv : int
        Number of folds; fewer if there are not as many labelled rows.
    random_state : int, RandomState or None
        Of the folds.
    coverage : float
        Of the intervals, for regression.
    prefit : bool
        The estimator is fitted to these rows already: take its graph.
    known : mapping, optional
        What `fit` knows about the rows: sample_weight, exposure, trials, each of shape (n,).

    Returns
    -------
    Evaluation

    Examples
    --------
    >>> import numpy as np
    >>> from flgp import FLGPClassifier
    >>> from flgp.datasets import circles
    >>> from flgp.model_selection import evaluate
    >>> data = circles(1200, random_state=0)
    >>> y = np.where(np.arange(1200) < 60, data.y, -1)
    >>> found = evaluate(FLGPClassifier(random_state=0), data.X, y)
    >>> found.scores["flgp"]["accuracy"] > found.scores["k-NN"]["accuracy"]
    True
    """
    given = {name: np.asarray(values, dtype=float) for name, values in (known or {}).items()}
    y = np.asarray(y)
    if y.ndim != 1:
        raise ValueError("evaluate takes one target: y of shape (n,). Evaluate each column by itself.")
    splitter = folds_for(estimator, int(cv), random_state)
    labeled = np.flatnonzero(~splitter._missing(y))
    if len(labeled) < FEWEST_LABELS:
        raise ValueError(
            f"{len(labeled)} row(s) of y have a label. To evaluate a model, label at least {FEWEST_LABELS}."
        )
    splitter.n_splits = min(splitter.n_splits, len(labeled))
    folds = [test for _, test in splitter.split(X, y)]
    fitter = _Fitter.of(estimator, X, y, given, prefit)
    score = _score_classes if is_classifier(estimator) else _score_numbers
    return score(fitter, folds, np.sort(np.concatenate(folds)), coverage)


@dataclass(frozen=True)
class _Fitter:
    """Fits on all labels but those of a fold, with all rows in the graph."""

    estimator: Any
    graph: Any  # the model with all labels, whose graph the folds share; None: none can be shared
    X: Any
    y: Array
    known: dict[str, Array]

    @classmethod
    def of(cls, estimator: Any, X: Any, y: Array, known: dict[str, Array], prefit: bool) -> _Fitter:
        graph = None
        if isinstance(estimator, FLGPClassifier | FLGPRegressor) and not _depends_on_labels(estimator):
            graph = estimator if prefit else clone(estimator).fit(X, y, **known)
        return cls(estimator, graph, X, y, known)

    def without(self, rows: IntArray, labeled: IntArray) -> Any:
        """The model fitted without the labels of some rows."""
        kept = np.setdiff1d(labeled, rows)
        own = {name: values[kept] for name, values in self.known.items()}
        with warnings.catch_warnings():  # what holds for one fold only is of no use to the user
            warnings.simplefilter("ignore", UserWarning)
            if self.graph is not None:
                return copy.copy(self.graph).update(self.points(kept), self.y[kept], replace=True, **own)
            unlabeled = np.setdiff1d(np.arange(len(self.y)), labeled)
            train = np.union1d(kept, unlabeled)
            more = {name: values[train] for name, values in self.known.items()}
            return Transductive(clone(self.estimator), self.X).fit(train, self.y[train], **more).estimator_

    def held_out(
        self, folds: list[IntArray], labeled: IntArray
    ) -> Iterator[tuple[Any, IntArray, IntArray, IntArray]]:
        """For each fold the model without its labels, its rows, and positions of these and of the others."""
        for number, test in enumerate(folds):
            with stage(f"fold {number + 1} of {len(folds)}"):
                model = self.without(test, labeled)
            held = np.searchsorted(labeled, test)
            yield model, test, held, np.setdiff1d(np.arange(len(labeled)), held)

    def points(self, rows: IntArray) -> Any:
        """Some rows of X."""
        return _safe_indexing(self.X, rows)


def _depends_on_labels(model: FLGPClassifier | FLGPRegressor) -> bool:
    """Whether labels decide about more than f: about a bandwidth, or about shares of classes."""
    searched = model.base_kernel == "se" and model.bandwidth is None and model.geometry is None
    return searched or getattr(model, "class_prior", None) is not None


def _score_classes(fitter: _Fitter, folds: list[IntArray], rows: IntArray, coverage: float) -> Evaluation:
    y = np.array(fitter.y[rows].tolist())
    classes = np.unique(y)
    X = np.asarray(fitter.points(rows), dtype=float)
    found = {name: np.zeros((len(rows), len(classes))) for name in ("flgp", *CLASSIFIERS)}
    for model, test, held, rest in fitter.held_out(folds, rows):
        own = np.searchsorted(classes, model.classes_)
        found["flgp"][held[:, None], own] = model.predict_proba(fitter.points(test))
        for name in CLASSIFIERS:
            found[name][held] = class_probabilities(name, X[rest], y[rest], X[held], classes)
    code = np.searchsorted(classes, y)
    scores, losses, errors = {}, {}, {}
    for name, p in found.items():
        losses[name] = -np.log(np.maximum(p[np.arange(len(y)), code], _LEAST_PROBABILITY))
        errors[name] = (p.argmax(axis=1) != code).astype(float)
        scores[name] = {
            "accuracy": float(1.0 - errors[name].mean()),
            "log_loss": float(losses[name].mean()),
            "calibration_error": expected_calibration_error(y, p, classes=classes),
        }
    p = found["flgp"]
    return Evaluation(
        task="classification",
        n_folds=len(folds),
        rows=rows,
        y=y,
        prediction=classes[p.argmax(axis=1)],
        probability=p,
        classes=classes,
        coverage=coverage,
        scores=scores,
        losses=losses,
        errors=errors,
    )


def _score_numbers(fitter: _Fitter, folds: list[IntArray], rows: IntArray, coverage: float) -> Evaluation:
    y = fitter.y[rows].astype(float)
    X = np.asarray(fitter.points(rows), dtype=float)
    mean = {name: np.zeros(len(rows)) for name in ("flgp", *REGRESSORS)}
    std = {name: np.zeros(len(rows)) for name in mean}
    losses = {name: np.zeros(len(rows)) for name in mean}
    ends = np.zeros((len(rows), 2))
    size: Array = np.ones(len(rows))  # y is a sum over so much exposure, or so many trials
    for model, test, held, rest in fitter.held_out(folds, rows):
        points = fitter.points(test)
        uses = getattr(getattr(model, "likelihood_", None), "uses", ())
        used = {k: v for k, v in fitter.known.items() if k in uses and k in ("exposure", "trials")}
        sizes = {k: v[test] for k, v in used.items()}
        for values in used.values():
            size = values[rows]
        mean["flgp"][held], std["flgp"][held] = model.predict(points, return_std=True, **sizes)
        ends[held] = model.predict_interval(points, coverage, **sizes)
        losses["flgp"][held] = _surprise(model, points, y[held], sizes)
        for name in REGRESSORS:
            mean[name][held], std[name][held] = numbers(
                name, X[rest], y[rest], X[held], size[rest], size[held]
            )
            z = (y[held] - mean[name][held]) / std[name][held]
            losses[name][held] = z**2 / 2 + np.log(std[name][held] * np.sqrt(2 * np.pi))
    width = ndtri(0.5 + coverage / 2)
    scores, errors = {}, {}
    for name in mean:
        error = y - mean[name]
        errors[name] = error**2
        low, high = mean[name] - width * std[name], mean[name] + width * std[name]
        low, high = (ends[:, 0], ends[:, 1]) if name == "flgp" else (low, high)
        scores[name] = {
            "rmse": float(np.sqrt(np.mean(error**2))),
            "mae": float(np.mean(np.abs(error))),
            "r2": float(1.0 - np.mean(error**2) / max(np.var(y), np.finfo(float).tiny)),
            "nll": float(losses[name].mean()),
            "coverage": float(np.mean((low <= y) & (y <= high))),
        }
    return Evaluation(
        task="regression",
        n_folds=len(folds),
        rows=rows,
        y=y,
        prediction=mean["flgp"],
        std=std["flgp"],
        lower=ends[:, 0],
        upper=ends[:, 1],
        coverage=coverage,
        scores=scores,
        losses=losses,
        errors=errors,
    )


def _surprise(model: Any, X: Any, y: Array, sizes: Mapping[str, Array]) -> Array:
    """-log p(y | x) (k,), the average over f by quadrature; Gaussian where there is no likelihood."""
    if not hasattr(model, "latent_mean_and_variance"):
        mean, std = model.predict(X, return_std=True)
        return ((y - mean) / std) ** 2 / 2 + np.log(std * np.sqrt(2 * np.pi))
    mean, variance = model.latent_mean_and_variance(X)
    nodes, weights = np.polynomial.hermite_e.hermegauss(_NODES)
    log_weights = np.log(weights / weights.sum())
    obs = Observations.of(y, **sizes)
    at = [
        model.likelihood_.log_density(obs, mean + np.sqrt(variance) * node) + log_weight
        for node, log_weight in zip(nodes, log_weights, strict=True)
    ]
    return -np.asarray(logsumexp(at, axis=0))
