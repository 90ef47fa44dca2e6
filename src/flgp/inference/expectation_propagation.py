"""Expectation propagation in weight space: calibrated where Laplace is too wide."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from .._typing import Array
from ..likelihoods import Likelihood, Observations, Tilted
from .laplace import LaplaceInference
from .posterior import AtLabels, Evaluation, LeftOut, Point
from .sites import Marginals, SiteSolver, make_solver

_PARALLEL_SWEEPS, _SEQUENTIAL_SWEEPS = 100, 60
_TOLERANCE, _ROUGH_TOLERANCE = 1e-6, 3e-3
# At a point of a quadrature over hyperparameters, which itself is right to 3e-4.
_ONE_OF_MANY = 1e-4
_MEMORY = 6
# Cavity precisions are kept at least this share of the marginal precision.
_SMALLEST_CAVITY = 1e-8
# Sites that run away stay where squares are numbers, until a smaller step brings them back.
_FARTHEST = 1e120
# Sites that still move a marginal by this many standard deviations have not settled; nor will they after this
# many sequential sweeps.
_UNSETTLED, _PATIENCE = 0.1, 20
# Parallel sweeps give up if they are this far off after this many (sequential ones then settle only with
# log-concavity), or if they have come no closer for a while; near the fixed point only rounding is left.
_HOPELESS, _EARLY, _STUCK, _AT_REST = 10.0, 10, 30, 10
# They also give up at steps this large, and this much above the smallest: Laplace is then a better start.
_WILD, _GROWN = 1e6, 1e3


class Moments(NamedTuple):
    """What a sweep knows at its sites: marginals, cavities, and the labels' tilted densities there."""

    sites: Array  # (2, m)
    marginals: Marginals
    mean: Array
    variance: Array
    tilted: Tilted

    def targets(self) -> Array:
        """The sites (2, m) after moment matching, each with the other sites unchanged."""
        curvature = np.maximum(self.tilted.curvature, 0.0)
        shrink = np.maximum(1.0 - self.variance * curvature, 1e-10)
        return np.array([curvature, self.tilted.gradient + self.mean * curvature]) / shrink


class AndersonMixer:
    """Anderson acceleration of a fixed-point iteration.

    Labels that lie close together would all correct the same error at once, so that the plain parallel
    update overshoots; combining the last few steps finds the common correction in a few sweeps.
    """

    def __init__(self) -> None:
        self._points: list[Array] = []
        self._gaps: list[Array] = []
        self._best = np.inf

    def __call__(self, point: Array, gap: Array, marginals: Marginals) -> Array:
        """The next sites (2, m) after `point`, where the plain update would add `gap`."""
        unit_gap = in_standard_deviations(marginals, gap)
        change = float(np.abs(unit_gap).max())
        if change > 10.0 * self._best:  # the combination diverges: start again
            self._points, self._gaps = self._points[-1:], self._gaps[-1:]
        self._best = min(self._best, change)
        self._points = [*self._points[-_MEMORY:], point]
        self._gaps = [*self._gaps[-_MEMORY:], gap]
        if len(self._points) == 1:
            return point + gap
        steps = np.array(self._points[:-1]) - point
        changes = np.array(self._gaps[:-1]) - gap
        units = in_standard_deviations(marginals, changes).reshape(len(steps), -1)
        gram = units @ units.T
        gram.flat[:: len(gram) + 1] *= 1.0 + 1e-10
        if not np.isfinite(gram).all():  # steps too large to combine
            return point + gap
        share = np.linalg.lstsq(gram, -units @ unit_gap.ravel(), rcond=1e-12)[0]
        moves = (steps + changes).reshape(len(steps), -1)
        return point + gap + (share @ moves).reshape(point.shape)


