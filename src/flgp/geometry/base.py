"""The waist of the library: a geometry gives eigenpairs, and nothing above it knows how.

    Geometry.fit(rows)  →  FittedGeometry.locate(X)  →  Places
                           FittedGeometry.basis(M)   →  Eigenbasis.rows(places), .eigenvalues

A function on the geometry is f(x) = Σ_i β_i φ_i(x). A basis that lives on nodes (anchors, vertices) has
φ(x) = z(x) B: z(x) are a few weights over the nodes (`Rows`), and B holds the eigenfunctions there. A basis
whose eigenfunctions are known everywhere has z = φ and B = 1. Eigenfunctions are scaled so that the mean of
φ_i² over the geometry is 1.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any, Protocol, Self, runtime_checkable

import numpy as np
from scipy import sparse

from .._typing import Array, IntArray, RowLike
from ..rows.blocks import Blocks


class Places(Protocol):
    """Points located on a geometry: all that any of its bases needs to know about them."""

    @property
    def closeness(self) -> Array:
        """(b,) 1 on the geometry, falling to 0 far off it; see `closeness_of`."""
        ...


class Rows(Protocol):
    """Weights z (b, s) of points over the nodes of a basis."""

    def __len__(self) -> int: ...

    @property
    def width(self) -> int:
        """Weights stored for each point."""
        ...

    def combine(self, values: Array) -> Array:
        """Σ_j z_j values_j: values at the nodes, (s,) or (s, k), give (b,) or (b, k)."""
        ...

    def quadratic(self, values: Array) -> Array:
        """Σ_jk z_j z_k values_jk: a matrix at the nodes (s, s) gives (b,)."""
        ...

    def limit(self, sizes: Array) -> Array:
        """Sums of abs(z_j) times sizes_j (b,): limits of the length of Σ z_j v_j, v_j of these sizes (s,)."""
        ...

    def take(self, part: slice | IntArray) -> Rows:
        """The same for some of the points."""
        ...

    def scaled(self, factor: Array) -> Rows:
        """Every row times its factor (b,)."""
        ...


class Eigenbasis(Protocol):
    """M eigenpairs of a Laplacian, at any place."""

    @property
    def eigenvalues(self) -> Array:
        """λ (M,), ascending, from 0."""
        ...

    @property
    def time_unit(self) -> float:
        """The shortest diffusion time of interest: a step of a graph's walk, otherwise about 1/λ_M."""
        ...

    @property
    def bandwidth(self) -> float | None:
        """ε, where the geometry has one."""
        ...

    @property
    def n_parts(self) -> int:
        """Number of connected parts."""
        ...

    @property
    def n_capped(self) -> int:
        """Number of stray parts whose prior variance was limited."""
        ...

    def part_of(self, places: Any) -> IntArray:
        """The connected part that each place is on, (b,)."""
        ...

    def rows(self, places: Any) -> Rows:
        """Weights of places over the nodes."""
        ...

    def at_nodes(self, weights: Array) -> Array:
        """B β: weights of the eigenfunctions, (M,) or (M, k), as values at the nodes (s,) or (s, k)."""
        ...

    def features(self, places: Any) -> Array:
        """φ (b, M)."""
        ...


class FittedGeometry(Protocol):
    """A geometry that knows where the points are."""

    def locate(self, X: Array) -> Places:
        """Where points (b, q) are on the geometry."""
        ...

    def distance(self, X: Array) -> Array:
        """Distance (b,) from the geometry, in units of the largest distance that fitted points show."""
        ...

    def coordinates(self, X: Array) -> Array | None:
        """Coordinates (b, k) whose Euclidean distance is right at short range; None: there are none."""
        ...

    def fitted_places(self) -> Blocks[Any] | None:
        """Blocks of the places of the fitted rows; None where they must be located again."""
        ...

    def n_eigenpairs(self, n_labeled: int) -> int:
        """What n_eigenpairs="auto" means here."""
        ...

    @property
    def bandwidths(self) -> Array | None:
        """Bandwidths ε worth trying, ascending; None: there is nothing to search."""
        ...

    @property
    def typical_bandwidth(self) -> float | None:
        """A default bandwidth, for use without labels."""
        ...

    def basis(
        self,
        n_eigenpairs: int,
        bandwidth: float | None = None,
        near: Any = None,
        rough: bool = False,
    ) -> Eigenbasis:
        """The first eigenpairs.

        `near` is the basis at another bandwidth, to start from; `rough`: a sample of the rows will do.
        """
        ...

    def frozen(self) -> Self:
        """A copy without the data that only `fit` needs."""
        ...


