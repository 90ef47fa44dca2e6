"""Hyperparameters that classes share, and how sure predictions are by left-out labels."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from scipy.stats import multivariate_normal
from sklearn.datasets import load_digits

from flgp import FLGPClassifier
from flgp.estimators._fitting import relearned
from flgp.inference.gaussian import GaussianInference
from flgp.inference.posterior import Point
from flgp.likelihoods import Categorical, Gaussian, Observations
from flgp.metrics import expected_calibration_error
from flgp.process.class_models import own_probability, probit_model
from flgp.process.evidence import Target
from flgp.process.pooled import representative

ORL = Path("../shared/data/faces/orl.npz")


@pytest.mark.parametrize(("m", "M"), [(30, 12), (12, 30)], ids=["primal", "dual"])
def test_the_pooled_evidence_is_the_sum_over_the_columns(m, M):
    rng = np.random.default_rng(0)
    features, Y, d = rng.standard_normal((m, M)), rng.standard_normal((m, 4)), rng.uniform(0.2, 2.0, M)
    weight = rng.uniform(0.5, 3.0, m)
    inference = GaussianInference(features, Y, 1.0 / weight)

    def value(log_d, log_noise):
        return inference.evaluate(
            Point(np.exp(log_d), Gaussian(noise_variance=float(np.exp(log_noise))))
        ).log_evidence

    K = (features * d) @ features.T + np.diag(0.3 / weight)
    expected = sum(multivariate_normal(cov=K).logpdf(y) for y in Y.T)
    found = inference.evaluate(Point(d, Gaussian(noise_variance=0.3)))
    assert found.log_evidence == pytest.approx(expected, rel=1e-10)
    h = 1e-5
    for i, step in enumerate(h * np.eye(M)):
        numeric = value(np.log(d) + step, np.log(0.3)) - value(np.log(d) - step, np.log(0.3))
        assert found.gradient_log_d[i] == pytest.approx(numeric / (2 * h), abs=1e-5)
    numeric = value(np.log(d), np.log(0.3) + h) - value(np.log(d), np.log(0.3) - h)
    assert found.gradient_parameters[0] == pytest.approx(numeric / (2 * h), abs=1e-5)


def few_digits(per_class, seed):
    X, y = load_digits(return_X_y=True)
    rng = np.random.default_rng(seed)
    labelled = np.concatenate(
        [rng.choice(np.flatnonzero(y == c), per_class, replace=False) for c in range(10)]
    )
    return X, y, labelled


def test_the_left_out_score_is_near_that_of_fits_without_each_label():
    """Cavities of expectation propagation stand for refits, at the same hyperparameters."""
    X, y, labelled = few_digits(3, 0)
    target = np.full(len(y), -1)
    target[labelled] = y[labelled]
    model = FLGPClassifier(linear=None, residual=None, calibrate=False, random_state=0).fit(X, target)
    function = relearned(model)[0]
    left_out = function.best.evaluation.left_out
    score = np.log(own_probability(function.target, left_out.mean, left_out.variance)).sum()
    assert score == pytest.approx(left_out.log_density.sum(), abs=0.01)
    total = 0.0
    for row in labelled:
        rest = labelled[labelled != row]
        model.update(X[rest], y[rest], replace=True, relearn=False)
        total += float(np.log(model.predict_proba(X[[row]])[0, y[row]]))
    assert score == pytest.approx(total, rel=0.3)
    evaluation = function.best.evaluation
    sharper, best = probit_model(
        function.target, evaluation.posteriors, np.ones(1), left_out.mean, left_out.variance
    )
    assert best > 1.0  # digits are easier than the evidence thinks
    assert np.log(sharper.left_out).sum() > score


def test_sharpness_makes_probabilities_honest():
    X, y, labelled = few_digits(5, 2)
    target = np.full(len(y), -1)
    target[labelled] = y[labelled]
    rest = np.setdiff1d(np.arange(len(y)), labelled)
    calibrated = FLGPClassifier(random_state=0).fit(X, target)
    plain = FLGPClassifier(random_state=0, calibrate=False).fit(X, target)
    assert plain.sharpness_ == 1.0
    assert calibrated.sharpness_ > 1.0
    errors = [
        expected_calibration_error(y[rest], m.predict_proba(X[rest]), classes=np.arange(10))
        for m in (calibrated, plain)
    ]
    assert errors[0] < 0.5 * errors[1]
    drawn = calibrated.sample_y(X[rest[:200]], 400, random_state=0)
    shares = np.stack([(drawn == c).mean(axis=1) for c in range(10)], axis=1)
    assert np.abs(shares - calibrated.predict_proba(X[rest[:200]])).mean() < 0.02


def test_a_part_of_many_labels_and_classes():
    rng = np.random.default_rng(0)
    y = rng.integers(0, 60, 900)
    target = Target(np.arange(900), Observations.of(y), Categorical(60))
    part, rows = representative(target)
    assert len(rows) <= 400
    assert part.likelihood.n_classes == 30
    assert set(part.obs.y) == set(range(30))
    np.testing.assert_array_equal(part.rows, rows)
    few = Target(np.arange(5), Observations.of([0, 1, 2, 2, 1]), Categorical(3))
    assert representative(few)[0] is few


def test_all_classes_have_the_same_hyperparameters():
    X, y, labelled = few_digits(3, 1)
    target = np.full(len(y), -1)
    target[labelled] = y[labelled]
    shared = FLGPClassifier(random_state=0).fit(X, target)
    alone = FLGPClassifier(multi_class="one_vs_rest", linear=None, random_state=0).fit(X, target)
    assert np.ptp(shared.diffusion_time_) == 0.0
    assert np.ptp(alone.diffusion_time_) > 0.0
    rest = np.setdiff1d(np.arange(len(y)), labelled)
    errors = [np.mean(model.predict(X[rest]) != y[rest]) for model in (shared, alone)]
    assert errors[0] < 0.15
    assert errors[0] < errors[1] + 0.02


def test_a_bandwidth_is_searched_by_the_pooled_evidence():
    X, y, labelled = few_digits(5, 0)
    target = np.full(len(y), -1)
    target[labelled] = y[labelled]
    model = FLGPClassifier(base_kernel="se", n_anchors=200, random_state=0).fit(X, target)
    tried = dict(model.bandwidth_trace_)
    assert len(tried) > 20
    assert model.bandwidth_ == max(tried, key=tried.get)


@pytest.mark.skipif(not ORL.exists(), reason="the ORL faces are not part of the project")
def test_many_classes_with_few_labels():
    """40 people, three pictures each: two thirds are wrong when every class learns for itself."""
    faces = np.load(ORL)
    X, y = faces["X"].astype(float), np.unique(faces["y"], return_inverse=True)[1]
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    errors = []
    for seed in range(3):
        rng = np.random.default_rng(seed)
        labelled = np.concatenate([rng.choice(np.flatnonzero(y == c), 3, replace=False) for c in range(40)])
        target = np.full(400, -1)
        target[labelled] = y[labelled]
        model = FLGPClassifier(random_state=0).fit(X, target)
        rest = np.setdiff1d(np.arange(400), labelled)
        errors.append(np.mean(model.predict(X[rest]) != y[rest]))
    assert np.mean(errors) < 0.13  # logistic regression 0.12, 1-NN 0.21
