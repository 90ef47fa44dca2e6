"""The scale of covariates: what two rows that differ in a column typically differ by."""

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from flgp import FLGPClassifier
from flgp.terms.linear import common_scale, summarize

N = 4000


def scales(*columns):
    table = np.stack(columns, axis=1).astype(float)
    return common_scale(summarize(table, np.arange(table.shape[1])))


def test_quantities_by_two_deviations_and_indicators_in_their_own_unit():
    rng = np.random.default_rng(0)
    quantity, common, rare = 7.0 * rng.standard_normal(N), rng.random(N) < 0.5, rng.random(N) < 0.02
    scale = scales(quantity, common, rare)
    np.testing.assert_allclose(scale[0] / scale[1], 0.5 / quantity.std(), rtol=1e-9)
    np.testing.assert_allclose(scale[1], scale[2], rtol=1e-9)


def test_a_single_two_among_indicators_changes_little():
    rng = np.random.default_rng(1)
    rare = (rng.random(N) < 0.02).astype(float)
    count = rare.copy()
    count[np.flatnonzero(rare)[0]] = 2.0
    scale = scales(rare, count)
    np.testing.assert_allclose(scale[1], scale[0], rtol=0.03)


def test_rare_counts_have_about_the_unit_of_rare_indicators():
    rng = np.random.default_rng(2)
    scale = scales(rng.random(N) < 0.1, rng.poisson(0.1, N))
    assert 0.8 < scale[1] / scale[0] < 1.1


@pytest.mark.parametrize("unit", [1e-9, 1e9])
def test_units_of_quantities_do_not_matter(unit):
    rng = np.random.default_rng(3)
    first, second = rng.standard_normal(N), 3.0 * rng.standard_normal(N)
    np.testing.assert_allclose(scales(first, unit * second), scales(first, second) / [1.0, unit], rtol=1e-9)


def test_constant_columns_count_for_nothing():
    rng = np.random.default_rng(4)
    scale = scales(np.ones(N), np.zeros(N), np.full(N, 1e8), rng.standard_normal(N))
    assert (scale[:3] == 0).all()
    assert scale[3] > 0


def test_words_that_occur_twice_do_not_outweigh_those_that_occur_once():
    """Four topics of 250 words: which counts happen to be 2 among the labels must not matter."""
    rng = np.random.default_rng(5)
    X = rng.poisson(0.05, (800, 1000)).astype(float)
    topic = rng.integers(0, 4, 800)
    np.add.at(X, (np.arange(800)[:, None], rng.integers(0, 250, (800, 20)) + 250 * topic[:, None]), 1.0)
    y = np.full(800, -1)
    y[:80] = topic[:80]
    model = FLGPClassifier(random_state=0, n_jobs=1).fit(X, y)
    rival = LogisticRegression(max_iter=1000).fit(X[:80], topic[:80])
    wrong, wrong_rival = (np.mean(fitted.predict(X[80:]) != topic[80:]) for fitted in (model, rival))
    assert wrong < wrong_rival + 0.02
