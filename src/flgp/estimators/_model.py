"""What the three estimators share: parameters of the geometry, validation, what follows from a geometry."""

from __future__ import annotations

import numbers
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, fields
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted, validate_data

from .._progress import verbosity
from .._threads import thread_count, threads
from .._typing import Array, IntArray, RowLike
from .._words import check_choice
from ..geometry.base import Eigenbasis, FittedGeometry, Geometry
from ..geometry.point_cloud import ANCHOR_RULES, PointCloud
from ..kernels import KERNELS, SpectralKernel
from ..process.process import Process
from ..rows.blocks import map_rows, take_rows
from ..rows.even import EvenColumns
from ..rows.sources import as_source, in_memory, refuse_overflow, stack_rows
from ..terms import Inputs
from .column_scaling import SCALINGS
from .columns import ColumnRoles, choose_roles
from .groups import encode_groups
from .locator import Locator
from .validation import check_count, check_positive, check_seed, is_auto, seeded

BASE_KERNELS = ("lae", "se")
ANCHOR_WEIGHTS = ("auto", "counts", "uniform")
# Fitted rows that a model keeps, so that a file of it can be checked when it is read.
_EXAMPLES = 20


@dataclass(kw_only=True, eq=False, repr=False)
class HeatKernelModel:
    """Parameters and validation; the fields are the keywords of every estimator."""

    # Learned by `fit`.
    n_features_in_: int = field(init=False)
    geometry_: FittedGeometry = field(init=False)
    basis_: Eigenbasis = field(init=False)
    _process_: Process = field(init=False)
    _roles_: ColumnRoles = field(init=False)
    _group_levels_: dict[int, list[Any]] = field(init=False)
    _local_scale_: Array | None = field(init=False, default=None)

    n_anchors: int | str = "auto"
    n_neighbors: int | str = "auto"
    n_eigenpairs: int | str = "auto"
    anchors: str | Array = "kmeans"
    anchor_weights: str = "auto"
    n_anchor_sets: int | str = "auto"
    base_kernel: str = "lae"
    bandwidth: float | None = None
    geometry: Geometry | None = None
    geometry_columns: Any = None
    scaling: str | None = "auto"
    kernel: str | SpectralKernel = "heat"
    nu: float = 1.5
    diffusion_time: float | None = None
    amplitude: float | None = None
    random_state: Any = None
    n_jobs: int | None = None
    verbose: int = 0

    # -- validation ------------------------------------------------------------------------------------

    def _check_parameters(self) -> None:
        check_count("n_anchors", self.n_anchors, auto=True)
        check_count("n_neighbors", self.n_neighbors, auto=True)
        if isinstance(self.anchors, str):
            check_choice("anchors", self.anchors, ANCHOR_RULES)
        check_choice("anchor_weights", self.anchor_weights, ANCHOR_WEIGHTS)
        check_count("n_anchor_sets", self.n_anchor_sets, auto=True)
        check_choice("base_kernel", self.base_kernel, BASE_KERNELS)
        check_count("n_eigenpairs", self.n_eigenpairs, auto=True)
        if isinstance(self.kernel, str) or not hasattr(self.kernel, "log_density"):
            check_choice("kernel", self.kernel, ("auto", *KERNELS))
        known = self.geometry is None or isinstance(self.geometry, Geometry)
        if not known or isinstance(self.geometry, type):
            raise ValueError(
                f"geometry={self.geometry!r} is not a geometry. Use None for a point cloud, or an object "
                "from flgp.geometry."
            )
        check_choice("scaling", self.scaling, SCALINGS, optional=True)
        if self.scaling == "even" and self.geometry is not None:
            raise ValueError("scaling='even' is for a point cloud. Use scaling=None on a known geometry.")
        check_positive("bandwidth", self.bandwidth)
        check_positive("nu", self.nu, optional=False)
        check_positive("diffusion_time", self.diffusion_time)
        check_positive("amplitude", self.amplitude, zero=True)
        check_seed(self.random_state)
        if self.n_jobs is not None:
            check_count("n_jobs", self.n_jobs, minimum=-(2**31))
            if self.n_jobs == 0:
                raise ValueError("n_jobs=0 has no meaning. Use a positive number, or -1 for all cores.")
        if not isinstance(self.verbose, numbers.Integral | np.bool_):
            raise ValueError(f"verbose={self.verbose!r} must be a whole number, 0 for none.")

    @contextmanager
    def _working(self) -> Iterator[None]:
        """The threads and messages that the user asks for."""
        with threads(thread_count(self.n_jobs)), verbosity(self.verbose):
            yield

    @contextmanager
    def _fitting(self) -> Iterator[None]:
        """Learned attributes of an earlier fit go first; a failure leaves none behind."""
        self._forget()
        try:
            with self._working():
                yield
        except BaseException:
            self._forget()
            raise

    def _forget(self) -> None:
        # In one step, so that an interrupt does not leave some of them.
        self.__dict__ = {
            name: value
            for name, value in vars(self).items()
            if not name.endswith("_") or name.startswith("__")
        }

    def _validated(self, X: Any, reset: bool) -> Any:
        """`X` as an array, or as a source that checks its rows whenever it reads some."""
        source = as_source(X)
        if source is not None:
            validate_data(self, source.like, reset=reset, skip_check_array=True)
            return source
        groups = getattr(self, "groups", None)
        if groups is not None:
            X, levels = encode_groups(X, groups, None if reset else self._group_levels_)
            if reset:
                self._group_levels_ = levels
        with np.errstate(invalid="ignore", over="ignore"):  # of sums that look for NaN and infinity
            X = validate_data(self, X, reset=reset, dtype=[np.float64, np.float32], accept_sparse=False)
        if reset:
            refuse_overflow(X)
        return X

    def _asked(self, X: Any) -> Any:
        """Rows that a fitted model is asked about, as `_validated` has them."""
        check_is_fitted(self)
        return self._validated(X, reset=False)

    def _with_unlabeled(self, X: Array, X_unlabeled: Any) -> RowLike:
        """All rows, labelled and not."""
        if X_unlabeled is None:
            return X
        more = self._validated(X_unlabeled, reset=False)
        if in_memory(more):
            refuse_overflow(more)
        return stack_rows(X, more)

    # -- the geometry ----------------------------------------------------------------------------------

    def _geometry(self) -> Geometry:
        """The geometry to fit: the given one, or a point cloud."""
        if self.geometry is not None:
            return self.geometry
        return PointCloud(**{entry.name: getattr(self, entry.name) for entry in fields(PointCloud)})

    def _roles(self, own_linear: bool) -> ColumnRoles:
        """Which columns serve what; `own_linear`: those of the geometry may be covariates as well."""
        asked = {name: getattr(self, name, None) for name in ("linear", "groups", "residual_columns")}
        if is_auto(asked["linear"]) and getattr(self, "hyperparameters", "") == "fixed":
            asked["linear"] = None  # "auto" is for models that learn
        return choose_roles(
            self._geometry(),
            self.n_features_in_,
            getattr(self, "feature_names_in_", None),
            geometry_columns=self.geometry_columns,
            own_linear=own_linear,
            **asked,
        )

    def _fit_geometry(self, rows: RowLike, geometry: Geometry | None = None) -> FittedGeometry:
        """The geometry of all rows (n, p)."""
        rng, first = seeded(self.random_state), np.arange(min(_EXAMPLES, rows.shape[0]))
        self._examples_ = take_rows(rows, first).astype(np.float64, copy=False)
        return (geometry or self._geometry()).fit(self._roles_.geometry_of(rows), rng)

    def _count_eigenpairs(self, geometry: FittedGeometry, n_labeled: int) -> int:
        """M: what is given, or what "auto" means on this geometry."""
        given = self.n_eigenpairs
        return geometry.n_eigenpairs(n_labeled) if isinstance(given, str) else int(given)

    def _keep_geometry(
        self, geometry: FittedGeometry, basis: Eigenbasis, labeled: IntArray | None, stray: bool = True
    ) -> None:
        """Set what is learned about the geometry, and warn about what a user should know.

        `labeled` are the connected parts that the labels are on; `stray`: whether to mention small parts, as
        one does not where every point is an anchor.
        """
        self.geometry_, self.basis_ = geometry.frozen(), basis
        self.eigenvalues_ = basis.eigenvalues
        self.bandwidth_ = basis.bandwidth
        self.n_graph_components_ = basis.n_parts
        notes = []
        remedy = ", or raise n_neighbors" if self.geometry is None else ""
        if labeled is not None:
            silent = basis.n_parts - len(np.unique(labeled))
            if silent:
                notes.append(
                    f"{silent} of the {basis.n_parts} connected parts of the graph hold no label: "
                    f"predictions there are the prior's. Label a point in each{remedy}"
                )
        if basis.n_capped and stray:
            notes.append(
                f"{basis.n_capped} connected part(s) hold very few points; their prior variance was "
                f"limited. Remove stray points{remedy} if that is not wanted"
            )
        if notes:
            warnings.warn("; ".join(notes) + ".", UserWarning, stacklevel=4)

    # -- what follows from it --------------------------------------------------------------------------

    @property
    def anchors_(self) -> Array:
        """Anchors of a point cloud (s, p), in the units of the geometry's columns."""
        check_is_fitted(self, "geometry_")
        even = self._roles_.even
        # Other geometries have none: their AttributeError says so, also to hasattr.
        anchors: Array = self.geometry_.anchors  # type: ignore[attr-defined]
        return anchors if even is None else even.inverse(anchors)

    @property
    def scaling_(self) -> EvenColumns | None:
        """What the geometry's columns go through; None: they are used as given."""
        check_is_fitted(self, "geometry_")
        return self._roles_.even

    def _inputs(self, X: Array) -> Inputs:
        """Rows (b, p) as the terms see them."""
        return Locator.of(self)(X)

    def __getstate__(self) -> dict[str, Any]:
        """All but the neighbours of the fitted rows, which would be the largest part of a pickle."""
        state: Any = super().__getstate__()
        return {name: value for name, value in state.items() if name != "_fitted_rows_"}

    def distance_to_anchors(self, X: Any) -> Array:
        """Distance from the geometry, in units of the largest distance that fitted points show there.

        For a point cloud, the distance to the nearest anchor. Up to 1 a point is as close as the fitted ones;
        beyond about 3 predictions are the prior's.

        Parameters
        ----------
        X : array-like of shape (n, p)

        Returns
        -------
        array of shape (n,)
        """
        X, geometry, roles = self._asked(X), self.geometry_, self._roles_
        with self._working():
            return map_rows(X, lambda block: geometry.distance(roles.geometry_of(block)))

    def covariance(self, X: Any, Y: Any = None, *, term: str | None = None) -> Array:
        """Prior covariance of f between any points (without noise), averaged over the latent functions.

        Parameters
        ----------
        X : array-like of shape (n, p)
        Y : array-like of shape (k, p), default X
        term : str, optional
            Of one term only: "constant", "manifold", "linear", "groups" or "local". None: of the whole f.

        Returns
        -------
        array of shape (n, k)
        """
        X, process = self._asked(X), self._process_
        if term is not None:
            check_choice("term", term, process.names)
        with self._working():
            others = None if Y is None else process.at(self._inputs(self._asked(Y)))
            return process.prior_covariance(process.at(self._inputs(X)), others, term)
