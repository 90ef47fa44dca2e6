"""The fitted process: terms, latent functions, and what may be asked of them at any points."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from .._stored import stored
from .._typing import Array
from ..likelihoods import Categorical
from ..terms import Inputs, Terms
from ..terms.base import View
from .class_field import ClassField, class_moments
from .class_models import Calibration
from .mixture import LatentFunction, in_any_order


@stored("process")
@dataclass(frozen=True)
class Process:
    """Latent functions that share their terms: one set of them, or one for each bandwidth."""

    layers: tuple[Terms, ...]
    functions: tuple[LatentFunction, ...]
    coupled: Categorical | None = None  # what the functions have in common, one for each class
    calibration: Calibration = field(default_factory=Calibration)  # of classes

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

    def class_probabilities(self, views: Sequence[View]) -> Array:
        """P(class) (b, C) of coupled functions."""
        assert self.coupled is not None
        total = np.zeros((len(views[0]), self.coupled.n_classes))
        for parts in zip(*(function.components for function in self.functions), strict=True):
            fields = [part.field for part in parts if isinstance(part.field, ClassField)]
            mean, variance = class_moments(fields, views[parts[0].layer])
            total += parts[0].weight * self.coupled.probabilities(mean, variance)
        return total

    def draws(
        self, views: Sequence[View], n_draws: int, rng: np.random.Generator, prior: bool = False
    ) -> list[Array]:
        """Joint draws of every latent function, (b, n_draws) each.

        Coupled functions are in the same component in every draw.
        """
        count, order = None, None
        if self.coupled is not None:
            count, order = self.functions[0].shares_of(n_draws, rng), rng.permutation(n_draws)
        result = []
        for function in self.functions:
            parts = function.draws(self.layers, views, n_draws, rng, prior, count)
            result.append([f for _, f in parts])
        if order is not None:
            return [np.concatenate(parts, axis=1)[:, order] for parts in result]
        return [in_any_order(parts, rng) for parts in result]

    def prior_covariance(
        self, views: Sequence[View], others: Sequence[View] | None, only: str | None = None
    ) -> Array:
        """Prior covariance (b, c) of f, averaged over the latent functions; `only`: of one term."""
        each = [f.prior_covariance(self.layers, views, others, only) for f in self.functions]
        return each[0] if len(each) == 1 else np.sum(each, axis=0) / len(each)
