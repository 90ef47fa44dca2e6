"""Expectation propagation for classes that exclude each other: C latent functions with one likelihood."""

from __future__ import annotations

import numpy as np

from .._typing import Array
from ..likelihoods import Categorical, Observations
from .expectation_propagation import AndersonMixer, cavities, largest_change
from .posterior import AtLabels, Evaluation, LeftOut, Point
from .sites import Marginals, SiteSolver, make_solver

_SWEEPS = 80
# Steps of this many standard deviations, or sites this large, mean that the sweeps diverge: then a part of a
# plain step follows, and a result somewhat worse than the best may replace it.
_WILD, _LARGEST_SITE, _CAUTION, _FORGET = 1e6, 1e100, 0.3, 2.0
# Of the sites, in standard deviations; the evidence is stationary in them. Many labels outvote a small error.
_TOLERANCE, _ROUGH_TOLERANCE, _MANY_LABELS = 1e-5, 3e-3, 400


class CoupledEP:
    """Factorised EP for the multinomial probit.

    The posterior is approximated by independent Gaussian functions, one for each class: every label has a
    site for each of its C latents. Moments of a label's own factor are one-dimensional integrals (see
    `Categorical`), so a sweep costs as much as one of C binary problems, whatever the number of classes is. A
    weight w counts as w labels that share their site; a weight below 1 as that share of a label's site.
    `features` are (m, M), and y holds the codes 0 … C-1.
    """

    def __init__(self, features: Array, obs: Observations, n_classes: int) -> None:
        self.features, self.obs, self.n_classes = features, obs, n_classes
        self._weight = np.tile(obs.weight, n_classes)
        # How many equal sites there are to leave one out of: never more than there is.
        self._copies = np.maximum(self._weight, 1.0)
        self._offset = obs.offset.T.ravel() if obs.offset.ndim == 2 else np.zeros(len(self._weight))

    def evaluate(self, at: Point) -> Evaluation:
        """One posterior for each class; all have the same prior variances.

        `at.state` holds the site precisions and shifts (2, C·m) of an evaluation nearby.
        """
        likelihood, solver = at.likelihood, make_solver(self.features, at.d)
        assert isinstance(likelihood, Categorical)
        sites = np.zeros((2, self.n_classes * len(self.features))) if at.state is None else at.state
        tolerance = _ROUGH_TOLERANCE if at.rough or len(self.features) > _MANY_LABELS else _TOLERANCE
        sites = self._settled(solver, likelihood, sites, tolerance)
        marginals, each = self._marginals(solver, sites)
        mean, variance = cavities(marginals, *(sites / self._copies))
        tau, nu = sites / self._weight
        tilted = likelihood.tilted(self.obs, *self._by_class(mean + self._offset, variance))
        scaled = 1.0 + tau * variance
        exponent = nu**2 * variance + 2 * nu * mean - tau * mean**2
        log_evidence = (
            sum(-0.5 * part.log_det for part in each)
            + 0.5 * float(sites[1] @ marginals.mean)
            + float(self.obs.weight @ tilted.log_normalizer)
            + float(self._weight @ (0.5 * np.log(scaled) - 0.5 * exponent / scaled))
        )
        gradient, posteriors = np.zeros(len(at.d)), []
        for part, own_tau, own_nu in zip(each, *self._by_class(*sites), strict=True):
            along, posterior = solver.finish(part, own_tau, own_nu)
            gradient += along
            posteriors.append(posterior)
        own = self._by_class(mean + self._offset, variance)
        left_out = LeftOut(tilted.log_normalizer, *(values.T for values in own))
        everything = self._by_class(marginals.mean + self._offset, marginals.variance)
        at_labels = AtLabels(*(values.T for values in everything))
        return Evaluation(log_evidence, gradient, np.empty(0), tuple(posteriors), sites, left_out, at_labels)

    def _settled(self, solver: SiteSolver, likelihood: Categorical, sites: Array, tolerance: float) -> Array:
        """Sites after accelerated sweeps; the best seen if they do not settle."""
        mixer = AndersonMixer()
        best, smallest, cautious = sites, np.inf, sites
        for _ in range(_SWEEPS):
            marginals, _ = self._marginals(solver, sites)
            gap = self._targets(marginals, likelihood, sites) - sites
            change = largest_change(marginals, gap)
            if change < smallest:
                best, smallest, cautious = sites, change, sites + _CAUTION * gap
            if change < tolerance:
                break
            with np.errstate(over="ignore", invalid="ignore"):
                sites = mixer(sites, gap, marginals) if change < _WILD else np.full_like(sites, np.nan)
            if not np.abs(sites).max() < _LARGEST_SITE:  # diverged: a small step from the best so far
                sites, mixer = cautious, AndersonMixer()
                smallest *= _FORGET
            np.maximum(sites[0], 0.0, out=sites[0])
        return best

    def _targets(self, marginals: Marginals, likelihood: Categorical, sites: Array) -> Array:
        """The sites (2, C·m) after moment matching, each with the other sites unchanged."""
        mean, variance = cavities(marginals, *(sites / self._copies))
        tilted = likelihood.tilted(self.obs, *self._by_class(mean + self._offset, variance))
        curvature, gradient = tilted.curvature.ravel(), tilted.gradient.ravel()
        shrink = np.maximum(1.0 - variance * curvature, 1e-10)
        return self._weight * np.array([curvature, gradient + mean * curvature]) / shrink

    def _marginals(self, solver: SiteSolver, sites: Array) -> tuple[Marginals, list[Marginals]]:
        """Of all latents side by side (C·m,), and of each class."""
        each = [solver.marginals(tau, nu) for tau, nu in zip(*self._by_class(*sites), strict=True)]
        mean = np.concatenate([part.mean for part in each])
        variance = np.concatenate([part.variance for part in each])
        return Marginals(mean, variance, 0.0, None), each

    def _by_class(self, *values: Array) -> list[Array]:
        return [part.reshape(self.n_classes, -1) for part in values]
