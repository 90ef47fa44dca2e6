"""Several chains of a sampler, and what their draws are worth."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from .._arviz import inference_data
from .._stored import stored
from .._threads import single_threaded_blas
from .._typing import Array, IntArray
from ..likelihoods import Categorical
from .diagnostics import diagnose
from .expectation_propagation import ExpectationPropagation
from .gibbs import can_augment, gibbs_sampler
from .posterior import Point
from .sampler import Sampler, WeightDensity, cycle
from .slice_sampling import slice_sampler

# R-hat is the worst of some 50 quantities, so the customary 1.01 would warn about good chains.
RHAT_LIMIT = 1.05
# At most this many labelled rows, evenly spaced, are monitored for convergence.
_MONITORED = 50


@stored("Markov chains")
@dataclass(frozen=True)
class Chains:
    """Draws of the whitened weights v, and their diagnostics.

    The weights are not monitored one by one: what is predicted depends on the latent f, and the data say
    nothing about many directions of v. The k monitored quantities are f at `rows` of the labelled points
    (with C latent functions, all C at each) and, last, the log density of the posterior.
    """

    draws: Array  # (n_chains, n_draws, q) or (n_chains, n_draws, q, C)
    latent: Array  # f at `rows`: (n_chains, n_draws, len(rows)) or (n_chains, n_draws, len(rows), C)
    log_density: Array  # log p(y | f) - |v|²/2: (n_chains, n_draws)
    rows: IntArray  # the monitored labelled rows
    rhat: Array  # (k,) rank-normalised split R-hat
    ess_bulk: Array  # (k,) effective sample size of the centre
    ess_tail: Array  # (k,) effective sample size of the 5 % and 95 % quantiles

    @property
    def max_rhat(self) -> float:
        """The worst R-hat; 1 means that the chains are indistinguishable."""
        return float(self.rhat.max())

    @property
    def min_ess(self) -> float:
        """The smallest bulk or tail effective sample size, over all chains together."""
        return float(min(self.ess_bulk.min(), self.ess_tail.min()))

    @property
    def merged(self) -> Array:
        """All draws in one row of chains, shape (n_chains · n_draws, q) or (…, q, C)."""
        return self.draws.reshape(-1, *self.draws.shape[2:])

    def to_arviz(self) -> Any:
        """The chains as ArviZ's InferenceData (from ArviZ 1.0 on: a DataTree).

        Groups: `posterior` with `weights` and `latent`, `sample_stats` with `lp`.
        """
        extra = ["class"] if self.latent.ndim == 4 else []
        groups = {
            "posterior": {"weights": self.draws, "latent": self.latent},
            "sample_stats": {"lp": self.log_density},
        }
        dims = {"weights": ["feature", *extra], "latent": ["row", *extra]}
        return inference_data(groups, {"row": self.rows}, dims)


def make_sampler(density: WeightDensity) -> Sampler:
    """The sampler that suits the likelihood.

    Classes that exclude each other: Gibbs. One latent function: elliptical slices on the ellipses of
    expectation propagation's posterior (whose draws were worth up to five times those on Laplace's). Where
    Pólya-Gamma augmentation exists, a Gibbs sweep follows. Alone, each is slow somewhere: separable labels
    under a wide prior (amplitude 30) hold up the sweeps, many contradicting labels under a wide prior the
    slices. The cycle of both is slow in neither.
    """
    likelihood = density.likelihood
    if isinstance(likelihood, Categorical):
        return gibbs_sampler(density)
    inference = ExpectationPropagation(density.design, density.obs, density.offset)
    at = Point(np.ones(density.design.shape[1]), likelihood)
    slices = slice_sampler(density, inference.evaluate(at).posterior)
    return cycle(slices, gibbs_sampler(density)) if can_augment(likelihood) else slices


def run_chains(
    sampler: Sampler,
    *,
    seed: int | np.random.SeedSequence | None = None,
    n_chains: int = 4,
    n_draws: int = 1000,
    n_warmup: int = 500,
) -> Chains:
    """Run several chains one after the other, each with its own stream of random numbers.

    Chain i does not depend on how many there are. `n_draws` are kept of each, after `n_warmup` steps that are
    thrown away. Chains that have not converged bring a ConvergenceWarning, and are returned all the same.
    """
    sequence = seed if isinstance(seed, np.random.SeedSequence) else np.random.SeedSequence(seed)
    # More BLAS threads than one slow down algebra of this size.
    with single_threaded_blas():
        runs = [
            _run_chain(sampler, np.random.default_rng(child), n_draws, n_warmup)
            for child in sequence.spawn(n_chains)
        ]
    draws, latent, log_density, rows = (np.stack(parts) for parts in zip(*runs, strict=True))
    monitored = np.concatenate([latent.reshape(n_chains, n_draws, -1), log_density[..., None]], axis=2)
    chains = Chains(draws, latent, log_density, rows[0], *diagnose(monitored))
    if not chains.max_rhat <= RHAT_LIMIT:
        warnings.warn(_complaint(chains), ConvergenceWarning, stacklevel=2)
    return chains


def _run_chain(
    sampler: Sampler, rng: np.random.Generator, n_draws: int, n_warmup: int
) -> tuple[Array, Array, Array, IntArray]:
    """Draws, latent values at the monitored rows, log densities, and those rows, of one chain."""
    state = sampler.init(rng)
    m = len(state.latent)
    rows = np.unique(np.linspace(0, m - 1, min(m, _MONITORED)).round().astype(int))
    draws = np.empty((n_draws, *state.weights.shape))
    latent = np.empty((n_draws, len(rows), *state.latent.shape[1:]))
    log_density = np.empty(n_draws)
    for _ in range(n_warmup):
        state = sampler.step(rng, state)
    for i in range(n_draws):
        state = sampler.step(rng, state)
        draws[i], latent[i], log_density[i] = state.weights, state.latent[rows], state.log_density
    return draws, latent, log_density, rows


def _complaint(chains: Chains) -> str:
    worst = int(np.argmax(chains.rhat))
    per_row = (len(chains.rhat) - 1) // len(chains.rows)
    if worst == len(chains.rhat) - 1:
        what = "the log density"
    else:
        what = f"the latent value at labelled row {chains.rows[worst // per_row]}"
    return (
        f"The chains have not converged: R-hat is {chains.max_rhat:.3f} for {what} (limit {RHAT_LIMIT:g}), "
        f"the smallest effective sample size {chains.min_ess:.0f} of "
        f"{chains.draws.shape[0] * chains.draws.shape[1]} draws. The draws are kept; increase n_warmup and "
        "n_draws."
    )