@dataclass(frozen=True, eq=False)
class ExpectationPropagation:
    """Parallel EP: one factorisation updates all sites, so each sweep costs as much as one Newton step.

    Where the parallel updates do not settle (a few separable labels under a very wide prior, counts of a
    million), sites are updated one after the other instead, from Laplace's approximation if the others led
    nowhere. That converges for every log-concave likelihood known but costs a loop over the rows. At a fixed
    point the evidence is stationary in the sites, so its derivatives in the hyperparameters need no implicit
    terms.
    """

    features: Array  # (m, M)
    obs: Observations
    offset: float | Array = 0.0  # the prior mean of f, (m,) or one number

    # Overflow on the way shows in an evidence that is not a number.
    @np.errstate(over="ignore", invalid="ignore", divide="ignore")
    def evaluate(self, at: Point) -> Evaluation:
        """`at.state` holds the site precisions and shifts (2, m) of an evaluation nearby.

        A rough evaluation stops earlier: its evidence, stationary in the sites, is still good to about 1e-5.
        The evidence is -inf where the sites do not settle: what they then say is not near any posterior.
        """
        likelihood, solver = at.one_function, make_solver(self.features, at.d)
        sites = np.zeros((2, len(self.features))) if at.state is None else at.state
        tolerance = _ROUGH_TOLERANCE if at.rough else _ONE_OF_MANY if at.one_of_many else _TOLERANCE
        settled = self._settled(solver, at.d, likelihood, sites, tolerance)
        nothing = np.zeros_like(sites)
        last = settled or self._moments(solver.marginals(*nothing), likelihood, nothing)
        sites, marginals, mean, variance, tilted = last
        tau, nu = sites
        scaled = 1.0 + tau * variance
        exponent = nu**2 * variance + 2 * nu * mean - tau * mean**2
        log_evidence = (
            -0.5 * marginals.log_det
            + 0.5 * float(nu @ marginals.mean)
            + float(np.sum(tilted.log_normalizer + 0.5 * np.log(scaled) - 0.5 * exponent / scaled))
        )
        gradient, posterior = solver.finish(marginals, tau, nu)
        by_parameter = np.full(len(likelihood.parameter_names), np.nan)
        if not at.one_of_many:
            own = likelihood.tilted_parameter_gradient(self.obs, self.offset + mean, variance)
            by_parameter = np.array([np.sum(part) for part in own])
        # A cavity is the posterior without that label, so its normaliser is a left-out prediction.
        left_out = LeftOut(tilted.log_normalizer, self.offset + mean, variance)
        at_labels = AtLabels(self.offset + marginals.mean, marginals.variance)
        value = -np.inf if settled is None else log_evidence
        return Evaluation(value, gradient, by_parameter, (posterior,), sites, left_out, at_labels)

    def _settled(
        self, solver: SiteSolver, d: Array, likelihood: Likelihood, sites: Array, tolerance: float
    ) -> Moments | None:
        """The sites after all sweeps, and what is known there; None if they did not settle."""
        try:
            found, change, last = self._parallel(solver, likelihood, sites, tolerance)
            if change > _HOPELESS and _near_laplace(likelihood):
                found = LaplaceInference(self.features, self.obs, self.offset).sites(d, likelihood)
            if change >= _ROUGH_TOLERANCE:
                last = None
                if likelihood.log_concave or change < _HOPELESS:
                    found, settled = self._sequential(solver, likelihood, found, tolerance)
                    if settled:
                        last = self._moments(solver.marginals(*found), likelihood, found)
        except np.linalg.LinAlgError:
            return None
        return last

    def _parallel(
        self, solver: SiteSolver, likelihood: Likelihood, sites: Array, tolerance: float
    ) -> tuple[Array, float, Moments | None]:
        """The best of accelerated sweeps: sites, how far they move a marginal, and what is known there."""
        mixer = AndersonMixer()
        best, smallest, since, known = sites, np.inf, 0, None
        for sweep in range(_PARALLEL_SWEEPS):
            last = self._moments(solver.marginals(*sites), likelihood, sites)
            gap = last.targets() - sites
            change = largest_change(last.marginals, gap)
            if change < tolerance:
                return sites, change, last
            hopeless = sweep >= _EARLY and smallest > _HOPELESS
            hopeless |= change > max(_WILD, _GROWN * smallest) and _near_laplace(likelihood)
            stuck = sweep > since + (_AT_REST if smallest < _ROUGH_TOLERANCE else _STUCK)
            if not np.isfinite(change) or hopeless or stuck:
                break
            if change < smallest:
                best, smallest, since, known = sites, change, sweep, last
            sites = mixer(sites, gap, last.marginals)
            np.maximum(sites[0], 0.0, out=sites[0])
        return best, smallest, known

    def _sequential(
        self, solver: SiteSolver, likelihood: Likelihood, sites: Array, tolerance: float
    ) -> tuple[Array, bool]:
        """Sites after updates one by one, each followed by a rank-one change of the posterior."""
        sites = sites.copy()
        change = np.inf
        for sweep in range(_SEQUENTIAL_SWEEPS):
            basis, covariance = solver.dense(sites[0])  # f = basis @ u, u ~ N(mean, covariance)
            mean = covariance @ (basis.T @ sites[1])
            change = 0.0
            for i, row in enumerate(basis):
                along = covariance @ row
                marginal = Marginals(mean @ row[:, None], np.maximum(along @ row[:, None], 1e-300), 0.0, None)
                old = sites[:, i : i + 1]
                new = self._moments(marginal, likelihood, old, slice(i, i + 1)).targets()
                (step, shift), variance = (new - old)[:, 0], float(marginal.variance[0])
                moved = largest_change(marginal, new - old)
                change = float(np.maximum(change, moved))  # also if that is not a number
                # Sherman and Morrison: the covariance falls along one direction, and the mean moves there.
                scale = 1.0 / (1.0 + step * variance)
                mean = mean + along * (scale * (shift - step * float(marginal.mean[0])))
                covariance = covariance - np.outer(scale * step * along, along)
                sites[:, i : i + 1] = new
            if change < tolerance or np.isnan(change) or (sweep >= _PATIENCE and change > _UNSETTLED):
                break
        return sites, change < _UNSETTLED

    def _moments(
        self, marginals: Marginals, likelihood: Likelihood, sites: Array, rows: slice = slice(None)
    ) -> Moments:
        """For some rows, of which there are the marginals and the sites."""
        mean, variance = cavities(marginals, *sites)
        offset = self.offset if np.ndim(self.offset) == 0 else np.asarray(self.offset)[rows]
        tilted = likelihood.tilted(self.obs.take(rows), offset + mean, variance)
        return Moments(sites, marginals, mean, variance, tilted)


