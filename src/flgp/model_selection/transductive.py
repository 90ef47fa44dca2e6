"""Cross-validation with few labelled rows: score labelled rows, but keep all rows in the graph.

scikit-learn's tools reduce X to the training rows, which removes held-out rows from the graph. `Transductive`
keeps them in the graph with their labels hidden, and `LabeledKFold` holds out labelled rows only; together
they work with `cross_validate`, `GridSearchCV` and the like. `cross_validate_labeled` is a shortcut.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import KW_ONLY, dataclass
from typing import Any, Self

import numpy as np
from sklearn import get_config
from sklearn.base import BaseEstimator, MetaEstimatorMixin, clone, is_classifier
from sklearn.model_selection import BaseCrossValidator, cross_validate
from sklearn.utils import _safe_indexing, check_random_state, get_tags
from sklearn.utils.metadata_routing import MetadataRouter, MethodMapping, process_routing
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from .._typing import Array, BoolArray, IntArray
from ..estimators.validation import check_count
from ..rows.labels import is_missing_label

__all__ = ["LabeledKFold", "Transductive", "cross_validate_labeled"]


@dataclass(eq=False, repr=False)
class LabeledKFold(BaseCrossValidator):
    """K folds of the labelled rows; unlabelled rows are in every training set and in no test set.

    Folds are stratified: rows are assigned to folds in the order of their labels, ties in random order, so
    every fold covers all classes, or the whole range of a number.

    Parameters
    ----------
    n_splits : int
    random_state : int, RandomState or None
    unlabeled : optional
        The label that means "unlabelled", besides None and NaN. "auto": -1 for integers and objects, no other
        label for floats.

    Examples
    --------
    >>> import numpy as np
    >>> from flgp.model_selection import LabeledKFold
    >>> y = np.array([0, -1, 1, -1, 0, 1])
    >>> for train, test in LabeledKFold(2, random_state=0).split(y, y):
    ...     print(train, test)
    [0 1 2 3] [4 5]
    [1 3 4 5] [0 2]
    """

    n_splits: int = 5
    _: KW_ONLY
    random_state: Any = None
    unlabeled: Any = "auto"

    def get_n_splits(self, X: Any = None, y: Any = None, groups: Any = None) -> int:
        """The number of folds."""
        check_count("n_splits", self.n_splits, minimum=2)
        return int(self.n_splits)

    def split(self, X: Any, y: Any = None, groups: Any = None) -> Iterator[tuple[IntArray, IntArray]]:
        """Training rows (unlabelled or in another fold) and test rows, for every fold.

        Parameters
        ----------
        X : ignored
        y : array-like of shape (n,) or (n, k)
            A row with several targets is labelled if all of them are present.
        groups : ignored

        Yields
        ------
        train, test : arrays of row numbers
        """
        k = self.get_n_splits()
        if y is None:
            raise ValueError("LabeledKFold needs y to know which rows are labelled.")
        y = np.asarray(y)
        rows = np.flatnonzero(~self._missing(y))
        if len(rows) < k:
            raise ValueError(
                f"n_splits={k}, but y has {len(rows)} labelled rows. Label more rows or lower n_splits."
            )
        rng = check_random_state(self.random_state)
        fold = np.empty(len(rows), dtype=int)
        # np.lexsort: by label, then at random. Each run of k rows goes to k different folds.
        _, code = np.unique(_sortable(y[rows]), return_inverse=True)
        order = np.lexsort([rng.permutation(len(rows)), code])
        for start in range(0, len(rows), k):
            part = order[start : start + k]
            fold[part] = rng.permutation(k)[: len(part)]
        for number in range(k):
            test = rows[fold == number]
            yield np.setdiff1d(np.arange(len(y)), test), test

    def _missing(self, y: Array) -> BoolArray:
        if y.ndim == 2:
            return np.asarray(np.isnan(y.astype(float)).any(axis=1))
        if isinstance(self.unlabeled, str) and self.unlabeled == "auto":
            return is_missing_label(y, -1 if y.dtype.kind in "iO" else None)
        return is_missing_label(y, self.unlabeled)


def _sortable(labels: Array) -> Array:
    """One value per row, as numbers or text."""
    first = labels[:, 0] if labels.ndim == 2 else labels
    return first.astype(str) if first.dtype == object else first


@dataclass(eq=False, repr=False)
class Transductive(MetaEstimatorMixin, BaseEstimator):
    """An estimator on a fixed set of points, which are addressed by row number.

    The graph always contains all points; the labels of rows outside the fit are hidden. X is a column of row
    numbers, `np.arange(n)[:, None]`, so that tools that split X do not split the points.

    Parameters
    ----------
    estimator : FLGPClassifier, FLGPRegressor, or a pipeline that ends in one
    points : array-like of shape (n, p)
        Not copied.
    offset : array-like of shape (n,) or (n, k), optional
        Of all points, as in `fit` of the estimator.

    Attributes
    ----------
    estimator_ : the fitted estimator, which predicts at any points

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.model_selection import GridSearchCV
    >>> from flgp import FLGPRegressor
    >>> from flgp.model_selection import LabeledKFold, Transductive
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(200, 2))
    >>> y = np.where(np.arange(200) < 40, X[:, 0] ** 2, np.nan)
    >>> model = Transductive(FLGPRegressor(random_state=0), X)
    >>> search = GridSearchCV(model, {"estimator__n_neighbors": [3, 5]}, cv=LabeledKFold(4, random_state=0))
    >>> search = search.fit(np.arange(200)[:, None], y)
    >>> search.best_estimator_.estimator_.predict(X[:3]).shape
    (3,)
    """

    estimator: Any
    points: Any
    offset: Any = None

    def __sklearn_clone__(self) -> Transductive:
        return Transductive(clone(self.estimator), self.points, self.offset)

    def __sklearn_tags__(self) -> Any:
        return get_tags(self.estimator)

    def fit(self, rows: Any, y: Any, **params: Any) -> Self:
        """Fit to all points with the labels of some rows.

        Parameters
        ----------
        rows : array-like of shape (k, 1) or (k,)
            Numbers of rows of `points`.
        y : array-like of shape (k,) or (k, outputs)
        **params : arrays of shape (k,), such as sample_weight
            Passed to `fit` with ones in the hidden rows; anything else is passed unchanged.

        Returns
        -------
        self
        """
        n = len(self.points)
        numbers = self._numbers(rows)
        if len(np.unique(numbers)) < len(numbers):
            raise ValueError("A row number occurs twice. Use each row once.")
        y = np.asarray(y)
        if len(y) != len(numbers):
            raise ValueError(
                f"y has {len(y)} entries for {len(numbers)} row numbers. It needs one entry per row."
            )
        # None means "unlabelled" for every classifier of this library, whatever its marker.
        hidden, kind = (None, object) if is_classifier(self.estimator) else (np.nan, float)
        labels = np.full((n, *y.shape[1:]), hidden, dtype=kind)
        labels[numbers] = y
        given = {name: _spread(values, numbers, n) for name, values in self._routed("fit", params).items()}
        if "offset" in given:
            raise ValueError("Give the offset of all points to Transductive, not of some rows to fit.")
        if self.offset is not None:
            given["offset"] = self.offset
        self.estimator_ = clone(self.estimator).fit(self.points, labels, **given)
        if hasattr(self.estimator_, "classes_"):
            self.classes_ = self.estimator_.classes_
        return self

    def get_metadata_routing(self) -> MetadataRouter:
        """The metadata passed to `fit` and `score` of the estimator."""
        mapping = MethodMapping().add(caller="fit", callee="fit").add(caller="score", callee="score")
        return MetadataRouter(owner=type(self).__name__).add(estimator=self.estimator, method_mapping=mapping)

    def _routed(self, method: str, params: dict[str, Any]) -> dict[str, Any]:
        """The parameters that the method of the estimator requests; all, if routing is off."""
        if not get_config()["enable_metadata_routing"]:
            return params
        return dict(getattr(process_routing(self, method, **params).estimator, method))

    def predict(self, rows: Any, **options: Any) -> Any:
        """Predictions of the estimator for some rows."""
        return self._at(rows, "predict", **options)

    @available_if(lambda self: hasattr(self.estimator, "predict_proba"))
    def predict_proba(self, rows: Any) -> Array:
        """Class probabilities for some rows."""
        return self._at(rows, "predict_proba")

    def score(self, rows: Any, y: Any, **params: Any) -> float:
        """Score of the estimator on some rows."""
        return float(self._at(rows, "score", y, **self._routed("score", params)))

    def _at(self, rows: Any, method: str, *arguments: Any, **options: Any) -> Any:
        check_is_fitted(self)
        points = _safe_indexing(self.points, self._numbers(rows))
        if self.offset is not None:
            options["offset"] = np.asarray(self.offset)[self._numbers(rows)]
        return getattr(self.estimator_, method)(points, *arguments, **options)

    def _numbers(self, rows: Any) -> IntArray:
        rows, n = np.asarray(rows), len(self.points)
        if rows.ndim == 2 and rows.shape[1] == 1:
            rows = rows[:, 0]
        if rows.ndim != 1 or rows.dtype.kind not in "iu" or ((rows < 0) | (rows >= n)).any():
            raise ValueError(
                f"Transductive takes row numbers from 0 to {n - 1} instead of X: np.arange({n})[:, None]."
            )
        return rows


def folds_for(estimator: Any, n_splits: int, random_state: Any) -> LabeledKFold:
    """Folds of the rows that an estimator takes for labelled."""
    marker = getattr(estimator, "unlabeled", "auto") if is_classifier(estimator) else None
    return LabeledKFold(n_splits, random_state=random_state, unlabeled=marker)


def _spread(values: Any, numbers: IntArray, n: int) -> Any:
    """Expand values for some rows to values for all rows."""
    if np.ndim(values) == 0 or len(values) != len(numbers):
        return values
    whole = np.ones((n, *np.shape(values)[1:]))
    whole[numbers] = values
    return whole


def cross_validate_labeled(
    estimator: Any,
    X: Any,
    y: Any,
    *,
    cv: Any = 5,
    scoring: Any = None,
    params: Any = None,
    offset: Any = None,
    **options: Any,
) -> dict[str, Any]:
    """Cross-validation scores on labelled rows, which stay in the graph when held out.

    Parameters
    ----------
    estimator : FLGPClassifier, FLGPRegressor, or a pipeline that ends in one
    X : array-like of shape (n, p)
    y : array-like of shape (n,) or (n, k)
        Unlabelled rows are marked as in `fit`.
    cv : int or splitter
        An integer means that many folds of `LabeledKFold` with seed 0.
    offset : array-like of shape (n,) or (n, k), optional
        As in `fit`, of all rows.
    scoring, params, **options
        As for `sklearn.model_selection.cross_validate`, such as n_jobs or return_estimator.

    Returns
    -------
    dict
        "test_score" (or one entry per scoring), "fit_time", "score_time".

    Examples
    --------
    >>> import numpy as np
    >>> from flgp import FLGPRegressor
    >>> from flgp.model_selection import cross_validate_labeled
    >>> X = np.random.default_rng(0).normal(size=(200, 2))
    >>> y = np.where(np.arange(200) < 40, X[:, 0], np.nan)
    >>> scores = cross_validate_labeled(FLGPRegressor(random_state=0), X, y, cv=4)
    >>> bool(scores["test_score"].mean() > 0.8)
    True
    """
    model = Transductive(estimator, X, offset)
    if isinstance(cv, int | np.integer):
        cv = folds_for(estimator, int(cv), 0)
    rows = np.arange(len(X))[:, None]
    return cross_validate(model, rows, y, cv=cv, scoring=scoring, params=params, **options)
