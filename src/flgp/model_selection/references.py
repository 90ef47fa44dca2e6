"""Plain methods to compare a model with: the mean or majority, k nearest neighbours, a linear model.

All are fitted to the labelled rows alone, as their users would. Predictions have a stated uncertainty, so
that they can be scored by the same measures.
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression, RidgeCV
from sklearn.neighbors import KNeighborsClassifier, NearestNeighbors
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from .._typing import Array

_NEIGHBORS = 5
# Penalties of ridge regression, the best chosen by leaving rows out.
_PENALTIES = np.logspace(-3, 4, 15)

CLASSIFIERS = ("majority", "k-NN", "logistic regression")
REGRESSORS = ("mean", "k-NN", "ridge regression")


def class_probabilities(name: str, X: Array, y: Array, new: Array, classes: Array) -> Array:
    """Probabilities (k, C) of all classes at new rows (k, p) by one of `CLASSIFIERS`."""
    found, counts = np.unique(y, return_counts=True)
    if name == "majority" or len(found) == 1:
        own = np.broadcast_to(counts / counts.sum(), (len(new), len(found)))
    else:
        model: Any
        if name == "k-NN":
            model = make_pipeline(StandardScaler(), KNeighborsClassifier(min(_NEIGHBORS, len(y))))
        else:
            model = make_pipeline(StandardScaler(), LogisticRegression(max_iter=200))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            own = model.fit(X, y).predict_proba(new)
        if name == "k-NN":  # five neighbours cannot state a probability above 5/6 (Laplace's rule)
            own = (own * _NEIGHBORS + 1.0 / len(found)) / (_NEIGHBORS + 1.0)
    whole = np.zeros((len(new), len(classes)))
    whole[:, np.searchsorted(classes, found)] = own
    return whole


def numbers(name: str, X: Array, y: Array, new: Array) -> tuple[Array, Array]:
    """Mean and standard deviation (k,) at new rows (k, p) by one of `REGRESSORS`."""
    if name == "mean" or len(y) < 3:
        return np.full(len(new), y.mean()), np.full(len(new), _spread(y - y.mean(), y))
    scaler = StandardScaler().fit(X)
    X, new = scaler.transform(X), scaler.transform(new)
    if name == "k-NN":
        count = min(_NEIGHBORS, len(y) - 1)
        near = NearestNeighbors(n_neighbors=count).fit(X)
        left_out = y[near.kneighbors(return_distance=False)].mean(axis=1)
        return y[near.kneighbors(new, return_distance=False)].mean(axis=1), np.full(
            len(new), _spread(y - left_out, y)
        )
    ridge = RidgeCV(alphas=_PENALTIES, store_cv_results=True).fit(X, y)
    errors = ridge.cv_results_[:, int(np.argmin(ridge.cv_results_.mean(axis=0)))]
    return ridge.predict(new), np.full(len(new), _spread(np.sqrt(errors), y))


def _spread(residuals: Array, y: Array) -> float:
    """Standard deviation of residuals, never zero."""
    return float(max(np.sqrt(np.mean(residuals**2)), 1e-9 * max(np.abs(y).max(), 1e-300)))
