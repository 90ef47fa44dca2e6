"""The fitted process: terms, latent functions, and what may be asked of them at any points."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from .._stored import stored
from .._typing import Array
from ..likelihoods import Categorical
from ..terms import Inputs, Terms
from ..terms.base import View
from .mixture import LatentFunction, in_any_order


@stored("process")
@dataclass(frozen=True)
class Process:
    """Latent functions that share their terms: one set of them, or one for each bandwidth."""

    layers: tuple[Terms, ...]
    functions: tuple[LatentFunction, ...]
    coupled: Categorical | None = None  # what the functions have in common, one for each class

    @property
    def names(self) -> tuple[str, ...]:
        """The terms of f by name, the constant first."""
        local = ("local",) if self._has_kriging else ()
        return ("constant", *(part.name for part in self.layers[0].parts), *local)

    @property
    def has_local(self) -> bool:
        """Whether any function has a local term, so that points need coordinates."""
        return self._has_kriging or any(part.name == "local" for part in self.layers[0].parts)

    @property
    def _has_kriging(self) -> bool:
        return any(part.local is not None for function in self.functions for part in function.components)

    def at(self, inputs: Inputs) -> tuple[View, ...]:
        """The terms at some rows, for every layer."""
        return tuple(terms.view(inputs) for terms in self.layers)

    def each(self, views: Sequence[View]) -> list[tuple[LatentFunction, list[View]]]:
        """Every function, with the views that hold its own offset."""
        return [
            (function, [view.of_function(k) for view in views]) for k, function in enumerate(self.functions)
        ]

    def class_probabilities(self, views: Sequence[View], sharpness: float = 1.0) -> Array:
        """P(class) (b, C) of coupled functions, whose means count `sharpness` times."""
        assert self.coupled is not None
        total = np.zeros((len(views[0]), self.coupled.n_classes))
        offset = 0.0 if views[0].offset is None else views[0].offset
        views = [replace(view, offset=None) for view in views]
        for parts in zip(*(function.components for function in self.functions), strict=True):
            moments = [part.latent_moments(views) for part in parts]
            mean, variance = (np.stack(values, axis=1) for values in zip(*moments, strict=True))
            total += parts[0].weight * self.coupled.probabilities(sharpness * mean + offset, variance)
        return total

    def draws(
        self, views: Sequence[View], n_draws: int, rng: np.random.Generator, prior: bool = False
    ) -> list[Array]:
        """Joint draws of every latent function, (b, n_draws) each."""
        result = []
        for function, own in self.each(views):
            parts = function.draws(self.layers, own, n_draws, rng, prior)
            result.append(parts)
        return [in_any_order([f for _, f in parts], rng) for parts in result]

    def prior_covariance(
        self, views: Sequence[View], others: Sequence[View] | None, only: str | None = None
    ) -> Array:
        """Prior covariance (b, c) of f, averaged over the latent functions; `only`: of one term."""
        each = [f.prior_covariance(self.layers, views, others, only) for f in self.functions]
        return each[0] if len(each) == 1 else np.sum(each, axis=0) / len(each)
