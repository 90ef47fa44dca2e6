"""The methods for numbers. Each has the package's own defaults unless its line says otherwise."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from importlib import import_module
from typing import Any

import numpy as np
from scipy.optimize import minimize
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import WhiteKernel
from sklearn.linear_model import RidgeCV
from sklearn.model_selection import GridSearchCV, KFold, cross_val_predict
from sklearn.neighbors import KNeighborsRegressor

from ... import FLGPRegressor
from ...rows.blocks import map_rows
from ..labels import only_at
from .classifiers import ARD_COLUMNS, NEIGHBORS, PENALTIES, scaled_rbf
from .problem import Answer, Problem

GP_LABELS, GP_STEPS, BLOCK = 2_000, 40, 5_000


def ours(**settings: Any) -> Callable[[Problem], Answer]:
    """flgp, on all rows."""

    def run(problem: Problem) -> Answer:
        y = only_at(problem.labeled, problem.y)
        model: Any = FLGPRegressor(random_state=problem.seed, n_jobs=1, **settings).fit(problem.X, y)
        mean, sd = model.predict(problem.new, return_std=True)
        return Answer(mean, sd=sd)

    return run


def supervised(make: Callable[[Problem], Any]) -> Callable[[Problem], Answer]:
    """A scikit-learn regressor without variances: one sd for all rows, from 5-fold cross-validation."""

    def run(problem: Problem) -> Answer:
        X, y = problem.train
        folds = KFold(5, shuffle=True, random_state=problem.seed)
        sd = np.sqrt(np.mean((y - cross_val_predict(make(problem), X, y, cv=folds)) ** 2))
        mean = make(problem).fit(X, y).predict(problem.new)
        return Answer(mean, sd=np.full(len(mean), sd))

    return run


def k_nearest(problem: Problem) -> Any:
    """Neighbours, their number by cross-validation."""
    folds = KFold(5, shuffle=True, random_state=problem.seed)
    few = len(problem.labeled) // 2
    grid = {"n_neighbors": [k for k in NEIGHBORS if k <= few]}
    return GridSearchCV(KNeighborsRegressor(), grid, cv=folds, scoring="neg_mean_squared_error")


def gaussian_process(problem: Problem) -> Answer:
    """scikit-learn's exact process on at most 2,000 labels: the time grows with the cube."""
    rows = np.random.default_rng(problem.seed).permutation(problem.labeled)[:GP_LABELS]

    def climb(objective: Any, start: Any, bounds: Any) -> tuple[Any, float]:
        options = {"maxiter": GP_STEPS}
        best = minimize(objective, start, method="L-BFGS-B", jac=True, bounds=bounds, options=options)
        return best.x, best.fun

    kernel = scaled_rbf(problem.X.shape[1]) + WhiteKernel(0.1, (1e-6, 10.0))
    model = GaussianProcessRegressor(kernel, optimizer=climb).fit(problem.X[rows], problem.y[rows])
    mean, sd = map_rows(problem.new, partial(model.predict, return_std=True), BLOCK)
    return Answer(mean, sd=sd)


def vecchia(problem: Problem) -> Answer:
    """GPBoost's Vecchia approximation on all labels, with a constant mean.

    Its default covariance (Matérn 3/2) and neighbours (20), with a range per column for up to 30 columns.
    """
    gpboost = import_module("gpboost")

    X, y = problem.train
    varies = np.ptp(X, axis=0) > 0  # it refuses other columns
    X = X[:, varies]
    model = gpboost.GPModel(
        gp_coords=X,
        cov_function="matern_ard" if X.shape[1] <= ARD_COLUMNS else "matern",
        cov_fct_shape=1.5,
        gp_approx="vecchia",
        num_neighbors=20,
        likelihood="gaussian",
        seed=problem.seed,
        num_parallel_threads=1,
    )
    model.fit(y=y, X=np.ones((len(y), 1)))
    found = model.predict(
        gp_coords_pred=problem.new[:, varies],
        X_pred=np.ones((len(problem.rest), 1)),
        predict_var=True,
        predict_response=True,
    )
    return Answer(found["mu"], sd=np.sqrt(found["var"]))


REGRESSORS: dict[str, Callable[[Problem], Answer]] = {
    "flgp": ours(),
    "flgp no linear": ours(linear=None),
    "ridge": supervised(lambda p: RidgeCV(PENALTIES)),
    "GP (ARD)": gaussian_process,
    "k-NN": supervised(k_nearest),
    "boosting": supervised(lambda p: HistGradientBoostingRegressor(random_state=p.seed)),
    "GPBoost Vecchia": vecchia,
}
