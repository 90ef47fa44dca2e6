"""Which rows to label next."""

from __future__ import annotations

import numpy as np
import pytest

import flgp
from conftest import ring
from flgp import FLGPClassifier, FLGPRegressor
from flgp.estimators.coverage import _condition, correlated, cover, diffusion_time, typical
from flgp.estimators.suggestion import STRATEGIES

SMALL = {"n_anchors": 60, "n_eigenpairs": 20, "random_state": 0, "n_jobs": 1}


@pytest.fixture(scope="module")
def heights():
    X, angle = ring(300, noise=0.01)
    y = np.full(300, np.nan)
    y[angle < 1.5] = np.sin(angle[angle < 1.5])
    y[::3] = np.nan
    return X, angle, FLGPRegressor(**SMALL).fit(X, y), y


def test_conditioning_is_that_of_a_gaussian():
    rng = np.random.default_rng(0)
    S, R = rng.normal(size=(6, 4)), rng.normal(size=(3, 4))
    whole = np.concatenate([S, R])
    K = whole @ whole.T
    expected = K - np.outer(K[:, 2], K[2]) / (K[2, 2] + 0.7)
    _condition(S[2].copy(), 0.7, (S, R))
    changed = np.concatenate([S, R])
    np.testing.assert_allclose(changed @ changed.T, expected, atol=1e-12)


def test_the_first_row_lowers_the_variance_most(heights):
    """Brute force over a few candidates: add each label in turn, and look at the variance everywhere."""
    X, _, model, y = heights
    first = model.suggest(X, 1, strategy="variance")[0]

    def left(row):
        other = FLGPRegressor(**SMALL).fit(X, y)
        other.update(X[[row]], model.predict(X[[row]]), relearn=False)
        return other.latent_mean_and_variance(X)[1].sum()

    others = np.flatnonzero(np.isnan(y))[::25]
    assert left(first) <= min(left(row) for row in others) * (1 + 1e-6)


def test_the_time_leaves_as_many_modes_as_wanted():
    eigenvalues = np.sort(np.random.default_rng(0).uniform(0, 2, 50))
    for count in (2.0, 10.0, 49.0):
        time = diffusion_time(eigenvalues, count)
        assert np.exp(-time * eigenvalues).sum() == pytest.approx(count, rel=1e-6)
    assert diffusion_time(eigenvalues, 50) == 0.0


def test_coverage_is_the_greedy_design_of_a_dense_gaussian_process():
    rng = np.random.default_rng(0)
    own, others, known = (
        correlated(rng.normal(size=(m, 5)), np.ones(m), np.arange(5.0), 0.3) for m in (8, 9, 2)
    )
    doubt, worth = rng.uniform(size=9), rng.uniform(size=8)
    chosen = cover(own, others, known, worth, doubt, 3)
    done: list[int] = []

    def doubted_variance(design):
        inverse = np.linalg.inv(design @ design.T + 0.1 * np.eye(len(design)))
        left = others @ others.T - others @ design.T @ inverse @ design @ others.T
        return np.sum((doubt + 1e-3) * np.diag(left))

    for at in chosen:
        design = np.concatenate([known, own[done]])
        gain = [
            -1.0
            if i in done
            else (worth[i] + 1e-3)
            * (doubted_variance(design) - doubted_variance(np.concatenate([design, own[[i]]])))
            for i in range(8)
        ]
        assert at == np.argmax(gain)
        done.append(int(at))


def test_coverage_visits_every_clump_before_it_visits_one_twice():
    rng = np.random.default_rng(1)
    centers = 10.0 * np.array([[0, 0], [1, 0], [0, 1], [1, 1], [2, 0.5]])
    X = np.concatenate([rng.normal(center, 0.3, size=(60, 2)) for center in centers])
    clump = np.repeat(np.arange(5), 60)
    y = np.full(300, -1)
    y[[0, 60]] = [0, 1]
    with pytest.warns(UserWarning, match="hold no label"):
        model = FLGPClassifier(**SMALL).fit(X, y)
    assert sorted(clump[model.suggest(X, 3, strategy="coverage")]) == [2, 3, 4]


