"""Several classes, coupled by the softmax."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from scipy.special import log_softmax, ndtri, softmax
from scipy.stats import qmc

from .._stored import stored
from .._typing import Array, IntArray
from ._base import Observations, refuse


@stored("categorical likelihood")
@dataclass(frozen=True)
class Categorical:
    """P(y = c | f) = exp(f_c) / Σ_b exp(f_b), y in {0, .., n_classes - 1}, f of shape (m, n_classes).

    Not a `Likelihood`: one row has n_classes latents and its curvature diag(p) - p pᵀ couples them.

    Parameters
    ----------
    n_classes : C ≥ 2

    Examples
    --------
    >>> import numpy as np
    >>> from flgp.likelihoods import Categorical, Observations
    >>> Categorical(3).log_density(Observations.of([0, 2]), np.zeros((2, 3))).round(4)
    array([-1.0986, -1.0986])
    """

    n_classes: int

    name: ClassVar[str] = "categorical"
    parameter_names: ClassVar[tuple[str, ...]] = ()
    free_parameters: ClassVar[tuple[str, ...]] = ()

    def with_parameters(self) -> Categorical:
        """The same: it has no parameters."""
        return self

    def __post_init__(self) -> None:
        if self.n_classes != int(self.n_classes) or self.n_classes < 2:
            raise ValueError(f"n_classes of Categorical must be an integer ≥ 2, not {self.n_classes}.")

    def log_density(self, obs: Observations, f: Array) -> Array:
        """Log-probability log P(y_i | f_i), shape (m,)."""
        return np.asarray(log_softmax(f, axis=1)[np.arange(len(f)), self._labels(obs)])

    def probabilities(self, f: Array) -> Array:
        """P(y_i = c | f_i), shape (m, C)."""
        return np.asarray(softmax(f, axis=1))

    def gradient(self, obs: Observations, f: Array) -> Array:
        """∂ log p / ∂f = indicator of y minus probabilities, shape (m, C)."""
        gradient = -self.probabilities(f)
        rows, label = np.arange(len(f)), self._labels(obs)
        # The entry of the label is 1 - p_y: the sum of the other probabilities avoids cancellation.
        gradient[rows, label] = 0.0
        gradient[rows, label] = -gradient.sum(axis=1)
        return gradient

    def curvature(self, f: Array) -> Array:
        """W_i = diag(p_i) - p_i p_iᵀ, positive semi-definite, shape (m, C, C)."""
        p = self.probabilities(f)
        return p[:, :, None] * (np.eye(self.n_classes) - p[:, None, :])

    def predictive_probabilities(
        self, mean: Array, covariance: Array, n_draws: int = 256, seed: int = 0
    ) -> Array:
        """E[softmax(f)] for Gaussian f, by fixed quasi-random draws and their mirror images.

        Parameters
        ----------
        mean : (n, C)
        covariance : (n, C) variances of independent latents, or (n, C, C)
        n_draws : number of draws, a power of 2; half of them mirrored
        seed : of the scrambling; every row and every call uses the same points

        Returns
        -------
        (n, C) probabilities
        """
        uniform = qmc.Sobol(self.n_classes, scramble=True, seed=seed).random(max(n_draws // 2, 1))
        draws = ndtri(np.clip(uniform, 1e-12, 1.0 - 1e-12))
        root = _square_root(covariance) if np.ndim(covariance) == 3 else np.sqrt(covariance)
        total = np.zeros_like(mean, dtype=float)
        for draw in draws:
            away = root @ draw if root.ndim == 3 else root * draw
            total += self.probabilities(mean + away) + self.probabilities(mean - away)
        return total / (2 * len(draws))

    def sample(self, f: Array, rng: np.random.Generator) -> IntArray:
        """A class for every row of f, shape (m,): the largest of f plus Gumbel noise."""
        return np.argmax(f + rng.gumbel(size=np.shape(f)), axis=1)

    def initial_mean(self, obs: Observations) -> Array:
        """Logarithms of the class frequencies (half a label added to each), centred, shape (C,)."""
        share = obs.weight / np.mean(obs.weight)
        counts = np.bincount(self._labels(obs), weights=share, minlength=self.n_classes) + 0.5
        logs = np.log(counts)
        return logs - logs.mean()

    def latent_scale(self, obs: Observations) -> float:
        """The standard deviation of the logistic distribution, as for two classes."""
        return float(np.pi / np.sqrt(3.0))

    def initial_parameters(self, obs: Observations) -> dict[str, float]:
        """Empty: there are no parameters."""
        return {}

    def parameter_bounds(self, obs: Observations) -> dict[str, tuple[float, float]]:
        """Empty: there are no parameters."""
        return {}

    def validate(self, obs: Observations) -> None:
        """Refuse labels that are not class numbers."""
        known = (obs.y >= 0) & (obs.y < self.n_classes) & (obs.y == np.floor(obs.y))
        rule = f"Class numbers must be integers from 0 to {self.n_classes - 1}"
        refuse(~known, obs, rule, "Encode the classes first, or raise n_classes.")
        refuse(~(obs.weight > 0), obs, "sample_weight must be positive", "Leave such rows out.")

    @staticmethod
    def _labels(obs: Observations) -> IntArray:
        return obs.y.astype(int)


def _square_root(covariance: Array) -> Array:
    """A with A Aᵀ = covariance, for each of (n, C, C), which may be singular."""
    values, vectors = np.linalg.eigh(covariance)
    return np.asarray(vectors * np.sqrt(np.maximum(values, 0.0))[:, None, :])