@runtime_checkable
class Geometry(Protocol):
    """Where points live; what users hand to an estimator."""

    def columns(self, n_columns: int) -> int:
        """How many of `n_columns` columns of X, from the first on, the geometry takes by default.

        Raises ValueError, naming `geometry_columns`, if it cannot take any.
        """
        ...

    def identifiers(self, n_columns: int) -> tuple[int, ...]:
        """Which of its `n_columns` columns are node numbers rather than quantities."""
        ...

    def fit(self, rows: RowLike, rng: np.random.Generator) -> FittedGeometry:
        """Prepare for rows (n, q); raises ValueError for rows that are not on the geometry."""
        ...


@runtime_checkable
class Undecided(Protocol):
    """A geometry that leaves something to the evidence."""

    def candidates(self, rows: RowLike) -> list[Any]:
        """The geometries to compare for rows (n, q)."""
        ...


@dataclass(frozen=True)
class SparseRows:
    """r weights for each point."""

    index: IntArray  # (b, r) nodes
    z: Array  # (b, r)

    def __len__(self) -> int:
        return len(self.index)

    @property
    def width(self) -> int:
        return self.index.shape[1]

    def combine(self, values: Array) -> Array:
        if values.ndim == 1:
            return np.einsum("br,br->b", self.z, values[self.index])
        b, r = self.index.shape
        indptr = np.arange(0, b * r + 1, r)
        Z = sparse.csr_array((self.z.ravel(), self.index.ravel(), indptr), shape=(b, len(values)))
        return np.asarray(Z @ values)

    def quadratic(self, values: Array) -> Array:
        block = values[self.index[:, :, None], self.index[:, None, :]]
        return np.einsum("br,brc,bc->b", self.z, block, self.z)

    def limit(self, sizes: Array) -> Array:
        return np.einsum("br,br->b", np.abs(self.z), sizes[self.index])

    def take(self, part: slice | IntArray) -> SparseRows:
        return SparseRows(self.index[part], self.z[part])

    def scaled(self, factor: Array) -> SparseRows:
        return replace(self, z=self.z * factor[:, None])


@dataclass(frozen=True)
class MatrixRows:
    """A weight for every node: z (b, s), an array or a sparse `csr_array`."""

    z: Any

    def __len__(self) -> int:
        return int(self.z.shape[0])

    @property
    def width(self) -> int:
        return int(self.z.shape[1])

    def combine(self, values: Array) -> Array:
        return np.asarray(self.z @ values)

    def quadratic(self, values: Array) -> Array:
        return np.asarray((self.z * (self.z @ values)).sum(axis=1)).ravel()

    def limit(self, sizes: Array) -> Array:
        return np.asarray(abs(self.z) @ sizes)

    def take(self, part: slice | IntArray) -> MatrixRows:
        return MatrixRows(self.z[part])

    def scaled(self, factor: Array) -> MatrixRows:
        if sparse.issparse(self.z):
            return MatrixRows(sparse.csr_array(sparse.diags_array(factor) @ self.z))
        return MatrixRows(self.z * factor[:, None])


def closeness_of(distance: Array) -> Array:
    """Factor g (b,) on what the eigenfunctions say, from a relative `distance` (b,) off the geometry.

    Weights over nodes sum to 1 wherever a point is, so one far from all nodes would otherwise be as certain
    as the nearest fitted ones. g is 1 up to the distance that the fitted points show (1), then falls as a
    Gaussian of the excess; f gets its prior variance back as g falls.
    """
    excess = np.maximum(distance - 1.0, 0.0)
    return np.exp(-0.5 * np.minimum(excess, 40.0) ** 2)


def smallest_sums(spectra: Iterable[Array], count: int) -> IntArray:
    """The `count` smallest sums of one entry from each sequence: positions (count, k), sums ascending."""
    sums, chosen = np.zeros(1), np.empty((1, 0), dtype=np.intp)
    for values in spectra:
        total = (sums[:, None] + np.asarray(values)).ravel()
        keep = np.argsort(total, kind="stable")[:count]
        row, column = np.unravel_index(keep, (len(sums), len(values)))
        sums, chosen = total[keep], np.column_stack([chosen[row], column])
    return chosen
