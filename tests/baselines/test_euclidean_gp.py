"""The Euclidean GPs: scikit-learn's answer on the labelled rows."""

import numpy as np
import pytest
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, WhiteKernel

from flgp.baselines import EGPClassifier, EGPRegressor


@pytest.fixture
def wave(rng):
    X = rng.uniform(0, 6, (120, 1))
    f = np.sin(X[:, 0])
    y = f + 0.1 * rng.standard_normal(120)
    y[40:] = np.nan
    return X, f, y


def test_regression_uses_the_labelled_rows_only(wave):
    X, f, y = wave
    model = EGPRegressor(random_state=0).fit(X, y)
    again = GaussianProcessRegressor(model.model_.kernel_, optimizer=None, normalize_y=True).fit(
        X[:40], y[:40]
    )
    mean, std = model.predict(X, return_std=True)
    np.testing.assert_allclose(mean, again.predict(X), atol=1e-8)
    assert np.sqrt(np.mean((mean - f) ** 2)) < 0.1
    assert 0.05 < std.min() < 0.2
    np.testing.assert_array_equal(model.transduction_, mean)
    assert model.score(X, y) > 0.9


def test_learned_values_maximise_the_evidence(wave):
    X, _, y = wave
    model = EGPRegressor(random_state=0).fit(X, y).model_
    grid = [
        GaussianProcessRegressor(
            ConstantKernel(a) * RBF(length) + WhiteKernel(noise), optimizer=None, normalize_y=True
        )
        .fit(X[:40], y[:40])
        .log_marginal_likelihood_value_
        for a in (0.3, 1.0, 3.0)
        for length in (0.5, 1.0, 2.0)
        for noise in (0.01, 0.1)
    ]
    assert model.log_marginal_likelihood_value_ >= max(grid) - 1e-6


def test_a_given_length_scale_is_kept(wave):
    X, _, y = wave
    kernel = EGPRegressor(length_scale=1.0).fit(X, y).model_.kernel_
    assert kernel.k1.k2.length_scale == 1.0
    kernel = EGPRegressor(length_scale="median").fit(X, y).model_.kernel_
    gaps = np.abs(X[:40] - X[:40].T)[np.triu_indices(40, 1)]
    assert kernel.k1.k2.length_scale == pytest.approx(np.median(gaps) / np.sqrt(2))


def test_kernlabs_rule_and_given_variances(wave):
    X, _, y = wave
    model = EGPRegressor(length_scale="automatic", amplitude=1.0, noise_variance=1.0).fit(X, y)
    gaps = (X[:40] - X[:40].T)[np.triu_indices(40, 1)] ** 2
    sigma = np.mean(1.0 / np.quantile(gaps, [0.9, 0.1]))  # of exp(-sigma d²)
    K = np.exp(-sigma * (X - X[:40].T) ** 2)
    scale = y[:40].std()
    weights = np.linalg.solve(K[:40] + np.eye(40), (y[:40] - y[:40].mean()) / scale)
    np.testing.assert_allclose(model.predict(X), y[:40].mean() + scale * K @ weights, atol=1e-8)
    with pytest.raises(ValueError, match="length_scale='mean' is not known"):
        EGPRegressor(length_scale="mean").fit(X, y)
    with pytest.raises(ValueError, match="amplitude"):
        EGPClassifier(amplitude=-1.0).fit(X, np.where(np.isnan(y), -1, y > 0))


def test_classification(rng):
    X = rng.uniform(-1, 1, (300, 2))
    y = (X[:, 0] > 0).astype(int) + (X[:, 1] > 0)
    labels = np.where(np.arange(300) < 90, y, -1)
    model = EGPClassifier().fit(X, labels)
    p = model.predict_proba(X)
    np.testing.assert_allclose(p.sum(axis=1), 1)
    assert (model.predict(X) == y).mean() > 0.85
    np.testing.assert_array_equal(model.transduction_, model.predict(X))
    assert model.score(X, labels) > 0.9


@pytest.mark.parametrize("n_classes", [2, 3])
def test_probabilities_are_those_of_scikit_learn(rng, n_classes):
    X = rng.uniform(-1, 1, (300, 2))
    y = np.minimum((X[:, 0] > 0).astype(int) + (X[:, 1] > 0), n_classes - 1)
    model = EGPClassifier(random_state=0).fit(X, np.where(np.arange(300) < 90, y, -1))
    # Theirs is the logistic integral by five error functions, ours is exact to 1e-8.
    np.testing.assert_allclose(model.predict_proba(X), model.model_.predict_proba(X), atol=2e-3)


def test_one_class_and_no_class():
    X = np.arange(6.0)[:, None]
    model = EGPClassifier().fit(X, [2, -1, 2, -1, -1, -1])
    np.testing.assert_array_equal(model.predict(X), 2)
    with pytest.raises(ValueError, match="no labelled row"):
        EGPClassifier().fit(X, [-1] * 6)
    with pytest.raises(ValueError, match="no labelled row"):
        EGPRegressor().fit(X, [np.nan] * 6)
