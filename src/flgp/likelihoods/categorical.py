"""Several classes, coupled by the softmax."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from scipy.special import log_softmax, softmax

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
