"""Columns of a point cloud as given or on one scale, by the evidence."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import load_digits, load_wine
from sklearn.decomposition import PCA

import flgp
from flgp import FLGPClassifier, FLGPRegressor, HeatKernelFeatures
from flgp.datasets import swiss_roll
from flgp.estimators import _fitting
from flgp.geometry import Sphere
from flgp.rows.even import EvenColumns


def heavy(n=600, m=100, seed=0):
    """Amounts with lognormal tails, whose logarithms f is a function of."""
    rng = np.random.default_rng(seed)
    X = np.exp(1.2 * rng.standard_normal((n, 4)))
    f = np.log(X[:, 0]) + np.sin(2.0 * np.log(X[:, 1]))
    y = np.where(np.arange(n) < m, f + 0.1 * rng.standard_normal(n), np.nan)
    return X, y, f


def rmse(model, X, f):
    return np.sqrt(np.mean((model.predict(X) - f) ** 2))


def test_heavy_tails_are_drawn_in_where_the_labels_ask_for_it():
    X, y, f = heavy()
    model = FLGPRegressor(random_state=0).fit(X, y)
    as_given = FLGPRegressor(scaling=None, random_state=0).fit(X, y)
    assert (model.scaling_.unit > 0).all()
    assert as_given.scaling_ is None
    assert rmse(model, X, f) < 0.7 * rmse(as_given, X, f)


def test_a_column_in_another_unit_no_longer_hides_the_others():
    data = swiss_roll(1200, random_state=0)
    X, y = data.X * [1.0, 100.0, 1.0], np.where(np.arange(1200) < 100, data.y, np.nan)
    model = FLGPRegressor(residual=None, linear=None, random_state=0).fit(X, y)
    as_given = FLGPRegressor(residual=None, linear=None, scaling=None, random_state=0).fit(X, y)
    assert rmse(model, X, data.f) < 0.5 * rmse(as_given, X, data.f)


def test_principal_components_of_images_stay_as_they_are():
    X, labels = load_digits(return_X_y=True)
    X = PCA(40, random_state=0).fit_transform(X)[:800]
    y = np.where(np.arange(800) < 60, labels[:800], -1)
    assert FLGPClassifier(random_state=0).fit(X, y).scaling_ is None


def test_with_few_labels_no_column_hides_all_others():
    X, truth = load_wine(return_X_y=True)  # proline has 99.8 % of the variance
    y = np.full(len(truth), -1)
    first = [10, 69, 140]
    y[first] = truth[first]
    wrong = {
        scaling: np.mean(FLGPClassifier(scaling=scaling, random_state=0).fit(X, y).predict(X) != truth)
        for scaling in ("auto", None)
    }
    assert wrong["auto"] < 0.5 * wrong[None]
    stretched = X / X.std(axis=0) * np.linspace(1.0, 3.0, 13)
    assert FLGPClassifier(random_state=0).fit(stretched, y).scaling_ is None


def test_large_units_in_single_precision_are_seen_too():
    X = np.random.default_rng(0).standard_normal((100, 4)) * [1e20, 1e22, 1.0, 1.0]
    y = np.where(np.arange(100) < 4, np.arange(100) % 2, -1)
    assert FLGPClassifier(random_state=0).fit(X.astype(np.float32), y).scaling_ is not None


@pytest.mark.parametrize("estimator", [FLGPRegressor, HeatKernelFeatures])
def test_even_is_the_model_of_the_transformed_columns(estimator):
    X, y, _ = heavy()
    even = EvenColumns.of(X, X)
    inside = estimator(scaling="even", random_state=0).fit(X, y)
    before = estimator(scaling=None, random_state=0).fit(even(X), y)
    np.testing.assert_allclose(inside.covariance(X[:20]), before.covariance(even(X[:20])), atol=1e-6)
    np.testing.assert_allclose(even(inside.anchors_), before.anchors_, atol=1e-9)
    np.testing.assert_allclose(inside.distance_to_anchors(X), before.distance_to_anchors(even(X)), atol=1e-9)


def test_the_dimension_is_that_of_the_scaled_columns():
    X, _, f = heavy(300)
    y = np.where(np.arange(300) < 40, f, np.nan)
    even = EvenColumns.of(X, X)
    inside = FLGPRegressor(scaling="even", time_prior="paper", residual=None, random_state=0).fit(X, y)
    before = FLGPRegressor(scaling=None, time_prior="paper", residual=None, random_state=0).fit(even(X), y)
    assert inside.intrinsic_dimension_ == pytest.approx(before.intrinsic_dimension_, rel=1e-9)


@pytest.mark.parametrize("compact", [False, True])
def test_files_keep_the_scale(tmp_path, compact):
    X, y, _ = heavy(300, 60)
    model = FLGPRegressor(scaling="even", random_state=0).fit(X, y)
    flgp.save(model, tmp_path / "model.flgp", compact=compact)
    loaded = flgp.load(tmp_path / "model.flgp")
    size = np.abs(model.predict(X)).max()
    np.testing.assert_allclose(loaded.predict(X), model.predict(X), atol=1e-4 * size if compact else 1e-12)
    np.testing.assert_allclose(loaded.anchors_, model.anchors_, rtol=1e-3)


def test_a_forged_scale_is_refused(tmp_path):
    X, y, _ = heavy(300, 60)
    model = FLGPRegressor(scaling="even", random_state=0).fit(X, y)
    model._roles_.even.scale[:] *= 1e30
    with pytest.raises(flgp.ModelFileError, match="on a scale that no row of X has"):
        flgp.save(model, tmp_path / "model.flgp")


def test_a_file_is_as_good_as_an_array(tmp_path):
    X, y, _ = heavy()
    path = tmp_path / "X.npy"
    np.save(path, X)
    model = FLGPRegressor(n_anchors=150, residual=None, random_state=0)
    there, here = clone(model).fit(np.load(path, mmap_mode="r"), y), model.fit(X, y)
    assert there.scaling_ is not None
    np.testing.assert_allclose(there.predict(X), here.predict(X), atol=1e-6)


def test_labels_added_later_see_the_same_columns():
    X, y, f = heavy()
    model = FLGPRegressor(random_state=0).fit(X, y)
    before = rmse(model, X, f)
    model.update(X[100:200], f[100:200])
    assert model.scaling_ is not None
    assert rmse(model, X, f) < before


def test_what_is_given_in_the_columns_units_keeps_them():
    X, y, _ = heavy(300, 60)
    for own in ({"linear": [0]}, {"residual_columns": [0]}, {"anchors": X[:50]}, {"amplitude": 1.0}):
        assert FLGPRegressor(random_state=0, **own).fit(X, y).scaling_ is None


def test_a_scale_that_cannot_be_fitted_is_not_chosen(monkeypatch):
    X, y, _ = heavy(300, 60)
    attempt = _fitting._attempt

    def failing(model, *rest, **options):
        if model._roles_.even is not None:
            raise ValueError("does not settle")
        return attempt(model, *rest, **options)

    monkeypatch.setattr(_fitting, "_attempt", failing)
    assert FLGPRegressor(random_state=0).fit(X, y).scaling_ is None


def test_several_outputs_and_groups():
    X, y, f = heavy(400, 80)
    X = np.column_stack([X, np.arange(400) % 3])
    both = np.column_stack([y, np.where(np.arange(400) < 40, f, np.nan)])
    model = FLGPRegressor(groups=[4], random_state=0).fit(X, both)
    assert model.scaling_ is not None
    assert np.isfinite(model.predict(X)).all()


# Powers of two do not round; others act on a search as another order of the rows does.
@pytest.mark.parametrize(
    ("factor", "tolerance"), [(2.0**-40, 0.0), (2.0**40, 0.0), (1e-12, 1e-5), (1e12, 1e-5)]
)
@pytest.mark.parametrize("which", [[0], [0, 1, 2, 3]])
def test_on_one_scale_no_unit_of_a_column_changes_the_answer(factor, tolerance, which):
    X, y, _ = heavy(300, 60)
    X[:, 3] = np.log(X[:, 3])
    model = FLGPRegressor(scaling="even", n_anchors=60, random_state=0)
    before = model.fit(X, y).predict(X, return_std=True)
    X[:, which] *= factor
    np.testing.assert_allclose(model.fit(X, y).predict(X, return_std=True), before, rtol=0, atol=tolerance)


@pytest.mark.parametrize("offset", [1e7, 1e10, 1e12])
def test_columns_that_vary_little_beside_their_offset_are_not_constant(offset):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((200, 3))
    y = np.where(np.arange(200) < 60, X[:, 0] + 0.01 * rng.standard_normal(200), np.nan)
    for scaling in ("auto", "even"):
        model = FLGPRegressor(scaling=scaling, n_anchors=50, random_state=0).fit(X + offset, y)
        assert rmse(model, X + offset, X[:, 0]) < 0.05


@pytest.mark.parametrize("kind", ["regressor", "classifier"])
@pytest.mark.parametrize("scaling", [None, "auto", "even"])
def test_columns_too_small_to_square_are_constant(kind, scaling):
    X, y, f = heavy(120, 50)
    X = X * 1e-160
    with np.errstate(over="raise", invalid="raise", divide="raise"):
        if kind == "regressor":
            answers = FLGPRegressor(scaling=scaling, n_anchors=30, random_state=0).fit(X, y).predict(X)
        else:
            labels = np.where(np.isnan(y), -1, f > 0)
            model = FLGPClassifier(scaling=scaling, n_anchors=30, random_state=0).fit(X, labels)
            answers = model.predict_proba(X)
    assert np.isfinite(answers).all()


@pytest.mark.parametrize(
    ("parameters", "words"),
    [({"scaling": "yes"}, "scaling"), ({"scaling": "even", "geometry": Sphere()}, "is for a point cloud")],
)
def test_wrong_values_are_named(parameters, words):
    X, y, _ = heavy(100, 30)
    with pytest.raises(ValueError, match=words):
        FLGPRegressor(**parameters).fit(X, y)
