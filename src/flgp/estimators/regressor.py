"""Semi-supervised regression and counts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Self

import numpy as np
from scipy.special import ndtri
from sklearn.base import RegressorMixin
from sklearn.metrics import r2_score
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from .._typing import Array
from ..feature_map import Rows
from ..inference.draws import DrawsField
from ..inference.learning import Kept, Task
from ..inference.priors import Prior
from ..inference.quantile import predictive_quantile
from ..likelihoods import Gaussian, Likelihood, Observations, get_likelihood
from ..residual.likelihood import of_labels
from ..sources import local_labels
from ._base import labeled_rows, scalar_or_array
from ._component import in_any_order
from ._docs import documented
from ._labels import Labels
from ._latent import Component, LatentEstimator
from ._residual import LocalResidual
from ._size import row_sizes
from ._update import update_labels
from ._validation import check_choice, check_positive, check_row_values, check_weights

MEANS = ("constant", "zero")


@documented
class FLGPRegressor(RegressorMixin, LocalResidual, LatentEstimator):
    """Heat-kernel Gaussian process regression on an unknown manifold.

    Rows whose target is NaN are unlabelled: they show the manifold, the others the function on it.

    Parameters
    ----------
    {shared}
    noise_variance : float, optional
        σ² of the Gaussian likelihood. None: learned.
    likelihood : str or Likelihood, default "gaussian"
        "gaussian", "poisson", "negative_binomial", "binomial", "gamma", "exponential", "student_t",
        "bernoulli", "probit", or an instance from `flgp.likelihoods` (or your own).
    inference : {{"auto", "laplace", "ep", "gibbs"}}
        How a non-Gaussian posterior is found. "auto": expectation propagation for binary targets, Laplace
        for the others. "gibbs": Markov chains at the learned hyperparameters. The Gaussian likelihood is
        always exact.
    mean : {{"constant", "zero"}}
        Prior mean of f. "constant": learned, so that regions without labels fall back to the data's mean.
    {posterior}
    residual : {{"auto", "local"}} or None
        A short-range part u in f = h + u: a Gaussian process of the Euclidean distance, by nearest
        neighbours (Vecchia). "local": always, "auto": if the evidence asks for it. None: the paper's model, h
        alone, which predicts in O(r). "auto" means None for other likelihoods than the Gaussian and for rows
        that are too many to hold or on a cluster. With other likelihoods than the Gaussian "local" is by
        Laplace's method, whatever they use without residual. Kernel and starting values are searched on at
        most 2,000 labels.
    n_residual_neighbors : int
        k, labelled points that each one conditions on; predictions use twice as many.
    residual_kernel : str
        Smoothness of u: "squared_exponential", "matern12", "matern32", "matern52", "rational_quadratic" (all
        scales at once), or "auto": one of the last four, by evidence.
    residual_columns : sequence of columns, or mapping from columns to factors, optional
        Where u measures distances: some columns of X (by position or name), or columns times factors, such as
        the size of a voxel along each axis. None: all columns, as they are.

    Attributes
    ----------
    {attributes}
    noise_variance_ : float or array of shape (k,)
        σ², where the likelihood has one.
    likelihood_ : Likelihood or list of Likelihood
        With its learned parameters.
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

    def __init__(
        self,
        *,
        n_anchors: int | str = "auto",
        n_neighbors: int = 3,
        n_eigenpairs: int | str = "auto",
        anchors: str | Array = "kmeans",
        anchor_weights: str = "auto",
        base_kernel: str = "lae",
        bandwidth: float | None = None,
        kernel: str = "heat",
        nu: float = 1.5,
        diffusion_time: float | None = None,
        amplitude: float | None = None,
        noise_variance: float | None = None,
        likelihood: str | Likelihood = "gaussian",
        inference: str = "auto",
        mean: str = "constant",
        residual: str | None = "auto",
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
        self.noise_variance = noise_variance
        self.likelihood = likelihood
        self.inference = inference
        self.hyperparameters = hyperparameters
        self.time_prior = time_prior
        self.intrinsic_dimension = intrinsic_dimension
        self.n_chains = n_chains
        self.n_draws = n_draws
        self.n_warmup = n_warmup
        self.mean = mean
        self.residual = residual
        self.n_residual_neighbors = n_residual_neighbors
        self.residual_kernel = residual_kernel
        self.residual_columns = residual_columns

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
    ) -> Self:
        """Learn the manifold from all rows and f from the labelled ones.

        Parameters
        ----------
        X : array-like of shape (n, p)
        y : array-like of shape (n,) or (n, k)
            NaN where unlabelled. Several columns share the graph; each has its own posterior.
        X_unlabeled : array-like of shape (u, p), optional
            More unlabelled rows.
        sample_weight, noise_scale, exposure, trials : array-like of shape (n,), optional
            What is known about each row; ignored where y is missing. `noise_scale`: relative variances
            v_i of noise σ²·v_i. `exposure`: counts have mean exposure·rate. `trials`: of a binomial.

        Returns
        -------
        self
        """
        with self._unfitted_if_it_fails():
            self._check_parameters()
            X = self._validated(X, reset=True)
            self._columns_of_residual()
            targets, one_column = self._checked_targets(y, len(X))
            rows = self._with_unlabeled(X, X_unlabeled)
            known = {"noise_scale": noise_scale, "exposure": exposure, "trials": trials}
            self._n_outputs_ = 0 if one_column else targets.shape[1]
            self._fit_labels(rows, self._labels(X, targets, sample_weight, known))
            self._keep_likelihood()
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
        sample_weight, noise_scale, exposure, trials : array-like of shape (k,), optional
            As in `fit`, for these rows.

        Returns
        -------
        self
        """
        check_is_fitted(self)
        self._check_parameters()
        X = self._validated(X, reset=False)
        targets, one_column = self._checked_targets(y, len(X))
        outputs = 0 if one_column else targets.shape[1]
        if outputs != self._n_outputs_:
            wanted = "(k,)" if self._n_outputs_ == 0 else f"(k, {self._n_outputs_})"
            raise ValueError(f"y must have the shape {wanted}, as in fit, not {np.shape(y)}.")
        known = {"noise_scale": noise_scale, "exposure": exposure, "trials": trials}
        update_labels(self, self._labels(X, targets, sample_weight, known), replace, relearn)
        self._keep_likelihood()
        return self

    def _labels(self, X: Any, targets: Array, sample_weight: Any, known: dict[str, Any]) -> Labels:
        """The labelled rows among those of X, with what is known about them."""
        weight, ignored = check_weights(sample_weight, np.asarray(np.isnan(targets).all(axis=1)))
        columns = {name: check_row_values(name, values, len(X)) for name, values in known.items()}
        labeled = np.flatnonzero(~ignored)
        given = {name: values if values is None else values[labeled] for name, values in columns.items()}
        given["weight"] = None if weight is None else weight[labeled]
        return Labels(labeled_rows(X, labeled), targets[labeled], given, labeled)

    def _keep_likelihood(self) -> None:
        fitted = [of_labels(head.fit.likelihood) for head in self._heads_]
        self.likelihood_ = fitted[0] if len(fitted) == 1 else fitted
        if all(hasattr(part, "noise_variance") for part in fitted):
            self.noise_variance_ = scalar_or_array([part.noise_variance for part in fitted])

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_positive("noise_variance", self.noise_variance)
        check_choice("mean", self.mean, MEANS)
        self._check_residual()

    def _likelihood(self) -> Likelihood:
        likelihood = get_likelihood(self.likelihood)
        if self.noise_variance is None:
            return likelihood
        if "noise_variance" not in likelihood.parameter_names:
            raise ValueError(
                f"noise_variance is given, but the {likelihood.name} likelihood has none. Leave it at None."
            )
        return likelihood.with_parameters(noise_variance=float(self.noise_variance))

    def _checked_targets(self, y: Any, n: int) -> tuple[Array, bool]:
        """Targets (n, k), with NaN where unlabelled, and whether y had no second axis."""
        if y is None:
            raise ValueError(
                "FLGPRegressor requires y to be passed, but the target y is None. "
                "Mark unlabelled rows by NaN."
            )
        try:
            targets = np.asarray(local_labels(y, None), dtype=float)
        except (TypeError, ValueError) as error:
            raise ValueError("y must be numbers, with NaN where a row is unlabelled.") from error
        if targets.ndim not in (1, 2):
            raise ValueError(f"y has shape {targets.shape}. Give (n,) or (n, k).")
        one_column = targets.ndim == 1
        targets = targets[:, None] if one_column else targets
        if len(targets) != n:
            raise ValueError(
                f"y has {len(targets)} rows but X has {n}. Give one target a row, NaN if unknown."
            )
        if np.isinf(targets).any():
            raise ValueError("y contains infinity. Use NaN for unlabelled rows.")
        return targets, one_column

    def _head_names(self) -> Sequence[Any]:
        return range(len(self._heads_))

    def _tasks(self, labels: Labels, kept: Mapping[Any, Kept] | None = None) -> list[Task]:
        likelihood = self._likelihood()
        self._check_residual_suits(likelihood)
        tasks = [self._task(labels, output, likelihood) for output in range(labels.y.shape[1])]
        return [replace(task, kept=kept[i]) for i, task in enumerate(tasks)] if kept else tasks

    def _task(self, labels: Labels, output: int, likelihood: Likelihood) -> Task:
        rows = np.flatnonzero(~np.isnan(labels.y[:, output]))
        if len(rows) == 0:
            which = "y" if labels.y.shape[1] == 1 else f"column {output} of y"
            raise ValueError(f"{which} has no labelled row: every value is NaN. Label at least one row.")
        part = labels.take(rows)
        obs = Observations.of(part.y[:, output], row=part.row, **part.known)
        likelihood.validate(obs)
        obs = likelihood.absorb_weights(obs)
        if self.mean == "zero":
            return Task(rows, obs, likelihood)
        scale = likelihood.latent_scale(obs)
        return Task(rows, obs, likelihood, likelihood.initial_mean(obs), scale**2)

    # -- prediction ------------------------------------------------------------------------------------

    def predict(
        self,
        X: Any,
        return_std: bool = False,
        return_cov: bool = False,
        return_parts: bool = False,
        *,
        exposure: Any = None,
        trials: Any = None,
    ) -> Any:
        """E[y | x], the integral over the posterior of f.

        Parameters
        ----------
        X : array-like of shape (n, p)
        return_std, return_cov : bool
            Also the standard deviation, or the joint covariance, of y: noise included.
        return_parts : bool
            Also what comes from the manifold (h, the mean included) and what from the neighbourhood (u).
        exposure, trials : array-like of shape (n,), optional
            Of the rows, where the likelihood uses them. Default: 1.

        Returns
        -------
        mean : array of shape (n,) or (n, k)
        std : array of the same shape, if `return_std`
        cov : array of shape (n, n) or (n, n, k), if `return_cov`
        parts : PredictedParts, if `return_parts`
            Posterior means, variances and covariance of h and u, arrays of the shape of `mean`.
        """
        check_is_fitted(self)
        if return_std + return_cov + return_parts > 1:
            raise ValueError("Ask for one of return_std, return_cov and return_parts, not both.")
        X = self._validated(X, reset=False)
        size = self._sizes(X, exposure, trials)
        if return_cov:
            return self._point(self.feature_map_.rows(X)), self._covariances(X)
        if return_parts:
            return self._map_blocks(X, self._point, size), self._predicted_parts(X)
        if not return_std:
            return self._map_blocks(X, self._point, size)

        def mean_and_std(rows: Rows, size: Array | None = None) -> tuple[Array, Array]:
            parts = [self._moments(mixture, rows, size) for mixture in self._mixtures_]
            return self._outputs([p[0] for p in parts]), self._outputs([np.sqrt(p[1]) for p in parts])

        return self._map_blocks(X, mean_and_std, size)

    def _sizes(self, X: Any, exposure: Any, trials: Any) -> Array | None:
        return row_sizes(self._mixtures_[0][0].likelihood, X, exposure, trials)

    def _point(self, rows: Rows, size: Array | None = None) -> Array:
        return self._outputs([self._predictive_mean(mixture, rows, size) for mixture in self._mixtures_])

    def _predictive_mean(self, mixture: list[Component], rows: Rows, size: Array | None) -> Array:
        total = np.zeros(len(rows.closeness))
        for part in mixture:
            total += part.weight * part.predictive_mean(rows, size)
        return total

    def _moments(
        self, mixture: list[Component], rows: Rows, size: Array | None = None
    ) -> tuple[Array, Array]:
        """Mean and variance of y, (b,) each."""
        first, second = np.zeros(len(rows.closeness)), np.zeros(len(rows.closeness))
        for part in mixture:
            mean, variance = part.predictive_moments(rows, size)
            first += part.weight * mean
            second += part.weight * (variance + mean**2)
        return first, np.maximum(second - first**2, 0.0)

    def _covariances(self, X: Array) -> Array:
        rows = self.feature_map_.rows(X)
        result = []
        for mixture in self._mixtures_:
            if not all(isinstance(part.likelihood, Gaussian) for part in mixture):
                raise ValueError(
                    "return_cov needs the Gaussian likelihood. Use sample_y for joint draws of y."
                )
            mean = sum(part.weight * part.field.means(rows) for part in mixture)
            joint = np.zeros((len(X), len(X)))
            for part in mixture:
                assert not isinstance(part.field, DrawsField)  # nobody samples a Gaussian
                gap = part.field.means(rows) - mean
                noise = part.likelihood.noise_variance
                joint += part.weight * (part.field.covariances(rows) + np.outer(gap, gap))
                joint[np.diag_indices_from(joint)] += part.weight * noise
            result.append(joint)
        return result[0] if self._n_outputs_ == 0 else np.stack(result, axis=2)

    def _outputs(self, columns: list[Array]) -> Array:
        return columns[0] if self._n_outputs_ == 0 else np.stack(columns, axis=1)

    def predict_interval(
        self, X: Any, coverage: float = 0.95, *, exposure: Any = None, trials: Any = None
    ) -> Array:
        """Central interval that holds y with the given probability.

        Parameters
        ----------
        X : array-like of shape (n, p)
        coverage : float in (0, 1)
        exposure, trials : array-like of shape (n,), optional
            As in `predict`.

        Returns
        -------
        array of shape (n, 2), or (n, 2, k): lower and upper ends
        """
        check_is_fitted(self)
        check_positive("coverage", coverage, optional=False)
        if coverage >= 1:
            raise ValueError(f"coverage={coverage!r} must be below 1.")
        X = self._validated(X, reset=False)
        levels = (0.5 - coverage / 2, 0.5 + coverage / 2)

        def ends(rows: Rows, size: Array | None = None) -> Array:
            parts = [
                np.stack([self._quantile(mixture, rows, level, size) for level in levels], axis=1)
                for mixture in self._mixtures_
            ]
            return parts[0] if self._n_outputs_ == 0 else np.stack(parts, axis=2)

        return self._map_blocks(X, ends, self._sizes(X, exposure, trials))

    def _quantile(
        self, mixture: list[Component], rows: Rows, level: float, size: Array | None = None
    ) -> Array:
        if len(mixture) == 1 and isinstance(mixture[0].likelihood, Gaussian):
            mean, variance = self._moments(mixture, rows)
            return mean + ndtri(level) * np.sqrt(variance)
        latent = [part.latent_nodes(rows) for part in mixture]
        parts = [(part.weight, part.given(size)) for part in mixture]
        return predictive_quantile(parts, latent, level)

    def sample_y(
        self,
        X: Any,
        n_samples: int = 1,
        random_state: Any = 0,
        prior: bool = False,
        *,
        exposure: Any = None,
        trials: Any = None,
    ) -> Array:
        """Joint draws of y at any points.

        Parameters
        ----------
        X : array-like of shape (n, p)
        n_samples : int
        random_state : int, RandomState or None
        prior : bool
            From the prior at the learned hyperparameters instead of the posterior.
        exposure, trials : array-like of shape (n,), optional
            As in `predict`.

        Returns
        -------
        array of shape (n, n_samples), or (n, k, n_samples)
        """
        check_is_fitted(self)
        X = self._validated(X, reset=False)
        rows, size = self.feature_map_.rows(X), self._sizes(X, exposure, trials)
        rng = np.random.default_rng(check_random_state(random_state).randint(2**31))
        size = None if size is None else size[:, None]
        draws = []
        for mixture in self._mixtures_:
            # Each component has its own noise, or whatever parameters the likelihood has.
            parts = self._draws(mixture, rows, n_samples, rng, prior)
            draws.append(in_any_order([part.given(size).sample(f, rng) for part, f in parts], rng))
        return draws[0] if self._n_outputs_ == 0 else np.stack(draws, axis=1)

    def score(
        self, X: Any, y: Any, sample_weight: Any = None, *, exposure: Any = None, trials: Any = None
    ) -> float:
        """R² over the labelled rows; exposure and trials as in `predict`."""
        check_is_fitted(self)
        X = self._validated(X, reset=False)
        targets, _ = self._checked_targets(y, len(X))
        known = ~np.isnan(targets).any(axis=1)
        if not known.any():
            raise ValueError("y has no labelled row to score.")
        weight = check_row_values("sample_weight", sample_weight, len(X))
        given = {"exposure": exposure, "trials": trials}
        values = {name: check_row_values(name, column, len(X)) for name, column in given.items()}
        own = {name: None if column is None else column[known] for name, column in values.items()}
        prediction = self._map_blocks(X[known], self._point, self._sizes(X[known], **own))
        weight = None if weight is None else weight[known]
        return float(r2_score(targets[known], prediction, sample_weight=weight))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        tags.target_tags.single_output = True
        return tags
