"""flgp inside other software: conformal prediction, PyMC, ArviZ, scikit-learn's linear models."""

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.pipeline import make_pipeline

from conftest import ring
from flgp import FLGPClassifier, FLGPRegressor, HeatKernelFeatures
from flgp.geometry import Circle


def noisy_ring(n, seed):
    """Skewed noise, for which a Gaussian interval is wrong."""
    X, angle = ring(n, seed=seed)
    return X, np.sin(2 * angle) + 0.3 * (np.random.default_rng(seed).exponential(size=n) - 1.0)


def test_conformal_intervals_hold_their_level():
    crepes = pytest.importorskip("crepes", reason="crepes is not installed: pip install crepes")
    X, y = noisy_ring(1200, 0)
    labelled = np.full(1200, np.nan)
    labelled[:100] = y[:100]
    calibration, test = slice(100, 300), slice(300, None)
    model = FLGPRegressor(residual=None, random_state=0).fit(X, labelled)
    mean, std = model.predict(X, return_std=True)
    conformal = crepes.ConformalRegressor().fit(y[calibration] - mean[calibration], sigmas=std[calibration])
    ends = conformal.predict_int(mean[test], sigmas=std[test], confidence=0.9)
    inside = np.mean((ends[:, 0] <= y[test]) & (y[test] <= ends[:, 1]))
    # 200 calibration labels: the coverage is Beta(180, 21), and 900 points show it to ±0.01.
    assert 0.84 < inside < 0.96


def test_conformal_sets_hold_their_level():
    crepes = pytest.importorskip("crepes", reason="crepes is not installed: pip install crepes")
    X, angle = ring(1500)
    rng = np.random.default_rng(0)
    truth = (angle > np.pi).astype(int)
    truth = np.where(rng.uniform(size=1500) < 0.15, 1 - truth, truth)
    labels = np.full(1500, -1)
    labels[:100] = truth[:100]
    model = FLGPClassifier(random_state=0).fit(X, labels)
    wrapped = crepes.WrapClassifier(model)
    wrapped.calibrate(X[100:400], truth[100:400], seed=0)
    sets = wrapped.predict_set(X[400:], labels=False, confidence=0.9, seed=0)
    inside = sets[np.arange(1100), truth[400:]].mean()
    assert 0.85 < inside < 0.95


def test_features_before_linear_models():
    X, angle = ring(600)
    features = HeatKernelFeatures(n_anchors=100, random_state=0)
    ridge = make_pipeline(features, Ridge(1e-2)).fit(X[:200], np.cos(3 * angle[:200]))
    assert ridge.score(X[200:], np.cos(3 * angle[200:])) > 0.95
    classes = (np.sin(3 * angle) > 0).astype(int)
    logistic = make_pipeline(features, LogisticRegression(C=100.0)).fit(X[:200], classes[:200])
    assert logistic.score(X[200:], classes[200:]) > 0.9


def test_ridge_on_features_is_the_posterior_mean():
    """Ridge with penalty σ² on D^½φ is the Gaussian process with the prior kernel."""
    X, angle = ring(200)
    y = np.sin(2 * angle) + 0.1 * np.random.default_rng(0).standard_normal(200)
    options = {
        "diffusion_time": 40.0,
        "amplitude": 0.5,
        "n_anchors": 60,
        "n_eigenpairs": 30,
        "random_state": 0,
    }
    process = FLGPRegressor(
        noise_variance=0.01, mean="zero", residual=None, linear=None, hyperparameters="fixed", **options
    ).fit(X, y)
    ridge = make_pipeline(HeatKernelFeatures(**options), Ridge(0.01, fit_intercept=False)).fit(X, y)
    np.testing.assert_allclose(ridge.predict(X), process.predict(X), atol=1e-6)


@pytest.mark.filterwarnings("ignore")  # of PyMC and what it imports
def test_eigenbasis_inside_pymc():
    """The posterior of weights, noise known, is that in closed form."""
    pymc = pytest.importorskip("pymc", reason="PyMC is not installed: pip install pymc")
    angle = np.random.default_rng(0).uniform(0, 360, 60)
    y = np.sin(np.radians(angle)) + 0.2 * np.random.default_rng(1).standard_normal(60)
    features = HeatKernelFeatures(
        geometry=Circle(360.0), n_eigenpairs=7, diffusion_time=1500.0, kernel="heat", amplitude=0.5
    )
    Z = features.fit_transform(angle[:, None])
    with pymc.Model():
        weights = pymc.Normal("weights", 0.0, 1.0, shape=Z.shape[1])
        pymc.Normal("y", Z @ weights, 0.2, observed=y)
        draws = pymc.sample(500, tune=500, chains=2, cores=1, random_seed=0, progressbar=False)
    found = np.asarray(draws.posterior["weights"]).reshape(-1, Z.shape[1])
    precision = np.eye(Z.shape[1]) + Z.T @ Z / 0.04
    covariance = np.linalg.inv(precision)
    mean = covariance @ Z.T @ y / 0.04
    spread = np.sqrt(np.diag(covariance))
    np.testing.assert_allclose((found.mean(axis=0) - mean) / spread, 0.0, atol=0.2)
    np.testing.assert_allclose(found.std(axis=0) / spread, 1.0, atol=0.15)


@pytest.mark.filterwarnings("ignore")  # of ArviZ
def test_draws_for_arviz():
    arviz = pytest.importorskip("arviz", reason="ArviZ is not installed: pip install arviz")
    X, angle = ring(300)
    y = np.column_stack([np.sin(angle), np.cos(angle)])
    y[50:] = np.nan
    model = FLGPRegressor(residual=None, random_state=0).fit(X, y)
    data = model.to_arviz(X[:5], 400)
    assert dict(data.posterior["f"].sizes) == {"chain": 1, "draw": 400, "row": 5, "output": 2}
    mean, variance = model.latent_mean_and_variance(X[:5])
    f = data.posterior["f"].to_numpy()[0]
    np.testing.assert_allclose((f.mean(axis=0) - mean) / np.sqrt(variance), 0.0, atol=0.25)
    assert float(data.prior["f"].std()) > 3 * f.std(axis=0).max()
    summary = arviz.summary(data.posterior[["f"]].sel(output=0))
    assert len(summary) == 5


def test_draws_for_arviz_without_it(monkeypatch):
    """The groups that are handed over, whichever ArviZ there is."""
    import sys
    from types import SimpleNamespace

    X, angle = ring(100)
    model = FLGPRegressor(residual=None, random_state=0).fit(X, np.sin(angle))
    monkeypatch.setitem(
        sys.modules, "arviz", SimpleNamespace(from_dict=lambda data, *, coords, dims: (data, coords, dims))
    )
    data, coords, dims = model.to_arviz(X[:4], 30)
    assert data["posterior"]["f"].shape == data["prior"]["f"].shape == (1, 30, 4)
    np.testing.assert_array_equal(data["posterior"]["f"][0].T, model.sample_f(X[:4], 30))
    assert (list(coords), dims) == (["row"], {"f": ["row"]})
