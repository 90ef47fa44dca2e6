"""f as a sum of terms: features side by side, with separate prior variances for each term."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from typing import Protocol, TypeVar

import numpy as np

from .._stored import stored
from .._typing import Array, IntArray
from ..geometry.base import Places, Rows
from ..priors import HalfNormal, Prior

K = TypeVar("K")


@dataclass(frozen=True)
class Inputs:
    """Rows as the terms see them."""

    X: Array | None  # (b, p) all columns; None where only the places are known
    places: Places
    coordinates: Array | None = None  # (b, q) where a local term measures distances
    offset: Array | None = None  # (b, k) added to each of k latent functions

    def __len__(self) -> int:
        return len(self.places.closeness)

    def columns(self) -> Array:
        """All columns of X, where a term needs them."""
        if self.X is None:
            raise ValueError("This model needs the columns of X, not only where the rows are.")
        return self.X


@dataclass(frozen=True)
class TermView:
    """A term at b points: weights over its nodes, and what its features cannot say there.

    `gap` (b,) is the share of the term's prior variance that no feature carries: off the geometry, or for
    a level that was never seen. It stays prior whatever the labels say. Gaps of different points are
    independent, unless the points share a level or have columns in common.
    """

    rows: Rows
    known_gap: Array | None = None  # None: 0 everywhere, unless a whitener says more
    levels: Array | None = None  # (b,) points of one level have the same gap
    remainder: Array | None = None  # (b, q) the gaps are this times q independent numbers
    # (s, k) at the nodes: features of equal prior variance, where the gap is 1 - |features|²
    whitener: Array | None = None

    @cached_property
    def gap(self) -> Array:
        """(b,), computed when a variance is asked for: means do without."""
        if self.whitener is None:
            return np.zeros(len(self.rows)) if self.known_gap is None else self.known_gap
        features = self.rows.combine(self.whitener)
        return np.clip(1.0 - np.einsum("ij,ij->i", features, features), 0.0, 1.0)

    def take(self, part: slice | IntArray) -> TermView:
        """The same for some of the points."""
        known = (self.known_gap, self.levels, self.remainder)
        gap, levels, rest = (None if values is None else values[part] for values in known)
        return TermView(self.rows.take(part), gap, levels, rest, self.whitener)

    def gap_covariance(self, other: TermView | None = None) -> Array:
        """Covariance of the gaps at unit variance, between points (b, b) or with those of another view."""
        across = self if other is None else other
        if self.levels is not None and across.levels is not None:
            return np.sqrt(np.outer(self.gap, across.gap)) * np.equal.outer(self.levels, across.levels)
        if self.remainder is not None and across.remainder is not None:
            return self.remainder @ across.remainder.T
        return np.diag(self.gap) if other is None else np.zeros((len(self.rows), len(across.rows)))

    def gap_draws(self, n_draws: int, rng: np.random.Generator) -> Array:
        """Draws (b, n_draws) of the gaps at unit variance."""
        if self.remainder is not None:
            return self.remainder @ rng.standard_normal((self.remainder.shape[1], n_draws))
        noise = rng.standard_normal((len(self.rows), n_draws))
        if self.levels is not None:
            _, first, own = np.unique(self.levels, return_index=True, return_inverse=True)
            noise = noise[first][own.ravel()]
        return noise * np.sqrt(self.gap)[:, None]


@dataclass(frozen=True)
class View:
    """All terms at b points."""

    terms: tuple[TermView, ...]
    size: int  # b
    coordinates: Array | None = None  # (b, q) where a local term measures distances
    offset: Array | None = None  # (b, k) added to each of k latent functions, or (b,) to this one

    def __len__(self) -> int:
        return self.size

    def of_function(self, which: int) -> View:
        """With the offset of one function."""
        return self if self.offset is None else replace(self, offset=self.offset[:, which])

    def shift(self) -> Array:
        """The offset (b,), 0 where there is none."""
        return np.zeros(self.size) if self.offset is None else self.offset

    def gaps(self, variances: Sequence[float], whole: bool = False) -> Array:
        """Variance (b,) that no feature carries, given what the gap of each term is a share of.

        `whole`: of terms with a whitener, all of their variance.
        """
        total = np.zeros(self.size)
        for variance, at in zip(variances, self.terms, strict=True):
            if variance > 0:
                total += variance if whole and at.whitener is not None else at.gap * variance
        return total

    def gap_covariance(self, variances: Sequence[float]) -> Array:
        """The same between points, (b, b)."""
        pairs = zip(variances, self.terms, strict=True)
        return sum((at.gap_covariance() * v for v, at in pairs), np.zeros((self.size, self.size)))

    def gap_draws(self, variances: Sequence[float], n_draws: int, rng: np.random.Generator) -> Array:
        """Draws (b, n_draws) of what no feature carries."""
        pairs = zip(variances, self.terms, strict=True)
        draws = (at.gap_draws(n_draws, rng) * np.sqrt(v) for v, at in pairs)
        return sum(draws, np.zeros((self.size, n_draws)))

    def take(self, part: slice | IntArray) -> View:
        """The same for some of the points."""
        points = None if self.coordinates is None else self.coordinates[part]
        size = len(range(*part.indices(self.size))) if isinstance(part, slice) else len(part)
        offset = None if self.offset is None else self.offset[part]
        return View(tuple(term.take(part) for term in self.terms), size, points, offset)


class Term(Protocol):
    """One part of f: features with prior variances d(θ)."""

    @property
    def name(self) -> str:
        """What predictions call it."""
        ...

    @property
    def parameters(self) -> tuple[str, ...]:
        """Names of its hyperparameters θ."""
        ...

    @property
    def n_features(self) -> int:
        """M, how many features it has."""
        ...

    def features(self, at: Inputs) -> Array:
        """Features of labelled rows, (b, M)."""
        ...

    def view(self, at: Inputs) -> TermView:
        """The term at any rows."""
        ...

    def at_nodes(self, weights: Array) -> Array:
        """Weights of the features, (M,) or (M, k), as values at the nodes that `view` refers to."""
        ...

    def variances(self, values: Mapping[str, float]) -> Array:
        """Prior variances d (M,) at hyperparameters given by name."""
        ...

    def gradient(self, values: Mapping[str, float], along: Array) -> dict[str, float]:
        """Σ_i along_i ∂ log d_i / ∂ log θ for each hyperparameter; `along` (M,) is ∂ / ∂ log d."""
        ...

    def gap_variance(self, d: Array) -> float:
        """What `gap` is a share of, at prior variances d (M,)."""
        ...

    def bounds(self, scale: float) -> dict[str, tuple[float, float]]:
        """Where the hyperparameters may go, for labels whose latent function has the size `scale`."""
        ...

    def priors(self, scale: float) -> dict[str, Prior]:
        """Priors of the hyperparameters."""
        ...


class OneVariance(ABC):
    """Base of terms with one hyperparameter: a variance that all features share alike."""

    @property
    @abstractmethod
    def parameters(self) -> tuple[str, ...]:
        """Its name alone."""

    @property
    @abstractmethod
    def n_features(self) -> int:
        """M."""

    @property
    def n_shares(self) -> int:
        """How many features it is divided among; 1: each has all of it."""
        return 1

    def at_nodes(self, weights: Array) -> Array:
        """The weights themselves."""
        return weights

    def variances(self, values: Mapping[str, float]) -> Array:
        return np.full(self.n_features, values[self.parameters[0]] / self.n_shares)

    def gradient(self, values: Mapping[str, float], along: Array) -> dict[str, float]:
        return {self.parameters[0]: float(along.sum())}

    def gap_variance(self, d: Array) -> float:
        return float(d[0]) * self.n_shares if len(d) else 0.0

    def bounds(self, scale: float) -> dict[str, tuple[float, float]]:
        """From nothing to far more than the labels show."""
        return {self.parameters[0]: (1e-8 * scale**2, 1e4 * scale**2)}

    def priors(self, scale: float) -> dict[str, Prior]:
        """As for the variance of the manifold's part."""
        return {self.parameters[0]: HalfNormal(3.0 * scale)}


