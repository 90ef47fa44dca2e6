import numpy as np
import pandas as pd
import pytest

from conftest import ring
from flgp import FLGPClassifier
from flgp.datasets import circles
from flgp.estimators.class_probabilities import exactly_one
from flgp.metrics import negative_log_likelihood

pytestmark = pytest.mark.filterwarnings("ignore:.*connected part")


def two_rings(n=300, m=6, seed=0):
    X = np.concatenate([ring(n, seed=seed)[0], ring(n, seed=seed + 1, radius=1.6)[0]])
    truth = np.repeat([0, 1], n)
    y = np.full(2 * n, -1)
    rng = np.random.default_rng(seed)
    for k in (0, 1):
        y[rng.choice(n, m, replace=False) + k * n] = k
    return X, y, truth


def three_rings(n=200, m=5, seed=0):
    X = np.concatenate([ring(n, seed=seed + k, radius=1 + 0.6 * k)[0] for k in range(3)])
    truth = np.repeat([0, 1, 2], n)
    y = np.full(3 * n, -1)
    for k in range(3):
        y[k * n : k * n + m * 30 : 30] = k
    return X, y, truth


@pytest.mark.parametrize("amplitude", [1.0, 1e12])
def test_three_classes_with_a_given_amplitude(amplitude):
    """Nothing is left to search then: an AttributeError, and for huge ones a warning of NumPy's."""
    X, y, truth = three_rings()
    model = FLGPClassifier(n_anchors=100, amplitude=amplitude, random_state=0).fit(X, y)
    assert model.amplitude_ == amplitude
    assert np.mean(model.predict(X) == truth) > 0.9


@pytest.mark.parametrize("base_kernel", ["lae", "se"])
@pytest.mark.parametrize("inference", ["ep", "laplace"])
def test_six_circles(base_kernel, inference):
    data = circles(3000, random_state=0)
    y = np.full(3000, -1)
    labeled = np.random.default_rng(0).choice(3000, 50, replace=False)
    y[labeled] = data.y[labeled]
    model = FLGPClassifier(
        n_anchors=600, n_eigenpairs=100, base_kernel=base_kernel, inference=inference, random_state=0
    ).fit(data.X, y)
    assert np.mean(model.predict(data.X) != data.y) < 0.01
    nll = negative_log_likelihood(data.y, model.predict_proba(data.X), classes=model.classes_)
    assert nll < (0.06 if inference == "ep" else 0.5)
    new = circles(1000, random_state=5)
    assert np.mean(model.predict(new.X) != new.y) < 0.02


@pytest.mark.parametrize("multi_class", ["one_vs_rest", "coupled"])
def test_several_classes(multi_class):
    X, y, truth = three_rings()
    model = FLGPClassifier(n_anchors=90, n_eigenpairs=30, multi_class=multi_class, random_state=0).fit(X, y)
    assert np.mean(model.predict(X) == truth) > 0.99
    p = model.predict_proba(X)
    np.testing.assert_allclose(p.sum(axis=1), 1.0, rtol=1e-12)
    np.testing.assert_array_equal(model.classes_[p.argmax(axis=1)], model.predict(X))
    mean, variance = model.latent_mean_and_variance(X)
    assert mean.shape == variance.shape == (600, 3)
    draws = model.sample_y(X[:50], 400, random_state=0)
    shares = np.stack([(draws == c).mean(axis=1) for c in range(3)], axis=1)
    assert np.abs(shares - p[:50]).mean() < 0.1
    np.testing.assert_array_equal(model.transduction_, model.predict(X))


def test_exactly_one_is_the_conditional_probability():
    rng = np.random.default_rng(0)
    p = rng.uniform(0.05, 0.9, size=(4, 3))
    yes = rng.random((400_000, 4, 3)) < p
    one = yes.sum(axis=2) == 1
    for row in range(4):
        share = yes[one[:, row], row].mean(axis=0)
        np.testing.assert_allclose(exactly_one(p)[row], share, atol=5e-3)
    assert np.isfinite(exactly_one(np.array([[0.0, 1.0, 0.5], [1.0, 1.0, 0.0]]))).all()


@pytest.mark.parametrize(
    ("names", "unlabeled", "kind"),
    [
        (["a", "b"], "?", str),
        (["a", "b"], None, object),
        (["a", "b"], None, list),  # NaN among text
        ([3, 7], -1, int),
        ([3.0, 7.0], -1, float),
        (["a", "b"], -1, "pandas"),
    ],
)
def test_labels_of_any_kind(names, unlabeled, kind):
    X, codes, truth = two_rings()
    missing = codes < 0
    if kind == "pandas":
        y = pd.array([pd.NA if skip else names[c] for c, skip in zip(codes, missing, strict=True)])
    elif kind is float:
        y = np.where(missing, np.nan, np.array(names)[codes])
    elif kind is object:
        y = [None if skip else names[c] for c, skip in zip(codes, missing, strict=True)]
    elif kind is list:
        y = [float("nan") if skip else names[c] for c, skip in zip(codes, missing, strict=True)]
    else:
        y = np.where(missing, unlabeled, np.array(names)[codes])
    marker = unlabeled if unlabeled is not None else -1
    model = FLGPClassifier(n_anchors=60, unlabeled=marker, random_state=0).fit(X, y)
    assert list(model.classes_) == names
    np.testing.assert_array_equal(model.predict(X), np.array(names)[truth])
    assert model.score(X, y) == 1.0


