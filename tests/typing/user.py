"""A user's script that calls the public surface; `mypy --strict` must know every name and every result."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import flgp
from flgp import FLGPClassifier, FLGPRegressor, HeatKernelFeatures, ModelFileError, load, save
from flgp.baselines import EGPClassifier, EGPRegressor, GLGPClassifier, GLGPRegressor
from flgp.datasets import circles, spiral
from flgp.geometry import Circle, Graph, Interval, Mesh, Product, Sphere
from flgp.kernels import Heat, Matern
from flgp.likelihoods import NegativeBinomial, Poisson, StudentT
from flgp.metrics import gaussian_coverage, reliability_curve
from flgp.model_selection import evaluate

Array = NDArray[np.floating[Any]]


def classify(X: Array, y: NDArray[np.int_]) -> Array:
    model: FLGPClassifier = FLGPClassifier(n_anchors=50, kernel=Matern(1.5), random_state=0).fit(X, y)
    probabilities: Array = model.predict_proba(X)
    model.update(X[:2], y[:2])
    mean, variance = model.latent_mean_and_variance(X)
    return probabilities + mean + variance


def regress(X: Array, y: Array) -> Array:
    model = FLGPRegressor(likelihood=StudentT(), geometry=Circle(), kernel=Heat(), linear=None).fit(X, y)
    mean, std = model.predict(X, return_std=True)
    low, high = model.predict_interval(X).T
    covered: float = gaussian_coverage(y, mean, std)
    curve = reliability_curve(y > 0, np.column_stack([1 - mean, mean]), classes=[False, True])
    print(covered, curve.accuracy, model.covariance(X, X[:1]).shape)
    joint: Array = model.predict(X, return_cov=True)[1]
    beside: tuple[Array, Array] = model.predict(X, return_std=True, offset=mean, exposure=std)
    print(beside[0], model.score(X, y, offset=mean), model.suggest(X, 3)[0])
    parts = model.predict(X, return_parts=True)[1]
    draws: Array = model.sample_y(X, 3, random_state=0)
    result: Array = model.predict(X) + parts["manifold"].mean + draws + low + high + joint
    return result


def features(X: Array) -> Array:
    found: Array = HeatKernelFeatures(n_anchors=50).fit(X).transform(X)
    return found


def others(X: Array, y: Array) -> None:
    for rival in (EGPRegressor(), GLGPRegressor()):
        rival.fit(X, y)
    for other in (EGPClassifier(), GLGPClassifier()):
        other.fit(X, y)
    for likelihood in (Poisson(), NegativeBinomial()):
        FLGPRegressor(likelihood=likelihood)
    for geometry in (Interval(), Sphere(), Product(Circle(24.0), Interval())):
        FLGPRegressor(geometry=geometry)
    Graph(np.eye(3))
    Mesh(np.zeros((3, 3)), np.zeros((1, 3), dtype=int))


def files(model: FLGPRegressor, path: Path) -> object:
    save(model, path)
    try:
        return load(path)
    except ModelFileError as error:
        return str(error)


def data() -> None:
    made, other = circles(300, random_state=0), spiral(300, random_state=0)
    print(made.X.shape, made.y[:3], other.f[:3], flgp.__version__)
    result = evaluate(FLGPClassifier(), made.X, made.y)
    print(result)