def test_typical_rows_are_the_middles_of_the_largest_clumps_without_a_label():
    rng = np.random.default_rng(0)
    middles, sizes = 10.0 * np.eye(5), [50, 40, 30, 20, 10]
    clump = np.repeat(np.arange(5), sizes)
    rows = middles[clump] + 0.1 * rng.standard_normal((150, 5))
    found = typical(rows, middles[[1]], 4, seed=0)
    assert clump[found].tolist() == [0, 2, 3, 4]
    for row in found:
        own = rows[clump == clump[row]]
        nearest = np.linalg.norm(own - own.mean(axis=0), axis=1).min()
        np.testing.assert_allclose(np.linalg.norm(rows[row] - own.mean(axis=0)), nearest)


@pytest.mark.parametrize("n", [1, 4, 7])
def test_typical_rows_are_distinct_also_where_points_are_few(n):
    rows = np.repeat(np.eye(3), 3, axis=0)
    assert len(set(typical(rows, np.eye(3)[:1], n, seed=0).tolist())) == n


def test_labels_away_from_all_candidates_do_not_stand_for_a_cluster():
    rows, known = np.repeat(np.eye(5)[2:], 4, axis=0), np.eye(5)[:2]
    assert sorted(typical(rows, known, 3, seed=0) // 4) == [0, 1, 2]


def test_classes_are_asked_for_typical_rows_first():
    rng = np.random.default_rng(0)
    clump = np.repeat(np.arange(6), 60)
    X = 6.0 * np.eye(6)[clump] + 0.3 * rng.standard_normal((360, 6))
    y = np.full(360, -1)
    y[[0, 60]] = 0, 1
    with pytest.warns(UserWarning, match="hold no label"):
        model = FLGPClassifier(random_state=0).fit(X, y)
    assert sorted(clump[model.suggest(X, 4)]) == [2, 3, 4, 5]


def test_a_batch_is_spread_out_and_has_no_labelled_row(heights):
    X, angle, model, y = heights
    for strategy in STRATEGIES:
        rows = model.suggest(X, 6, strategy=strategy)
        assert len(set(rows.tolist())) == 6
        assert np.isnan(y[rows]).all()
        np.testing.assert_array_equal(rows, model.suggest(X, 6, strategy=strategy))

    # The labels are on a quarter of the ring: a good batch leaves no gap in the rest, unlike the six rows
    # that are least certain one by one.
    def largest_gap(rows):
        return np.diff(np.sort([1.5, *angle[rows], 2 * np.pi])).max()

    assert largest_gap(model.suggest(X, 6, strategy="variance")) < 1.5
    assert largest_gap(np.argsort(-model.predict(X, return_std=True)[1])[:6]) > 1.5


def test_classes_are_asked_where_they_meet():
    rng = np.random.default_rng(0)
    X = np.concatenate([rng.normal(size=(200, 2)), rng.normal((2.5, 0.0), size=(200, 2))])
    truth = np.repeat([0, 1], 200)
    y = np.full(400, -1)
    y[::8] = truth[::8]
    model = FLGPClassifier(**SMALL).fit(X, y)
    p = model.predict_proba(X)[:, 1]
    rows = model.suggest(X, 5, strategy="uncertainty")
    doubt = np.abs(p - 0.5)
    assert doubt[rows].max() <= np.sort(doubt[y == -1])[50]
    for softer in ({"multi_class": "coupled"}, {"hyperparameters": "integrate"}):
        other = FLGPClassifier(**SMALL, **softer).fit(X, np.where(y == -1, -1, y + (X[:, 1] > 1)))
        assert len(other.suggest(X, 3, strategy="variance")) == 3


def test_errors(heights):
    X, _, model, _ = heights
    with pytest.raises(ValueError, match="strategy"):
        model.suggest(X, 3, strategy="best")
    with pytest.raises(ValueError, match="rows without a label"):
        model.suggest(X[:2], 3)


def test_a_compact_model_says_that_it_does_not_know_its_labels(heights, tmp_path):
    X, _, model, _ = heights
    flgp.save(model, tmp_path / "small.flgp", compact=True)
    with pytest.warns(UserWarning, match="does not hold its labels"):
        flgp.load(tmp_path / "small.flgp").suggest(X, 3)
