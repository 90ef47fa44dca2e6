"""Offsets: what another model says is added to f, and the rest is learned."""

import numpy as np
import pytest
from scipy.special import expit, softmax
from sklearn.metrics import log_loss

from flgp import FLGPClassifier, FLGPRegressor, load, save
from flgp.estimators.offsets import probit_offsets
from flgp.likelihoods import Bernoulli, Categorical, Observations, Poisson, StudentT
from flgp.model_selection import LabeledKFold, Transductive, cross_validate_labeled

SMALL = {"n_anchors": 60, "n_neighbors": 4, "n_eigenpairs": 20, "random_state": 0, "linear": None}


def ring(n=300, seed=0):
    rng = np.random.default_rng(seed)
    angle = rng.uniform(0, 2 * np.pi, n)
    return np.column_stack([np.cos(angle), np.sin(angle)]), angle, rng


@pytest.mark.parametrize("residual", [None, "local"])
def test_a_gaussian_offset_is_a_shift_of_y(residual):
    X, angle, rng = ring()
    offset = 3 + rng.normal(size=300)
    y = np.sin(angle) + 0.1 * rng.normal(size=300)
    y[100:] = np.nan
    options = {**SMALL, "residual": residual}
    plain = FLGPRegressor(**options).fit(X, y)
    beside = FLGPRegressor(**options).fit(X, y + offset, offset=offset)
    for ask in ("predict", "predict_interval"):
        shift = offset if ask == "predict" else offset[:, None]
        np.testing.assert_allclose(
            getattr(beside, ask)(X, offset=offset), getattr(plain, ask)(X) + shift, rtol=1e-6, atol=1e-6
        )
    np.testing.assert_allclose(beside.transduction_, plain.transduction_ + offset, atol=1e-6)
    for one, other in zip(beside.latent_mean_and_variance(X), plain.latent_mean_and_variance(X), strict=True):
        np.testing.assert_allclose(one, other, atol=1e-6)
    # Joint draws take the root of a covariance that is singular up to 1e-10.
    np.testing.assert_allclose(
        beside.sample_y(X, 3, offset=offset), plain.sample_y(X, 3) + offset[:, None], atol=1e-4
    )
    mean, cov = beside.predict(X[:5], return_cov=True, offset=offset[:5])
    np.testing.assert_allclose(mean, plain.predict(X[:5]) + offset[:5], atol=1e-6)
    np.testing.assert_allclose(cov, plain.predict(X[:5], return_cov=True)[1], atol=1e-6)
    more = X[200:210], np.sin(angle[200:210])
    plain.update(*more)
    beside.update(more[0], more[1] + offset[200:210], offset=offset[200:210])
    np.testing.assert_allclose(beside.predict(X, offset=offset), plain.predict(X) + offset, atol=1e-5)


def test_a_log_offset_is_an_exposure():
    X, angle, rng = ring()
    exposure = rng.uniform(0.2, 20.0, 300)
    y = rng.poisson(exposure * np.exp(np.sin(angle))).astype(float)
    y[150:] = np.nan
    for likelihood in ("poisson", "zero_inflated_poisson", "tweedie"):
        options = {**SMALL, "likelihood": likelihood, "residual": None}
        exposed = FLGPRegressor(**options).fit(X, y, exposure=exposure)
        beside = FLGPRegressor(**options).fit(X, y, offset=np.log(exposure))
        got = beside.predict(X, offset=np.log(exposure))
        np.testing.assert_allclose(got, exposed.predict(X, exposure=exposure), rtol=2e-3)
        rows = beside.suggest(X, 5, offset=np.log(exposure))
        assert len(set(rows)) == 5


def test_the_best_constant_beside_an_offset():
    rng = np.random.default_rng(0)
    offset = rng.normal(size=4000)
    y = (rng.random(4000) < expit(offset - 1.0)).astype(float)
    constant = Bernoulli().constant_beside_offset(Observations.of(y, offset=offset))
    assert constant == pytest.approx(-1.0, abs=0.15)
    counts = rng.poisson(np.exp(offset - 3)).astype(float)
    assert Poisson().constant_beside_offset(Observations.of(counts, offset=offset)) == pytest.approx(
        -3, abs=0.1
    )
    far = StudentT().constant_beside_offset(Observations.of(offset + 7, offset=offset))
    assert far == pytest.approx(7.0, abs=1e-3)


