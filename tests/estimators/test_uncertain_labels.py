"""Soft labels, votes, and labels of which some are wrong."""

import numpy as np
import pandas as pd
import pytest

from flgp import FLGPClassifier, load, save
from flgp.likelihoods import Bernoulli, Categorical, NoisyBernoulli, Observations

SMALL = {"n_anchors": 80, "n_neighbors": 3, "n_eigenpairs": 30, "random_state": 0, "linear": None}


def rings(n_classes=2, n=600, seed=0):
    rng = np.random.default_rng(seed)
    angle, c = rng.uniform(0, 2 * np.pi, n), np.arange(n) % n_classes
    X = (1.0 + c)[:, None] * np.column_stack([np.cos(angle), np.sin(angle)])
    return X + 0.03 * rng.normal(size=(n, 2)), c, rng


@pytest.mark.parametrize("noise", [0.0, 0.3])
def test_the_label_is_a_mixture(noise, rng):
    f = rng.normal(0, 2, 20)
    clean, noisy = Bernoulli(), NoisyBernoulli(label_noise=noise)
    for y in (0.0, 1.0):
        obs = Observations.of(np.full(20, y))
        want = noise / 2 + (1 - noise) * np.exp(clean.log_density(obs, f))
        np.testing.assert_allclose(np.exp(noisy.log_density(obs, f)), want, rtol=1e-12)
    f = rng.normal(0, 2, (10, 4))
    obs = Observations.of(rng.integers(0, 4, 10))
    want = noise / 4 + (1 - noise) * np.exp(Categorical(4).log_density(obs, f))
    np.testing.assert_allclose(np.exp(Categorical(4, noise).log_density(obs, f)), want, rtol=1e-12)
    np.testing.assert_array_equal(Categorical(4, noise).conditional(f), Categorical(4).conditional(f))


def test_derivatives_of_noisy_labels(rng):
    likelihood, f, step = NoisyBernoulli(label_noise=0.2), rng.normal(0, 3, 40), 1e-4
    obs = Observations.of(rng.integers(0, 2, 40))
    d = likelihood.derivatives(obs, f)

    def slope(function):
        return (function(f + step) - function(f - step)) / (2 * step)

    np.testing.assert_allclose(d.gradient, slope(lambda g: likelihood.log_density(obs, g)), atol=1e-7)
    np.testing.assert_allclose(
        d.curvature, -slope(lambda g: likelihood.derivatives(obs, g).gradient), atol=1e-7
    )
    np.testing.assert_allclose(d.third, -slope(lambda g: likelihood.derivatives(obs, g).curvature), atol=1e-7)
    assert d.curvature.min() < 0
    # Moments against sums over a fine grid.
    mean, variance, grid = f[:6], np.full(6, 4.0), np.linspace(-40, 40, 200_001)
    got = likelihood.tilted(obs.take(slice(6)), mean, variance)
    for i in range(6):
        weight = np.exp(likelihood.log_density(obs.take([i]), grid) - (grid - mean[i]) ** 2 / 8)
        total = weight.sum()
        center = weight @ grid / total
        spread = weight @ (grid - center) ** 2 / total
        normal = np.exp(-((grid - mean[i]) ** 2) / 8).sum()
        assert got.log_normalizer[i] == pytest.approx(np.log(total / normal), abs=1e-8)
        assert got.gradient[i] == pytest.approx((center - mean[i]) / 4, abs=1e-7)
        assert got.curvature[i] == pytest.approx((1 - spread / 4) / 4, abs=1e-7)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_wrong_labels_do_not_turn_a_cluster(n_classes, tmp_path):
    X, c, rng = rings(n_classes, 600)
    y = np.full(len(c), -1)
    rows = rng.permutation(len(c))[:100]
    y[rows] = c[rows]
    wrong = rows[:20]
    y[wrong] = (c[wrong] + rng.integers(1, n_classes, 20)) % n_classes
    model = FLGPClassifier(label_noise="auto", **SMALL).fit(X, y)
    assert 0.1 <= model.label_noise_ <= 0.5  # 0.2·C/(C - 1), with a right one by chance now and then
    assert np.mean(model.predict(X) == c) > 0.98
    assert model.predict_proba(X[wrong])[np.arange(20), c[wrong]].mean() > 0.8
    save(model, tmp_path / "m.flgp")
    again = load(tmp_path / "m.flgp")
    np.testing.assert_allclose(again.predict_proba(X), model.predict_proba(X), rtol=1e-9)
    assert again.label_noise_ == model.label_noise_
    clean = FLGPClassifier(label_noise="auto", **SMALL).fit(
        X, np.where(np.isin(np.arange(len(c)), rows), c, -1)
    )
    assert clean.label_noise_ <= 0.1
    clean.update(X[:2], c[:2])
    assert np.mean(clean.predict(X) == c) > 0.98


