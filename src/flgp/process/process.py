"""The fitted process: terms, latent functions, and what may be asked of them at any points."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.special import softmax

from .._stored import stored
from .._typing import Array
from ..terms import Inputs, Terms
from ..terms.base import View
from .mixture import LatentFunction, in_any_order


@stored("joint draws of coupled functions")
@dataclass(frozen=True)
class JointDraws:
    """C latent functions with a joint posterior, as fixed draws at the nodes.

    The predictive integral over C dimensions is the average over the draws, O(rCS) for each point.
    """

    at_nodes: tuple[Array, ...]  # of each term (s, C·S)
    n_functions: int  # C
    gap_variances: tuple[float, ...]
    constants: Array | float = 0.0  # (C·S,)

    @classmethod
    def of(cls, terms: Terms, draws: Array, d: Array) -> JointDraws:
        """From joint draws of the weights of C functions, (S, C, M), a learned constant's the last."""
        S, C, M = draws.shape
        flat = draws.transpose(2, 1, 0)  # (M, C, S)
        pairs = list(zip(terms.parts, terms.spans(), strict=True))
        values = tuple(term.at_nodes(flat[span].reshape(-1, C * S)) for term, span in pairs)
        gaps = tuple(term.gap_variance(d[span]) for term, span in pairs)
        return cls(values, C, gaps, flat[-1].ravel().copy() if terms.n_features < M else 0.0)

    def draws(self, view: View) -> Array:
        """Joint draws of f at the points, (b, C, S); gaps get prior noise.

        The noise is the same for every row, so that a prediction does not depend on its batch.
        """
        flat = np.zeros((len(view), self.at_nodes[0].shape[1])) + self.constants
        for at, values in zip(view.terms, self.at_nodes, strict=True):
            flat += at.rows.combine(values)
        f: Array = flat.reshape(len(view), self.n_functions, -1)
        rng = np.random.default_rng(1)
        for at, variance in zip(view.terms, self.gap_variances, strict=True):
            if at.gap is not None:
                half = rng.standard_normal((self.n_functions, f.shape[2] // 2))
                noise = np.concatenate([half, -half], axis=1)
                f = f + np.sqrt(at.gap * variance)[:, None, None] * noise
        return f

    def probabilities(self, view: View) -> Array:
        """E softmax(f), (b, C)."""
        return softmax(self.draws(view), axis=1).mean(axis=2)


@stored("process")
@dataclass(frozen=True)
class Process:
    """Latent functions that share their terms: one set of them, or one for each bandwidth."""

    layers: tuple[Terms, ...]
    functions: tuple[LatentFunction, ...]
    coupled: JointDraws | None = None  # of the first layer, where the functions have one posterior

    @property
    def names(self) -> tuple[str, ...]:
        """The terms of f by name, the constant first."""
        local = ("local",) if self.has_local else ()
        return ("constant", *(part.name for part in self.layers[0].parts), *local)

    @property
    def has_local(self) -> bool:
        """Whether any function has a local term, so that points need coordinates."""
        return any(part.local is not None for function in self.functions for part in function.components)

    def at(self, inputs: Inputs) -> tuple[View, ...]:
        """The terms at some rows, for every layer."""
        return tuple(terms.view(inputs) for terms in self.layers)

    def draws(
        self, views: Sequence[View], n_draws: int, rng: np.random.Generator, prior: bool = False
    ) -> list[Array]:
        """Joint draws of every latent function, (b, n_draws) each."""
        result = []
        for function in self.functions:
            parts = function.draws(self.layers, views, n_draws, rng, prior)
            result.append(parts)
        return [in_any_order([f for _, f in parts], rng) for parts in result]

    def prior_covariance(
        self, views: Sequence[View], others: Sequence[View] | None, only: str | None = None
    ) -> Array:
        """Prior covariance (b, c) of f, averaged over the latent functions; `only`: of one term."""
        each = [f.prior_covariance(self.layers, views, others, only) for f in self.functions]
        return each[0] if len(each) == 1 else np.sum(each, axis=0) / len(each)
