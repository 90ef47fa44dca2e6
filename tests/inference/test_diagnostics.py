"""R-hat and effective sample size on chains whose answers are known."""

import numpy as np
import pytest

from flgp.inference.diagnostics import diagnose, ess_bulk, ess_tail, split_rhat


def autoregressive(rho, n_chains, n_draws, seed):
    rng = np.random.default_rng(seed)
    noise = rng.standard_normal((n_chains, n_draws))
    chain = np.empty_like(noise)
    chain[:, 0] = noise[:, 0]
    for t in range(1, n_draws):
        chain[:, t] = rho * chain[:, t - 1] + np.sqrt(1 - rho**2) * noise[:, t]
    return chain


def test_independent_draws_are_worth_themselves():
    draws = np.random.default_rng(0).standard_normal((4, 2000, 6))
    result = diagnose(draws)
    assert result.rhat.shape == (6,)
    assert np.all(np.abs(result.rhat - 1) < 0.005)
    np.testing.assert_allclose(result.ess_bulk, 8000, rtol=0.1)
    np.testing.assert_allclose(result.ess_tail, 8000, rtol=0.1)


@pytest.mark.parametrize("rho", [0.3, 0.6, 0.9, -0.4])
def test_first_order_autoregression(rho):
    # The sum of the autocorrelations is known: ESS = S (1 - ρ) / (1 + ρ).
    chain = autoregressive(rho, 4, 20_000, seed=1)
    assert ess_bulk(chain) == pytest.approx(80_000 * (1 - rho) / (1 + rho), rel=0.1)
    assert split_rhat(chain) < 1.01


def test_rank_normalisation_ignores_monotone_maps_and_bears_heavy_tails():
    chain = autoregressive(0.5, 4, 1000, seed=2)
    assert ess_bulk(np.exp(3 * chain)) == pytest.approx(ess_bulk(chain))
    cauchy = np.random.default_rng(3).standard_cauchy((4, 2000))
    assert split_rhat(cauchy) < 1.01
    assert ess_bulk(cauchy) == pytest.approx(8000, rel=0.1)


def test_rhat_equals_its_definition_for_shifted_chains():
    # Between-chain variance 1 over within-chain variance 1: about √2, a little less after ranking.
    rng = np.random.default_rng(4)
    shifts = np.array([-1.0, -1.0, 1.0, 1.0])[:, None] * np.sqrt(3 / 4)
    rhat = split_rhat(rng.standard_normal((4, 5000)) + shifts)
    assert rhat == pytest.approx(np.sqrt(2), abs=0.1)


def test_rhat_sees_different_spreads_with_equal_means():
    draws = np.random.default_rng(5).standard_normal((4, 1000)) * np.array([1, 1, 1, 5.0])[:, None]
    assert split_rhat(draws) > 1.1
    assert ess_tail(draws) < 200


def test_drift_within_a_single_chain_is_seen():
    drift = np.linspace(0, 3, 1000) + np.random.default_rng(6).standard_normal((1, 1000))
    assert split_rhat(drift) > 1.3


def test_quantities_that_stand_still():
    same = diagnose(np.full((4, 100), 2.5))
    assert same == (1.0, 400.0, 400.0)
    apart = np.repeat(np.arange(4.0)[:, None], 100, axis=1)
    assert split_rhat(apart) == np.inf


def test_trailing_axes_are_separate_quantities():
    draws = np.random.default_rng(7).standard_normal((3, 51, 2, 2)).cumsum(axis=1)
    together = diagnose(draws)
    for i, j in np.ndindex(2, 2):
        alone = diagnose(draws[:, :, i, j])
        np.testing.assert_allclose([part[i, j] for part in together], alone)


def test_too_few_draws():
    with pytest.raises(ValueError, match="at least 4 draws"):
        diagnose(np.zeros((4, 3)))
