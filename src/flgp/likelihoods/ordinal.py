"""Levels in order: ratings, grades, stages."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from scipy.special import expit, log_expit, logit

from .._stored import stored
from .._typing import Array, BoolArray, IntArray
from ._base import Derivatives, Likelihood, Observations, ParameterDerivatives, Tilted, refuse
from .logistic import logistic_gaussian_integral, logistic_tilted

_GAP = re.compile(r"gap_([1-9][0-9]*)")
_MOST_LEVELS = 30


@stored("ordinal likelihood")
@dataclass(frozen=True)
class Ordinal(Likelihood):
    """Cumulative logit: P(y ≤ level k | f) = σ(c_k - f), with cut points c_1 < c_2 < … between the levels.

    The cut points are centred at 0, because f has a constant of its own; the gaps between them are learned.
    Log-concave. `predict` gives the expected level, `predict_proba` the probability of each.

    Parameters
    ----------
    levels : the possible values of y, whole numbers ≥ 0 in ascending order. None: those among the labels.
    gaps : c_2 - c_1, c_3 - c_2, … > 0, two fewer than levels, or None to learn them

    Examples
    --------
    >>> import numpy as np
    >>> from flgp.likelihoods import Ordinal
    >>> likelihood = Ordinal(levels=(1, 2, 3), gaps=(2.0,))
    >>> likelihood.cut_points
    array([-1.,  1.])
    >>> likelihood.probabilities(np.zeros(1), np.zeros(1)).round(3)
    array([[0.269, 0.462, 0.269]])
    """

    levels: tuple[float, ...] | None = None
    gaps: tuple[float, ...] | None = None

    name: ClassVar[str] = "ordinal"
    discrete: ClassVar[bool] = True

    def __post_init__(self) -> None:
        if self.levels is not None:
            levels = np.asarray(self.levels, dtype=float)
            whole = levels.ndim == 1 and bool(np.all((levels >= 0) & (levels == np.floor(levels))))
            if not (whole and len(levels) >= 2 and np.all(np.diff(levels) > 0)):
                raise ValueError(
                    f"levels of Ordinal must be at least two ascending whole numbers, not {self.levels}."
                )
            object.__setattr__(self, "levels", tuple(levels.tolist()))
        if self.gaps is not None:
            gaps = np.asarray(self.gaps, dtype=float)
            if self.levels is None or gaps.shape != (len(self.levels) - 2,):
                raise ValueError("gaps of Ordinal need levels, and there are two fewer of them.")
            if not np.all(np.isfinite(gaps) & (gaps > 0)):
                raise ValueError(f"gaps of Ordinal must be positive and finite, not {self.gaps}.")
            object.__setattr__(self, "gaps", tuple(gaps.tolist()))

    @property
    def parameter_names(self) -> tuple[str, ...]:  # type: ignore[override]  # depends on the levels
        """One name for each gap."""
        return tuple(f"gap_{i + 1}" for i in range(len(self.levels or ()) - 2))

    def __getattr__(self, name: str) -> Any:
        """The gaps by name, as parameters of other likelihoods are."""
        found = _GAP.fullmatch(name)
        if found is None or name not in self.parameter_names:
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
        return None if self.gaps is None else self.gaps[int(found[1]) - 1]

    def with_parameters(self, **values: float) -> Self:
        """The same likelihood with these gaps; all of them, if none is set yet."""
        old = self.gaps or (np.nan,) * len(self.parameter_names)
        gaps = (values.get(name, gap) for name, gap in zip(self.parameter_names, old, strict=True))
        return replace(self, gaps=tuple(gaps))

    def for_labels(self, obs: Observations) -> Self:
        """With the levels that the labels have, if none are given."""
        if self.levels is not None:
            return self
        found = np.unique(obs.y)
        bad = ~np.isfinite(obs.y) | (obs.y < 0) | (obs.y != np.floor(obs.y))
        remedy = "Number the levels in their order: 0, 1, 2, …."
        refuse(bad, obs, "Labels of the ordinal likelihood must be whole numbers and at least 0", remedy)
        if len(found) < 2:
            raise ValueError("All ordinal labels are the same: name the possible ones, Ordinal(levels=...).")
        if len(found) > _MOST_LEVELS:
            raise ValueError(
                f"There are {len(found)} different ordinal labels, at most {_MOST_LEVELS} are allowed: use "
                "likelihood='gaussian' or 'poisson', or merge levels."
            )
        return replace(self, levels=tuple(found.tolist()))

    @property
    def cut_points(self) -> Array:
        """Between the K levels, c (K - 1,)."""
        if self.levels is None or (self.gaps is None and len(self.levels) > 2):
            raise ValueError("Ordinal needs values for levels and gaps: use `with_parameters`.")
        cuts = np.concatenate([[0.0], np.cumsum(self.gaps or ())])
        return cuts - cuts.mean()

    def _values(self) -> Array:
        return np.array(self.levels or (), dtype=float)

    def _ends(self, obs: Observations, f: Array) -> tuple[Array, Array, IntArray]:
        """Cut points above and below each label, minus f, and the number of its level."""
        cuts = np.concatenate([[-np.inf], self.cut_points, [np.inf]])
        level = np.searchsorted(self._values(), obs.y)
        return cuts[level + 1] - f, cuts[level] - f, level

    def log_density(self, obs: Observations, f: Array) -> Array:
        """log[σ(u) - σ(l)] = log σ(u) + log σ(-l) + log(1 - e^(l-u)), u and l the cut points minus f."""
        upper, lower, level = self._ends(obs, f)
        return log_expit(upper) + log_expit(-lower) + np.log(-np.expm1(-self._widths()[level]))

    def derivatives(self, obs: Observations, f: Array) -> Derivatives:
        """In closed form, with s = σ(1 - σ) at either cut point: W = s(u) + s(l)."""
        upper, lower, _ = self._ends(obs, f)
        s, t = _spread(upper), _spread(lower)
        third = -s * np.tanh(0.5 * upper) - t * np.tanh(0.5 * lower)
        return Derivatives(expit(lower) - expit(-upper), s + t, third)

    def parameter_derivatives(self, obs: Observations, f: Array) -> list[ParameterDerivatives]:
        """In the logarithms of the gaps, through the two cut points of each label."""
        upper, lower, level = self._ends(obs, f)
        s, t = _spread(upper), _spread(lower)
        steepness = 1.0 / np.expm1(np.minimum(self._widths()[level], 700.0))
        steepness = np.where(np.isfinite(self._widths()[level]), steepness, 0.0)
        return [
            ParameterDerivatives(
                up * (expit(-upper) + steepness) - low * (expit(lower) + steepness),
                up * s + low * t,
                -up * s * np.tanh(0.5 * upper) - low * t * np.tanh(0.5 * lower),
            )
            for up, low in ((moved[level + 1], moved[level]) for moved in self._moves())
        ]

    def tilted(self, obs: Observations, mean: Array, variance: Array) -> Tilted:
        """The difference of two logistic integrals for rows of unit weight, by quadrature for the others."""
        return self._with_weights(lambda *rows: self._between(*rows).tilted(), obs, mean, variance)

    def tilted_parameter_gradient(self, obs: Observations, mean: Array, variance: Array) -> list[Array]:
        """Through the two cut points of each label; by quadrature where there are weights."""
        if np.any(obs.weight != 1.0):
            return super().tilted_parameter_gradient(obs, mean, variance)
        mean, variance = (np.broadcast_to(np.asarray(v, dtype=float), obs.y.shape) for v in (mean, variance))
        by_upper, by_lower = self._between(obs, mean, variance).by_cut_points()
        level = np.searchsorted(self._values(), obs.y)
        return [moved[level + 1] * by_upper + moved[level] * by_lower for moved in self._moves()]

    def _between(self, obs: Observations, mean: Array, variance: Array) -> _Between:
        """E[σ(u) - σ(l)], or E[σ(-l) - σ(-u)] where these two are smaller and so lose fewer digits."""
        upper, lower, _ = self._ends(obs, mean)
        flipped = np.isinf(upper) | ((upper + lower > 0) & np.isfinite(lower))
        sign = np.where(flipped, 1.0, -1.0)
        first, second = np.where(flipped, lower, upper), np.where(flipped, upper, lower)
        alone = np.isinf(second)
        one = logistic_tilted(sign, -first, variance)
        other = logistic_tilted(sign, np.where(alone, 0.0, -second), variance)
        ratio = np.where(alone, 0.0, np.exp(np.minimum(other.log_normalizer - one.log_normalizer, 0.0)))
        return _Between(one, other, ratio, flipped, variance)

    def _moves(self) -> list[Array]:
        """Derivatives (K + 1,) of the cut points in the logarithm of each gap; the ends stay."""
        count = len(self.cut_points)
        return [
            np.concatenate([[0.0], gap * ((np.arange(count) > j) - (count - 1.0 - j) / count), [0.0]])
            for j, gap in enumerate(self.gaps or ())
        ]

    def _widths(self) -> Array:
        """Distances (K,) between the cut points around each level."""
        return np.concatenate([[np.inf], np.array(self.gaps or ()), [np.inf]])

    def probabilities(self, mean: Array, variance: Array) -> Array:
        """P(level) (…, K) for f ~ N(mean, variance); the last axis sums to 1."""
        mean, variance = (np.asarray(v, dtype=float)[..., None] for v in (mean, variance))
        below = logistic_gaussian_integral(self.cut_points - mean, variance)
        whole = np.concatenate([np.zeros_like(below[..., :1]), below, np.ones_like(below[..., :1])], axis=-1)
        return np.maximum(np.diff(whole, axis=-1), 0.0)

    def conditional_probabilities(self, f: Array) -> Array:
        """P(level | f) (…, K)."""
        return self.probabilities(f, np.zeros_like(np.asarray(f, dtype=float)))

    def conditional_mean(self, f: Array) -> Array:
        return self.predictive_mean(f, np.zeros(()))

    def conditional_variance(self, f: Array) -> Array:
        return self.predictive_variance(f, np.zeros(()))

    def predictive_mean(self, mean: Array, variance: Array) -> Array:
        mean, variance = np.broadcast_arrays(np.asarray(mean, dtype=float), variance)
        return self.probabilities(mean, variance) @ self._values()

    def predictive_variance(self, mean: Array, variance: Array) -> Array:
        mean, variance = np.broadcast_arrays(np.asarray(mean, dtype=float), variance)
        p, values = self.probabilities(mean, variance), self._values()
        center = (p @ values)[..., None]
        return np.sum(p * (values - center) ** 2, axis=-1)

    def cdf(self, y: Array, f: Array) -> Array:
        """σ(c_k - f) for the highest level k that is no higher than y."""
        cuts = np.concatenate([[-np.inf], self.cut_points, [np.inf]])
        return np.asarray(expit(cuts[np.searchsorted(self._values(), y, side="right")] - f))

    def sample(self, f: Array, rng: np.random.Generator) -> Array:
        """Levels: which cut points f plus logistic noise is between."""
        f = np.asarray(f, dtype=float)
        return self._values()[np.searchsorted(self.cut_points, f + rng.logistic(size=f.shape))]

    def validate(self, obs: Observations) -> None:
        super().validate(obs)
        levels = ", ".join(f"{value:g}" for value in self.levels or ())
        refuse(
            ~np.isin(obs.y, self._values()),
            obs,
            f"Ordinal labels must be one of the levels {levels}",
            "Name all of them in Ordinal(levels=...).",
        )

    def initial_mean(self, obs: Observations) -> float:
        """Where the cut points, centred, give the shares of the levels."""
        return -float(self._cuts_by_shares(obs).mean())

    def latent_scale(self, obs: Observations) -> float:
        """The standard deviation of the logistic distribution, π/√3."""
        return float(np.pi / np.sqrt(3.0))

    def initial_parameters(self, obs: Observations) -> dict[str, float]:
        """Gaps that give the shares of the levels, wider because f varies."""
        gaps = np.clip(1.4 * np.diff(self._cuts_by_shares(obs)), 0.02, 20.0)
        return dict(zip(self.parameter_names, gaps.tolist(), strict=True))

    def parameter_bounds(self, obs: Observations) -> dict[str, tuple[float, float]]:
        """From levels that never occur to levels that nearly always do."""
        return dict.fromkeys(self.parameter_names, (1e-3, 100.0))

    def _cuts_by_shares(self, obs: Observations) -> Array:
        """Logits of the cumulative shares, with half a label more in each level."""
        share = obs.weight / np.mean(obs.weight)
        level = np.searchsorted(self._values(), obs.y)
        counts = np.bincount(level, weights=share, minlength=len(self._values())) + 0.5
        return np.asarray(logit(np.cumsum(counts)[:-1] / counts.sum()))


class _Between(NamedTuple):
    """Z = Z₁ - Z₂, two logistic integrals; ratio = Z₂/Z₁."""

    one: Tilted
    other: Tilted
    ratio: Array
    flipped: BoolArray  # whether the first belongs to the lower cut point
    variance: Array

    def tilted(self) -> Tilted:
        """Log Z and its derivatives in the mean."""
        rest = np.maximum(1.0 - self.ratio, 1e-300)
        gradient = (self.one.gradient - self.ratio * self.other.gradient) / rest
        bend, other = (part.gradient**2 - part.curvature for part in (self.one, self.other))
        curvature = gradient**2 - (bend - self.ratio * other) / rest
        curvature = np.clip(curvature, 0.0, 1.0 / np.maximum(self.variance, 1e-20))
        return Tilted(self.one.log_normalizer + np.log(rest), gradient, curvature)

    def by_cut_points(self) -> tuple[Array, Array]:
        """Derivatives of log Z in the cut points above and below: a cut point moves as minus the mean."""
        rest = np.maximum(1.0 - self.ratio, 1e-300)
        first, second = -self.one.gradient / rest, self.ratio * self.other.gradient / rest
        return np.where(self.flipped, second, first), np.where(self.flipped, first, second)


def _spread(x: Array) -> Array:
    """σ(x) σ(-x), 0 at both ends."""
    return np.asarray(expit(x) * expit(-x))