def noisy_rings(n_classes, share=0.2, seed=0):
    """Rings with 100 labels of which a share is wrong: rows, classes, y, and which labels are wrong."""
    X, c, rng = rings(n_classes, 600, seed)
    y, rows = np.full(len(c), -1), rng.permutation(len(c))[:100]
    y[rows] = c[rows]
    wrong = rows[: int(share * 100)]
    y[wrong] = (c[wrong] + rng.integers(1, n_classes, len(wrong))) % n_classes
    return X, c, y, (y != c)[y >= 0]


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("noise", ["auto", 0.3])
def test_wrong_labels_are_found_and_the_others_fitted_by_the_ordinary_model(n_classes, noise):
    """The noise model alone is less sure: log losses are 0.04 of 0.28 here, or 0.06 of 0.26."""
    X, c, y, wrong = noisy_rings(n_classes)
    model = FLGPClassifier(label_noise=noise, **SMALL).fit(X, y)
    found = model.label_wrong_proba_
    assert found.shape == (100,)
    assert found.min() >= 0
    assert found.max() <= 1
    assert np.mean(found[wrong] > 0.5) > 0.9
    assert np.mean(found[~wrong] > 0.5) < 0.05
    p = model.predict_proba(X)
    plain = FLGPClassifier(**SMALL).fit(X, y).predict_proba(X)

    def log_loss(p):
        return -np.mean(np.log(p[np.arange(len(c)), c]))

    assert log_loss(p) < 0.13 * log_loss(plain)
    assert np.mean(p.argmax(axis=1) == c) > 0.99


def test_labels_are_right_where_the_noise_is_none():
    X, _, y, _ = noisy_rings(3, share=0.0)
    plain, zero = FLGPClassifier(**SMALL).fit(X, y), FLGPClassifier(label_noise=0.0, **SMALL).fit(X, y)
    np.testing.assert_allclose(zero.predict_proba(X), plain.predict_proba(X), rtol=1e-6, atol=1e-9)
    assert not zero.label_wrong_proba_.any()
    assert not hasattr(plain, "label_wrong_proba_")
    assert zero.class_model_shares_ == pytest.approx(plain.class_model_shares_)
    zero.set_params(label_noise=0.3).fit(X, y).set_params(label_noise=None).fit(X, y)
    assert not hasattr(zero, "label_wrong_proba_")
    assert zero.label_noise_ == 0.0


