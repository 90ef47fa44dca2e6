"""Evidence, gradients and posteriors against dense formulas, finite differences and the R package."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from scipy.integrate import quad
from scipy.special import expit
from scipy.stats import multivariate_normal, norm

from flgp.geometry.spectrum import fit_spectrum
from flgp.inference.expectation_propagation import ExpectationPropagation
from flgp.inference.gaussian import GaussianInference
from flgp.inference.laplace import LaplaceInference
from flgp.inference.posterior import Point
from flgp.likelihoods import (
    Bernoulli,
    Binomial,
    Exponential,
    Gamma,
    Gaussian,
    NegativeBinomial,
    Poisson,
    StudentT,
)
from flgp.likelihoods._base import Observations

SHAPES = [(40, 12), (12, 40), (1, 5), (30, 30)]


def problem(m, M, seed=0):
    rng = np.random.default_rng(seed)
    features = rng.normal(size=(m, M))
    d = np.exp(-np.linspace(0, 4, M)) * 2.0
    f = features @ (np.sqrt(d) * rng.normal(size=M)) / np.sqrt(M)
    return features, d, f, rng


def data(likelihood, f, rng):
    m = len(f)
    trials = rng.integers(1, 6, m).astype(float)
    if likelihood.name == "binomial":
        return Observations.of(rng.binomial(trials.astype(int), expit(f)), trials=trials)
    exposure = rng.uniform(0.5, 2.0, m) if likelihood.name in ("poisson", "negative_binomial") else None
    y = likelihood.sample(f, rng)
    return Observations.of(y, exposure=exposure, weight=rng.uniform(0.5, 1.5, m))


LIKELIHOODS = [
    Bernoulli(),
    Bernoulli(link="probit"),
    Binomial(),
    Poisson(),
    NegativeBinomial(dispersion=0.7),
    Gamma(shape=2.5),
    Exponential(),
    StudentT(scale=0.7),
]


@pytest.mark.parametrize(("m", "M"), SHAPES)
def test_gaussian_is_the_dense_gp(m, M):
    features, d, f, rng = problem(m, M)
    scale = rng.uniform(0.5, 2.0, m)
    y, noise = f + rng.normal(size=m), 0.3
    obs = Observations.of(y, noise_scale=scale)
    result = gaussian(features, obs, 0.7).evaluate(Point(d, Gaussian(noise_variance=noise)))
    K = (features * d) @ features.T + noise * np.diag(scale)
    expected = multivariate_normal(np.full(m, 0.7), K).logpdf(y)
    assert result.log_evidence == pytest.approx(expected, rel=1e-10)
    new = rng.normal(size=(7, M))
    cross = (new * d) @ features.T
    np.testing.assert_allclose(new @ result.posterior.mean, cross @ np.linalg.solve(K, y - 0.7), rtol=1e-8)
    covariance = (new * d) @ new.T - cross @ np.linalg.solve(K, cross.T)
    C = new @ result.posterior.factor
    np.testing.assert_allclose(C @ C.T, covariance, rtol=1e-7, atol=1e-9)


def test_gaussian_matches_the_r_package(oracle):
    Z = oracle.transition_lae_cluster_normalized
    top = fit_spectrum(sparse.csr_array(Z.T @ Z), 120, 12)
    phi, d = Z @ top.lift, np.exp(-30 * top.eigenvalues)
    obs = Observations.of(oracle.regression_y[:30])
    result = gaussian(phi[:30], obs).evaluate(Point(d, Gaussian(noise_variance=0.25)))
    assert result.log_evidence == pytest.approx(oracle.scalars["gaussian_lml_noise025"], abs=1e-5)
    np.testing.assert_allclose(phi[30:] @ result.posterior.mean, oracle.regression_mean_at_rest, atol=1e-6)
    variance = ((phi[30:] @ result.posterior.factor) ** 2).sum(axis=1)
    np.testing.assert_allclose(variance, oracle.regression_latent_variance_at_rest, atol=1e-6)


@pytest.mark.parametrize("kind", ["bernoulli", "binomial"])
def test_laplace_matches_the_r_package(oracle, kind):
    Z = oracle.transition_lae_cluster_normalized
    top = fit_spectrum(sparse.csr_array(Z.T @ Z), 120, 12)
    phi, d = Z @ top.lift, np.exp(-30 * top.eigenvalues)
    if kind == "bernoulli":
        # the R package codes the classes as -1 and 1
        y = (oracle.binary_y > 0).astype(float)[:30]
        result = LaplaceInference(phi[:30], Observations.of(y)).evaluate(Point(d, Bernoulli()))
        assert result.log_evidence == pytest.approx(oracle.scalars["laplace_lml_bernoulli"], abs=1e-6)
        mean = phi[30:] @ result.posterior.mean
        np.testing.assert_allclose(mean, oracle.binary_latent_mean_at_rest, atol=1e-5)
    else:
        y, trials = oracle.binomial_y_of_5[:30], np.full(30, 5.0)
        obs = Observations.of(y, trials=trials)
        result = LaplaceInference(phi[:30], obs).evaluate(Point(d, Binomial()))
        from scipy.special import gammaln

        coefficient = (gammaln(6) - gammaln(y + 1) - gammaln(6 - y)).sum()
        expected = oracle.scalars["laplace_lml_binomial5"]
        assert result.log_evidence - coefficient == pytest.approx(expected, abs=1e-6)


def gaussian(features, obs, offset=0.0):
    return GaussianInference(features, obs.y - offset, obs.noise_scale)


def numeric_gradient(evaluate, x, step=1e-4):
    result = np.empty(len(x))
    for i in range(len(x)):
        shift = np.zeros(len(x))
        shift[i] = step
        result[i] = (
            8 * (evaluate(x + shift) - evaluate(x - shift))
            - (evaluate(x + 2 * shift) - evaluate(x - 2 * shift))
        ) / (12 * step)
    return result


def check_gradients(make, likelihood, m, M, rel=1e-5):
    features, d, f, rng = problem(m, M, seed=3)
    inference = make(features, data(likelihood, f, rng), 0.2)
    result = inference.evaluate(Point(d, likelihood))
    scale = 1.0 + np.abs(result.gradient_log_d).max()
    numeric = numeric_gradient(
        lambda x: inference.evaluate(Point(np.exp(x), likelihood)).log_evidence, np.log(d)
    )
    np.testing.assert_allclose(result.gradient_log_d, numeric, rtol=rel, atol=rel * scale)
    names = likelihood.parameter_names
    values = np.log([getattr(likelihood, name) for name in names])

    def at(x):
        other = (
            likelihood.with_parameters(**dict(zip(names, np.exp(x), strict=True))) if names else likelihood
        )
        return inference.evaluate(Point(d, other)).log_evidence

    own = numeric_gradient(at, values)
    np.testing.assert_allclose(result.gradient_parameters, own, rtol=rel, atol=rel * scale)


@pytest.mark.parametrize(("m", "M"), [(15, 6), (6, 15)])
@pytest.mark.parametrize("likelihood", LIKELIHOODS, ids=lambda lik: f"{lik.name}")
def test_laplace_gradients_are_finite_differences(likelihood, m, M):
    check_gradients(LaplaceInference, likelihood, m, M)


@pytest.mark.parametrize(("m", "M"), [(15, 6), (6, 15)])
@pytest.mark.parametrize("likelihood", LIKELIHOODS[:7], ids=lambda lik: f"{lik.name}")
def test_ep_gradients_are_finite_differences(likelihood, m, M):
    check_gradients(ExpectationPropagation, likelihood, m, M)


@pytest.mark.parametrize(("m", "M"), [(15, 6), (6, 15)])
def test_gaussian_gradients_are_finite_differences(m, M):
    check_gradients(gaussian, Gaussian(noise_variance=0.4), m, M)


@pytest.mark.parametrize("make", [LaplaceInference, ExpectationPropagation])
def test_approximations_are_exact_for_gaussian_data(make):
    features, d, f, rng = problem(20, 8)
    obs, likelihood = Observations.of(f + 0.5 * rng.normal(size=20)), Gaussian(noise_variance=0.25)
    exact = gaussian(features, obs, 0.1).evaluate(Point(d, likelihood))
    result = make(features, obs, 0.1).evaluate(Point(d, likelihood))
    assert result.log_evidence == pytest.approx(exact.log_evidence, rel=1e-8)
    np.testing.assert_allclose(result.posterior.mean, exact.posterior.mean, rtol=1e-6)


@pytest.mark.parametrize(
    "likelihood", [Bernoulli(), Bernoulli(link="probit"), Poisson()], ids=lambda x: x.name
)
def test_ep_with_one_label_is_exact(likelihood):
    """With a single site EP matches the exact moments."""
    obs, variance = Observations.of(np.array([1.0])), 9.0
    result = ExpectationPropagation(np.ones((1, 1)), obs).evaluate(Point(np.array([variance]), likelihood))

    def moment(k):
        def integrand(f):
            density = np.exp(likelihood.log_density(obs, np.array([f]))[0])
            return f**k * density * norm.pdf(f, 0, np.sqrt(variance))

        return quad(integrand, -40, 40, epsabs=1e-13, limit=500, points=[-5, 0, 5])[0]

    mass, first, second = (moment(k) for k in range(3))
    assert result.log_evidence == pytest.approx(np.log(mass), abs=1e-6)
    assert result.posterior.mean[0] == pytest.approx(first / mass, abs=1e-5)
    assert result.posterior.factor[0, 0] ** 2 == pytest.approx(second / mass - (first / mass) ** 2, abs=1e-4)


@settings(max_examples=40, deadline=None)
@given(st.integers(1, 40), st.integers(1, 30), st.floats(1e-3, 1e4), st.integers(0, 10_000))
def test_separable_labels_and_large_amplitudes_converge(m, M, amplitude, seed):
    rng = np.random.default_rng(seed)
    features = rng.normal(size=(m, M))
    y = (features[:, 0] > 0).astype(float)
    d = np.full(M, amplitude)
    for make in (LaplaceInference, ExpectationPropagation):
        result = make(features, Observations.of(y)).evaluate(Point(d, Bernoulli()))
        assert np.isfinite(result.log_evidence)
        assert result.log_evidence < 0
        assert np.isfinite(result.gradient_log_d).all()


def test_warm_starts_change_nothing():
    features, d, f, rng = problem(30, 10)
    obs = Observations.of((rng.random(30) < expit(f)).astype(float))
    for make in (LaplaceInference, ExpectationPropagation):
        inference = make(features, obs)
        cold = inference.evaluate(Point(d, Bernoulli()))
        nearby = inference.evaluate(Point(1.3 * d, Bernoulli()))
        warm = inference.evaluate(Point(d, Bernoulli(), state=nearby.state))
        assert warm.log_evidence == pytest.approx(cold.log_evidence, abs=1e-6)
        np.testing.assert_allclose(warm.posterior.mean, cold.posterior.mean, atol=1e-5)
