"""Semi-supervised regression and counts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from .._typing import Array
from ..inference.learning import Kept, Task
from ..inference.priors import Prior
from ..likelihoods import Likelihood, Observations, get_likelihood
from ..residual.likelihood import of_labels
from ._base import labeled_rows, scalar_or_array
from ._docs import documented
from ._labels import Labels, checked_targets
from ._regression import RegressionPredictions
from ._update import update_labels
from ._validation import check_choice, check_positive, check_row_values, check_weights

MEANS = ("constant", "zero")


@documented
class FLGPRegressor(RegressionPredictions):
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
        n_anchor_sets: int | str = "auto",
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
            targets, one_column = checked_targets(y, len(X))
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
        targets, one_column = checked_targets(y, len(X))
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
