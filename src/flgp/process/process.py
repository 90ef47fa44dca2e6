"""The fitted process: terms, latent functions, and what may be asked of them at any points."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from .._stored import stored
from .._typing import Array
from ..likelihoods import Categorical
from ..terms import Inputs, Terms
from ..terms.base import View
from .class_field import ClassField, class_moments, class_variations
from .class_models import Calibration
from .component import Component
from .field import WeightField
from .mixture import LatentFunction


@stored("process")
@dataclass(frozen=True)
class Process:
    """Latent functions that share their terms: one set of them, or one for each bandwidth."""

    layers: tuple[Terms, ...]
    functions: tuple[LatentFunction, ...]
    coupled: Categorical | None = None  # what the functions have in common, one for each class
    calibration: Calibration = field(default_factory=Calibration)  # of classes
    correlation: Array | None = None  # (C, C) prior correlation of linked outputs

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

    def class_probabilities(self, views: Sequence[View]) -> Array:
        """P(class) (b, C) of coupled functions."""
        assert self.coupled is not None
        total = np.zeros((len(views[0]), self.coupled.n_classes))
        offset = 0.0 if views[0].offset is None else views[0].offset
        views = [replace(view, offset=None) for view in views]
        for part, fields in self._coupled_fields():
            mean, variance = class_moments(fields, views[part.layer])
            total += part.weight * self.coupled.probabilities(mean + offset, variance)
        return total

    def variations(self, views: Sequence[View]) -> Sequence[Array]:
        """Expected variance over the points of every term but the constant, for each function.

        The local term is the last, if a function has one.
        """
        if self.coupled is None:
            return [function.variations(views) for function in self.functions]
        pairs = self._coupled_fields()
        return np.sum([part.weight * class_variations(own, views[part.layer]) for part, own in pairs], axis=0)

    def _coupled_fields(self) -> Iterator[tuple[Component, list[ClassField]]]:
        """Every component of coupled functions, with the field of each class."""
        for parts in zip(*(function.components for function in self.functions), strict=True):
            yield parts[0], [part.field for part in parts if isinstance(part.field, ClassField)]

    def draws(
        self, views: Sequence[View], n_draws: int, rng: np.random.Generator, prior: bool = False
    ) -> list[Array]:
        """Joint draws of every latent function, (b, n_draws) each."""
        each = list(self.component_draws(views, n_draws, rng, prior))
        if self.coupled is not None:  # the same component in every draw
            order = rng.permutation(n_draws)
            return [np.concatenate([f for _, f in parts], axis=1)[:, order] for parts in each]
        return [_in_any_order([f for _, f in parts], rng) for parts in each]

    def draws_of_y(
        self,
        views: Sequence[View],
        n_draws: int,
        rng: np.random.Generator,
        size: Array | None = None,
        prior: bool = False,
    ) -> list[Array]:
        """Joint draws of y for every latent function, (b, n_draws) each; size (b,): exposures or trials.

        Each component has its own noise, or whatever parameters the likelihood has.
        """
        draws = []
        for parts in self.component_draws(views, n_draws, rng, prior):
            own = [
                part.draws_of_y(f, views[part.layer], rng, size, self.layers[part.layer] if prior else None)
                for part, f in parts
            ]
            draws.append(_in_any_order(own, rng))
        return draws

    def component_draws(
        self, views: Sequence[View], n_draws: int, rng: np.random.Generator, prior: bool = False
    ) -> Iterator[list[tuple[Component, Array]]]:
        """The same by component, one function after the other: each component with its share of the draws."""
        if self.correlation is not None:
            return iter(self._linked_draws(views, n_draws, rng, prior, self.correlation))
        counts = None if self.coupled is None else self.functions[0].shares_of(n_draws, rng)
        each = self.each(views)
        return (f.draws(self.layers, own, n_draws, rng, prior, counts) for f, own in each)

    def _linked_draws(
        self,
        views: Sequence[View],
        n_draws: int,
        rng: np.random.Generator,
        prior: bool,
        correlation: Array,
    ) -> list[list[tuple[Component, Array]]]:
        """Outputs that are drawn together; gaps off the geometry are independent."""
        parts = [function.components[0] for function in self.functions]
        fields = [part.field for part in parts]
        terms, view, count = self.layers[0], views[0], len(parts)
        if prior:
            fields = [WeightField.prior(terms, part.variances, part.field.constant) for part in parts]
            numbers = rng.standard_normal((count, terms.n_features, n_draws))
            weights = list(np.tensordot(np.linalg.cholesky(correlation), numbers, axes=1))
        else:
            assert isinstance(fields[0], WeightField)  # whose factor has common columns with the others
            weights = [rng.standard_normal((len(fields[0].constant_factor), n_draws))] * count
        result = []
        for part, known, own in zip(parts, fields, weights, strict=True):
            assert isinstance(known, WeightField)
            result.append([(part, known.draws(view, n_draws, rng, own))])
        return result

    def prior_covariance(
        self, views: Sequence[View], others: Sequence[View] | None, only: str | None = None
    ) -> Array:
        """Prior covariance (b, c) of f, averaged over the latent functions; `only`: of one term."""
        each = [f.prior_covariance(self.layers, views, others, only) for f in self.functions]
        return each[0] if len(each) == 1 else np.sum(each, axis=0) / len(each)


def _in_any_order(parts: Sequence[Array], rng: np.random.Generator) -> Array:
    """Draws (b, …) of all components side by side, shuffled: the first few are draws of the mixture too."""
    draws = np.concatenate(parts, axis=1)
    return draws if len(parts) == 1 else draws[:, rng.permutation(draws.shape[1])]