def test_a_good_model_of_two_classes_needs_no_correction_and_a_bad_one_gets_it(tmp_path):
    X, angle, rng = ring(500)
    side = rng.normal(size=500)  # the other model's column, which the manifold does not see
    logits = 2 * np.sin(2 * angle) + 2 * side
    y = (rng.random(500) < expit(logits)).astype(int)
    labels = np.where(np.arange(500) < 250, y, -1)
    alone = FLGPClassifier(**SMALL).fit(X, labels)
    both = FLGPClassifier(**SMALL).fit(X, labels, offset=2 * side)
    held = slice(250, 500)
    p = both.predict_proba(X[held], offset=2 * side[held])
    assert log_loss(y[held], p) < log_loss(y[held], expit(2 * side[held])) - 0.02
    assert log_loss(y[held], p) < log_loss(y[held], alone.predict_proba(X[held])) - 0.02
    np.testing.assert_array_equal(both.predict(X, offset=2 * side), both.transduction_)
    assert both.score(X[held], y[held], offset=2 * side[held]) == np.mean(p.argmax(axis=1) == y[held])
    draws = both.sample_y(X[held], 400, offset=2 * side[held])
    np.testing.assert_allclose(draws.mean(axis=1), p[:, 1], atol=0.13)
    save(both, tmp_path / "model.flgp")
    again = load(tmp_path / "model.flgp")
    np.testing.assert_allclose(
        again.predict_proba(X, offset=2 * side), both.predict_proba(X, offset=2 * side)
    )
    with pytest.raises(ValueError, match="fitted with an offset"):
        again.predict(X)


def test_several_classes_take_log_probabilities():
    X, angle, rng = ring(450)
    side = rng.normal(size=(450, 3))
    logits = 1.5 * side + 2 * np.column_stack([np.sin(angle), np.cos(angle), np.zeros(450)])
    p = softmax(logits, axis=1)
    y = (rng.random(450)[:, None] > p.cumsum(axis=1)[:, :-1]).sum(axis=1)
    labels = np.where(np.arange(450) < 220, y, -1)
    model = FLGPClassifier(**SMALL).fit(X, labels, offset=1.5 * side)
    found = model.predict_proba(X, offset=1.5 * side)[220:]
    assert log_loss(y[220:], found) < log_loss(y[220:], softmax(1.5 * side[220:], axis=1)) - 0.03
    alone = FLGPClassifier(**SMALL).fit(X, labels).predict_proba(X)[220:]
    assert log_loss(y[220:], found) < log_loss(y[220:], alone) - 0.03
    with pytest.raises(ValueError, match="needs the coupled model"):
        FLGPClassifier(multi_class="one_vs_rest", **SMALL).fit(X, labels, offset=side)


def test_probit_offsets_have_the_probabilities_of_the_logits():
    logits = np.random.default_rng(0).normal(0, 2, (200, 5))
    f = probit_offsets(logits)
    np.testing.assert_allclose(Categorical(5).conditional(f), softmax(logits, axis=1), atol=2e-3)


def test_cross_validation_carries_the_offset():
    X, angle, rng = ring(200)
    offset = rng.normal(size=200)
    y = np.sin(angle) + offset
    y[120:] = np.nan
    model = FLGPRegressor(residual=None, **SMALL)
    scores = cross_validate_labeled(model, X, y, cv=3, offset=offset)
    assert scores["test_score"].min() > 0.95
    assert cross_validate_labeled(model, X, y, cv=3)["test_score"].max() < 0.9
    with pytest.raises(ValueError, match="Give the offset of all points to Transductive"):
        Transductive(model, X).fit(np.arange(200), y, offset=offset)
    assert LabeledKFold(3).get_n_splits() == 3


def test_what_is_refused():
    X, angle, _ = ring(100)
    y = np.sin(angle)
    model = FLGPRegressor(residual=None, **SMALL)
    for offset, message in (
        (np.zeros(99), r"shape \(99,\), but \(100,\)"),
        (np.zeros((100, 2)), r"\(100,\) is needed"),
        (np.full(100, np.nan), "finite in every row"),
        (["a"] * 100, "must be numbers"),
    ):
        with pytest.raises(ValueError, match=message):
            model.fit(X, y, offset=offset)
    with pytest.raises(ValueError, match="no rows for X_unlabeled"):
        model.fit(X, y, X_unlabeled=X, offset=np.zeros(100))
    model.fit(X, y)
    with pytest.raises(ValueError, match="fitted without"):
        model.predict(X, offset=np.ones(100))
    model.fit(X, y, offset=np.ones(100))
    for ask in (
        lambda: model.predict(X),
        lambda: model.predict_interval(X),
        lambda: model.sample_y(X),
        lambda: model.score(X, y),
        lambda: model.suggest(X, 2),
        lambda: model.update(X[:2], y[:2]),
    ):
        with pytest.raises(ValueError, match="fitted with an offset"):
            ask()
