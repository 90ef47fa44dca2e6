"""Estimators with latent functions: their parameters, and what may be asked about f."""

from __future__ import annotations

import warnings
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from dataclasses import replace as replaced
from itertools import chain
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from .._arviz import inference_data
from .._threads import blas_for
from .._typing import Array, IntArray, RowLike
from .._words import check_choice
from ..kernels import Heat, SpectralKernel, get_kernel
from ..likelihoods import Bernoulli, Categorical, Gaussian, Likelihood
from ..priors import TIME_PRIORS, Prior
from ..process.evidence import KnownValues
from ..process.mixture import LatentFunction
from ..process.parts import PredictedParts, TermPart
from ..process.search import LearnedFunction
from ..terms.base import View
from ..terms.local.term import KERNEL_CHOICES
from ._fitting import relearned
from ._model import HeatKernelModel
from .answers import answers
from .fitted_rows import FittedRows
from .labels import Labels, Problem
from .suggestion import suggest
from .validation import check_count, check_positive, is_auto, seeded

INFERENCES = ("auto", "laplace", "ep", "gibbs")
HYPERPARAMETERS = ("optimize", "integrate", "fixed")
RESIDUALS = ("local", "auto")
# Columns that linear="auto" takes for covariates.
_MOST_COVARIATES = 2_000
# Beyond this many times the largest distance of fitted points a prediction is the prior's.
_FAR = 3.0