def test_one_class_and_one_label():
    X, y, _ = two_rings()
    y[y == 1] = -1
    model = FLGPClassifier(n_anchors=60, random_state=0).fit(X, y)
    np.testing.assert_array_equal(model.predict(X), 0)
    np.testing.assert_array_equal(model.predict_proba(X), 1.0)
    y[:] = -1
    y[5] = 4
    assert set(FLGPClassifier(n_anchors=60, random_state=0).fit(X, y).predict(X)) == {4}


def test_a_component_without_labels_is_uniform():
    X, y, _ = three_rings()
    far = ring(100, seed=7)[0] + 50
    with pytest.warns(UserWarning, match="hold no label"):
        model = FLGPClassifier(n_anchors=100, linear=None, mean="zero", random_state=0).fit(
            X, y, X_unlabeled=far
        )
    np.testing.assert_allclose(model.predict_proba(far), 1 / 3, atol=1e-6)


def test_far_from_the_cloud_the_classes_are_even():
    X, y, _ = two_rings()
    model = FLGPClassifier(n_anchors=60, mean="zero", random_state=0).fit(X, y)
    np.testing.assert_allclose(model.predict_proba([[100.0, -40.0]]), 0.5, atol=1e-6)
    _, variance = model.latent_mean_and_variance([[100.0, -40.0]])
    np.testing.assert_allclose(variance, model.covariance([[100.0, -40.0]])[0], rtol=1e-6)


@pytest.mark.parametrize(
    ("change", "match"),
    [
        (lambda y: np.full(len(y), -1), "no labelled row"),
        (lambda y: None, "requires y"),
        (lambda y: y[:-1], "entries"),
        (lambda y: y + 0.5, "continuous|Unknown label type"),
        (lambda y: np.where(y < 0, np.nan, np.inf), "infinity"),
    ],
)
def test_bad_labels(change, match):
    X, y, _ = two_rings()
    with pytest.raises(ValueError, match=match):
        FLGPClassifier(n_anchors=40).fit(X, change(y))


def test_bad_parameters():
    X, y, _ = two_rings()
    with pytest.raises(ValueError, match="multi_class"):
        FLGPClassifier(multi_class="ovo").fit(X, y)
    with pytest.raises(ValueError, match="sample_weight"):
        FLGPClassifier().fit(X, y, sample_weight=-np.ones(len(y)))
    with pytest.raises(ValueError, match="sample_weight has shape"):
        FLGPClassifier().fit(X, y, sample_weight=np.ones(3))


def test_labels_keep_their_type_and_are_of_one_type():
    pandas = pytest.importorskip("pandas")
    X = np.random.default_rng(0).normal(size=(60, 2))
    model = FLGPClassifier(random_state=0).fit(X, pandas.Series([1, 2, None] * 20, dtype="Int64"))
    assert model.classes_.dtype.kind == "i"
    assert model.predict(X).dtype.kind == "i"
    model.fit(X, pandas.Series([True, False, None] * 20, dtype="boolean"))
    assert model.classes_.dtype == bool
    model.fit(X, ["a", -1, "b"] * 20)  # -1 is the marker
    assert model.classes_.tolist() == ["a", "b"]
    for labels, named in (
        (["a", 1, None], "text ('a') and numbers (1)"),
        ([True, 2, None], "booleans (True)"),
    ):
        for y in (labels * 20, np.array(labels * 20, dtype=object)):
            with pytest.raises(ValueError, match="y mixes") as caught:
                model.fit(X, y)
            assert named in str(caught.value)


def test_two_classes_by_the_mean_are_those_by_probability():
    """Variances are computed only where the parts of a mixture disagree; the class is the same."""
    rng = np.random.default_rng(3)
    X = rng.standard_normal((1500, 2))
    truth = ((X[:, 0] ** 2 + X[:, 1] > 0.6) ^ (rng.random(1500) < 0.1)).astype(int)
    y = np.where(np.arange(1500) < 60, truth, -1)
    model = FLGPClassifier(n_anchors=200, random_state=0).fit(X, y)
    components = model._process_.functions[0].components
    assert len(components) > 1
    new = 1.5 * rng.standard_normal((800, 2))
    views = model._process_.at(model._inputs(new))
    signs = {tuple(row) for row in np.stack([part.field.means(views[0]) > 0 for part in components], axis=1)}
    assert len(signs) > 2  # they do disagree somewhere
    p = model.predict_proba(new)
    clear = np.abs(p[:, 1] - 0.5) > 1e-12
    np.testing.assert_array_equal(model.predict(new)[clear], model.classes_[p.argmax(axis=1)][clear])


@pytest.mark.parametrize("settings", [{}, {"hyperparameters": "integrate"}])
def test_one_of_two_classes_is_told_without_variances_where_their_limits_suffice(settings, monkeypatch):
    """Class models, or points of a quadrature, that disagree on a row: mostly it does not matter how much."""
    data = circles(600, random_state=1)
    y = np.full(600, -1)
    y[::15] = np.where(data.X[::15, 0] > 0.2, data.y[::15], 1 - data.y[::15])
    model = FLGPClassifier(random_state=0, **settings).fit(data.X, y)
    rows = np.random.default_rng(0).uniform(-3, 3, (2000, 2))
    most_probable, asked = model.predict_proba(rows).argmax(axis=1), []
    whole = FLGPClassifier._probabilities

    def counted(self, views):
        asked.append(len(views[0]))
        return whole(self, views)

    monkeypatch.setattr(FLGPClassifier, "_probabilities", counted)
    np.testing.assert_array_equal(model.predict(rows), most_probable)
    assert sum(asked) < 60