@stored("terms")
@dataclass(frozen=True)
class Terms:
    """The terms that all latent functions share, side by side; each function also has its own constant."""

    parts: tuple[Term, ...]

    @property
    def parameters(self) -> tuple[str, ...]:
        return tuple(name for part in self.parts for name in part.parameters)

    @property
    def n_features(self) -> int:
        """Features of all terms together."""
        return sum(part.n_features for part in self.parts)

    def spans(self) -> list[slice]:
        """Where the features of each term are among those of all."""
        ends = np.cumsum([0, *(part.n_features for part in self.parts)]).tolist()
        return [slice(a, b) for a, b in pairwise(ends)]

    def spanned(self) -> list[tuple[Term, slice]]:
        """Every term, and where its features are among those of all."""
        return list(zip(self.parts, self.spans(), strict=True))

    def find(self, kind: type[K]) -> tuple[K, slice] | None:
        """The first term of a kind, and where its features are; None: there is none."""
        return next(((part, span) for part, span in self.spanned() if isinstance(part, kind)), None)

    def features(self, at: Inputs) -> Array:
        columns = [part.features(at) for part in self.parts]
        return columns[0] if len(columns) == 1 else np.concatenate([np.empty((len(at), 0)), *columns], axis=1)

    def view(self, at: Inputs) -> View:
        """Every term at any rows."""
        return View(tuple(part.view(at) for part in self.parts), len(at), at.coordinates, at.offset)

    def variances(self, values: Mapping[str, float]) -> Array:
        return np.concatenate([np.empty(0), *(part.variances(values) for part in self.parts)])

    def gradient(self, values: Mapping[str, float], along: Array) -> dict[str, float]:
        result: dict[str, float] = {}
        for part, span in self.spanned():
            result |= part.gradient(values, along[span])
        return result