def _near_laplace(likelihood: Likelihood) -> bool:
    """Whether the sites are near those at the mode, where labels say much."""
    return likelihood.log_concave and likelihood.smooth


def in_standard_deviations(marginals: Marginals, change: Array) -> Array:
    """Changes (..., 2, m) of the sites as what they do to each marginal, so that flat sites do not count."""
    step, shift = change[..., 0, :], change[..., 1, :]
    units = np.empty_like(change)
    units[..., 0, :] = step * marginals.variance
    units[..., 1, :] = (shift - step * marginals.mean) * np.sqrt(marginals.variance)
    return units


def largest_change(marginals: Marginals, change: Array) -> float:
    """The most that changes (2, m) of the sites do to a marginal, in standard deviations."""
    return float(np.abs(in_standard_deviations(marginals, change)).max())


def cavities(marginals: Marginals, tau: Array, nu: Array) -> tuple[Array, Array]:
    """Mean and variance (m,) of each latent value without its own site."""
    precision = 1.0 / marginals.variance
    variance = 1.0 / np.maximum(precision - tau, _SMALLEST_CAVITY * precision)
    with np.errstate(over="ignore"):
        mean = variance * (marginals.mean * precision - nu)
    return np.clip(mean, -_FARTHEST, _FARTHEST), variance
