"""What a regression cannot combine, refused with the remedy."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from .._typing import Array
from ..likelihoods import Gaussian, Heteroscedastic, Likelihood

if TYPE_CHECKING:
    from .regressor import FLGPRegressor

# Expectation propagation for a rate known to one part in thirty thousand loses itself in rounding.
LARGEST_COUNT = 1e9


def check_linkable(model: FLGPRegressor) -> None:
    """Refuse what linked outputs cannot be combined with."""
    if model.residual == "local":
        raise ValueError(
            "residual='local' has no covariance between outputs. Use residual=None, or shared=True "
            "instead of coregionalization."
        )
    if model.hyperparameters != "optimize":
        raise ValueError(
            f"hyperparameters={model.hyperparameters!r}, but coregionalization is learned by "
            "optimisation. Use hyperparameters='optimize', or shared=True instead of coregionalization."
        )


def check_outputs(likelihood: Likelihood, n_outputs: int, rank: int) -> None:
    """Refuse outputs that cannot be linked with this rank."""
    if not isinstance(likelihood, Gaussian):
        raise ValueError(
            f"coregionalization needs the Gaussian likelihood, not {likelihood.name}. Use shared=True."
        )
    if n_outputs < max(rank, 2):
        raise ValueError(
            f"coregionalization={rank} links two or more outputs, at least as many as its rank, but y "
            f"has {n_outputs}. Set coregionalization=None, or a lower rank."
        )


def check_likelihood_suits(model: FLGPRegressor, likelihood: Likelihood, y: Array) -> None:
    """Refuse an inference or a local term that does not suit the likelihood of labels y."""
    model._check_local_suits(likelihood)
    counts = model.inference == "ep" and likelihood.name.endswith("poisson")
    if counts and np.any(y > LARGEST_COUNT):
        raise ValueError(
            f"inference='ep' with the {likelihood.name} likelihood does not settle for counts above "
            f"{LARGEST_COUNT:.0e}, and y has {np.nanmax(y):.1e}. Use inference='laplace'."
        )
    if not isinstance(likelihood, Heteroscedastic):
        return
    if model.inference != "auto":
        raise ValueError(
            f"inference={model.inference!r}, but the heteroscedastic likelihood has a variational "
            "inference of its own. Use inference='auto'."
        )
    if model.residual == "local":
        raise ValueError(
            "residual='local' is not combined with the heteroscedastic likelihood. Use residual=None."
        )
