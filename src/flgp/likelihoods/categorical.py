"""Several classes that exclude each other: the multinomial probit."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from scipy.special import erfcx, log_ndtr, ndtr, ndtri

from .._stored import stored
from .._typing import Array
from ._base import Observations, refuse
from ._mislabeled import check_label_noise, mislabeled
from ._tilted import Tilted

_LOG_ROOT_2PI = 0.5 * float(np.log(2.0 * np.pi))
# Nodes of the one-dimensional integrals, and how many standard deviations they span on either side.
_NODES, _SPAN = 40, 6.5
# Standard deviations from which on Mills' ratio has its limit: beyond, squares hide it.
_FAR_OFF = 1e4
# Nodes of the midpoint rule for probabilities, as few as leave no more than this between two of them, in
# units of the smallest standard deviation: the integrand is so smooth that the error is then below 1e-6, most
# of it the mass that is left out (at 0.6 it grows).
_MIDPOINTS, _STEP = (16, 20, 24, 28, 32, 40, 48, 64, 2 * _NODES), 0.5
# Newton's steps to a mode end where the last one was this share of its width.
_NEWTON_STEPS, _NEWTON_TOLERANCE = 100, 1e-4
# Rows times classes times nodes held at once while probabilities are integrated: they stay in cache.
_BLOCK_VALUES = 400_000


@stored("categorical likelihood")
@dataclass(frozen=True)
class Categorical:
    """P(y = c | f) = P(f_c + ε_c is the largest of all f_k + ε_k), ε ~ N(0, I), y in {0, .., n_classes - 1}.

    Where the latents are independent Gaussians N(μ_k, v_k), whatever the number of classes, P(y = c) is an
    integral over one dimension, that of w = f_c + ε_c:

        Z = ∫ N(w; μ_c, 1 + v_c) Π_{k≠c} Φ((w - μ_k) / (1 + v_k)^½) dw

    Not a `Likelihood`: one row has n_classes latents.

    Parameters
    ----------
    n_classes : C ≥ 2
    label_noise : share of the labels that are drawn at random from all classes: P(label = c | f) is then
        noise/C + (1 - noise) P(c | f). Probabilities are those of the classes, not of their labels.

    Examples
    --------
    >>> import numpy as np
    >>> from flgp.likelihoods import Categorical
    >>> Categorical(3).probabilities(np.zeros((1, 3)), np.ones((1, 3))).round(4)
    array([[0.3333, 0.3333, 0.3333]])
    """

    n_classes: int
    label_noise: float = 0.0

    name: ClassVar[str] = "categorical"
    parameter_names: ClassVar[tuple[str, ...]] = ()
    free_parameters: ClassVar[tuple[str, ...]] = ()

    def with_parameters(self) -> Categorical:
        return self

    def __post_init__(self) -> None:
        if self.n_classes != int(self.n_classes) or self.n_classes < 2:
            raise ValueError(f"n_classes of Categorical must be an integer ≥ 2, not {self.n_classes}.")
        check_label_noise(self.label_noise, type(self).__name__)

    def log_density(self, obs: Observations, f: Array) -> Array:
        """Log-probability log P(y_i | f_i), shape (m,), for f (m, C)."""
        return self.tilted(obs, f.T, np.zeros(f.T.shape)).log_normalizer

    def tilted(self, obs: Observations, mean: Array, variance: Array) -> Tilted:
        """Log Z (m,) and its derivatives (C, m) in the means, for independent latents (C, m); no weights."""
        y, rows = obs.y.astype(int), np.arange(mean.shape[1])
        sd = np.sqrt(1.0 + variance)
        own_mean, own_sd = mean[y, rows], sd[y, rows]
        other = np.ones(mean.shape, dtype=bool)
        other[y, rows] = False
        w, width = _peak(mean, sd, own_mean, own_sd, other)
        # On the left the integrand falls at least as fast as at its mode, on the right as the Gaussian does:
        # a smooth change of scale, so that equal weights stay as accurate as they are for a Gaussian.
        x = np.linspace(-_SPAN, _SPAN, _NODES)[:, None]
        root, wider = np.sqrt(1.0 + x * x), 0.5 * np.maximum(own_sd - width, 0.0)
        nodes = w + width * x + wider * (root + x - 1.0)  # (Q, m)
        step = (x[1, 0] - x[0, 0]) * (width + wider * (x / root + 1.0))
        z = (nodes[:, None] - mean) / sd  # (Q, C, m)
        log_cdf = np.where(other, log_ndtr(z), 0.0)
        own_z = (nodes - own_mean) / own_sd
        log_density = log_cdf.sum(axis=1) - 0.5 * own_z**2 - _LOG_ROOT_2PI - np.log(own_sd)
        log_density += np.log(step)
        top = log_density.max(axis=0)
        share = np.exp(log_density - top)
        total = share.sum(axis=0)
        share /= total
        # Farther off φ(z)/Φ(z) is -z - 1/z, and both logarithms are too large for their difference.
        far = z < -_FAR_OFF
        off = np.where(far, z, -_FAR_OFF)
        log_hazard = np.where(far, 0.0, -0.5 * z * z - _LOG_ROOT_2PI - log_cdf)
        hazard = np.where(other, np.where(far, -off - 1.0 / off, np.exp(log_hazard)), 0.0)
        gradient = -np.einsum("qm,qcm->cm", share, hazard) / sd
        curvature = np.einsum("qm,qcm->cm", share, z * hazard) / sd**2 + gradient**2
        first = (share * own_z).sum(axis=0)
        gradient[y, rows] = first / own_sd
        curvature[y, rows] = (1.0 - (share * (own_z - first) ** 2).sum(axis=0)) / own_sd**2
        clean = Tilted(np.log(total) + top, gradient, np.maximum(curvature, 0.0))
        mixed = mislabeled(clean, self.label_noise, self.n_classes)
        return mixed._replace(curvature=np.maximum(mixed.curvature, 0.0))

    def probabilities(self, mean: Array, variance: Array) -> Array:
        """P(y = c) (b, C) for independent latents N(mean, variance), (b, C) each; rows sum to 1."""
        return self.largest(mean, 1.0 + variance)

    def largest(self, mean: Array, variance: Array) -> Array:
        """P(f_c is the largest) (b, C) for independent latents N(mean, variance); rows sum to 1.

        The density of the largest f_k is a sum over the classes, and each summand is the density of
        "it is class c": one set of nodes serves all classes.
        """
        sd, result = np.sqrt(variance), np.empty(mean.shape)
        # 1e-6 of the mass is left out at either end.
        reach = float(ndtri(1.0 - 1e-6))
        low, high = (mean - reach * sd).max(axis=1), (mean + reach * sd).max(axis=1)
        kind = np.searchsorted(_MIDPOINTS[:-1], (high - low) / (_STEP * sd.min(axis=1)))
        for n_nodes, own in ((count, np.flatnonzero(kind == k)) for k, count in enumerate(_MIDPOINTS)):
            size = max(_BLOCK_VALUES // (self.n_classes * n_nodes), 1)
            for rows in (own[start : start + size] for start in range(0, len(own), size)):
                result[rows] = _probabilities(mean[rows], sd[rows], low[rows], high[rows], n_nodes)
        return result

    def conditional(self, f: Array) -> Array:
        return self.probabilities(f, np.zeros_like(f))

    def latent_scale(self, obs: Observations) -> float:
        return 1.0

    def initial_parameters(self, obs: Observations) -> dict[str, float]:
        return {}

    def parameter_bounds(self, obs: Observations) -> dict[str, tuple[float, float]]:
        return {}

    def validate(self, obs: Observations) -> None:
        known = (obs.y >= 0) & (obs.y < self.n_classes) & (obs.y == np.floor(obs.y))
        rule = f"Class numbers must be integers from 0 to {self.n_classes - 1}"
        refuse(~known, obs, rule, "Encode the classes first, or raise n_classes.")
        refuse(~(obs.weight > 0), obs, "sample_weight must be positive", "Leave such rows out.")


def _peak(mean: Array, sd: Array, own_mean: Array, own_sd: Array, other: Array) -> tuple[Array, Array]:
    """Mode and width (m,) of the integrand of Z, which is log-concave, by Newton's method.

    The slope falls in w and is convex, as hazards are: from the left of the mode no full step goes beyond it,
    and from the right the first one goes to the left. So it converges from anywhere.
    """
    w = np.maximum(own_mean, np.where(other, mean, -np.inf).max(axis=0))
    scale = np.where(other, 1.0 / sd, 0.0)
    precision = np.ones_like(w)
    for _ in range(_NEWTON_STEPS):
        z = (w - mean) / sd
        hazard = np.sqrt(2.0 / np.pi) / erfcx(z * -np.sqrt(0.5))
        slope = (own_mean - w) / own_sd**2 + (hazard * scale).sum(axis=0)
        # The hazard's own slope is between -1 and 0; far to the left nothing but rounding says so.
        bend = np.clip(hazard * (z + hazard), 0.0, 1.0)
        precision = 1.0 / own_sd**2 + (bend * scale**2).sum(axis=0)
        w = w + slope / precision
        if (np.abs(slope) < _NEWTON_TOLERANCE * np.sqrt(precision)).all():
            break
    return w, 1.0 / np.sqrt(precision)


def _probabilities(mean: Array, sd: Array, low: Array, high: Array, n_nodes: int) -> Array:
    """By the midpoint rule between where the largest latent hardly ever and nearly always is."""
    steps, scale = (np.arange(n_nodes) + 0.5) / n_nodes, 1.0 / sd
    nodes = low[:, None] + (high - low)[:, None] * steps
    z = (nodes - mean.T[:, :, None]) * scale.T[:, :, None]
    density = ndtr(z)  # (C, b, Q): class by class, because reductions along a short last axis are slow
    product = density[0].copy()
    for cdf in density[1:]:
        product *= cdf
    # Where a product of all is too small for a number, so is what it would add: at some nodes none is.
    np.maximum(density, np.finfo(float).tiny, out=density)
    np.divide(product, density, out=density)
    np.multiply(z, z, out=z)
    z *= -0.5
    density *= np.exp(z, out=z)
    p = density.sum(axis=2).T * scale
    return p / p.sum(axis=1, keepdims=True)
