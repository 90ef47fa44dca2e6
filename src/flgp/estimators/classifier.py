"""Semi-supervised classification."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from typing import Any, Self

import numpy as np
from sklearn.utils import check_random_state
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, column_or_1d

from .._typing import Array, BoolArray
from ..feature_map import FeatureMap
from ..inference.integration import Layer
from ..inference.learning import Head, Kept, Task
from ..inference.priors import Prior
from ..likelihoods import Bernoulli, Categorical, Observations
from ..sources import local_labels
from ._base import labeled_rows
from ._classification import ClassPredictions
from ._component import Component, softmax_components, weighted_points
from ._docs import documented
from ._labels import Labels
from ._update import update_labels
from ._validation import check_choice, check_row_values, check_weights, is_missing_label

MULTI_CLASS = ("auto", "one_vs_rest", "softmax")
# Names a latent function that is about all classes; not among any labels.
_ALL = object()


@documented
class FLGPClassifier(ClassPredictions):
    """Heat-kernel Gaussian process classification on an unknown manifold.

    Rows whose label is `unlabeled`, None, NaN or pandas' NA show the manifold, the others the classes.

    Parameters
    ----------
    {shared}
    multi_class : {{"auto", "one_vs_rest", "softmax"}}
        How more than two classes are modelled: a latent function for each, independent (the paper's), or
        coupled. "auto": one_vs_rest, which is the better calibrated one (see the page on calibration).
    unlabeled : int or str, default -1
        The label that means "unlabelled".
    inference : {{"auto", "laplace", "ep", "gibbs"}}
        How the posterior is found. "auto": expectation propagation for binary and one-vs-rest, Laplace
        for softmax. "gibbs": Pólya-Gamma Markov chains at the learned hyperparameters (`flgp[mcmc]`).
    {posterior}
    residual : "local" or None
        "local": each latent function is h + u, u a Gaussian process of the Euclidean distance by nearest
        neighbours (Vecchia); by Laplace's method, and not for "softmax". None: the paper's model.
    n_residual_neighbors, residual_kernel, residual_columns
        As in `FLGPRegressor`.

    Attributes
    ----------
    {attributes}
    classes_ : array of shape (C,)
    residual_kernel_, residual_length_scale_, residual_variance_
        As in `FLGPRegressor`, one entry for each latent function.

    Examples
    --------
    >>> import numpy as np
    >>> from flgp import FLGPClassifier
    >>> angle = np.linspace(0, 2 * np.pi, 400, endpoint=False)
    >>> ring = np.column_stack([np.cos(angle), np.sin(angle)])
    >>> X = np.concatenate([ring, 2 * ring])
    >>> y = np.full(800, -1)
    >>> y[0], y[400] = 0, 1
    >>> model = FLGPClassifier(random_state=0).fit(X, y)
    >>> float(np.mean(model.predict(X) == np.repeat([0, 1], 400)))
    1.0
    """

    _residual_choices = ("local",)

    def __init__(
        self,
        *,
        n_anchors: int | str = "auto",
        n_neighbors: int = 3,
        n_eigenpairs: int | str = "auto",
        anchors: str | Array = "kmeans",
        anchor_weights: str = "auto",
        n_anchor_sets: int | str = "auto",
        base_kernel: str = "lae",
        bandwidth: float | None = None,
        kernel: str = "heat",
        nu: float = 1.5,
        diffusion_time: float | None = None,
        amplitude: float | None = None,
        multi_class: str = "auto",
        unlabeled: Any = -1,
        inference: str = "auto",
        residual: str | None = None,
        n_residual_neighbors: int = 30,
        residual_kernel: str = "auto",
        residual_columns: Any = None,
        hyperparameters: str = "optimize",
        time_prior: str | Prior = "graph",
        intrinsic_dimension: float | None = None,
        n_chains: int = 4,
        n_draws: int = 500,
        n_warmup: int = 250,
        random_state: Any = None,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        super().__init__(
            n_anchors=n_anchors,
            n_neighbors=n_neighbors,
            n_eigenpairs=n_eigenpairs,
            anchors=anchors,
            anchor_weights=anchor_weights,
            n_anchor_sets=n_anchor_sets,
            base_kernel=base_kernel,
            bandwidth=bandwidth,
            kernel=kernel,
            nu=nu,
            diffusion_time=diffusion_time,
            amplitude=amplitude,
            random_state=random_state,
            n_jobs=n_jobs,
            verbose=verbose,
        )
        self.multi_class = multi_class
        self.unlabeled = unlabeled
        self.inference = inference
        self.hyperparameters = hyperparameters
        self.time_prior = time_prior
        self.intrinsic_dimension = intrinsic_dimension
        self.n_chains = n_chains
        self.n_draws = n_draws
        self.n_warmup = n_warmup
        self.residual = residual
        self.n_residual_neighbors = n_residual_neighbors
        self.residual_kernel = residual_kernel
        self.residual_columns = residual_columns

    def fit(self, X: Any, y: Any, X_unlabeled: Any = None, *, sample_weight: Any = None) -> Self:
        """Learn the manifold from all rows and the classes from the labelled ones.

        Parameters
        ----------
        X : array-like of shape (n, p)
        y : array-like of shape (n,)
            Class labels; `unlabeled`, None, NaN or pandas' NA where there is none.
        X_unlabeled : array-like of shape (u, p), optional
            More unlabelled rows.
        sample_weight : array-like of shape (n,), optional
            Ignored where y is missing.

        Returns
        -------
        self
        """
        with self._unfitted_if_it_fails():
            self._check_parameters()
            X = self._validated(X, reset=True)
            self._columns_of_residual()
            y, missing = self._checked_labels(y, len(X))
            rows = self._with_unlabeled(X, X_unlabeled)
            self._fit_labels(rows, self._labels(X, y, missing, sample_weight))
        return self

    def update(
        self, X: Any, y: Any, *, replace: bool = False, relearn: bool = True, sample_weight: Any = None
    ) -> Self:
        """Learn from more labels without a new graph, as active learning does.

        Anchors, neighbours, bandwidth and spectrum stay; everything else is as if `fit` had seen all labels,
        new classes included. `transduction_` goes, because it would need all rows again. If this fails the
        model stays as it was.

        Parameters
        ----------
        X : array-like of shape (k, p)
            Where the new labels are: rows of the fitted X, such as `X[[3, 8]]`, or any other points.
        y : array-like of shape (k,)
            Marked as in `fit` where there is none. Every other one is a further observation, also where
            there is one already.
        replace : bool
            `X` and `y` hold all labels and those known before are forgotten: to correct or withdraw some,
            or to hand over the whole y after a change.
        relearn : bool
            Learn the hyperparameters again, or keep their values (those of a new class are learned), which
            takes a fraction of the time.
        sample_weight : array-like of shape (k,), optional

        Returns
        -------
        self
        """
        check_is_fitted(self)
        self._check_parameters()
        X = self._validated(X, reset=False)
        y, missing = self._checked_labels(y, len(X))
        update_labels(self, self._labels(X, y, missing, sample_weight), replace, relearn)
        return self

    def _labels(self, X: Any, y: Array, missing: BoolArray, sample_weight: Any) -> Labels:
        """The labelled rows among those of X."""
        weight, missing = check_weights(sample_weight, missing)
        labeled = np.flatnonzero(~missing)
        known = {"weight": None if weight is None else weight[labeled]}
        return Labels(labeled_rows(X, labeled), _plain(y[labeled]), known, labeled)

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_choice("multi_class", self.multi_class, MULTI_CLASS)
        self._check_residual()

    def _checked_labels(self, y: Any, n: int) -> tuple[Array, BoolArray]:
        if y is None:
            raise ValueError(
                "FLGPClassifier requires y to be passed, but the target y is None. "
                f"Mark unlabelled rows by {self.unlabeled!r}."
            )
        y = local_labels(y, self.unlabeled)
        if isinstance(y, list | tuple) and any(value is None for value in y):
            y = np.array(y, dtype=object)  # NumPy would turn None into a string among strings
        y = column_or_1d(np.asarray(y), warn=True)
        if y.dtype.kind == "f" and np.isinf(y).any():
            raise ValueError("y contains infinity. Use class labels, or NaN for unlabelled rows.")
        if len(y) != n:
            raise ValueError(f"y has {len(y)} entries but X has {n} rows. Give one label a row.")
        missing = is_missing_label(y, self.unlabeled)
        if missing.all():
            raise ValueError(
                f"y has no labelled row: all are {self.unlabeled!r}, None or NaN. Label at least one row, "
                "or set `unlabeled` if that value is a class."
            )
        with warnings.catch_warnings():  # few labels of many classes are what this is for
            warnings.filterwarnings("ignore", "The number of unique classes", UserWarning)
            check_classification_targets(_plain(y[~missing]))
        return y, missing

    def _head_names(self) -> Sequence[Any]:
        """The class that each latent function is about; one for coupled classes, and for a single one."""
        count = len(self.classes_)
        if count == 1 or (count > 2 and self.multi_class == "softmax"):
            return [_ALL]
        return (self.classes_ if count > 2 else self.classes_[1:]).tolist()

    def _tasks(self, labels: Labels, kept: Mapping[Any, Kept] | None = None) -> list[Task]:
        self.classes_, codes = np.unique(labels.y, return_inverse=True)
        positions, weight, count = np.arange(len(codes)), labels.known["weight"], len(self.classes_)
        kept = {} if kept is None else kept
        coupled = count > 2 and self.multi_class == "softmax"
        likelihood = Categorical(count) if coupled else Bernoulli()
        self._check_residual_suits(likelihood)
        if coupled:
            obs = Observations.of(codes, weight=weight)
            return [Task(positions, obs, likelihood, kept=_of_same_kind(kept.get(_ALL), Categorical))]
        # One class among the labels: a single function that is told "yes" everywhere.
        wanted = range(count) if count > 2 else [count - 1]
        return [
            Task(
                positions,
                Observations.of((codes == k).astype(float), weight=weight),
                likelihood,
                kept=kept.get(self.classes_[k].item()),
            )
            for k in wanted
        ]

    def _posteriors(
        self, feature_map: FeatureMap, heads: Sequence[Head], layers: Sequence[Layer]
    ) -> list[list[Component]]:
        self._joint_ = None
        if not isinstance(heads[0].task.likelihood, Categorical):
            return super()._posteriors(feature_map, heads, layers)
        chains = self._chain_settings() if self.inference == "gibbs" else None
        seed = int(check_random_state(self.random_state).randint(2**31)) if chains is not None else 0
        points = weighted_points(feature_map, heads[0], 0, layers)
        self._joint_, mixtures, runs = softmax_components(feature_map, points, chains, seed)
        if runs:
            self.chains_ = runs[0] if len(runs) == 1 else runs
        return mixtures

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Accuracy over the labelled rows."""
        check_is_fitted(self)
        X = self._validated(X, reset=False)
        y, missing = self._checked_labels(y, len(X))
        right = self._map_blocks(X[~missing], self._point) == _plain(y[~missing])
        weight = check_row_values("sample_weight", sample_weight, len(X))
        return float(np.average(right, weights=None if weight is None else weight[~missing]))


def _of_same_kind(kept: Kept | None, kind: type) -> Kept | None:
    """`kept`, unless it belongs to another likelihood: there may have been a single class before."""
    return kept if kept is not None and isinstance(kept.likelihood, kind) else None


def _plain(labels: Array) -> Array:
    """Object labels (what is left once None and NA are gone) as a plain array of their own type."""
    return np.array(labels.tolist()) if labels.dtype == object else labels
