"""Have the chains converged, and what are their draws worth? (Vehtari et al. 2021)

All functions take draws of shape (n_chains, n_draws, ...) and return one number for each quantity, in the
shape of the trailing axes. A quantity that never moves has R-hat 1 and loses no draws; chains that each
stand still somewhere else have R-hat ∞.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.fft import irfft, next_fast_len, rfft
from scipy.special import ndtri
from scipy.stats import rankdata

from .._typing import Array


class Diagnostics(NamedTuple):
    """One entry for each quantity."""

    rhat: Array  # rank-normalised split R-hat, the larger of the bulk's and the tails'
    ess_bulk: Array  # effective sample size for the centre of the distribution
    ess_tail: Array  # for its 5 % and 95 % quantiles, the smaller


def diagnose(draws: Array) -> Diagnostics:
    """All three diagnostics of draws of shape (n_chains, n_draws, ...)."""
    return Diagnostics(split_rhat(draws), ess_bulk(draws), ess_tail(draws))


def split_rhat(draws: Array) -> Array:
    """Rank-normalised split R-hat; folding about the median makes it see differing spreads too."""
    halves = _split(draws)
    folded = np.abs(halves - np.median(halves, axis=(0, 1)))
    return np.maximum(_rhat(_rank_normalise(halves)), _rhat(_rank_normalise(folded)))


def ess_bulk(draws: Array) -> Array:
    """Effective sample size of the rank-normalised draws."""
    return _ess(_rank_normalise(_split(draws)))


def ess_tail(draws: Array) -> Array:
    """The smaller effective sample size of the indicators of the 5 % and the 95 % quantile."""
    halves = _split(draws)
    low, high = np.quantile(halves, [0.05, 0.95], axis=(0, 1))
    return np.minimum(_ess((halves <= low).astype(float)), _ess((halves <= high).astype(float)))


def _split(draws: Array) -> Array:
    """Each chain cut in two, so that drift within a chain counts as disagreement."""
    draws = np.asarray(draws, dtype=float)
    n_draws = draws.shape[1]
    if n_draws < 4:
        raise ValueError(f"Diagnostics need at least 4 draws per chain, not {n_draws}.")
    half = n_draws // 2
    return np.concatenate([draws[:, :half], draws[:, n_draws - half :]])


def _rank_normalise(draws: Array) -> Array:
    """Normal scores of the ranks over all chains."""
    n_total = draws.shape[0] * draws.shape[1]
    ranks = rankdata(draws.reshape(n_total, *draws.shape[2:]), axis=0).reshape(draws.shape)
    return ndtri((ranks - 0.375) / (n_total + 0.25))


def _rhat(draws: Array) -> Array:
    """√((within·(n-1)/n + between) / within) for chains of n draws."""
    n_draws = draws.shape[1]
    within = draws.var(axis=1, ddof=1).mean(axis=0)
    between = draws.mean(axis=1).var(axis=0, ddof=1)
    # Rounding leaves a trace of variance in chains that stand still.
    still, same = within < 1e-20, between < 1e-20
    squared = (n_draws - 1) / n_draws + between / np.where(still, 1.0, within)
    return np.where(still, np.where(same, 1.0, np.inf), np.sqrt(squared))


def _ess(draws: Array) -> Array:
    """Effective sample size by Geyer's initial monotone sequence over all chains."""
    n_chains, n_draws = draws.shape[:2]
    total = float(n_chains * n_draws)
    covariance = _autocovariance(draws).mean(axis=0)  # (n_draws, ...)
    within = covariance[0] * n_draws / (n_draws - 1)
    variance = covariance[0] + (draws.mean(axis=1).var(axis=0, ddof=1) if n_chains > 1 else 0.0)
    still = variance < 1e-20
    correlation = 1.0 - (within - covariance) / np.where(still, 1.0, variance)
    correlation[0] = 1.0
    # Sums of neighbours are positive and decreasing for a reversible chain: stop at the first that is not
    # positive, and never let them rise.
    n_pairs = (n_draws - 1) // 2
    pairs = correlation[0 : 2 * n_pairs : 2] + correlation[1 : 2 * n_pairs : 2]
    positive = np.logical_and.accumulate(pairs > 0, axis=0)
    pairs = np.where(positive, np.minimum.accumulate(pairs, axis=0), 0.0)
    # Half of the next pair, if it begins above 0, keeps antithetic chains honest.
    stop = np.minimum(positive.sum(axis=0), n_pairs - 1)
    extra = np.take_along_axis(correlation, 2 * stop[None], axis=0)[0]
    extra = np.where(positive.all(axis=0), 0.0, np.maximum(extra, 0.0))
    time = -1.0 + 2.0 * pairs.sum(axis=0) + extra
    return np.where(still, total, total / np.maximum(time, 1.0 / np.log10(total)))


def _autocovariance(draws: Array) -> Array:
    """Biased autocovariances along axis 1, by FFT."""
    n_draws = draws.shape[1]
    size = next_fast_len(2 * n_draws)
    centred = draws - draws.mean(axis=1, keepdims=True)
    spectrum = rfft(centred, n=size, axis=1)
    return irfft(np.abs(spectrum) ** 2, n=size, axis=1)[:, :n_draws] / n_draws
