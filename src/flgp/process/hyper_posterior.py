"""What is known about the hyperparameters, as a table and a plot."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import ndtri

from .._stored import stored
from .._typing import Array


@stored("posterior of hyperparameters")
@dataclass(frozen=True)
class HyperparameterPosterior:
    """What the labels say about the hyperparameters of one latent function."""

    names: tuple[str, ...]
    nodes: Array  # (N, k) values of the k hyperparameters at the points of the quadrature
    weights: Array  # (N,)

    @property
    def mean(self) -> Array:
        """Posterior means (k,)."""
        return self.weights @ self.nodes

    @property
    def sd(self) -> Array:
        """Posterior standard deviations (k,)."""
        return np.sqrt(np.maximum(self.weights @ self.nodes**2 - self.mean**2, 0.0))

    def quantiles(self, levels: Sequence[float] = (0.05, 0.5, 0.95)) -> Array:
        """Quantiles (k, len(levels)) of the log-normal distribution with the nodes' moments."""
        center, spread = self._log_moments()
        return np.exp(center[:, None] + spread[:, None] * ndtri(np.asarray(levels, dtype=float)))

    def table(self) -> dict[str, dict[str, float]]:
        """Mean, standard deviation and 5, 50 and 95 % quantiles, by the hyperparameter's name."""
        columns = np.column_stack([self.mean, self.sd, self.quantiles()])
        heads = ("mean", "sd", "q05", "q50", "q95")
        return {
            name: dict(zip(heads, row.tolist(), strict=True))
            for name, row in zip(self.names, columns, strict=True)
        }

    def plot(self, axes: Any = None) -> Any:
        """Draw each hyperparameter's density and the nodes it rests on.

        Parameters
        ----------
        axes : array of k matplotlib Axes, optional

        Returns
        -------
        array of k Axes
        """
        if axes is None:
            try:
                from matplotlib import pyplot
            except ImportError as error:
                raise ImportError("Plots need matplotlib: pip install 'flgp[plot]'") from error
            axes = pyplot.subplots(1, len(self.names), squeeze=False, figsize=(3 * len(self.names), 2.5))[1]
        axes = np.ravel(axes)
        center, spread = self._log_moments()
        for j, (ax, name) in enumerate(zip(axes, self.names, strict=True)):
            width = max(float(spread[j]), 1e-3)
            x = center[j] + width * np.linspace(-3.5, 3.5, 200)
            density = np.exp(-0.5 * ((x - center[j]) / width) ** 2)
            ax.plot(np.exp(x), density, color="C0")
            ax.vlines(self.nodes[:, j], 0.0, self.weights / self.weights.max(), color="C1")
            ax.set(xscale="log", xlabel=name, yticks=[])
        return axes

    def _log_moments(self) -> tuple[Array, Array]:
        logs = np.log(self.nodes)
        center = self.weights @ logs
        return center, np.sqrt(np.maximum(self.weights @ (logs - center) ** 2, 0.0))
