"""Semi-supervised regression and counts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, Self, TypeAlias, TypedDict, Unpack, overload

import numpy as np
from sklearn.base import RegressorMixin
from sklearn.metrics import r2_score
from sklearn.utils.metaestimators import available_if

from .._typing import Array
from .._words import check_choice
from ..likelihoods import Gaussian, Heteroscedastic, Likelihood, Ordinal
from ..process.evidence import KnownValues
from ..process.mixture import LatentFunction
from ..process.parts import PredictedParts
from ..terms.base import View
from ._docs import documented
from ._fitting import fit_model, update_model
from ._latent import LatentModel, interval_levels
from .answers import answers, remembered, transduced
from .labels import FEWEST_NUMBERS, Labels, Problem, checked_targets, labeled_targets
from .learned_attributes import scalar_or_array, single_or_list
from .offsets import check_offset, row_sizes, same_use, training_offset
from .regression_targets import check_linkable, regression_targets
from .validation import (
    check_count,
    check_positive,
    check_row_values,
    seeded,
)

MEANS = ("constant", "zero")

No: TypeAlias = Literal[False]
Yes: TypeAlias = Literal[True]


class About(TypedDict, total=False):
    """What is known about the rows to predict."""

    exposure: Any
    trials: Any
    offset: Any


def _has_levels(model: FLGPRegressor) -> bool:
    return isinstance(model.likelihood, Ordinal) or model.likelihood == "ordinal"


def _has_noise_function(model: FLGPRegressor) -> bool:
    return isinstance(model.likelihood, Heteroscedastic) or model.likelihood == "heteroscedastic"


@documented
@dataclass(kw_only=True, eq=False, repr=False)
class FLGPRegressor(RegressorMixin, LatentModel):
    """Heat-kernel Gaussian process regression on an unknown manifold, or on a known geometry.

    Rows whose target is NaN are unlabelled: they show the manifold, the others the function on it.

    Parameters
    ----------
    {shared}
    noise_variance : float, optional
        σ² of the Gaussian likelihood. None: learned.
    likelihood : str or Likelihood, default "gaussian"
        "gaussian", "heteroscedastic" (noise that varies), "student_t", "asymmetric_laplace" (quantiles),
        "poisson", "negative_binomial", the same with `zero_inflated_` or `hurdle_` before it, "gamma",
        "exponential", "tweedie" (amounts with zeros), "beta" (proportions), "binomial", "bernoulli",
        "probit", "ordinal" (levels), or an instance from `flgp.likelihoods` (or your own).
    inference : {{"auto", "laplace", "ep", "gibbs"}}
        How a non-Gaussian posterior is found. "auto": expectation propagation for binary targets, levels and
        quantiles, Laplace, corrected, for the others; "laplace" is without correction. "gibbs": Markov chains
        at the learned hyperparameters. The Gaussian likelihood is always exact.
    mean : {{"constant", "zero"}}
        Prior mean of f. "constant": learned, so that regions without labels fall back to the data's mean.
    {terms}
    {residual}
    shared : bool
        Several outputs share their hyperparameters, in units of the standard deviation of each output: one
        search over the sum of their evidences. Better for outputs with few labels each.
    coregionalization : int, optional
        Link several outputs: their prior covariance is learned too, as loadings of this rank (1 or 2, as a
        rule) plus a part of each output alone, so that an output is predicted from the labels of the others.
        Implies `shared`, but for gains and noises. Gaussian likelihood, without local term.
    {posterior}

    Attributes
    ----------
    {attributes}
    noise_variance_ : float or array of shape (k,)
        σ², where the likelihood has one.
    likelihood_ : Likelihood or list of Likelihood
        With its learned parameters.
    coregionalization_ : array of shape (k, k)
        Prior correlations between outputs, where these are linked.
    residual_kernel_ : str or None, or list with one entry for each target
        None where there is no residual.
    residual_length_scale_, residual_variance_ : float or array of shape (k,)
        ℓ and a_u²; nan and 0 where there is no residual.

    Examples
    --------
    >>> import numpy as np
    >>> from flgp import FLGPRegressor
    >>> angle = np.linspace(0, 2 * np.pi, 500, endpoint=False)
    >>> X = np.column_stack([np.cos(angle), np.sin(angle)])
    >>> y = np.full(500, np.nan)
    >>> y[::25] = np.sin(3 * angle[::25])
    >>> model = FLGPRegressor(random_state=0).fit(X, y)
    >>> bool(np.abs(model.predict(X) - np.sin(3 * angle)).max() < 0.2)
    True
    """

    noise_variance: float | None = None
    likelihood: str | Likelihood = "gaussian"
    mean: str = "constant"
    shared: bool = False
    coregionalization: int | None = None

    def fit(
        self,
        X: Any,
        y: Any,
        X_unlabeled: Any = None,
        *,
        sample_weight: Any = None,
        noise_scale: Any = None,
        exposure: Any = None,
        trials: Any = None,
        offset: Any = None,
    ) -> Self:
        """Learn the manifold from all rows and f from the labelled ones.

        Parameters
        ----------
        X : array-like of shape (n, p)
        y : array-like of shape (n,) or (n, k)
            NaN where unlabelled, in each column on its own. Several columns share the graph; each has its own
            posterior unless `coregionalization` links them. A y of shape (n, 1) gives predictions of shape
            (n, 1) everywhere.
        X_unlabeled : array-like of shape (u, p), optional
            More unlabelled rows.
        sample_weight, noise_scale, exposure, trials : array-like of shape (n,), optional
            What is known about each row; ignored where y is missing. `noise_scale`: relative variances
            v_i of noise σ²·v_i. `exposure`: counts have mean exposure·rate. `trials`: of a binomial.
        offset : array-like of shape (n,) or (n, k), optional
            Added to f in every row, labelled or not: what another model says, on the scale of f (a mean, a
            log rate, log odds). The model learns what is left over.

        Returns
        -------
        self
        """
        with self._fitting():
            self._check_parameters()
            X = self._validated(X, reset=True)
            targets, self._flat_ = checked_targets(y, len(X))
            known = {"noise_scale": noise_scale, "exposure": exposure, "trials": trials}
            if offset is not None and self.coregionalization is not None:
                raise ValueError("Linked outputs take no offset. Use coregionalization=None, or subtract it.")
            own = training_offset(offset, X, targets.shape[1], X_unlabeled)
            self._with_offset_ = own is not None
            labels = labeled_targets(X, targets, sample_weight, known).beside(own)
            self._choose_roles(X, len(labels) >= FEWEST_NUMBERS)
            rows = self._with_unlabeled(X, X_unlabeled)
            geometry = fit_model(self, rows, labels, self._problem(labels))
            self._keep_likelihood()
            found = transduced(self, geometry, rows, self._predictive_mean, own)
            if found is not None:
                self.transduction_ = found
        return self

    def update(
        self,
        X: Any,
        y: Any,
        *,
        replace: bool = False,
        relearn: bool = True,
        sample_weight: Any = None,
        noise_scale: Any = None,
        exposure: Any = None,
        trials: Any = None,
        offset: Any = None,
    ) -> Self:
        """Learn from more labels without a new graph, as active learning does.

        Anchors, neighbours, bandwidth and spectrum stay; everything else is as if `fit` had seen all labels.
        `transduction_` goes, because it would need all rows again. If this fails the model stays as it was.

        Parameters
        ----------
        X : array-like of shape (k, p)
            Where the new labels are: rows of the fitted X, such as `X[[3, 8]]`, or any other points.
        y : array-like of shape (k,) or (k, outputs)
            NaN is no label. Every other one is a further observation, also where there is one already.
        replace : bool
            `X` and `y` hold all labels and those known before are forgotten: to correct or withdraw some,
            or to hand over the whole y after a change.
        relearn : bool
            Learn the hyperparameters again, or keep their values, which takes a fraction of the time.
        sample_weight, noise_scale, exposure, trials, offset : array-like of shape (k,), optional
            As in `fit`, for these rows.

        Returns
        -------
        self
        """
        X = self._asked(X)
        self._check_parameters()
        targets, flat = checked_targets(y, len(X))
        outputs = len(self._process_.functions)
        if flat != self._flat_ or targets.shape[1] != outputs:
            wanted = "(k,)" if self._flat_ else f"(k, {outputs})"
            raise ValueError(f"y must have the shape {wanted}, as in fit, not {np.shape(y)}.")
        known = {"noise_scale": noise_scale, "exposure": exposure, "trials": trials}
        own = self._offset_of(offset, X)
        if not relearn and self.coregionalization is not None:
            raise ValueError("relearn=False does not keep how outputs are linked. Use relearn=True.")
        with self._updating(relearn):
            added = labeled_targets(X, targets, sample_weight, known).beside(own)
            labels = self._all_labels(added, replace)
            update_model(self, labels, self._problem(labels, None if relearn else self._known_))
            self._keep_likelihood()
        return self

    # -- labels ------------------------------------------------------------------------------------------

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_positive("noise_variance", self.noise_variance)
        check_choice("mean", self.mean, MEANS)
        if not isinstance(self.shared, bool | np.bool_):
            raise ValueError(f"shared={self.shared!r} must be True or False.")
        if self.coregionalization is not None:
            check_count("coregionalization", self.coregionalization)
            check_linkable(self)

    def _problem(self, labels: Labels, known: Sequence[KnownValues] | None = None) -> Problem:
        """A latent function for each column of y; `known` are values to keep."""
        targets = regression_targets(self, labels, known)
        return Problem(targets, FEWEST_NUMBERS, bool(self.shared), int(self.coregionalization or 0))

    def _keep_likelihood(self) -> None:
        fitted = [known.likelihood for known in self._known_]
        self.likelihood_ = single_or_list(fitted)
        self.__dict__.pop("coregionalization_", None)
        if self._process_.correlation is not None:
            self.coregionalization_ = self._process_.correlation
        if all(hasattr(part, "noise_variance") for part in fitted):
            self.noise_variance_ = scalar_or_array([part.noise_variance for part in fitted])

    def _offset_of(self, offset: Any, X: Any) -> Array | None:
        """The offset (n, k) of rows to predict; it must be given if the fit had one."""
        return same_use(check_offset(offset, X, len(self._process_.functions)), self._with_offset_)

    # -- predictions -------------------------------------------------------------------------------------

    @overload
    def predict(
        self,
        X: Any,
        return_std: No = ...,
        return_cov: No = ...,
        return_parts: No = ...,
        **about: Unpack[About],
    ) -> Array: ...

    @overload
    def predict(
        self, X: Any, return_std: Yes, return_cov: No = ..., return_parts: No = ..., **about: Unpack[About]
    ) -> tuple[Array, Array]: ...

    @overload
    def predict(
        self, X: Any, return_std: No = ..., *, return_cov: Yes, return_parts: No = ..., **about: Unpack[About]
    ) -> tuple[Array, Array]: ...

    @overload
    def predict(
        self, X: Any, return_std: No = ..., return_cov: No = ..., *, return_parts: Yes, **about: Unpack[About]
    ) -> tuple[Array, PredictedParts]: ...

    @overload
    def predict(
        self,
        X: Any,
        return_std: bool,
        return_cov: bool = ...,
        return_parts: bool = ...,
        **about: Unpack[About],
    ) -> Any: ...

    def predict(
        self,
        X: Any,
        return_std: bool = False,
        return_cov: bool = False,
        return_parts: bool = False,
        *,
        exposure: Any = None,
        trials: Any = None,
        offset: Any = None,
    ) -> Any:
        """E[y | x], the integral over the posterior of f.

        Parameters
        ----------
        X : array-like of shape (n, p)
        return_std, return_cov : bool
            Also the standard deviation, or the joint covariance, of y: noise included.
        return_parts : bool
            Also the posterior of f term by term: what comes from the constant, the manifold, covariates,
            groups and the neighbourhood (and not from an offset).
        exposure, trials : array-like of shape (n,), optional
            Of the rows, where the likelihood uses them. Default: 1.
        offset : number, or array-like of shape (n,) or (n, k)
            Of the rows, if the model was fitted with an offset.

        Returns
        -------
        mean : array of shape (n,) or (n, k)
        std : array of the same shape, if `return_std`
        cov : array of shape (n, n) or (n, n, k), if `return_cov`
        parts : PredictedParts, if `return_parts`
            `parts.mean` and `parts.variance` of f, and `parts["manifold"].mean`, … of each term; arrays of
            the shape of `mean`.
        """
        X = self._asked(X)
        if return_std + return_cov + return_parts > 1:
            raise ValueError("Ask for only one of return_std, return_cov and return_parts.")
        size, own = self._sizes(X, exposure, trials), self._offset_of(offset, X)
        if return_cov:
            return self._with_covariance(X, own)
        if return_parts:
            return answers(self, X, self._predictive_mean, size, own), self._predicted_parts(X)
        if not return_std:
            known = None if self._with_offset_ or size is not None else remembered(self, X, "transduction_")
            return answers(self, X, self._predictive_mean, size, own) if known is None else known

        def mean_and_std(function: LatentFunction, at: Sequence[View], *size: Array) -> tuple[Array, Array]:
            mean, variance = function.predictive_moments(at, *size)
            return mean, np.sqrt(variance)

        return answers(self, X, self._by_function(mean_and_std), size, own)

    @available_if(_has_levels)
    def predict_proba(self, X: Any, *, offset: Any = None) -> Array:
        """Probabilities of the levels of an ordinal likelihood, in the order of `likelihood_.levels`.

        Parameters
        ----------
        X : array-like of shape (n, p)
        offset : as in `predict`

        Returns
        -------
        array of shape (n, levels); rows sum to 1
        """
        X = self._asked(X)
        if len(self._process_.functions) > 1:
            raise ValueError("predict_proba needs a y with one column: fit one model for each.")

        def levels(views: Sequence[View]) -> Array:
            [(function, own)] = self._process_.each(views)
            return function.level_probabilities(own)

        return answers(self, X, levels, offset=self._offset_of(offset, X))

    def _chances(self, X: Array, offset: Array | None) -> None:
        return None

    def _sizes(self, X: Any, exposure: Any, trials: Any) -> Array | None:
        return row_sizes(self._process_.functions[0].likelihood, X, exposure, trials)

    def _predictive_mean(self, views: Sequence[View], *size: Array) -> Any:
        return self._by_function(LatentFunction.predictive_mean)(views, *size)

    def _with_covariance(self, X: Array, offset: Array | None) -> tuple[Array, Array]:
        functions = self._process_.functions
        if not all(isinstance(function.likelihood, Gaussian | Heteroscedastic) for function in functions):
            raise ValueError("return_cov needs Gaussian noise. Use sample_y for joint draws of y.")

        def joint(function: LatentFunction, at: Sequence[View]) -> Array:
            return function.latent_covariance(at) + np.diag(function.noise_variance(at))

        with self._working():
            views = self._process_.at(replace(self._inputs(X), offset=offset))
            return self._predictive_mean(views), self._by_function(joint, axis=2)(views)

    @available_if(_has_noise_function)
    def predict_noise(self, X: Any) -> Array:
        """Standard deviation of the noise at each point, with likelihood="heteroscedastic".

        Parameters
        ----------
        X : array-like of shape (n, p)

        Returns
        -------
        array of shape (n,) or (n, k)
            Of y given f: the square root of E[e^g].
        """
        deviations = self._by_function(lambda function, at: np.sqrt(function.noise_variance(at)))
        return answers(self, self._asked(X), deviations)

    def predict_interval(
        self, X: Any, coverage: float = 0.95, *, exposure: Any = None, trials: Any = None, offset: Any = None
    ) -> Array:
        """Central interval that holds y with the given probability.

        Parameters
        ----------
        X : array-like of shape (n, p)
        coverage : float in (0, 1)
        exposure, trials, offset : array-like of shape (n,), optional
            As in `predict`.

        Returns
        -------
        array of shape (n, 2), or (n, 2, k): lower and upper ends
        """
        X, levels = self._asked(X), interval_levels(coverage)

        def ends(function: LatentFunction, at: Sequence[View], *size: Array) -> Array:
            return function.predictive_quantiles(at, levels, *size)

        size, own = self._sizes(X, exposure, trials), self._offset_of(offset, X)
        return answers(self, X, self._by_function(ends, axis=2), size, own)

    def sample_y(
        self,
        X: Any,
        n_samples: int = 1,
        random_state: Any = 0,
        prior: bool = False,
        *,
        exposure: Any = None,
        trials: Any = None,
        offset: Any = None,
    ) -> Array:
        """Joint draws of y at any points.

        Parameters
        ----------
        X : array-like of shape (n, p)
        n_samples : int
        random_state : int, RandomState or None
        prior : bool
            From the prior at the learned hyperparameters instead of the posterior.
        exposure, trials, offset : array-like of shape (n,), optional
            As in `predict`.

        Returns
        -------
        array of shape (n, n_samples), or (n, k, n_samples)
        """
        X = self._asked(X)
        size, own = self._sizes(X, exposure, trials), self._offset_of(offset, X)
        rng = seeded(random_state)
        with self._working():
            views = self._process_.at(replace(self._inputs(X), offset=own))
            return self._columns(self._process_.draws_of_y(views, n_samples, rng, size, prior))

    def score(
        self,
        X: Any,
        y: Any,
        sample_weight: Any = None,
        *,
        exposure: Any = None,
        trials: Any = None,
        offset: Any = None,
    ) -> float:
        """R² over the labelled rows; exposure, trials and offset as in `predict`."""
        X = self._asked(X)
        targets, _ = checked_targets(y, len(X))
        known = ~np.isnan(targets).any(axis=1)
        if not known.any():
            raise ValueError("y has no labelled row to score.")
        rows = np.flatnonzero(known)
        given = {"exposure": exposure, "trials": trials, "sample_weight": sample_weight}
        values = {name: check_row_values(name, column, len(X)) for name, column in given.items()}
        own = {name: None if column is None else column[rows] for name, column in values.items()}
        weight, shift = own.pop("sample_weight"), self._offset_of(offset, X)
        shift = None if shift is None else shift[rows]
        prediction = answers(self, X[rows], self._predictive_mean, self._sizes(X[rows], **own), shift)
        return scaled_r2(targets[rows], prediction, weight)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        tags.target_tags.single_output = True
        return tags


def scaled_r2(targets: Array, prediction: Array, weight: Array | None) -> float:
    """R², which has no unit: divided by a power of two, which changes no digit, squares do not overflow."""
    largest = max(float(np.abs(targets).max()), float(np.abs(prediction).max()))
    unit = 2.0 ** np.floor(np.log2(largest)) if largest > 0 else 1.0
    return float(r2_score(targets / unit, prediction / unit, sample_weight=weight))