def test_the_probability_of_the_largest_latent_function():
    """The largest of three latent functions, against draws of them."""
    f, rng = np.array([[0.5, -0.2, 0.1]]), np.random.default_rng(0)
    variance = np.array([[0.3, 1.2, 0.7]])
    draws = f + np.sqrt(variance) * rng.standard_normal((400_000, 3))
    want = np.bincount(draws.argmax(axis=1)) / len(draws)
    np.testing.assert_allclose(Categorical(3).largest(f, variance)[0], want, atol=3e-3)


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("relearn", [True, False])
def test_more_labels_are_judged_with_the_old_ones(n_classes, relearn):
    X, c, y, wrong = noisy_rings(n_classes)
    model = FLGPClassifier(label_noise="auto", **SMALL).fit(X, y)
    more = np.flatnonzero(y == -1)[:10]
    labels = c[more].copy()
    labels[0] = (labels[0] + 1) % n_classes
    share = model.label_noise_
    model.update(X[more], labels, relearn=relearn)
    assert model.label_wrong_proba_.shape == (110,)
    assert model.label_wrong_proba_[100] > 0.5 > model.label_wrong_proba_[101:].max()
    assert np.mean(model.label_wrong_proba_[:100][wrong] > 0.5) > 0.9
    assert relearn or model.label_noise_ == share
    assert np.mean(model.predict(X) == c) > 0.99
    model.update(X[more], c[more], replace=True)
    assert model.label_wrong_proba_.shape == (10,)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_files_keep_which_labels_are_trusted(n_classes, tmp_path):
    X, c, y, _ = noisy_rings(n_classes)
    model = FLGPClassifier(label_noise=0.3, **SMALL).fit(X, y)
    for compact in (False, True):
        save(model, tmp_path / "m.flgp", compact=compact)
        again = load(tmp_path / "m.flgp")
        np.testing.assert_allclose(again.label_wrong_proba_, model.label_wrong_proba_, atol=1e-6)
    save(model, tmp_path / "m.flgp")
    again, more = load(tmp_path / "m.flgp"), np.flatnonzero(y == -1)[:5]
    assert again.log_marginal_likelihood() == pytest.approx(model.log_marginal_likelihood(), rel=1e-6)
    for each in (again, model):
        each.update(X[more], c[more])
    np.testing.assert_allclose(again.predict_proba(X), model.predict_proba(X), rtol=1e-6, atol=1e-9)


def test_votes_weights_and_few_labels_with_noise():
    X, c, y, _ = noisy_rings(3)
    labeled = y >= 0
    votes = np.where(labeled[:, None], np.eye(3)[y], np.nan)
    weights = np.where(labeled, 2.0, 0.0)
    hard = FLGPClassifier(label_noise=0.3, **SMALL).fit(X, y, sample_weight=weights)
    counted = FLGPClassifier(label_noise=0.3, **SMALL).fit(X, 2 * votes)
    np.testing.assert_allclose(counted.label_wrong_proba_, hard.label_wrong_proba_, atol=1e-6)
    np.testing.assert_allclose(counted.predict_proba(X), hard.predict_proba(X), rtol=1e-4, atol=1e-6)
    split = np.where(labeled[:, None], 0.7 * np.eye(3)[c] + 0.1, np.nan)
    soft = FLGPClassifier(label_noise=0.3, **SMALL).fit(X, split)
    assert soft.label_wrong_proba_.shape == (300,)  # each row has a share of every class
    assert np.mean(soft.predict(X) == c) > 0.98
    few = np.full(len(c), -1)
    few[:3] = c[:3]  # one label of each class
    model = FLGPClassifier(label_noise="auto", **SMALL).fit(X, few)
    assert model.label_wrong_proba_.max() < 0.5
    assert np.mean(model.predict(X) == c) > 0.9
    one = FLGPClassifier(label_noise=0.2, **SMALL).fit(X, np.where(labeled, 1, -1))
    assert not one.label_wrong_proba_.any()
    assert set(one.predict(X)) == {1}
    one.update(X[:2], [0, 2])
    assert one.label_wrong_proba_.shape == (102,)
    assert len(one.classes_) == 3


