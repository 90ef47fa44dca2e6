from dataclasses import replace
from itertools import combinations

import numpy as np
import pytest
from scipy import sparse

from flgp.terms.local.dissection import _vertex_cover, dissect, stored_entries
from flgp.terms.local.neighborhoods import coarse_to_fine, previous_neighborhoods


def neighborhoods(rng, m, p, k):
    points = rng.random((m, p))
    return points, previous_neighborhoods(points, k, coarse_to_fine(points, rng))


@pytest.mark.parametrize(("m", "p", "k"), [(1, 2, 5), (2, 1, 5), (60, 2, 10), (700, 1, 6), (900, 3, 12)])
def test_fronts_are_an_elimination(rng, m, p, k):
    points, near = neighborhoods(rng, m, p, k)
    fronts = dissect(points, near)
    np.testing.assert_array_equal(np.sort(np.concatenate([front.own for front in fronts])), np.arange(m))
    np.testing.assert_array_equal(np.sort(np.concatenate([front.rows for front in fronts])), np.arange(m))
    when = np.empty(m, dtype=int)
    for number, front in enumerate(fronts):
        when[front.own] = number
    for number, front in enumerate(fronts):
        members = np.concatenate([front.own, front.border])
        assert np.all(when[front.border] > number)
        # Every block is inside the front that it is assigned to, and begins there.
        blocks = np.concatenate([front.rows[:, None], near.neighbors[front.rows]], axis=1)
        np.testing.assert_array_equal(members[front.places], blocks)
        assert np.all(when[blocks].min(axis=1) == number)
        # Whatever is left over is handed on to the parent.
        if len(front.border):
            parent = fronts[front.parent]
            handed = np.concatenate([parent.own, parent.border])[front.into_parent]
            np.testing.assert_array_equal(handed, front.border)
            assert np.all(np.diff(front.into_parent) > 0)
        else:
            assert front.parent == -1 or len(front.into_parent) == 0


def test_separate_clusters_are_never_joined(rng):
    clusters = [rng.random((100, 2)) + np.array([1000.0 * i, 0.0]) for i in range(4)]
    points = np.concatenate(clusters)
    own = [previous_neighborhoods(part, 8, coarse_to_fine(part, rng)) for part in clusters]
    near = previous_neighborhoods(points, 8, np.arange(400))
    joined = np.concatenate([part.neighbors + 100 * i for i, part in enumerate(own)])
    fronts = dissect(points, replace(near, neighbors=joined))
    cluster = np.arange(400) // 100
    for front in fronts:
        assert len(np.unique(cluster[np.concatenate([front.own, front.border])])) == 1


def test_it_stays_sparse_in_a_plane(rng):
    points, near = neighborhoods(rng, 4000, 2, 10)
    assert stored_entries(dissect(points, near)) < 0.06 * 4000**2


def test_vertex_covers_are_smallest(rng):
    for _ in range(40):
        edges = rng.random((5, 6)) < rng.uniform(0.1, 0.7)
        rows, columns = _vertex_cover(sparse.csr_array(edges.astype(float)))
        assert not edges[np.ix_(~rows, ~columns)].any()

        def covers(chosen, edges=edges):
            out = np.isin(np.arange(11), chosen)
            return not edges[np.ix_(~out[:5], ~out[5:])].any()

        fewest = next(n for n in range(12) if any(covers(c) for c in combinations(range(11), n)))
        assert rows.sum() + columns.sum() == fewest
