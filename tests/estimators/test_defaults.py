"""What "auto" means."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from flgp import HeatKernelFeatures
from flgp.datasets import circles
from flgp.geometry.point_cloud.defaults import auto_anchor_sets, auto_anchors, auto_eigenpairs


@given(st.integers(1, 10**9))
def test_anchors_grow_with_the_points_up_to_a_limit(n):
    s = auto_anchors(n)
    assert 1 <= s <= min(n, 16_000)
    assert s <= auto_anchors(n + 1)
    assert s >= min(n // 5, 16_000)


@given(st.integers(1, 10**9), st.integers(1, 4))
def test_one_of_several_sets_has_fewer_anchors(n, n_sets):
    assert auto_anchors(n, n_sets) == min(auto_anchors(n), 16_000 if n_sets == 1 else 10_000)


def test_two_sets_in_many_columns():
    assert [auto_anchor_sets(10_000, p) for p in (1, 12, 13, 784)] == [1, 1, 2, 2]
    assert auto_anchor_sets(100, 784) == 1


def test_eigenpairs_are_fewer_than_the_anchors_can_tell_apart():
    assert auto_eigenpairs(1, 0) == 1
    assert auto_eigenpairs(2, 0) == 2  # the first is constant
    assert auto_eigenpairs(3, 0) == 2
    assert auto_eigenpairs(4, 0, n_sets=2) == 2
    assert auto_eigenpairs(100, 10**6) == 50
    assert auto_eigenpairs(16_000, 100) == 200
    assert auto_eigenpairs(16_000, 5_000) == 500
    assert auto_eigenpairs(16_000, 10**6) == 1000


def test_sets_share_the_eigenpairs():
    assert auto_eigenpairs(16_000, 100, n_sets=2) == 100
    assert auto_eigenpairs(16_000, 3_000, n_sets=2) == 300
    assert auto_eigenpairs(16_000, 10**6, n_sets=2) == 500
    assert auto_eigenpairs(80, 100, n_sets=2) == 20


def test_a_fit_uses_them():
    data = circles(900, random_state=0)
    model = HeatKernelFeatures(random_state=0).fit(data.X)
    assert len(model.anchors_) <= 180
    # Few are lost: clusters that nobody shares.
    assert len(model.anchors_) > 150
    assert np.all(np.isfinite(model.transform(data.X)))
