"""Semi-supervised classification."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from sklearn.base import ClassifierMixin
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from .._typing import Array, RowLike
from .._words import check_choice
from ..geometry.base import FittedGeometry
from ..process.evidence import KnownValues
from ..terms.base import View
from ._docs import documented
from ._fitting import fit_model, update_model
from ._latent import LatentModel
from .answers import answers, remembered, transduced
from .class_clusters import KnownShares
from .class_labels import checked_classes, labeled_classes, of_one_type
from .class_prior import check_class_prior, with_prior_classes
from .class_probabilities import class_probabilities, conditional_probabilities, is_gaussian, is_second
from .class_shares import known_shares, on_manifold, warn_of_unlabeled
from .class_targets import ClassScheme, class_targets, known_values
from .class_votes import is_votes
from .label_noise import check_label_noise, first_noise, judged
from .labels import Labels, Problem
from .offsets import check_offset, same_use, training_offset
from .validation import check_row_values

MULTI_CLASS = ("auto", "one_vs_rest", "coupled")
MEANS = ("auto", "constant", "zero")
# Probabilities of the fitted rows that a model keeps, 80 MB.
_KEPT_NUMBERS = 10_000_000


@documented
@dataclass(kw_only=True, eq=False, repr=False)
class FLGPClassifier(ClassifierMixin, LatentModel):
    """Heat-kernel Gaussian process classification on an unknown manifold, or on a known geometry.

    Rows whose label is `unlabeled`, None, NaN or pandas' NA show the manifold, the others the classes.

    Parameters
    ----------
    {shared}
    multi_class : {{"auto", "coupled", "one_vs_rest"}}
        How more than two classes are modelled, with a latent function for each: "coupled" (multinomial
        probit: classes exclude each other and share their hyperparameters) or "one_vs_rest" (independent, the
        paper's). "auto": coupled wherever expectation propagation is used.
    unlabeled : int or str, default -1
        The label that means "unlabelled".
    class_prior : {{"uniform", "labels"}}, array of shape (C,) or mapping, optional
        Shares of the classes among all points, where they are known: log odds are shifted until the mean
        probability over the fitted rows is that. Beside these, the points are divided into clusters of such
        sizes; left-out labels decide how much that counts. An array is in the order of `classes_`; a mapping
        may also name classes without a label. "labels": half way towards the shares among the labels, which
        are noisy. None: nothing is assumed. `update` keeps the shift and drops the clusters.
    label_noise : float in [0, 1) or "auto", optional
        Share of the labels that are drawn at random, from all classes. Each label then counts as much as it
        is probable to be right (`label_wrong_proba_`), so that one which its neighbours contradict stops
        pulling. "auto": the share with the largest evidence (`label_noise_`). For expectation propagation and
        classes that are learned together.
    mean : {{"auto", "constant", "zero"}}
        Prior mean of each latent function. "constant": learned about the log odds of its class, "zero": the
        paper's. "auto": a constant where there are covariates, groups or classes that share their
        hyperparameters, otherwise zero.
    inference : {{"auto", "laplace", "ep", "gibbs"}}
        How the posterior is found. "auto": expectation propagation. "gibbs": Pólya-Gamma Markov chains at the
        learned hyperparameters (`flgp[mcmc]`). Laplace and Gibbs model several classes one against the rest.
    calibrate : bool
        Choose by the labels, each predicted from all others, how sure predictions are (`sharpness_`). Only
        where expectation propagation gives these predictions and the hyperparameters are optimised.
    {terms}
    residual : {{"auto", "local"}} or None
        A local term u, a Gaussian process of the Euclidean distance. "auto": for a point cloud, if the
        hyperparameters are optimised; the evidence decides how much it counts. "local": always. It is
        computed from at most 300 labelled points; with inference="laplace" by nearest neighbours (Vecchia).
        None: no such term, and predictions in O(r).
    n_residual_neighbors, residual_kernel, residual_columns
        As in `FLGPRegressor`.
    {posterior}

    Attributes
    ----------
    {attributes}
    classes_ : array of shape (C,)
    label_noise_ : float
        The share of random labels, 0 if none are assumed.
    label_wrong_proba_ : array of shape (m,)
        With `label_noise`: the probability that another class is the right one, for each label in the order
        of the rows (of votes, each class that has some); labels that `update` adds come last.
    transduction_proba_ : array of shape (n, C)
        Class probabilities of the fitted rows, where there are more than two classes that are coupled.
    sharpness_ : float
        What the probit's posterior mean of f was multiplied by; 1 where nothing is calibrated.
    class_model_shares_ : dict
        How much "probit", "least squares" and "linear least squares" count in the probabilities: those that
        predict left-out labels best.
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

    multi_class: str = "auto"
    unlabeled: Any = -1
    class_prior: Any = None
    label_noise: float | str | None = None
    mean: str = "auto"
    calibrate: bool = True

    def fit(
        self, X: Any, y: Any, X_unlabeled: Any = None, *, sample_weight: Any = None, offset: Any = None
    ) -> Self:
        """Learn the manifold from all rows and the classes from the labelled ones.

        Parameters
        ----------
        X : array-like of shape (n, p)
        y : array-like of shape (n,) or (n, C)
            Class labels; `unlabeled`, None, NaN or pandas' NA where there is none. With several columns,
            class probabilities (soft labels) or votes of several annotators, NaN in the whole row where there
            are none; the classes are the names of a DataFrame's columns, otherwise 0, …, C-1.
        X_unlabeled : array-like of shape (u, p), optional
            More unlabelled rows.
        sample_weight : array-like of shape (n,), optional
            Ignored where y is missing.
        offset : array-like of shape (n,) or (n, C), optional
            What another model says, in every row, labelled or not: log odds of the second class, or for
            several classes their log probabilities up to a constant, in the order of the sorted classes. The
            model learns what is left over.

        Returns
        -------
        self
        """
        with self._fitting():
            self._check_parameters()
            X = self._validated(X, reset=True)
            labels = self._labels(X, y, sample_weight, complete=True)
            self.classes_ = with_prior_classes(labels.y, self.class_prior)
            warn_of_unlabeled(self.classes_, labels)
            scheme = ClassScheme.of(self)
            own = scheme.latent_offset(training_offset(offset, X, scheme.n_functions, X_unlabeled))
            self._with_offset_ = own is not None
            labels = labels.beside(own)
            self._choose_roles(X, len(labels) >= scheme.fewest_labels)
            rows = self._with_unlabeled(X, X_unlabeled)
            self._flat_ = True
            self.label_noise_ = first_noise(self)
            shares = check_class_prior(self.class_prior, self.classes_)
            geometry = fit_model(self, rows, labels, self._problem(labels))
            if self.label_noise is not None:
                labels = judged(self, labels, None)
                update_model(self, labels, self._problem(labels))
            self._shares_ = known_shares(self, shares, rows, labels, own)
            self._transduce(geometry, rows, own)
        return self

    def _transduce(self, geometry: FittedGeometry, rows: RowLike, offset: Array | None) -> None:
        """The fitted rows; coupled classes are compared by probabilities, so these are known as well."""
        known = self._process_.coupled is not None and rows.shape[0] * len(self.classes_) <= _KEPT_NUMBERS
        point = self._probabilities if known else self._most_probable
        found = transduced(self, geometry, rows, point, offset)
        if found is not None and known:
            self.transduction_proba_, found = found, self.classes_[found.argmax(axis=1)]
        if found is not None:
            self.transduction_ = found

    def update(
        self,
        X: Any,
        y: Any,
        *,
        replace: bool = False,
        relearn: bool = True,
        sample_weight: Any = None,
        offset: Any = None,
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
        sample_weight, offset : array-like of shape (k,), optional
            As in `fit`, for these rows.

        Returns
        -------
        self
        """
        X = self._asked(X)
        self._check_parameters()
        own = self._offset_of(offset, X)
        added = self._labels(X, y, sample_weight).beside(own)
        with self._updating(relearn):
            known = None if relearn else known_values(self)
            labels = self._all_labels(added, replace)
            classes = with_prior_classes(labels.y, self.class_prior)
            if own is not None and not np.array_equal(classes, self.classes_):
                raise ValueError(
                    "offset has columns for other classes than these labels. Fit again with all classes."
                )
            if self._shares_ is not None:
                if not np.array_equal(np.unique(labels.y), np.unique(self._kept_labels().y)):
                    raise ValueError(
                        "class_prior was applied to labels of other classes than these. Fit again with "
                        "shares of all classes."
                    )
                self._shares_ = KnownShares(self._shares_.shift)  # the partition was that of other labels
            self.classes_ = classes
            labels = judged(self, labels, known)
            update_model(self, labels, self._problem(labels, known))
        return self

    # -- labels ------------------------------------------------------------------------------------------

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_choice("multi_class", self.multi_class, MULTI_CLASS)
        check_choice("mean", self.mean, MEANS)
        if not isinstance(self.calibrate, bool | np.bool_):
            raise ValueError(f"calibrate={self.calibrate!r} must be True or False.")
        if self.multi_class == "coupled" and self.inference not in ("auto", "ep"):
            raise ValueError(
                f"multi_class='coupled' is fitted by expectation propagation, but inference="
                f"{self.inference!r}. Use inference='auto', or multi_class='one_vs_rest'."
            )
        check_label_noise(self.label_noise, self.inference, self.multi_class)

    def _labels(self, X: Any, y: Any, sample_weight: Any, complete: bool = False) -> Labels:
        """The labelled rows among those of X; `complete`: every class must be among them, or have a share."""
        shares = self.class_prior if isinstance(self.class_prior, Mapping) else {}
        return labeled_classes(X, y, sample_weight, self.unlabeled, shares if complete else None)

    def _problem(
        self, labels: Labels, known: Mapping[Hashable, KnownValues] | Sequence[KnownValues] | None = None
    ) -> Problem:
        """A latent function for each class, or one target for all; `known` are values to keep."""
        if not np.array_equal(with_prior_classes(labels.y, self.class_prior), self.classes_):
            raise ValueError("the labels are of other classes than the model")
        return Problem(class_targets(self, labels, known), ClassScheme.of(self).fewest_labels)

    def _offset_of(self, offset: Any, X: Any) -> Array | None:
        """The offset (n, k) of rows to predict, in units of f; it must be given if the fit had one."""
        scheme = ClassScheme.of(self)
        return same_use(scheme.latent_offset(check_offset(offset, X, scheme.n_functions)), self._with_offset_)

    @property
    def sharpness_(self) -> float:
        """What the probit's posterior mean of f was multiplied by; 1 where nothing is calibrated."""
        check_is_fitted(self)
        return self._process_.calibration.sharpness

    @property
    def class_model_shares_(self) -> dict[str, float]:
        """How much "probit", "least squares" and "linear least squares" count in the probabilities."""
        check_is_fitted(self)
        return dict(self._process_.calibration.shares)

    # -- predictions -------------------------------------------------------------------------------------

    def predict_proba(self, X: Any, *, offset: Any = None) -> Array:
        """Class probabilities, integrated over the posterior; rows sum to 1.

        Parameters
        ----------
        X : array-like of shape (n, p)
        offset : number, or array-like of shape (n,) or (n, C)
            Of the rows, if the model was fitted with an offset.

        Returns
        -------
        array of shape (n, C)
        """
        return self._answered(X, offset, self._probabilities, "transduction_proba_")

    def _answered(self, X: Any, offset: Any, function: Callable[[Sequence[View]], Array], name: str) -> Array:
        """`function` of the views of X, or the attribute where its values at the fitted rows are."""
        X = self._asked(X)
        own = self._offset_of(offset, X)
        known = None if self._with_offset_ else remembered(self, X, name)
        return answers(self, X, function, offset=own) if known is None else known

    def _chances(self, X: Array, offset: Array | None) -> Array | None:
        return answers(self, X, self._probabilities, offset=offset)

    def _probabilities(self, views: Sequence[View]) -> Array:
        p = self._unshifted(views)
        return p if self._shares_ is None else self._shares_.applied(p, on_manifold(self._process_, views))

    def _unshifted(self, views: Sequence[View]) -> Array:
        return class_probabilities(self._process_, len(self.classes_), views)

    def predict(self, X: Any, *, offset: Any = None) -> Array:
        """The most probable class.

        Parameters
        ----------
        X : array-like of shape (n, p)
        offset : as in `predict_proba`

        Returns
        -------
        array of shape (n,)
        """
        return self._answered(X, offset, self._most_probable, "transduction_")

    def _most_probable(self, views: Sequence[View]) -> Array:
        if len(self.classes_) > 2 or self._shares_ is not None or not is_gaussian(self._process_):
            return self.classes_[self._probabilities(views).argmax(axis=1)]
        second = is_second(self._process_, views, self._probabilities)
        return self.classes_[second.astype(int) * (len(self.classes_) - 1)]

    def sample_y(
        self,
        X: Any,
        n_samples: int = 1,
        random_state: Any = 0,
        prior: bool = False,
        *,
        offset: Any = None,
    ) -> Array:
        """Joint draws of the class labels at any points, shape (n, n_samples).

        Parameters
        ----------
        X : array-like of shape (n, p)
        n_samples : int
        random_state : int, RandomState or None
        prior : bool
            From the prior at the learned hyperparameters instead of the posterior.
        offset : as in `predict_proba`
        """
        X = self._asked(X)
        own = self._offset_of(offset, X)
        f = self.sample_f(X, n_samples, random_state, prior)
        rng = np.random.default_rng(check_random_state(random_state).randint(2**31) + 1)
        if own is not None:
            f = f + (own[:, 0] if f.ndim == 2 else own)[..., None]
        uniform = rng.random((f.shape[0], n_samples))
        if len(self.classes_) == 1:
            return np.full(uniform.shape, self.classes_[0])
        p = conditional_probabilities(self._process_, f)
        if self._shares_ is not None:
            shares = KnownShares(self._shares_.shift) if prior else self._shares_

            def apply(views: Sequence[View], each: Array) -> Array:
                at = on_manifold(self._process_, views)
                return np.stack([shares.applied(each[:, :, k], at) for k in range(n_samples)], axis=2)

            p = answers(self, X, apply, beside=p)
        return self.classes_[(uniform[:, None, :] > np.cumsum(p, axis=1)[:, :-1]).sum(axis=1)]

    def score(self, X: Any, y: Any, sample_weight: Any = None, *, offset: Any = None) -> float:
        """Accuracy over the labelled rows; offset as in `predict_proba`."""
        X = self._asked(X)
        if is_votes(y):
            raise ValueError("score needs one label for each row, not probabilities or votes.")
        y, missing = checked_classes(y, len(X), self.unlabeled)
        own = self._offset_of(offset, X)
        own = None if own is None else own[~missing]
        right = answers(self, X[~missing], self._most_probable, offset=own) == of_one_type(y[~missing])
        weight = check_row_values("sample_weight", sample_weight, len(X))
        return float(np.average(right, weights=None if weight is None else weight[~missing]))
