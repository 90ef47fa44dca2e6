"""Numbers as latent functions: the likelihood, what each column of y says, and what cannot be combined."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from .._typing import Array
from ..likelihoods import Gaussian, Heteroscedastic, Likelihood, Observations, get_likelihood
from ..process.evidence import KnownValues, Target
from ..terms import Constant
from .labels import Labels
from .validation import refuse_repeats

if TYPE_CHECKING:
    from .regressor import FLGPRegressor

# Expectation propagation for a rate known to one part in thirty thousand loses itself in rounding.
_LARGEST_COUNT = 1e9


def regression_targets(
    model: FLGPRegressor, labels: Labels, known: Sequence[KnownValues] | None
) -> list[Target]:
    """A target for each column of y; `known` are values to keep."""
    likelihood, count = likelihood_of(model), labels.y.shape[1]
    _check_likelihood_suits(model, likelihood, labels.y)
    if model.coregionalization is not None:
        _check_outputs(likelihood, count, int(model.coregionalization))
    kept = [None] * count if known is None else known
    return [_target(model, labels, i, likelihood, kept[i]) for i in range(count)]


def likelihood_of(model: FLGPRegressor) -> Likelihood:
    """The likelihood that the parameters ask for."""
    likelihood = get_likelihood(model.likelihood)
    if model.noise_variance is None:
        return likelihood
    if "noise_variance" not in likelihood.parameter_names:
        raise ValueError(
            f"noise_variance is given, but the {likelihood.name} likelihood has none. Leave it at None."
        )
    return likelihood.with_parameters(noise_variance=float(model.noise_variance))


def _target(
    model: FLGPRegressor, labels: Labels, output: int, likelihood: Likelihood, known: KnownValues | None
) -> Target:
    rows = np.flatnonzero(~np.isnan(labels.y[:, output]))
    if len(rows) == 0:
        which = "y" if labels.y.shape[1] == 1 else f"column {output} of y"
        raise ValueError(f"{which} has no labelled row: every value is NaN. Label at least one row.")
    part = labels.take(rows)
    offset = None if part.offset is None else part.offset[:, output]
    obs = Observations.of(part.y[:, output], row=part.row, offset=offset, **part.known)
    likelihood = likelihood.for_labels(obs)
    likelihood.validate(obs)
    obs = likelihood.absorb_weights(obs)
    refuse_repeats(obs.weight)
    constant = Constant()
    if model.mean == "constant":
        scale = likelihood.latent_scale(likelihood.without_offset(obs))
        constant = Constant(likelihood.constant_beside_offset(obs), scale**2)
    return Target(rows, obs, likelihood, constant, known)


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


def _check_outputs(likelihood: Likelihood, n_outputs: int, rank: int) -> None:
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


def _check_likelihood_suits(model: FLGPRegressor, likelihood: Likelihood, y: Array) -> None:
    """Refuse an inference or a local term that does not suit the likelihood of labels y."""
    model._check_local_suits(likelihood)
    counts = model.inference == "ep" and likelihood.name.endswith("poisson")
    if counts and np.any(y > _LARGEST_COUNT):
        raise ValueError(
            f"inference='ep' with the {likelihood.name} likelihood does not settle for counts above "
            f"{_LARGEST_COUNT:.0e}, and y has {np.nanmax(y):.1e}. Use inference='laplace'."
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