@dataclass(kw_only=True, eq=False, repr=False)
class LatentModel(HeatKernelModel, BaseEstimator, ABC):
    """A model of latent functions f = constant + manifold + linear + groups + local."""

    # Where a model does not hold them: it was read from a file, or they were too many.
    _labels_: Labels | None = field(init=False, default=None)
    _fitted_rows_: FittedRows | None = field(init=False, default=None)

    inference: str = "auto"
    linear: Any = "auto"
    linear_steps: int | str = "auto"
    groups: Any = None
    residual: str | None = "auto"
    n_residual_neighbors: int | str = "auto"
    residual_kernel: str = "auto"
    residual_columns: Any = None
    hyperparameters: str = "optimize"
    time_prior: str | Prior = "graph"
    intrinsic_dimension: float | None = None
    n_chains: int = 4
    n_draws: int = 500
    n_warmup: int = 250

    # -- validation ------------------------------------------------------------------------------------

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_choice("inference", self.inference, INFERENCES)
        check_choice("hyperparameters", self.hyperparameters, HYPERPARAMETERS)
        if isinstance(self.time_prior, str):
            check_choice("time_prior", self.time_prior, TIME_PRIORS)
        elif not callable(self.time_prior):
            rules = ", ".join(map(repr, TIME_PRIORS))
            raise ValueError(f"time_prior={self.time_prior!r} is not known. Use one of {rules}, or a Prior.")
        check_positive("intrinsic_dimension", self.intrinsic_dimension)
        check_count("n_chains", self.n_chains)
        check_count("n_draws", self.n_draws, minimum=4)
        check_count("n_warmup", self.n_warmup, minimum=0)
        check_count("linear_steps", self.linear_steps, minimum=0, auto=True)
        check_count("n_residual_neighbors", self.n_residual_neighbors, auto=True)
        check_choice("residual", self.residual, RESIDUALS, optional=True)
        check_choice("residual_kernel", self.residual_kernel, KERNEL_CHOICES)
        if self.residual == "local" and self.hyperparameters == "fixed":
            raise ValueError(
                "residual='local' has hyperparameters that are learned, but hyperparameters='fixed'. "
                "Use residual=None, or hyperparameters='optimize'."
            )

    def _spectral_kernel(self) -> SpectralKernel:
        """The kernel on the geometry: the given one, or that which "auto" chose."""
        if is_auto(self.kernel):
            return getattr(self, "kernel_", Heat())
        return get_kernel(self.kernel, self.nu)

    def _check_local_suits(self, likelihood: Likelihood | Categorical) -> None:
        """Refuse what Laplace's method, alone or with a latent u, does not do."""
        if isinstance(likelihood, Likelihood) and not likelihood.smooth:
            asked = "inference='laplace'" if self.inference == "laplace" else "residual='local'"
            if self.inference == "laplace" or self.residual == "local":
                raise ValueError(
                    f"The {likelihood.name} likelihood has no curvature, which {asked} needs. Use "
                    "inference='auto' and residual=None."
                )
        if self.residual != "local" or isinstance(likelihood, Gaussian | Bernoulli | Categorical):
            return
        if self.inference not in ("auto", "laplace"):
            raise ValueError(
                f"residual='local' with the {likelihood.name} likelihood is fitted by Laplace's method, but "
                f"inference={self.inference!r}. Use inference='auto' or 'laplace', or residual=None."
            )

    @property
    def linear_steps_(self) -> int:
        """Steps of a graph's walk over which the covariates are averaged."""
        check_is_fitted(self, "_linear_")
        return 0 if self._linear_ is None else self._linear_.steps

    @property
    def _learns_all(self) -> bool:
        """Whether all hyperparameters are learned, and have one value each."""
        return self.hyperparameters == "optimize" and self.amplitude is None

    def _choose_roles(self, X: RowLike, enough: bool) -> None:
        """Which columns serve what; `enough`: whether there are labels enough to tell several terms apart.

        Columns may be both the geometry's and covariates on a point cloud, if all is learned.
        """
        few = X.shape[1] <= _MOST_COVARIATES
        self._roles_ = self._roles(self._learns_all and self.geometry is None and few and enough)

    # -- more labels -----------------------------------------------------------------------------------

    def _kept_labels(self) -> Labels:
        if self._labels_ is None:
            raise ValueError(
                "This model does not hold the labels it was fitted on: they were too large to keep, or it "
                "was loaded from a file that left them out. Hand over all labels with replace=True, or fit "
                "again."
            )
        return self._labels_

    @contextmanager
    def _updating(self, relearn: bool) -> Any:
        """A failed update leaves the model as it was."""
        if not relearn and self.hyperparameters == "integrate":
            raise ValueError(
                "relearn=False keeps one value of each hyperparameter, but hyperparameters='integrate' "
                "averages over many. Use relearn=True."
            )
        before = dict(vars(self))
        try:
            with self._working():
                yield
        except BaseException:
            self.__dict__ = before  # in one step, so that another interrupt does not come in between
            raise

    def _all_labels(self, added: Labels, replace: bool) -> Labels:
        """The labels the model has and those added, or (`replace`) the added ones alone."""
        if len(added.points):
            _warn_if_far(self.geometry_.distance(self._roles_.geometry_of(added.points)))
        if not replace:
            return self._kept_labels().joined(added)
        return added if self._labels_ is None else replaced(added, in_memory=self._labels_.in_memory)

    @abstractmethod
    def _problem(self, labels: Labels, known: Sequence[KnownValues] | None = None) -> Problem:
        """What is to be learned from these labels; `known` are hyperparameters to keep."""

    @abstractmethod
    def _chances(self, X: Array, offset: Array | None) -> Array | None:
        """Class probabilities (n, C) of rows; None where there are no classes."""

    @abstractmethod
    def _offset_of(self, offset: Any, X: Any) -> Array | None:
        """The offset (n, k) of rows to predict, in units of f; it must be given if the fit had one."""

    # -- what may be asked about f -----------------------------------------------------------------------

    def latent_mean_and_variance(self, X: Any) -> tuple[Array, Array]:
        """Posterior mean and variance of the latent function(s) f, without an offset.

        Parameters
        ----------
        X : array-like of shape (n, p)

        Returns
        -------
        mean, variance : arrays of shape (n,), or (n, k) for k latent functions
        """
        return answers(self, self._asked(X), self._by_function(LatentFunction.latent_moments))

    def latent_interval(self, X: Any, coverage: float = 0.9) -> Array:
        """Central interval that holds the latent function f with the given posterior probability.

        Parameters
        ----------
        X : array-like of shape (n, p)
        coverage : float in (0, 1)

        Returns
        -------
        array of shape (n, 2), or (n, 2, k) for k latent functions
        """
        X, levels = self._asked(X), interval_levels(coverage)
        ends = self._by_function(lambda function, at: function.latent_quantiles(at, levels), axis=2)
        return answers(self, X, ends)

    def sample_f(self, X: Any, n_samples: int = 1, random_state: Any = 0, prior: bool = False) -> Array:
        """Joint draws of the latent function(s) at any points, O(M) each.

        Parameters
        ----------
        X : array-like of shape (n, p)
        n_samples : int
        random_state : int, RandomState or None
        prior : bool
            Draws of the prior, at the learned hyperparameters, instead of the posterior.

        Returns
        -------
        array of shape (n, n_samples), or (n, k, n_samples) for k latent functions
        """
        X = self._asked(X)
        with self._working():
            views = self._process_.at(self._inputs(X))
            return self._columns(self._process_.draws(views, n_samples, seeded(random_state), prior))

    def to_arviz(self, X: Any, n_samples: int = 1000, random_state: Any = 0) -> Any:
        """Draws of f at some points as ArviZ's InferenceData (from ArviZ 1.0 on: a DataTree).

        Groups `posterior` and `prior` hold `f`, with the dimensions `row` and, for several latent functions,
        `output`. The draws are independent, so they are one chain; the Markov chains of inference="gibbs" are
        `chains_.to_arviz()`.

        Parameters
        ----------
        X : array-like of shape (n, p)
        n_samples : int
        random_state : int, RandomState or None

        Returns
        -------
        arviz.InferenceData
        """
        groups = {}
        for name in ("posterior", "prior"):
            f = self.sample_f(X, n_samples, random_state, prior=name == "prior")
            groups[name] = {"f": np.moveaxis(f, -1, 0)[None]}
        rows = np.arange(f.shape[0])
        coords: dict[str, Array | IntArray]
        coords = {"row": rows} if f.ndim == 2 else {"row": rows, "output": np.arange(f.shape[1])}
        return inference_data(groups, coords, {"f": list(coords)})

    def suggest(
        self, X: Any, n: int = 10, *, strategy: str = "auto", random_state: Any = 0, offset: Any = None
    ) -> IntArray:
        """Which rows to label next; rows that have a label already are left out.

        Parameters
        ----------
        X : array-like of shape (m, p)
            In memory. Of more than 10,000 rows "typical", "coverage" and "variance" consider a random sample.
        n : int
            How many.
        strategy : {"auto", "typical", "coverage", "uncertainty", "diverse", "variance", "random"}
            "typical": the middle of each of the largest clusters on the graph that have no label yet.
            "coverage": rows that stand for many points in doubt, on the graph alone. "uncertainty": rows with
            the smallest margin between two classes, or the largest variance of f. "diverse": one from each of
            n clusters of the most uncertain rows. "variance": rows whose labels lower the variance of f, or
            of the probabilities, at all points most (V-optimality), each given those before it. "auto": for
            classes "typical" below four labels per class, then "coverage"; for numbers "variance".
        random_state : int, RandomState or None
        offset : array-like, optional
            As in `fit`, for the rows of X.

        Returns
        -------
        array of shape (n,), numbers of rows, the most useful first
        """
        X = self._asked(X)
        if not isinstance(X, np.ndarray):
            raise ValueError("suggest needs rows in memory. Take a random sample of the file.")
        own = self._offset_of(offset, X)
        return suggest(self, X, n, strategy, random_state, self._chances(X, own), own)

    def _columns(self, values: Sequence[Any], axis: int = 1) -> Any:
        """The values of one function as they are, of several along a further axis; tuples entry by entry."""
        if isinstance(values[0], tuple):
            return tuple(self._columns(entries, axis) for entries in zip(*values, strict=True))
        return values[0] if len(values) == 1 and self._flat_ else np.stack(values, axis=axis)

    def _by_function(self, question: Callable[..., Any], axis: int = 1) -> Callable[..., Any]:
        """A function of views, and of values beside them, that puts a question to every latent function."""

        def answer(views: Sequence[View], *beside: Array) -> Any:
            each = self._process_.each(views)
            return self._columns([question(function, own, *beside) for function, own in each], axis)

        return answer

    def _predicted_parts(self, X: Any) -> PredictedParts:
        """Moments of every term at the rows of X."""
        names = self._process_.names

        def moments(function: LatentFunction, at: Sequence[View]) -> tuple[Array, ...]:
            pairs = [function.latent_moments(at), *function.term_moments(at)]
            # A function may lack the local term that another one has.
            missing = 2 * (1 + len(names) - len(pairs))
            return *chain(*pairs), *[np.zeros(len(at[0]))] * missing

        mean, variance, *rest = answers(self, X, self._by_function(moments))
        terms = map(TermPart, rest[::2], rest[1::2])
        return PredictedParts(mean, variance, dict(zip(names, terms, strict=True)))

    def _relearned(self) -> list[LearnedFunction]:
        """The evidence of each latent function, kept so that its cost does not depend on the labels."""
        if "_evidence_" not in vars(self):
            self._evidence_ = relearned(self)
        return self._evidence_

    def log_marginal_likelihood(self, theta: Any = None, eval_gradient: bool = False) -> Any:
        """Log p(y | theta), summed over the latent functions.

        Parameters
        ----------
        theta : array of shape (k,), or (functions·k,), optional
            Logarithms of the learned hyperparameters, in the order of `optimizer_result_.names`, the
            same for all latent functions or one after the other. Default: the learned values.
        eval_gradient : bool
            Also return the gradient in theta.

        Returns
        -------
        value : float
        gradient : array of theta's shape, if `eval_gradient`
        """
        check_is_fitted(self)
        if self._process_.correlation is not None:
            if theta is None and not eval_gradient:
                return self.log_marginal_likelihood_value_
            raise ValueError(
                "The evidence of outputs that coregionalization links is known at the learned values only. "
                "Leave theta and eval_gradient out, or fit with shared=True and coregionalization=None."
            )
        with self._working(), blas_for(len(self.eigenvalues_)):
            functions = self._relearned()
            size = len(functions[0].best.theta)
            if theta is None:
                thetas, shared = [function.best.theta for function in functions], False
            else:
                theta = np.asarray(theta, dtype=float).ravel()
                if len(theta) not in (size, size * len(functions)):
                    names = ", ".join(functions[0].evidence.space.free)
                    raise ValueError(f"theta has {len(theta)} entries. Give the logarithms of: {names}.")
                shared = len(theta) == size
                thetas = [theta] * len(functions) if shared else np.split(theta, len(functions))
            pairs = zip(functions, thetas, strict=True)
            results = [function.evidence.evaluate(part) for function, part in pairs]
        value = float(sum(evaluation.log_evidence for evaluation, _ in results))
        if not eval_gradient:
            return value
        gradients = [gradient for _, gradient in results]
        return value, np.sum(gradients, axis=0) if shared else np.concatenate(gradients)


def interval_levels(coverage: float) -> tuple[float, float]:
    """Levels of the ends of a central interval."""
    check_positive("coverage", coverage, optional=False)
    if coverage >= 1:
        raise ValueError(f"coverage={coverage!r} must be below 1.")
    return 0.5 - coverage / 2, 0.5 + coverage / 2


def _warn_if_far(distance: Array) -> None:
    """Warn about new labels at points that are far from the geometry (distances as `distance_to_anchors`)."""
    far = int(np.sum(distance > _FAR))
    if far:
        warnings.warn(
            f"{far:,} of {len(distance):,} new label(s) are far from all fitted points and tell the model "
            "next to nothing. Check their scale, or fit again with these points.",
            UserWarning,
            stacklevel=5,
        )
