"""Semi-supervised classification."""

from __future__ import annotations

import copy
import numbers
import warnings
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from dataclasses import replace as replace_fields
from typing import Any, Self

import numpy as np
from scipy.special import expit, ndtri, softmax
from sklearn.base import ClassifierMixin
from sklearn.utils import check_random_state
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, column_or_1d

from .._typing import Array, BoolArray, IntArray, RowLike
from ..geometry.base import FittedGeometry
from ..likelihoods import AnyLikelihood, Bernoulli, Categorical, NoisyBernoulli, Observations
from ..process.draws_field import DrawsField
from ..process.evidence import KnownValues, Target
from ..rows.blocks import map_rows, take_rows
from ..rows.labels import is_missing_label
from ..rows.sample import random_order
from ..rows.sources import is_distributed, is_streamed, local_labels
from ..terms import Constant, Manifold
from ..terms.base import TermView, View
from ._docs import documented
from ._fitting import fit_model, process_without, transduce, update_model
from ._latent import LatentModel, labeled_rows
from .class_clusters import Clusters, KnownShares, learn_clusters
from .class_labels import plain_labels
from .class_prior import check_class_prior, log_odds_shift, soft_shares, with_prior_classes
from .class_votes import expanded_votes, is_votes
from .labels import Labels
from .offsets import probit_offsets
from .validation import check_choice, check_row_values, check_weights, refuse_repeats