def test_one_hot_rows_are_labels_and_votes_are_weights():
    X, c, _ = rings(3, 300)
    labeled = np.arange(300) % 5 == 0
    hard = np.where(labeled, c, -1)
    votes = np.where(labeled[:, None], np.eye(3)[c], np.nan)
    one, other = FLGPClassifier(**SMALL).fit(X, hard), FLGPClassifier(**SMALL).fit(X, votes)
    np.testing.assert_allclose(other.predict_proba(X), one.predict_proba(X), rtol=1e-6, atol=1e-9)
    weights = np.where(labeled, 3.0, 0.0)
    three = FLGPClassifier(**SMALL).fit(X, hard, sample_weight=weights)
    counted = FLGPClassifier(**SMALL).fit(X, 3 * votes)
    np.testing.assert_allclose(counted.predict_proba(X), three.predict_proba(X), rtol=1e-6, atol=1e-9)
    frame = pd.DataFrame(votes, columns=["a", "b", "c"])
    named = FLGPClassifier(**SMALL).fit(X, frame)
    assert named.classes_.tolist() == ["a", "b", "c"]
    assert set(np.unique(named.predict(X))) == {"a", "b", "c"}
    named.update(X[1:2], frame.iloc[0:1])
    soft = np.where(labeled[:, None], 0.8 * np.eye(3)[c] + 0.2 / 3, np.nan)
    unsure = FLGPClassifier(**SMALL).fit(X, soft)
    assert unsure.predict_proba(X).max(axis=1).mean() < one.predict_proba(X).max(axis=1).mean()
    assert np.mean(unsure.predict(X) == c) > 0.95


def test_what_is_refused():
    X, c, _ = rings(2, 60)
    votes = np.eye(2)[c]
    for bad, message in (
        (np.where(np.arange(60)[:, None] == 3, [[np.nan, 1.0]], votes), "whole row.*row 3"),
        (-votes, "at least 0"),
        (np.zeros((60, 2)), "not all 0"),
        (np.full((60, 2), np.nan), "no labelled row"),
        (votes * [1.0, 0.0] + [1.0, 0.0], "Class 1 has no vote"),
        (votes[:10], "10 rows but X has 60"),
    ):
        with pytest.raises(ValueError, match=message):
            FLGPClassifier(**SMALL).fit(X, bad)
    for noise in (1.0, -0.1, "some", True):
        with pytest.raises(ValueError, match="label_noise"):
            FLGPClassifier(label_noise=noise, **SMALL).fit(X, c)
    for options in ({"inference": "laplace"}, {"multi_class": "one_vs_rest"}):
        with pytest.raises(ValueError, match="label_noise needs expectation propagation"):
            FLGPClassifier(label_noise=0.1, **options, **SMALL).fit(X, c)
    model = FLGPClassifier(**SMALL).fit(X, votes)
    with pytest.raises(ValueError, match="score needs one label"):
        model.score(X, votes)


def test_noise_of_one_class_is_none():
    """There is nothing to find: it was a bare error of Python's."""
    X = np.random.default_rng(0).standard_normal((12, 2))
    model = FLGPClassifier(label_noise="auto", random_state=0).fit(X, np.ones(12, int))
    assert model.label_noise_ == 0.0


def test_shares_of_wrong_labels_are_compared_before_hyperparameters_are_integrated_out(monkeypatch):
    """Once for the graph and once at the end, not for each of the seven shares."""
    from flgp.estimators import _fitting

    calls, integrate = [], _fitting.integrate_model
    monkeypatch.setattr(_fitting, "integrate_model", lambda *a: calls.append(1) or integrate(*a))
    X, y, _ = rings(n=120)
    few = np.where(np.arange(120) % 5 == 0, y, -1)
    FLGPClassifier(
        **SMALL | {"n_anchors": 20, "n_eigenpairs": 5}, label_noise="auto", hyperparameters="integrate"
    ).fit(X, few)
    assert len(calls) == 2


def test_classes_that_overlap_do_not_look_clear(rng):
    """Without wrong labels the noise model takes the overlap for noise; left-out labels know better."""
    c = np.arange(600) % 2
    X = rng.normal(size=(600, 2)) + 1.2 * c[:, None]
    y = np.where(np.arange(600) < 150, c, -1)
    options = {**SMALL, "label_noise": 0.1}
    p = FLGPClassifier(**options).fit(X, y).predict_proba(X)[150:]
    plain = FLGPClassifier(**SMALL).fit(X, y).predict_proba(X)[150:]
    unlabeled = np.arange(450), c[150:]
    assert -np.mean(np.log(p[unlabeled])) < -np.mean(np.log(plain[unlabeled])) + 0.1
