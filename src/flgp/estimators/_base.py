"""What the three estimators share: parameters, the graph, and everything that follows from it."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted, validate_data

from .._progress import stage
from .._threads import thread_count
from .._typing import Array, IntArray, RowLike
from ..blocks import map_rows, row_blocks, take_rows
from ..feature_map import FeatureMap
from ..graph import ANCHOR_RULES, NeighborGraph, choose_anchors, join_to_anchors
from ..inference.latent import prior_covariance
from ..kernels import KERNELS, SpectralKernel
from ..sources import as_source, is_distributed, is_streamed, refuse_overflow, stack_rows
from ._defaults import auto_anchor_sets, auto_anchors, auto_eigenpairs
from ._validation import check_choice, check_count, check_positive, check_seed

BASE_KERNELS = ("lae", "se")
ANCHOR_WEIGHTS = ("auto", "counts", "uniform")
# Neighbours of rows on disk are kept up to this many pairs, about 200 MB.
CACHED_PAIRS = 10_000_000


class HeatKernelEstimator(BaseEstimator):
    """Parameters, validation and the neighbour graph; see the subclasses for use."""

    feature_map_: FeatureMap
    n_features_in_: int

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
        random_state: Any = None,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        self.n_anchors = n_anchors
        self.n_neighbors = n_neighbors
        self.n_eigenpairs = n_eigenpairs
        self.anchors = anchors
        self.anchor_weights = anchor_weights
        self.n_anchor_sets = n_anchor_sets
        self.base_kernel = base_kernel
        self.bandwidth = bandwidth
        self.kernel = kernel
        self.nu = nu
        self.diffusion_time = diffusion_time
        self.amplitude = amplitude
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    # -- validation ------------------------------------------------------------------------------------

    def _check_parameters(self) -> None:
        self._check_graph_parameters()
        check_count("n_eigenpairs", self.n_eigenpairs, auto=True)
        check_choice("kernel", self.kernel, KERNELS)
        check_positive("bandwidth", self.bandwidth)
        check_positive("nu", self.nu, optional=False)
        check_positive("diffusion_time", self.diffusion_time)
        check_positive("amplitude", self.amplitude)
        check_seed(self.random_state)
        if self.n_jobs is not None:
            check_count("n_jobs", self.n_jobs, minimum=-(2**31))
            if self.n_jobs == 0:
                raise ValueError("n_jobs=0 has no meaning. Use a positive number, or -1 for all cores.")

    def _check_graph_parameters(self) -> None:
        check_count("n_anchors", self.n_anchors, auto=True)
        check_count("n_neighbors", self.n_neighbors)
        if isinstance(self.anchors, str):
            check_choice("anchors", self.anchors, ANCHOR_RULES)
        check_choice("anchor_weights", self.anchor_weights, ANCHOR_WEIGHTS)
        check_count("n_anchor_sets", self.n_anchor_sets, auto=True)
        check_choice("base_kernel", self.base_kernel, BASE_KERNELS)

    @contextmanager
    def _unfitted_if_it_fails(self) -> Iterator[None]:
        """Learned attributes of an earlier fit go first; a failure leaves none behind."""
        self._forget()
        try:
            yield
        except BaseException:
            self._forget()
            raise

    def _forget(self) -> None:
        for name in [name for name in vars(self) if name.endswith("_") and not name.startswith("__")]:
            delattr(self, name)

    def _validated(self, X: Any, reset: bool) -> Any:
        """`X` as an array, or as a source that checks its rows whenever it reads some."""
        source = as_source(X)
        if source is not None:
            validate_data(self, source.like, reset=reset, skip_check_array=True)
            return source
        with np.errstate(invalid="ignore", over="ignore"):  # of sums that look for NaN and infinity
            X = validate_data(self, X, reset=reset, dtype=[np.float64, np.float32], accept_sparse=False)
        if reset:
            refuse_overflow(X)
        return X

    def _with_unlabeled(self, X: Array, X_unlabeled: Any) -> RowLike:
        """All rows, labelled and not."""
        if X_unlabeled is None:
            return X
        more = self._validated(X_unlabeled, reset=False)
        if not is_streamed(more) and not is_distributed(more):
            refuse_overflow(more)
        return stack_rows(X, more)

    def _keeps_neighbors(self, rows: RowLike) -> bool:
        """Whether the n·r neighbours are kept between passes rather than found again.

        Rows of a file that is larger than memory must not be followed by something just as large.
        """
        each = int(self.n_neighbors) * self._count_anchor_sets(*rows.shape)
        return not is_streamed(rows) or rows.shape[0] * each <= CACHED_PAIRS

    def _given_anchors(self, p: int) -> str | Array:
        if isinstance(self.anchors, str):
            return self.anchors
        try:
            anchors = np.asarray(self.anchors, dtype=float)
        except (TypeError, ValueError) as error:
            rules = ", ".join(map(repr, ANCHOR_RULES))
            raise ValueError(f"anchors must be one of {rules}, or numbers of shape (s, {p}).") from error
        if anchors.ndim != 2 or anchors.shape[1] != p or len(anchors) == 0:
            raise ValueError(
                f"anchors has shape {anchors.shape} but X has {p} columns. Give an array of shape (s, {p})."
            )
        if not np.isfinite(anchors).all():
            raise ValueError("anchors contains NaN or infinity. Remove those rows.")
        refuse_overflow(anchors, "anchors")
        return anchors

    # -- the graph -------------------------------------------------------------------------------------

    def _build_graph(self, rows: RowLike) -> NeighborGraph:
        """Stages 1 to 3 on all rows."""
        n, p = rows.shape
        given = self._given_anchors(p)
        rng = np.random.default_rng(check_random_state(self.random_state).randint(2**31))
        n_sets = self._count_anchor_sets(n, p)
        n_anchors = auto_anchors(n, n_sets) if isinstance(self.n_anchors, str) else int(self.n_anchors)
        with stage(f"anchors for {n:,} points", self.verbose):
            sets = [
                choose_anchors(rows, n_anchors, given, rng, self._n_threads, n_sets > 1)
                for _ in range(n_sets)
            ]
        uniform = self.anchor_weights == "uniform" or (
            self.anchor_weights == "auto" and isinstance(given, str) and given in ("random", "all")
        )
        with stage(f"neighbours among {sum(map(len, sets)):,} anchors", self.verbose):
            return join_to_anchors(
                row_blocks(rows, self._n_threads),
                sets,
                int(self.n_neighbors),
                local=self.base_kernel == "lae",
                counts=not uniform,
                keep=self._keeps_neighbors(rows),
                drop_singletons=isinstance(given, str) and given in ("kmeans", "minibatch"),
            )

    def _count_anchor_sets(self, n: int, p: int) -> int:
        chosen = isinstance(self.anchors, str) and self.anchors != "all"
        if isinstance(self.n_anchor_sets, str):
            return auto_anchor_sets(n, p) if chosen and isinstance(self.n_anchors, str) else 1
        if self.n_anchor_sets > 1 and not chosen:
            raise ValueError(
                f"n_anchor_sets={self.n_anchor_sets} needs anchors that are chosen by chance: 'kmeans', "
                "'minibatch' or 'random'."
            )
        return int(self.n_anchor_sets)

    @property
    def _n_threads(self) -> int:
        return thread_count(self.n_jobs)

    def _n_eigenpairs(self, graph: NeighborGraph, n_labeled: int) -> int:
        if isinstance(self.n_eigenpairs, str):
            return auto_eigenpairs(len(graph.anchors), n_labeled, graph.n_sets)
        return int(self.n_eigenpairs)

    def _spectral_kernel(self) -> SpectralKernel:
        return SpectralKernel(self.kernel, float(self.nu))

    def _keep_graph(self, feature_map: FeatureMap, labeled: IntArray | None) -> None:
        """Set what is learned about the graph, and warn about what a user should know."""
        spectrum = feature_map.spectrum
        self.feature_map_ = feature_map.without_blocks()
        self.anchors_ = feature_map.graph.anchors
        self.eigenvalues_ = spectrum.eigenvalues
        self.bandwidth_ = feature_map.transition.epsilon
        self.n_graph_components_ = spectrum.n_components
        notes = []
        if labeled is not None:
            silent = spectrum.n_components - len(np.unique(spectrum.components[labeled]))
            if silent:
                notes.append(
                    f"{silent} of the {spectrum.n_components} connected parts of the graph hold no label: "
                    "predictions there are the prior's. Label a point in each, or raise n_neighbors"
                )
        if spectrum.n_capped:
            notes.append(
                f"{spectrum.n_capped} connected part(s) hold very few points; their prior variance was "
                "limited. Remove stray points or raise n_neighbors if that is not wanted"
            )
        if notes:
            warnings.warn("; ".join(notes) + ".", UserWarning, stacklevel=4)

    # -- what follows from the graph -------------------------------------------------------------------

    def distance_to_anchors(self, X: Any) -> Array:
        """Distance to the nearest anchor, in units of the largest distance fitted points show there.

        Up to 1 a point is as close as the fitted ones; beyond about 3 predictions are the prior's.

        Parameters
        ----------
        X : array-like of shape (n, p)

        Returns
        -------
        array of shape (n,)
        """
        check_is_fitted(self)
        graph = self.feature_map_.graph

        def relative(block: Array) -> Array:
            return graph.relative_distance(*graph.search(block, 1))

        return map_rows(self._validated(X, reset=False), relative, self._n_threads)

    def _prior_weights(self) -> Array:
        """D (M,), the prior variance of each eigenfunction."""
        raise NotImplementedError  # each estimator has its own

    def covariance(self, X: Any, Y: Any = None) -> Array:
        """Prior kernel C_t between any points (without noise and without the mean's own variance).

        Parameters
        ----------
        X : array-like of shape (n, p)
        Y : array-like of shape (k, p), default X

        Returns
        -------
        array of shape (n, k)
        """
        check_is_fitted(self)
        rows = self.feature_map_.rows(self._validated(X, reset=False))
        others = None if Y is None else self.feature_map_.rows(self._validated(Y, reset=False))
        return prior_covariance(self.feature_map_, self._prior_weights(), rows, others)

    def _map_blocks(self, X: Any, function: Callable[..., Any], beside: Array | None = None) -> Any:
        """`function` of the transition rows of X, and of the values `beside` (n,) them, block by block."""
        feature_map = self.feature_map_

        def of_rows(block: Any, *own: Any) -> Any:
            return function(feature_map.rows(block), *own)

        return map_rows(X, of_rows, self._n_threads, beside=beside)


def labeled_rows(X: Array, rows: IntArray) -> Array:
    """The labelled rows of X in double precision."""
    return take_rows(X, rows).astype(np.float64, copy=False)


def scalar_or_array(values: Sequence[float]) -> Any:
    """A number for one head, an array (k,) for several."""
    return float(values[0]) if len(values) == 1 else np.array(values)


__all__ = ["HeatKernelEstimator", "Self", "labeled_rows", "scalar_or_array"]
