"""Held-out scores: those of a fit without the labels, beside plain methods, and said in words."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import accuracy_score, log_loss
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from conftest import ring
from flgp import FLGPClassifier, FLGPRegressor
from flgp.model_selection import Evaluation, LabeledKFold, Transductive, evaluate
from flgp.model_selection.evaluation import wilson
from flgp.model_selection.references import REGRESSORS, numbers
from flgp.model_selection.verdict import _how, as_dict, how_columns_are_used, verdict, what_was_learned
from flgp.rows.even import EvenColumns

SMALL = {"n_anchors": 60, "n_eigenpairs": 20, "random_state": 0, "n_jobs": 1}


@pytest.fixture(scope="module")
def rings():
    """Two rings that only their shape tells apart, every sixth point labelled."""
    X, _ = ring(300, noise=0.02)
    X = np.concatenate([X, 1.6 * X])
    truth = np.repeat(["in", "out"], 300)
    y = np.full(600, None, dtype=object)
    y[::6] = truth[::6]
    return X, y


@pytest.fixture(scope="module")
def heights():
    X, angle = ring(240, noise=0.02)
    y = np.sin(2 * angle) + 0.1 * np.random.default_rng(1).standard_normal(240)
    return X, np.where(np.arange(240) % 4 == 0, y, np.nan)


def test_scores_are_those_of_fits_without_the_labels(rings):
    X, y = rings
    model = FLGPClassifier(unlabeled=None, **SMALL)
    found = evaluate(model, X, y, cv=4)
    labeled = np.flatnonzero(y != None)  # noqa: E711 - elementwise
    np.testing.assert_array_equal(found.rows, labeled)
    expected = np.zeros((len(labeled), 2))
    for train, test in LabeledKFold(4, random_state=0, unlabeled=None).split(X, y):
        fitted = Transductive(model, X).fit(train[:, None], y[train])
        expected[np.searchsorted(labeled, test)] = fitted.predict_proba(test[:, None])
    np.testing.assert_allclose(found.probability, expected, atol=1e-6)
    own = found.scores["flgp"]
    assert own["accuracy"] == accuracy_score(found.y, found.prediction)
    assert own["log_loss"] == pytest.approx(log_loss(found.y, found.probability))
    assert own["accuracy"] > 0.95 > found.scores["logistic regression"]["accuracy"]
    assert found.confusion.sum() == len(labeled)
    assert np.trace(found.confusion) == round(own["accuracy"] * len(labeled))
    assert found.losses["flgp"][found.worst(3)].min() >= np.sort(found.losses["flgp"])[-3]


def test_plain_methods_are_scikit_learns(rings):
    X, y = rings
    found = evaluate(FLGPClassifier(unlabeled=None, **SMALL), X, y, cv=3)
    expected = np.zeros(len(found.rows))
    for _, test in LabeledKFold(3, random_state=0, unlabeled=None).split(X, y):
        rest = np.setdiff1d(found.rows, test)
        plain = make_pipeline(StandardScaler(), LogisticRegression(max_iter=200))
        plain.fit(X[rest], y[rest].astype(str))
        p = plain.predict_proba(X[test])[np.arange(len(test)), (y[test] == "out").astype(int)]
        expected[np.searchsorted(found.rows, test)] = -np.log(p)
    np.testing.assert_allclose(found.losses["logistic regression"], expected, rtol=1e-6)


def test_numbers(heights):
    X, y = heights
    found = evaluate(FLGPRegressor(**SMALL), X, y, cv=5)
    own = found.scores["flgp"]
    error = found.y - found.prediction
    assert own["rmse"] == pytest.approx(np.sqrt(np.mean(error**2)))
    assert own["rmse"] < 0.3 < found.scores["ridge regression"]["rmse"]
    # A Gaussian likelihood has a closed form.
    z = error / found.std
    np.testing.assert_allclose(
        found.losses["flgp"], z**2 / 2 + np.log(found.std * np.sqrt(2 * np.pi)), rtol=1e-6
    )
    inside = (found.lower <= found.y) & (found.y <= found.upper)
    assert own["coverage"] == inside.mean() > 0.8
    low, high = found.interval
    assert low < own["rmse"] < high
    assert "ridge regression" in str(found)
    assert found.reliability.accuracy[-1] > 0.7
    with pytest.raises(ValueError, match="confusion"):
        _ = found.confusion


def test_a_fitted_model_and_a_learned_bandwidth_give_the_same_or_a_new_graph(heights):
    X, y = heights
    model = FLGPRegressor(**SMALL).fit(X, y)
    before = model.predict(X)
    ready = evaluate(model, X, y, cv=3, prefit=True)
    np.testing.assert_allclose(ready.prediction, evaluate(model, X, y, cv=3).prediction, atol=1e-8)
    np.testing.assert_array_equal(model.predict(X), before)  # not touched
    other = evaluate(FLGPRegressor(base_kernel="se", **SMALL), X, y, cv=2)
    train, test = next(LabeledKFold(2, random_state=0, unlabeled=None).split(X, y))
    direct = Transductive(FLGPRegressor(base_kernel="se", **SMALL), X).fit(train[:, None], y[train])
    held = np.searchsorted(other.rows, test)
    np.testing.assert_allclose(other.prediction[held], direct.predict(test[:, None]), atol=1e-8)


def test_counts_with_exposures(heights):
    X, _ = heights
    rng = np.random.default_rng(0)
    hours = rng.uniform(1, 5, 240)
    y = rng.poisson(hours * np.exp(X[:, 0])).astype(float)
    y[::2] = np.nan
    found = evaluate(FLGPRegressor(likelihood="poisson", **SMALL), X, y, known={"exposure": hours})
    assert found.scores["flgp"]["nll"] < found.scores["mean"]["nll"]
    assert found.scores["flgp"]["coverage"] > 0.85


def test_too_few_labels_and_classes_seen_once(rings):
    X, _ = rings
    few = np.full(600, None, dtype=object)
    few[[0, 300, 6]] = ["in", "out", "in"]
    with pytest.raises(ValueError, match=r"3 row\(s\) of y have a label"):
        evaluate(FLGPClassifier(unlabeled=None, **SMALL), X, few)
    few[[12, 306, 312, 318]] = ["in", "out", "out", "rare"]
    found = evaluate(FLGPClassifier(unlabeled=None, **SMALL), X, few, cv=50)
    assert found.n_folds == 7
    assert found.losses["flgp"].max() == pytest.approx(-np.log(1e-6))  # nobody can know "rare"
    assert any("Too few labels to judge these classes: rare" in line for line in verdict(found))


def test_the_verdict_in_words(rings):
    X, y = rings
    said = " ".join(verdict(evaluate(FLGPClassifier(unlabeled=None, **SMALL), X, y)))
    assert "% right (95 % interval" in said
    assert "The best plain method is" in said
    rng = np.random.default_rng(0)
    noise = np.where(y == None, None, rng.choice(["a", "b"], 600))  # noqa: E711
    found = evaluate(FLGPClassifier(unlabeled=None, **SMALL), X, noise)
    said = " ".join(verdict(found))
    assert "no better than the majority" in said
    assert "clearly better" not in said
    assert as_dict(found)["confusion"] == found.confusion.tolist()
    even = EvenColumns(np.zeros(3), np.array([0.0, 2.0, 1.0]), np.ones(3))
    assert how_columns_are_used(None, ["a"]) == []
    assert how_columns_are_used(even, ["a", "b"]) == ["All columns were put on one scale."]
    assert how_columns_are_used(even, ["age", "income", "debt"]) == [
        "All columns were put on one scale, with large values drawn in, as a logarithm does, in income, debt."
    ]
    assert what_was_learned({"constant": 0.0, "manifold": 0.7, "linear": 0.3}) == (
        "What predictions rest on: 70 % the shape of the data, 30 % straight-line trends in the columns."
    )


def test_as_often_right_is_not_clearly_better():
    """Two far clumps: everybody is always right, and the model only states surer probabilities."""
    rng = np.random.default_rng(0)
    truth = np.repeat(["left", "right"], 100)
    X = rng.normal(size=(200, 2)) + 30.0 * (truth == "right")[:, None]
    y = np.where(np.arange(200) % 2, truth, None)
    found = evaluate(FLGPClassifier(unlabeled=None, **SMALL), X, y)
    assert found.scores["flgp"]["accuracy"] == found.scores[found.best_reference()]["accuracy"] == 1.0
    (said,) = [line for line in verdict(found) if "best plain method" in line]
    plain = found.scores[found.best_reference()]
    assert f"100.0 % right, log loss {plain['log_loss']:.3g}" in said
    assert said.endswith("The model is about as often right, but its probabilities are clearly better.")


@pytest.mark.parametrize("task", ["classification", "regression"])
@pytest.mark.parametrize("right", [-1, 0, 1])
@pytest.mark.parametrize("sure", [-1, 0, 1])
def test_the_comparison_speaks_of_both_measures(task, right, sure):
    """Each measure by itself: better, worse or neither by two standard errors of the paired differences."""
    rng = np.random.default_rng(0)
    scatter = rng.permutation(np.repeat([-0.1, 0.1], 100))
    values = {name: {"accuracy": 0.9, "log_loss": 0.3, "rmse": 2.0, "nll": 1.0} for name in ("flgp", "k-NN")}
    losses = {"flgp": np.ones(200), "k-NN": 1.0 + 0.05 * sure + scatter}
    errors = {"flgp": np.ones(200), "k-NN": 1.0 + 0.05 * right + scatter}
    arrays = dict.fromkeys(("rows", "y", "prediction"), np.zeros(200))
    found = Evaluation(
        task=task, n_folds=5, **arrays, coverage=0.95, scores=values, losses=losses, errors=errors
    )
    said = _how(found, "k-NN")
    if right == sure == 0:
        assert said == "There is no clear difference between the two"
        return
    words = {
        "classification": ["less often right", "about as often right", "more often right"],
        "regression": ["larger errors", "errors of about the same size", "smaller errors"],
    }
    of_sure = ["clearly worse", "about as good", "clearly better"]
    assert words[task][right + 1] in said
    assert said.endswith(of_sure[sure + 1])
    assert (", and" in said) == (right == sure)


def test_errors_are_those_of_the_predictions(rings, heights):
    found = evaluate(FLGPClassifier(unlabeled=None, **SMALL), *rings)
    np.testing.assert_array_equal(found.errors["flgp"], found.prediction != found.y)
    found = evaluate(FLGPRegressor(**SMALL), *heights)
    np.testing.assert_allclose(found.errors["flgp"], (found.prediction - found.y) ** 2)
    gain = found.errors["mean"] - found.errors["flgp"]
    assert found.advantage("mean", "errors") == pytest.approx((gain.mean(), gain.std(ddof=1) / np.sqrt(60)))


def test_the_interval_of_a_proportion():
    low, high = wilson(90, 100)
    assert (round(low, 4), round(high, 4)) == (0.8256, 0.9448)  # statsmodels' proportion_confint, "wilson"
    assert wilson(10, 10)[1] == pytest.approx(1.0)


def test_of_equally_good_plain_methods_the_one_with_the_lower_loss_is_compared():
    y, same = np.array([0, 1, 1, 1, 0, 1]), {"accuracy": 0.7}
    found = Evaluation(
        task="classification",
        n_folds=2,
        rows=np.arange(6),
        y=y,
        prediction=y,
        classes=np.array([0, 1]),
        coverage=0.95,
        scores={"flgp": same, "majority": same, "k-NN": same, "logistic regression": same},
        losses={
            "flgp": np.ones(6),
            "majority": np.full(6, 0.6),
            "k-NN": np.full(6, 0.4),
            "logistic regression": np.full(6, 0.3),
        },
        errors={},
    )
    assert found.best_reference() == "logistic regression"


@pytest.mark.parametrize("name", REGRESSORS)
def test_plain_methods_predict_rates_of_counts(name):
    """Counts over an exposure between 1 and 30: predictions grow with it, and so does their spread."""
    rng = np.random.default_rng(0)
    X, size = rng.normal(size=(400, 2)), rng.integers(1, 31, 400).astype(float)
    rate = 5.0 + X[:, 0]
    y = rng.poisson(rate * size).astype(float)
    train, new = slice(0, 300), slice(300, 400)
    mean, std = numbers(name, X[train], y[train], X[new], size[train], size[new])
    ignorant, _ = numbers(name, X[train], y[train], X[new], np.ones(300), np.ones(100))
    assert np.mean((mean - y[new]) ** 2) < 0.3 * np.mean((ignorant - y[new]) ** 2)
    assert 0.8 < np.std((y[new] - mean) / std) < 1.4
    np.testing.assert_allclose(std / np.sqrt(size[new]), std[0] / np.sqrt(size[300]))
