"""Known shares of the classes."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.datasets import load_digits

import flgp
from flgp import FLGPClassifier


@pytest.fixture(scope="module")
def digits():
    """Five labels of each of four classes, of which the first is most of the data."""
    X, y = load_digits(return_X_y=True)
    rng = np.random.default_rng(0)
    keep = np.concatenate([np.flatnonzero(y == 3), *(np.flatnonzero(y == c)[:40] for c in (5, 8, 9))])
    X, y = X[keep], y[keep]
    labelled = np.concatenate([rng.choice(np.flatnonzero(y == c), 5, replace=False) for c in (3, 5, 8, 9)])
    target = np.full(len(y), -1)
    target[labelled] = y[labelled]
    return X, y, target


def shares_of(y):
    return np.unique(y, return_counts=True)[1] / len(y)


@pytest.mark.parametrize("multi_class", ["auto", "one_vs_rest", "coupled"])
def test_the_mean_probability_is_the_given_share(digits, multi_class, tmp_path):
    X, y, target = digits
    shares = shares_of(y)
    model = FLGPClassifier(class_prior=shares, multi_class=multi_class, random_state=0).fit(X, target)
    p = model.predict_proba(X)
    np.testing.assert_allclose(p.mean(axis=0), shares, atol=1e-6)
    np.testing.assert_array_equal(model.predict(X), model.classes_[p.argmax(axis=1)])
    np.testing.assert_array_equal(model.transduction_, model.predict(X))
    plain = FLGPClassifier(multi_class=multi_class, random_state=0).fit(X, target)
    own = np.arange(len(y)), np.searchsorted(model.classes_, y)
    loss = [-np.mean(np.log(m.predict_proba(X)[own])) for m in (model, plain)]
    assert loss[0] < loss[1]
    drawn, before = (np.mean(m.sample_y(X, 200) == 3) for m in (model, plain))
    assert abs(drawn - shares[0]) < abs(before - shares[0])
    flgp.save(model, tmp_path / "m.flgp")
    np.testing.assert_array_equal(flgp.load(tmp_path / "m.flgp").predict_proba(X), p)


def test_two_classes(digits):
    X, _, target = digits
    pair = np.where(target < 0, -1, (target == 3).astype(int))
    model = FLGPClassifier(class_prior={0: 0.4, 1: 0.6}, random_state=0).fit(X, pair)
    p = model.predict_proba(X)
    np.testing.assert_allclose(p.mean(axis=0), [0.4, 0.6], atol=1e-6)
    np.testing.assert_array_equal(model.predict(X), p.argmax(axis=1))


def test_names_and_rules(digits):
    X, y, target = digits
    shares = shares_of(y)
    mapping = dict(zip((3, 5, 8, 9), shares, strict=True))
    by_name = FLGPClassifier(class_prior=mapping, random_state=0).fit(X, target)
    by_order = FLGPClassifier(class_prior=shares, random_state=0).fit(X, target)
    np.testing.assert_array_equal(by_name.predict_proba(X), by_order.predict_proba(X))
    even = FLGPClassifier(class_prior="uniform", random_state=0).fit(X, target)
    np.testing.assert_allclose(even.predict_proba(X).mean(axis=0), 0.25, atol=1e-6)
    plain = FLGPClassifier(random_state=0).fit(X, target).predict_proba(X).mean(axis=0)
    soft = FLGPClassifier(class_prior="labels", random_state=0).fit(X, target).predict_proba(X).mean(axis=0)
    np.testing.assert_allclose(soft, 0.5 * plain + 0.5 * 0.25, atol=1e-6)


@pytest.mark.parametrize(
    ("prior", "message"),
    [
        ([0.5, 0.5], "shape .2,., but there are 4 classes"),
        ([0.5, 0.5, 0.5, -0.5], "positive shares"),
        ([0.5, 0.5, 0.5, 0.5], "sums to 2, not to 1"),
        ([0.5, np.nan, 0.3, 0.2], "positive shares"),
        ({3: 0.4, 5: 0.2, 8: 0.2, 9: 0.1, "7": 0.1}, "names '7', which is not a class like 3"),
        ({3: 0.4, 5: 0.2, 8: 0.2, 9: 0.1, np.nan: 0.1}, "names nan, which is not a class like 3"),
        ({3: 0.4, 5: 0.6}, "no share for the class 8"),
        ("even", "is not known"),
    ],
)
def test_wrong_shares_are_refused(digits, prior, message):
    X, _, target = digits
    with pytest.raises(ValueError, match=message):
        FLGPClassifier(class_prior=prior, random_state=0).fit(X, target)


def test_more_labels_keep_the_shift_and_a_new_class_is_refused(digits):
    X, y, target = digits
    model = FLGPClassifier(class_prior=shares_of(y), random_state=0).fit(X, target)
    more = np.flatnonzero(target < 0)[:8]
    model.update(X[more], y[more])
    np.testing.assert_allclose(model.predict_proba(X).sum(axis=1), 1.0)
    before = model.predict_proba(X)
    with pytest.raises(ValueError, match="labels of other classes"):
        model.update(X[more], np.full(8, 77))
    np.testing.assert_array_equal(model.predict_proba(X), before)


@pytest.mark.parametrize("kind", ["auto", "one_vs_rest", "laplace"])
def test_a_class_that_has_a_share_but_no_label(digits, kind, tmp_path):
    """It gets its share, most of it where labels of the others say least."""
    X, y, target = digits
    target = np.where(target == 9, -1, target)
    shares = dict(zip((3, 5, 8, 9), shares_of(y).tolist(), strict=True))
    settings = {"inference": "laplace"} if kind == "laplace" else {"multi_class": kind}
    with pytest.warns(UserWarning, match="No row is labelled 9") as notes:
        model = FLGPClassifier(class_prior=shares, random_state=0, **settings).fit(X, target)
    assert len(notes) == 1
    np.testing.assert_array_equal(model.classes_, [3, 5, 8, 9])
    p = model.predict_proba(X)
    np.testing.assert_allclose(p.mean(axis=0), list(shares.values()), atol=1e-6)
    # Laplace's approximation is too unsure to tell far more.
    assert p[y == 9, 3].mean() > (1.2 if kind == "laplace" else 2.0) * p[y != 9, 3].mean()
    flgp.save(model, tmp_path / "m.flgp")
    np.testing.assert_array_equal(flgp.load(tmp_path / "m.flgp").predict_proba(X), p)
    nine = np.flatnonzero(y == 9)[:3]
    with pytest.raises(ValueError, match="Fit again with shares of all classes"):
        model.update(X[nine], y[nine])


def test_one_class_has_labels_and_another_a_share():
    rng = np.random.default_rng(0)
    X = np.sort(rng.random((150, 1)), axis=0)
    words = np.full(150, None, dtype=object)
    words[:80:8] = "here"
    model = FLGPClassifier(class_prior={"here": 2 / 3, "there": 1 / 3}, random_state=0)
    with pytest.warns(UserWarning, match="No row is labelled 'there'"):
        model.fit(X, words)
    p = model.predict_proba(X)
    np.testing.assert_allclose(p.mean(axis=0), [2 / 3, 1 / 3], atol=1e-6)
    assert p[:100, 0].mean() > p[100:, 0].mean()


def test_votes_may_leave_out_a_class_that_has_a_share(digits):
    X, _, target = digits
    votes = np.full((len(target), 3), np.nan)
    for column, name in enumerate((3, 5)):
        votes[target == name] = np.eye(3)[column]
    with pytest.warns(UserWarning, match="No row is labelled 2"):
        model = FLGPClassifier(class_prior={0: 0.6, 1: 0.2, 2: 0.2}, random_state=0).fit(X, votes)
    np.testing.assert_allclose(model.predict_proba(X).mean(axis=0), [0.6, 0.2, 0.2], atol=1e-6)


@pytest.mark.parametrize("shares", [["a", "b", "c", "d"], [[0.5], [0.25, 0.25]], {3: "x", 5: 1, 8: 1, 9: 1}])
def test_shares_that_are_no_numbers_are_refused_by_name(digits, shares):
    X, _, target = digits
    with pytest.raises(ValueError, match="class_prior must be numbers"):
        FLGPClassifier(class_prior=shares).fit(X, target)
