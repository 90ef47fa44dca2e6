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


def numbers(name: str, X: Array, y: Array, new: Array, size: Array, new_size: Array) -> tuple[Array, Array]:
    """Mean and standard deviation (k,) at new rows (k, p) by one of `REGRESSORS`.

    y is a sum over units of which each row has `size`, as counts are over an exposure: the methods predict
    rates, whose variance falls with the size.
    """
    if name == "mean" or len(y) < 3:
        rate, residuals = np.full(len(new), y.sum() / size.sum()), y / size - y.sum() / size.sum()
    else:
        scaler = StandardScaler().fit(X)
        X, new = scaler.transform(X), scaler.transform(new)
        if name == "k-NN":
            near = NearestNeighbors(n_neighbors=min(_NEIGHBORS, len(y) - 1)).fit(X)
            own, others = (near.kneighbors(rows, return_distance=False) for rows in (None, new))
            residuals = y / size - y[own].sum(axis=1) / size[own].sum(axis=1)
            rate = y[others].sum(axis=1) / size[others].sum(axis=1)
        else:
            ridge = RidgeCV(alphas=_PENALTIES, store_cv_results=True).fit(X, y / size, sample_weight=size)
            errors = ridge.cv_results_[:, int(np.argmin(ridge.cv_results_.mean(axis=0)))]  # times the size
            rate, residuals = ridge.predict(new), np.sqrt(errors / size)
    return rate * new_size, _spread(residuals * np.sqrt(size), y) * np.sqrt(new_size)


def _spread(residuals: Array, y: Array) -> float:
    """Standard deviation of residuals, never zero."""
    return float(max(np.sqrt(np.mean(residuals**2)), 1e-9 * max(np.abs(y).max(), 1e-300)))