MULTI_CLASS = ("auto", "one_vs_rest", "coupled")
RESIDUALS = ("local", "auto")
MEANS = ("auto", "constant", "zero")
# Labels, and labels for each class, from which on a line and the distance are told from a manifold.
_FEWEST, _FEWEST_PER_CLASS = 5, 3
# Fitted rows over which shares of classes are averaged, and that are divided into clusters; more labels than
# this say where classes are better than clusters do.
_SHARE_ROWS, _CLUSTER_ROWS, _CLUSTER_LABELS = 20_000, 5_000, 500
# Log odds of an offset that say: certain.
_LARGEST_LOGIT = 30.0
# Shares of random labels that label_noise="auto" compares, and with which the geometry is chosen.
_NOISES, _FIRST_NOISE = (0.5, 0.4, 0.3, 0.2, 0.1, 0.05, 0.0), 0.2
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
        Share of the labels that are drawn at random, from all classes: a label that its neighbours contradict
        then stops pulling. "auto": the share with the largest evidence (`label_noise_`). For expectation
        propagation and classes that are learned together.
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
    residual: str | None = "auto"

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
            self._note_unlabeled(labels)
            own = self._training_offset(offset, X, self._n_functions(), X_unlabeled)
            labels = _with_offset(labels, own)
            self._choose_roles(X, len(labels))
            rows = self._with_unlabeled(X, X_unlabeled)
            self._flat_ = True
            self.label_noise_ = _FIRST_NOISE if self._searches_noise() else float(self.label_noise or 0.0)
            targets = self._targets(labels)
            shares = check_class_prior(self.class_prior, self.classes_)
            geometry = fit_model(self, rows, labels, targets)
            if self._searches_noise():
                self._choose_noise(labels)
            self._shares_ = self._known_shares(shares, rows, labels, own)
            self._transduce(geometry, rows, own)
        return self

    def _transduce(self, geometry: FittedGeometry, rows: RowLike, offset: Array | None) -> None:
        """The fitted rows; coupled classes are compared by probabilities, so these are known as well."""
        known = self._process_.coupled is not None and rows.shape[0] * len(self.classes_) <= _KEPT_NUMBERS
        point = self._probabilities if known else self._most_probable
        found = transduce(self, geometry, rows, point, offset)
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
        check_is_fitted(self)
        self._check_parameters()
        X = self._validated(X, reset=False)
        own = self._offset_of(offset, X)
        added = _with_offset(self._labels(X, y, sample_weight), own)
        with self._updating(relearn):
            known = None if relearn else dict(zip(self._function_names(), self._known_, strict=True))
            labels = self._all_labels(added, replace)
            before = self.classes_
            if own is not None and not np.array_equal(with_prior_classes(labels.y, self.class_prior), before):
                raise ValueError(
                    "offset has columns for other classes than these labels. Fit again with all classes."
                )
            seen = self._kept_labels().y
            if self._shares_ is not None and not np.array_equal(np.unique(labels.y), np.unique(seen)):
                raise ValueError(
                    "class_prior was applied to labels of other classes than these. Fit again with shares of "
                    "all classes."
                )
            targets = self._targets(labels, known)
            update_model(self, labels, targets)
            if self._shares_ is not None:  # the partition was that of other labels
                self._shares_ = KnownShares(self._shares_.shift)
            if relearn and self._searches_noise():
                self._choose_noise(labels)
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
        self._check_noise()

    def _check_noise(self) -> None:
        noise = self.label_noise
        if noise is None:
            return
        number = isinstance(noise, numbers.Real) and not isinstance(noise, bool)
        if not (noise == "auto" or (number and 0.0 <= float(noise) < 1.0)):
            raise ValueError(f"label_noise={noise!r} must be None, 'auto' or a number in [0, 1).")
        if self.inference not in ("auto", "ep") or self.multi_class == "one_vs_rest":
            raise ValueError(
                "label_noise needs expectation propagation and classes that are learned together. Use "
                "inference='auto' and multi_class='auto'."
            )

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

    def _labels(self, X: Any, y: Any, sample_weight: Any, complete: bool = False) -> Labels:
        """The labelled rows among those of X; several votes on a point are several labels there."""
        if is_votes(y):
            shares = self.class_prior if isinstance(self.class_prior, Mapping) else {}
            rows, classes, votes = expanded_votes(y, len(X), complete, shares)
            given = check_weights(sample_weight, np.asarray(np.bincount(rows, minlength=len(X)) == 0))[0]
            whole = votes if given is None else votes * given[rows]
            kept = whole > 0
            labeled, classes, own = rows[kept], classes[kept], whole[kept]
            known = {"weight": None if np.all(own == 1.0) else own}
        else:
            y, missing = self._checked_labels(y, len(X))
            weight, missing = check_weights(sample_weight, missing)
            labeled = np.flatnonzero(~missing)
            classes = _plain(y[labeled])
            known = {"weight": None if weight is None else weight[labeled]}
        refuse_repeats(known["weight"])
        return Labels(labeled_rows(X, labeled), classes, known, labeled)

    def _note_unlabeled(self, labels: Labels) -> None:
        """A class that has a share but no label is known by its share alone."""
        absent = np.setdiff1d(self.classes_, labels.y).tolist()
        if absent:
            names = ", ".join(repr(name) for name in absent[:3]) + (", …" if len(absent) > 3 else "")
            warnings.warn(
                f"No row is labelled {names}: class_prior says how many rows are, and nothing says which. "
                "Label a few of them.",
                UserWarning,
                stacklevel=3,
            )

    # -- label noise -------------------------------------------------------------------------------------

    def _searches_noise(self) -> bool:
        return isinstance(self.label_noise, str) and len(self.classes_) > 1

    def _choose_noise(self, labels: Labels) -> None:
        """The share of random labels with the largest evidence, each with its own hyperparameters."""
        found = {}
        for noise in _NOISES:
            self.label_noise_ = noise
            update_model(self, labels, self._targets(labels))
            found[noise] = self.log_marginal_likelihood_value_
        best = max(found, key=lambda noise: found[noise])
        if best != self.label_noise_:
            self.label_noise_ = best
            update_model(self, labels, self._targets(labels))

    def _n_functions(self) -> int:
        """Latent functions: one for each class, or a single one for two."""
        return len(self.classes_) if len(self.classes_) > 2 else 1

    def _as_latent(self, offset: Array | None) -> Array | None:
        """Log odds, or log probabilities of several classes, as latents of the probit."""
        count = len(self.classes_)
        if offset is None or count < 2 or (count == 2 and not self._exclusive(2)):
            return offset
        if count == 2:
            return np.asarray(ndtri(expit(np.clip(offset, -_LARGEST_LOGIT, _LARGEST_LOGIT))))
        if not self._exclusive(count):
            raise ValueError(
                "offset with more than two classes needs the coupled model. Use multi_class='auto' and "
                "inference='auto'."
            )
        return probit_offsets(offset)

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
        self.classes_ = with_prior_classes(labels.y, self.class_prior)
        codes = np.searchsorted(self.classes_, labels.y)
        positions, weight, count = np.arange(len(codes)), labels.known["weight"], len(self.classes_)
        names = self._function_names()
        if known is None:
            kept: Mapping[Hashable, KnownValues] = {}
        elif isinstance(known, Mapping):
            kept = known
        else:
            kept = dict(zip(names, known, strict=True))
        likelihood: AnyLikelihood = Bernoulli()
        if self.label_noise_ and count > 1 and not self._exclusive(count):
            raise ValueError("label_noise needs an amplitude that is learned. Use amplitude=None.")
        if self._exclusive(count):
            likelihood = self._together(count)
            self._check_local_suits(likelihood)
            offset = labels.offset
            if offset is not None and count == 2:
                offset = offset[:, 0]
            obs = Observations.of(codes.astype(float), weight=weight, offset=offset)
            values = kept.get(names[0])
            # There may have been fewer classes before.
            same = values if values is not None and isinstance(values.likelihood, type(likelihood)) else None
            constant = self._constant(likelihood, obs)
            return [Target(positions, obs, likelihood, constant, same, True, self._calibrates())]
        self._check_local_suits(likelihood)
        wanted = range(count) if count > 2 else [count - 1]
        targets = []
        for k, name in zip(wanted, names, strict=True):
            offset = None if labels.offset is None else labels.offset[:, 0]
            obs = Observations.of((codes == k).astype(float), weight=weight, offset=offset)
            constant = self._constant(likelihood, obs)
            targets.append(Target(positions, obs, likelihood, constant, kept.get(name)))
        return targets

    def _constant(self, likelihood: AnyLikelihood, obs: Observations) -> Constant:
        """The constant of a latent function: a regression on covariates or groups has one."""
        covariates = self._roles_.linear is not None or self.groups is not None
        together = self._exclusive(len(self.classes_))
        if self.mean == "zero" or (self.mean == "auto" and not covariates and not together):
            return Constant()
        mean = 0.0 if isinstance(likelihood, Categorical) else likelihood.constant_beside_offset(obs)
        return Constant(mean, likelihood.latent_scale(obs) ** 2)

    def _together(self, n_classes: int) -> AnyLikelihood:
        """The likelihood of classes that are learned together, with noise among their labels if asked for."""
        if n_classes > 2:
            return Categorical(n_classes, self.label_noise_)
        return NoisyBernoulli("probit", self.label_noise_) if self.label_noise_ else Bernoulli("probit")

    def _calibrates(self) -> bool:
        """Whether left-out labels say how sure to be: those of a free model with one posterior.

        Beside another model, or where labels may be wrong, they do not.
        """
        plain = not (self._with_offset_ or self.label_noise_)
        free = self.hyperparameters == "optimize" and self.amplitude is None
        return bool(self.calibrate) and plain and free

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
        check_is_fitted(self)
        X = self._validated(X, reset=False)
        own = self._offset_of(offset, X)
        known = None if self._with_offset_ else self._remembered(X, "transduction_proba_")
        return self._answer(X, self._probabilities, offset=own) if known is None else known

    def _probabilities(self, views: Sequence[View]) -> Array:
        p = self._unshifted(views)
        return p if self._shares_ is None else self._shares_.applied(p, self._on_manifold(views))

    def _on_manifold(self, views: Sequence[View]) -> TermView | None:
        """The manifold term at the points."""
        parts = zip(self._process_.layers[0].parts, views[0].terms, strict=True)
        return next((at for part, at in parts if isinstance(part, Manifold)), None)

    def _unshifted(self, views: Sequence[View]) -> Array:
        process, count = self._process_, len(self.classes_)
        if count == 1:
            return np.ones((len(views[0]), 1))
        if process.coupled is not None:
            return process.class_probabilities(views)
        columns = [function.predictive_mean(own) for function, own in process.each(views)]
        if count == 2:
            return np.stack([1.0 - columns[0], columns[0]], axis=1)
        return exactly_one(np.stack(columns, axis=1))

    def _known_shares(
        self, shares: Array | str | None, rows: RowLike, labels: Labels, offset: Array | None
    ) -> KnownShares | None:
        """What shares (C,) of the classes say: over some of the rows their mean probabilities are these."""
        if shares is None or len(self.classes_) == 1:
            return None
        if is_distributed(rows) or is_streamed(rows):
            raise ValueError("class_prior needs rows in memory. Use class_prior=None for files and clusters.")
        # At random: rows may be in an order that has to do with their classes.
        some = random_order(rows, _SHARE_ROWS, np.random.default_rng(0))
        X, own = take_rows(rows, some), None if offset is None else offset[some]
        p = self._answer(X, self._unshifted, offset=own)
        if isinstance(shares, str):
            counts = np.unique(labels.y, return_counts=True)[1].astype(float)
            return KnownShares(log_odds_shift(p, soft_shares(p, counts)))
        shift = log_odds_shift(p, shares)
        manifold = [part for part in self._process_.layers[0].parts if isinstance(part, Manifold)]
        if not manifold or len(labels) > _CLUSTER_LABELS:
            return KnownShares(shift)
        fewer = None if own is None else own[:_CLUSTER_ROWS]
        clusters = self._clusters(manifold[0], X[:_CLUSTER_ROWS], labels, fewer, shares)

        def alone(views: Sequence[View]) -> Array:
            at = self._on_manifold(views)
            assert at is not None
            return clusters.probabilities(at)

        here = self._answer(X, alone, offset=own)
        return KnownShares(
            shift, replace_fields(clusters, shift=clusters.shift + log_odds_shift(here, shares))
        )

    def _clusters(
        self, manifold: Manifold, X: Array, labels: Labels, offset: Array | None, shares: Array
    ) -> Clusters:
        """The classes as clusters of rows X (n, p) and of the labelled points."""
        points, codes = np.concatenate([X, labels.points]), np.searchsorted(self.classes_, labels.y)
        weight = labels.known["weight"]
        weight = np.ones(len(codes)) if weight is None else weight
        if offset is not None and labels.offset is not None:
            offset = np.concatenate([offset, labels.offset])
        known = dict(zip(self._function_names(), self._known_, strict=True))

        def probabilities(kept: IntArray) -> Array:
            model = copy.copy(self)
            if len(kept) < len(codes):
                some = labels.take(kept)
                model._process_ = process_without(self, some, self._targets(some, known))
            return model._answer(points, model._unshifted, offset=offset)

        features = map_rows(points, lambda block: manifold.features(self._inputs(block)))
        return learn_clusters(
            manifold, features, probabilities, codes, weight, shares, trusted=not self.label_noise_
        )

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
        check_is_fitted(self)
        X = self._validated(X, reset=False)
        own = self._offset_of(offset, X)
        known = None if self._with_offset_ else self._remembered(X, "transduction_")
        return self._answer(X, self._most_probable, offset=own) if known is None else known

    def _most_probable(self, views: Sequence[View]) -> Array:
        parts = self._process_.functions[0].components
        gaussian = not any(isinstance(part.field, DrawsField) for part in parts)
        if len(self.classes_) > 2 or not gaussian or self._shares_ is not None:
            return self.classes_[self._probabilities(views).argmax(axis=1)]
        # The link is symmetric: p > 1/2 where the latent mean is positive, and no variance is needed unless
        # the parts of a mixture disagree.
        signs = np.stack([part.field.means(views[part.layer].of_function(0)) > 0 for part in parts])
        positive, unsure = signs[0], np.flatnonzero((signs != signs[0]).any(axis=0))
        if len(unsure):
            p = self._probabilities([view.take(unsure) for view in views])
            positive[unsure] = p.argmax(axis=1) == 1
        return self.classes_[positive.astype(int) * (len(self.classes_) - 1)]

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
        check_is_fitted(self)
        X = self._validated(X, reset=False)
        own = self._offset_of(offset, X)
        f = self.sample_f(X, n_samples, random_state, prior)
        rng = np.random.default_rng(check_random_state(random_state).randint(2**31) + 1)
        if own is not None:
            f = f + (own[:, 0] if f.ndim == 2 else own)[..., None]
        uniform = rng.random((f.shape[0], n_samples))
        if len(self.classes_) == 1:
            return np.full(uniform.shape, self.classes_[0])
        coupled = self._process_.coupled
        if coupled is not None:
            p = np.stack([coupled.conditional(f[:, :, k]) for k in range(n_samples)], axis=2)
        else:
            p = self._process_.functions[0].likelihood.conditional_mean(f)
        if p.ndim == 2 and self._shares_ is None:
            return self.classes_[(uniform < p).astype(int)]
        if coupled is None:
            p = np.stack([1.0 - p, p], axis=1) if p.ndim == 2 else exactly_one(p)
        if self._shares_ is not None:
            shares = KnownShares(self._shares_.shift) if prior else self._shares_

            def apply(views: Sequence[View], each: Array) -> Array:
                at = self._on_manifold(views)
                return np.stack([shares.applied(each[:, :, k], at) for k in range(n_samples)], axis=2)

            p = self._answer(X, apply, beside=p)
        return self.classes_[(uniform[:, None, :] > np.cumsum(p, axis=1)[:, :-1]).sum(axis=1)]

    def score(self, X: Any, y: Any, sample_weight: Any = None, *, offset: Any = None) -> float:
        """Accuracy over the labelled rows; offset as in `predict_proba`."""
        check_is_fitted(self)
        X = self._validated(X, reset=False)
        if is_votes(y):
            raise ValueError("score needs one label for each row, not probabilities or votes.")
        y, missing = self._checked_labels(y, len(X))
        own = self._offset_of(offset, X)
        own = None if own is None else own[~missing]
        right = self._answer(X[~missing], self._most_probable, offset=own) == _plain(y[~missing])
        weight = check_row_values("sample_weight", sample_weight, len(X))
        return float(np.average(right, weights=None if weight is None else weight[~missing]))


def _with_offset(labels: Labels, offset: Array | None) -> Labels:
    """Labels with the offset of their rows, of that of all rows (n, k)."""
    return labels if offset is None else replace_fields(labels, offset=offset[labels.row])


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
