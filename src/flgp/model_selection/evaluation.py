"""How good a model is: held-out predictions of all labelled rows, and their scores beside plain methods'."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from scipy.special import ndtri

from .._typing import Array, IntArray
from ..metrics import ReliabilityCurve, reliability_curve

# Scores of which larger is better.
LARGER_IS_BETTER = ("accuracy", "r2")
# Labels without which nothing can be held out.
FEWEST_LABELS = 4
_BINS = 10
_RESAMPLES = 2_000


@dataclass(frozen=True, kw_only=True)
class Evaluation:
    """Held-out predictions of the labelled rows and their scores.

    Attributes
    ----------
    task : {"classification", "regression"}
    n_folds : int
    rows : array of shape (m,)
        Numbers of the labelled rows, to which all arrays below belong.
    y : array of shape (m,)
    prediction : array of shape (m,)
    probability : array of shape (m, C), or None for regression
    std, lower, upper : arrays of shape (m,), or None for classification
        Of y; the interval holds it with probability `coverage`.
    classes : array of shape (C,), or None for regression
    coverage : float
    scores : dict of dict
        For the model, called "flgp", and each plain method: accuracy, log_loss and calibration_error, or
        rmse, mae, r2, nll and coverage.
    losses : dict of array of shape (m,)
        Of each method, row by row: log loss, or negative log-likelihood.
    errors : dict of array of shape (m,)
        Of each method, row by row: 1 for a wrong class and 0 for the right one, or the squared error.

    Examples
    --------
    >>> import numpy as np
    >>> from flgp import FLGPRegressor
    >>> from flgp.model_selection import evaluate
    >>> X = np.random.default_rng(0).normal(size=(200, 2))
    >>> y = np.where(np.arange(200) < 40, X[:, 0], np.nan)
    >>> found = evaluate(FLGPRegressor(random_state=0), X, y, cv=4)
    >>> found.best_reference()
    'ridge regression'
    >>> bool(found.scores["flgp"]["rmse"] < found.scores["k-NN"]["rmse"])
    True
    """

    task: str
    n_folds: int
    rows: IntArray
    y: Array
    prediction: Array
    probability: Array | None = None
    std: Array | None = None
    lower: Array | None = None
    upper: Array | None = None
    classes: Array | None = None
    coverage: float
    scores: dict[str, dict[str, float]]
    losses: Mapping[str, Array]
    errors: Mapping[str, Array]

    @property
    def main(self) -> str:
        """The score to look at first."""
        return "accuracy" if self.task == "classification" else "rmse"

    @property
    def interval(self) -> tuple[float, float]:
        """A 95 % interval of the main score, for other labelled rows of the same kind."""
        if self.task == "classification":
            return wilson(int((self.prediction == self.y).sum()), len(self.y))
        rng = np.random.default_rng(0)
        squares = (self.y - self.prediction) ** 2
        drawn = squares[rng.integers(0, len(squares), (_RESAMPLES, len(squares)))].mean(axis=1)
        low, high = np.sqrt(np.quantile(drawn, [0.025, 0.975]))
        return float(low), float(high)

    @property
    def confusion(self) -> IntArray:
        """How many rows of each class (C,) were predicted as each class (C,)."""
        if self.classes is None:
            raise ValueError("Only classes have a confusion matrix.")
        table = np.zeros((len(self.classes), len(self.classes)), dtype=int)
        pair = [np.searchsorted(self.classes, values) for values in (self.y, self.prediction)]
        np.add.at(table, tuple(pair), 1)
        return table

    @property
    def reliability(self) -> ReliabilityCurve:
        """Stated against observed probability.

        For classes: of the predicted class. For numbers: of central Gaussian intervals.
        """
        if self.classes is not None:
            assert self.probability is not None
            return reliability_curve(self.y, self.probability, classes=self.classes, n_bins=_BINS)
        assert self.std is not None
        z = np.abs(self.y - self.prediction) / np.maximum(self.std, np.finfo(float).tiny)
        levels = np.linspace(0.0, 1.0, _BINS + 1)[1:-1]
        inside = np.array([np.mean(z <= ndtri(0.5 + level / 2)) for level in levels])
        return ReliabilityCurve(levels, inside, np.full(len(levels), len(z)))

    def worst(self, count: int = 10) -> IntArray:
        """Positions, in the arrays here, of the rows that surprise the model most."""
        return np.argsort(-self.losses["flgp"], kind="stable")[:count]

    def best_reference(self) -> str:
        """The plain method with the best main score; of equal ones, that with the lower loss."""
        others = [name for name in self.scores if name != "flgp"]
        sign = -1.0 if self.main in LARGER_IS_BETTER else 1.0
        return min(others, key=lambda name: (sign * self.scores[name][self.main], self.losses[name].mean()))

    def advantage(self, other: str, of: str = "losses") -> tuple[float, float]:
        """By how much the mean of the model's "losses" or "errors" is below another method's.

        Also its standard error.
        """
        values = self.losses if of == "losses" else self.errors
        gain = values[other] - values["flgp"]
        return float(gain.mean()), float(gain.std(ddof=1) / np.sqrt(len(gain)))

    def __str__(self) -> str:
        names = list(next(iter(self.scores.values())))
        width = max(map(len, self.scores))
        lines = [" " * width + "".join(f"{name.replace('_', ' '):>19}" for name in names)]
        for method, values in self.scores.items():
            lines.append(f"{method:<{width}}" + "".join(f"{values[name]:>19.4g}" for name in names))
        return "\n".join(lines)


def wilson(count: int, n: int) -> tuple[float, float]:
    """A 95 % interval of a proportion, good for small n and near 0 and 1 (Wilson, 1927)."""
    z = 1.96
    share, spread = count / n, z * z / n
    middle = (share + spread / 2) / (1 + spread)
    half = z * np.sqrt(share * (1 - share) / n + spread / (4 * n)) / (1 + spread)
    return float(max(middle - half, 0.0)), float(min(middle + half, 1.0))
