"""Semi-supervised classification."""

from __future__ import annotations

import warnings
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from scipy.special import log_softmax, softmax
from sklearn.base import ClassifierMixin
from sklearn.utils import check_random_state
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, column_or_1d

from .._typing import Array, BoolArray, RowLike
from ..geometry.base import FittedGeometry
from ..likelihoods import AnyLikelihood, Bernoulli, Categorical, Observations
from ..process.draws_field import DrawsField
from ..process.evidence import KnownValues, Target
from ..rows.blocks import take_rows
from ..rows.labels import is_missing_label
from ..rows.sources import is_distributed, is_streamed, local_labels
from ..terms import Constant
from ..terms.base import View
from ._docs import documented
from ._fitting import fit_model, transduce, update_model
from ._latent import LatentModel, labeled_rows
from .class_labels import plain_labels
from .class_prior import check_class_prior, log_odds_shift, shifted, soft_shares
from .labels import Labels
from .validation import check_choice, check_row_values, check_weights, refuse_repeats

MULTI_CLASS = ("auto", "one_vs_rest", "coupled")
RESIDUALS = ("local", "auto")
MEANS = ("auto", "constant", "zero")
# Labels, and labels for each class, from which on a line and the distance are told from a manifold.
_FEWEST, _FEWEST_PER_CLASS = 5, 3
# Fitted rows over which shares of classes are averaged.
_SHARE_ROWS = 20_000
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
        probability over the fitted rows is that. An array is in the order of `classes_`. "labels": half way
        towards the shares among the labels, which are noisy. None: nothing is assumed. `update` keeps the
        shift.
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
    mean: str = "auto"
    calibrate: bool = True
    residual: str | None = "auto"

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
        with self._fitting():
            self._check_parameters()
            X = self._validated(X, reset=True)
            y, missing = self._checked_labels(y, len(X))
            labels = self._labels(X, y, missing, sample_weight)
            self.classes_ = np.unique(labels.y)
            self._choose_roles(X, len(labels))
            rows = self._with_unlabeled(X, X_unlabeled)
            self._flat_ = True
            targets = self._targets(labels)
            shares = check_class_prior(self.class_prior, self.classes_)
            geometry = fit_model(self, rows, labels, targets)
            self._shift_ = self._class_shift(shares, rows, labels)
            self._transduce(geometry, rows)
        return self

    def _transduce(self, geometry: FittedGeometry, rows: RowLike) -> None:
        """The fitted rows; coupled classes are compared by probabilities, so these are known as well."""
        known = self._process_.coupled is not None and rows.shape[0] * len(self.classes_) <= _KEPT_NUMBERS
        found = transduce(self, geometry, rows, self._probabilities if known else self._most_probable)
        if found is not None and known:
            self.transduction_proba_, found = found, self.classes_[found.argmax(axis=1)]
        if found is not None:
            self.transduction_ = found

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
        with self._updating(relearn):
            known = None if relearn else dict(zip(self._function_names(), self._known_, strict=True))
            labels = self._all_labels(self._labels(X, y, missing, sample_weight), replace)
            before, targets = self.classes_, self._targets(labels, known)
            if self._shift_ is not None and not np.array_equal(self.classes_, before):
                raise ValueError(
                    "class_prior has shares of other classes than these labels. Fit again with shares of all "
                    "classes."
                )
            update_model(self, labels, targets)
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
        if self.residual is not None:
            check_choice("residual", self.residual, RESIDUALS)

    def _checked_labels(self, y: Any, n: int) -> tuple[Array, BoolArray]:
        if y is None:
            raise ValueError(
                "FLGPClassifier requires y to be passed, but the target y is None. "
                f"Mark unlabelled rows by {self.unlabeled!r}."
            )
        y = plain_labels(local_labels(y, self.unlabeled), self.unlabeled)
        y = column_or_1d(np.asarray(y), warn=True)
        if y.dtype.kind == "f" and np.isinf(y).any():
            raise ValueError("y contains infinity. Use class labels, or NaN for unlabelled rows.")
        if len(y) != n:
            raise ValueError(f"y has {len(y)} entries but X has {n} rows. y needs one label per row of X.")
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

    def _labels(self, X: Any, y: Array, missing: BoolArray, sample_weight: Any) -> Labels:
        """The labelled rows among those of X."""
        weight, missing = check_weights(sample_weight, missing)
        labeled = np.flatnonzero(~missing)
        refuse_repeats(None if weight is None else weight[labeled])
        known = {"weight": None if weight is None else weight[labeled]}
        return Labels(labeled_rows(X, labeled), _plain(y[labeled]), known, labeled)

    def _fewest_labels(self) -> int:
        """Labels from which on several terms are learned: one for each class says nothing of their shares."""
        return max(_FEWEST, _FEWEST_PER_CLASS * len(self.classes_))

    def _function_names(self) -> list[Hashable]:
        """What each target is about: a class, or None for all of them together."""
        count = len(self.classes_)
        if count == 1 or (count > 2 and self._exclusive(count)):
            return [None]
        return (self.classes_ if count > 2 else self.classes_[1:]).tolist()

    def _exclusive(self, n_classes: int) -> bool:
        """Whether the classes are learned together; two of them with a given amplitude are the paper's."""
        free = n_classes > 2 or (n_classes == 2 and self.amplitude is None)
        return free and self.multi_class != "one_vs_rest" and self.inference in ("auto", "ep")

    def _targets(
        self, labels: Labels, known: Mapping[Hashable, KnownValues] | Sequence[KnownValues] | None = None
    ) -> list[Target]:
        """A latent function for each class, or one target for all; `known` are values to keep.

        With one class among the labels there is a single function, whose labels are all "yes".
        """
        self.classes_, codes = np.unique(labels.y, return_inverse=True)
        positions, weight, count = np.arange(len(codes)), labels.known["weight"], len(self.classes_)
        names = self._function_names()
        if known is None:
            kept: Mapping[Hashable, KnownValues] = {}
        elif isinstance(known, Mapping):
            kept = known
        else:
            kept = dict(zip(names, known, strict=True))
        likelihood: AnyLikelihood = Bernoulli()
        if self._exclusive(count):
            likelihood = Categorical(count) if count > 2 else Bernoulli("probit")
            self._check_local_suits(likelihood)
            obs, values = Observations.of(codes.astype(float), weight=weight), kept.get(names[0])
            # There may have been fewer classes before.
            same = values if values is not None and isinstance(values.likelihood, type(likelihood)) else None
            constant = self._constant(likelihood, obs)
            return [Target(positions, obs, likelihood, constant, same, True, self._calibrates())]
        self._check_local_suits(likelihood)
        wanted = range(count) if count > 2 else [count - 1]
        targets = []
        for k, name in zip(wanted, names, strict=True):
            obs = Observations.of((codes == k).astype(float), weight=weight)
            constant = self._constant(likelihood, obs)
            targets.append(Target(positions, obs, likelihood, constant, kept.get(name)))
        return targets

    def _constant(self, likelihood: AnyLikelihood, obs: Observations) -> Constant:
        """The constant of a latent function: a regression on covariates or groups has one."""
        covariates = self._roles_.linear is not None or self.groups is not None
        together = self._exclusive(len(self.classes_))
        if self.mean == "zero" or (self.mean == "auto" and not covariates and not together):
            return Constant()
        mean = 0.0 if isinstance(likelihood, Categorical) else likelihood.initial_mean(obs)
        return Constant(mean, likelihood.latent_scale(obs) ** 2)

    def _calibrates(self) -> bool:
        """Whether left-out labels say how sure to be: those of a free model with one posterior."""
        return bool(self.calibrate) and self.hyperparameters == "optimize" and self.amplitude is None

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

    def predict_proba(self, X: Any) -> Array:
        """Class probabilities, integrated over the posterior; rows sum to 1.

        Parameters
        ----------
        X : array-like of shape (n, p)

        Returns
        -------
        array of shape (n, C)
        """
        check_is_fitted(self)
        X = self._validated(X, reset=False)
        known = self._remembered(X, "transduction_proba_")
        return self._answer(X, self._probabilities) if known is None else known

    def _probabilities(self, views: Sequence[View]) -> Array:
        p = self._unshifted(views)
        if self._shift_ is None:
            return p
        return shifted(np.log(np.maximum(p, np.finfo(float).tiny)), self._shift_)

    def _unshifted(self, views: Sequence[View]) -> Array:
        process, count = self._process_, len(self.classes_)
        if count == 1:
            return np.ones((len(views[0]), 1))
        if process.coupled is not None:
            return process.class_probabilities(views)
        columns = [function.predictive_mean(views) for function in process.functions]
        if count == 2:
            return np.stack([1.0 - columns[0], columns[0]], axis=1)
        return exactly_one(np.stack(columns, axis=1))

    def _class_shift(self, shares: Array | str | None, rows: RowLike, labels: Labels) -> Array | None:
        """What the log odds of the classes are shifted by, for given shares (C,)."""
        if shares is None or len(self.classes_) == 1:
            return None
        if is_distributed(rows) or is_streamed(rows):
            raise ValueError("class_prior needs rows in memory. Use class_prior=None for files and clusters.")
        some = np.unique(np.linspace(0, len(rows) - 1, min(len(rows), _SHARE_ROWS)).astype(int))
        p = self._answer(take_rows(rows, some), self._unshifted)
        if isinstance(shares, str):
            shares = soft_shares(p, np.unique(labels.y, return_counts=True)[1].astype(float))
        return log_odds_shift(p, shares)

    def predict(self, X: Any) -> Array:
        """The most probable class.

        Parameters
        ----------
        X : array-like of shape (n, p)

        Returns
        -------
        array of shape (n,)
        """
        check_is_fitted(self)
        X = self._validated(X, reset=False)
        known = self._remembered(X, "transduction_")
        return self._answer(X, self._most_probable) if known is None else known

    def _most_probable(self, views: Sequence[View]) -> Array:
        parts = self._process_.functions[0].components
        gaussian = not any(isinstance(part.field, DrawsField) for part in parts)
        if len(self.classes_) > 2 or not gaussian or self._shift_ is not None:
            return self.classes_[self._probabilities(views).argmax(axis=1)]
        # The link is symmetric: p > 1/2 where the latent mean is positive, and no variance is needed unless
        # the parts of a mixture disagree.
        signs = np.stack([part.field.means(views[part.layer]) > 0 for part in parts])
        positive, unsure = signs[0], np.flatnonzero((signs != signs[0]).any(axis=0))
        if len(unsure):
            p = self._probabilities([view.take(unsure) for view in views])
            positive[unsure] = p.argmax(axis=1) == 1
        return self.classes_[positive.astype(int) * (len(self.classes_) - 1)]

    def sample_y(self, X: Any, n_samples: int = 1, random_state: Any = 0, prior: bool = False) -> Array:
        """Joint draws of the class labels at any points, shape (n, n_samples).

        Parameters
        ----------
        X : array-like of shape (n, p)
        n_samples : int
        random_state : int, RandomState or None
        prior : bool
            From the prior at the learned hyperparameters instead of the posterior.
        """
        check_is_fitted(self)
        f = self.sample_f(X, n_samples, random_state, prior)
        rng = np.random.default_rng(check_random_state(random_state).randint(2**31) + 1)
        uniform = rng.random((f.shape[0], n_samples))
        if len(self.classes_) == 1:
            return np.full(uniform.shape, self.classes_[0])
        coupled = self._process_.coupled
        if coupled is not None:
            p = np.stack([coupled.conditional(f[:, :, k]) for k in range(n_samples)], axis=2)
        else:
            p = self._process_.functions[0].likelihood.conditional_mean(f)
        if p.ndim == 2 and self._shift_ is None:
            return self.classes_[(uniform < p).astype(int)]
        if coupled is None:
            p = np.stack([1.0 - p, p], axis=1) if p.ndim == 2 else exactly_one(p)
        if self._shift_ is not None:
            p = np.exp(log_softmax(np.log(np.maximum(p, 1e-300)) + self._shift_[:, None], axis=1))
        return self.classes_[(uniform[:, None, :] > np.cumsum(p, axis=1)[:, :-1]).sum(axis=1)]

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Accuracy over the labelled rows."""
        check_is_fitted(self)
        X = self._validated(X, reset=False)
        y, missing = self._checked_labels(y, len(X))
        right = self._answer(X[~missing], self._most_probable) == _plain(y[~missing])
        weight = check_row_values("sample_weight", sample_weight, len(X))
        return float(np.average(right, weights=None if weight is None else weight[~missing]))


def exactly_one(p: Array) -> Array:
    """Class probabilities from independent "is it class c?" probabilities p (b, C).

    Exactly one of the C answers is yes: P(c) ∝ p_c Π_{k≠c} (1 - p_k) ∝ p_c / (1 - p_c). Conditioning on that
    is what the independent model implies, and is better calibrated than dividing p by its sum.
    """
    tiny = np.finfo(float).tiny
    log_odds = np.log(np.maximum(p, tiny)) - np.log(np.maximum(1.0 - p, np.finfo(float).epsneg))
    return softmax(log_odds, axis=1)


def _plain(labels: Array) -> Array:
    """Object labels (what is left once None and NA are gone) as a plain array of their own type."""
    return np.array(labels.tolist()) if labels.dtype == object else labels
