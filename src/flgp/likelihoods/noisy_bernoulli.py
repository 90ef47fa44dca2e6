"""Two classes, with labels of which some are wrong."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from .._stored import stored
from .._typing import Array
from ._base import Derivatives, Observations, Tilted
from ._mislabeled import check_label_noise, mislabeled
from .bernoulli import Bernoulli


@stored("noisy Bernoulli likelihood")
@dataclass(frozen=True)
class NoisyBernoulli(Bernoulli):
    """P(label = 1 | f) = noise/2 + (1 - noise) l(f): a share of the labels is drawn at random.

    Not log-concave: a label that all others contradict stops pulling. Means and predictions are those of the
    class itself, not of its label.

    Parameters
    ----------
    link : as of `Bernoulli`
    label_noise : share of labels that say nothing, in [0, 1); half of them are right by chance

    Examples
    --------
    >>> import numpy as np
    >>> from flgp.likelihoods import NoisyBernoulli, Observations
    >>> likelihood = NoisyBernoulli(label_noise=0.2)
    >>> np.exp(likelihood.log_density(Observations.of([0.0]), np.array([50.0]))).round(3)
    array([0.1])
    """

    label_noise: float = 0.1

    name: ClassVar[str] = "noisy_bernoulli"
    log_concave: ClassVar[bool] = False

    def __post_init__(self) -> None:
        super().__post_init__()
        check_label_noise(self.label_noise, type(self).__name__)

    def log_density(self, obs: Observations, f: Array) -> Array:
        """Log of a mixture of the label's own probability and ½."""
        return self._mixed(obs, f).log_normalizer

    def derivatives(self, obs: Observations, f: Array) -> Derivatives:
        """Those of the clean label times the probability s that it is not random."""
        d = super().derivatives(obs, f)
        g, bend = d.gradient, -d.curvature
        mixed = self._mixed(obs, f)
        with np.errstate(divide="ignore", invalid="ignore"):
            s = np.where(g != 0, mixed.gradient / np.where(g != 0, g, 1.0), 1.0)
        third = s * (d.third + (1.0 - s) * (3.0 * g * bend + (1.0 - 2.0 * s) * g**3))
        return Derivatives(mixed.gradient, mixed.curvature, third)

    def likeliest(self, obs: Observations) -> Array:
        return 8.0 * (2.0 * obs.y - 1.0)

    def _tilted_once(self, obs: Observations, mean: Array, variance: Array) -> Tilted:
        return mislabeled(super()._tilted_once(obs, mean, variance), self.label_noise, 2)

    def _mixed(self, obs: Observations, f: Array) -> Tilted:
        d = super().derivatives(obs, f)
        clean = Tilted(super().log_density(obs, f), d.gradient, d.curvature)
        return mislabeled(clean, self.label_noise, 2)
