"""Simulated manifolds: where the points lie, how they are spread, what the seed fixes."""

import numpy as np
import pytest
from scipy.spatial import cKDTree
from scipy.stats import kstest

from flgp.datasets import circle, circles, folded_sheet, sphere, spiral, spiral_density, swiss_roll, torus

REGRESSION = [circle, sphere, spiral, swiss_roll, torus, folded_sheet]
TURN = 2 * np.pi


@pytest.mark.parametrize("make", [*REGRESSION, circles])
def test_shapes_and_determinism(make):
    data, again, other = make(301, random_state=3), make(301, random_state=3), make(301, random_state=4)
    assert len(data.X) == len(data.y) == 301
    assert np.isfinite(data.X).all()
    np.testing.assert_array_equal(data.X, again.X)
    np.testing.assert_array_equal(data.y, again.y)
    assert not np.array_equal(data.y, other.y)


@pytest.mark.parametrize("make", REGRESSION)
def test_noise_is_apart_from_the_signal(make):
    data, louder = make(2000, noise_sd=0.5, random_state=0), make(2000, noise_sd=1.0, random_state=0)
    np.testing.assert_array_equal(data.X, louder.X)
    np.testing.assert_allclose(louder.noise, 2 * data.noise)
    np.testing.assert_array_equal(data.y, data.f + data.noise)
    assert data.noise.std() == pytest.approx(0.5, rel=0.1)


@pytest.mark.parametrize("n", [0, -1, 2.5, True])
def test_bad_sizes(n):
    with pytest.raises(ValueError, match="n="):
        circles(n)


@pytest.mark.parametrize("n", [3000, 3001])
def test_circles(n):
    data = circles(n, random_state=1)
    np.testing.assert_allclose(data.X.mean(axis=0), 0, atol=1e-12)
    np.testing.assert_allclose(data.X.std(axis=0), np.sqrt(0.5))
    sizes = np.bincount(data.circle)
    assert len(sizes) == 6
    assert sizes.max() - sizes.min() <= 1
    np.testing.assert_array_equal(data.y, data.circle % 2 == 0)
    assert set(data.circle[:60]) == set(range(6))  # any leading rows are a sample
    # Undoing the affine scaling gives the radii back.
    ring = np.column_stack([np.cos(data.theta), np.sin(data.theta)]) * (0.5 + 0.1 * data.circle)[:, None]
    np.testing.assert_allclose(data.X, (ring - ring.mean(axis=0)) / ring.std(axis=0) / np.sqrt(2), atol=1e-12)


def test_circles_of_one_point():
    assert np.isfinite(circles(1, random_state=0).X).all()


def test_spiral_grid_is_that_of_the_paper():
    data = spiral(4000)
    assert data.theta[0] == 0
    assert data.theta[-1] == pytest.approx(8 * np.pi)
    np.testing.assert_allclose(np.linalg.norm(data.X, axis=1), (data.theta + 4) ** 0.7)
    # Dense enough for the chords to measure the arc.
    chords = np.linalg.norm(np.diff(data.X, axis=0), axis=1).sum()
    assert data.arc[-1] == pytest.approx(chords, rel=1e-5)
    np.testing.assert_allclose(data.distances_from(10), np.abs(data.arc - data.arc[10]))
    kernel = data.heat_kernel_from(2000, 1.0, measure="volume")
    assert np.sum((kernel[1:] + kernel[:-1]) / 2 * np.diff(data.arc)) == pytest.approx(1, rel=1e-6)


@pytest.mark.parametrize("sampling", ["uniform", "blocks", "sine"])
def test_spiral_laws(sampling):
    theta = spiral(5000, sampling=sampling, random_state=7).theta
    grid = np.linspace(0, 8 * np.pi, 40_001)
    middle = (grid[1:] + grid[:-1]) / 2
    cumulative = np.append(0, np.cumsum(spiral_density(middle, sampling)) * (grid[1] - grid[0]))
    assert cumulative[-1] == pytest.approx(1, rel=1e-5)
    assert kstest(theta, lambda x: np.interp(x, grid, cumulative)).pvalue > 0.01
    assert spiral_density(-0.1, sampling) == 0
    assert spiral_density(8 * np.pi + 0.1, sampling) == 0


def test_spiral_turn_masses():
    theta = spiral(40_000, sampling="blocks", random_state=0).theta
    shares = np.histogram(theta, bins=TURN * np.arange(5))[0] / len(theta)
    np.testing.assert_allclose(shares, [0.45, 0.05, 0.45, 0.05], atol=0.01)


def test_unknown_sampling_lists_the_known():
    with pytest.raises(ValueError, match="'grid', 'uniform', 'blocks', 'sine'"):
        spiral(10, sampling="cosine")


@pytest.mark.parametrize("sampling", ["uniform", "grid"])
def test_sphere_is_uniform(sampling):
    data = sphere(4000, sampling=sampling, random_state=0)
    np.testing.assert_allclose(np.linalg.norm(data.X, axis=1), 1)
    np.testing.assert_allclose(data.X.T @ data.X / 4000, np.eye(3) / 3, atol=0.02)
    # Harmonics average to zero, and the heat kernel against the uniform probability to one.
    assert data.f.mean() == pytest.approx(0, abs=0.05)
    assert data.heat_kernel_from(0, 0.5, measure="probability").mean() == pytest.approx(1, abs=0.1)
    assert data.distances_from(0).max() <= np.pi


@pytest.mark.parametrize("sampling", ["uniform", "grid"])
def test_flat_torus(sampling):
    data = torus(4000, sampling=sampling, radii=(1.0, 0.5), random_state=0)
    assert data.X.shape == (4000, 4)
    np.testing.assert_allclose(np.linalg.norm(data.X[:, :2], axis=1), 1)
    np.testing.assert_allclose(np.linalg.norm(data.X[:, 2:], axis=1), 0.5)
    assert data.heat_kernel_from(0, 0.3, measure="probability").mean() == pytest.approx(1, abs=0.1)
    near = data.distances_from(5) < 0.2
    chord = np.linalg.norm(data.X - data.X[5], axis=1)
    np.testing.assert_allclose(chord[near], data.distances_from(5)[near], rtol=0.02)


def test_ring_torus_is_uniform_by_area():
    data = torus(20_000, embedding="ring", radii=(1.0, 0.95), random_state=0)
    from_axis = np.linalg.norm(data.X[:, :2], axis=1)
    np.testing.assert_allclose((from_axis - 1) ** 2 + data.X[:, 2] ** 2, 0.95**2)
    v = data.angles[:, 1]
    assert kstest(v, lambda x: (x + 0.95 * np.sin(x)) / TURN).pvalue > 0.01
    with pytest.raises(ValueError, match="embedding='flat'"):
        data.distances_from(0)
    with pytest.raises(ValueError, match="radii"):
        torus(10, embedding="ring", radii=(0.5, 1.0))


def test_circle_grid_is_equally_spaced():
    data = circle(600)
    np.testing.assert_allclose(np.diff(data.theta), TURN / 600)
    assert data.distances_from(0).max() == pytest.approx(np.pi)
    assert data.heat_kernel_from(3, 0.01, measure="probability").mean() == pytest.approx(1)


def graph_steps(X, flat, k=8):
    """Ambient and flat lengths of short hops between neighbours."""
    distance, index = cKDTree(flat).query(flat, k=k)
    hop = np.linalg.norm(X[index[:, 1:]] - X[:, None], axis=2)
    return hop, distance[:, 1:]


def test_swiss_roll_is_isometric_and_uniform():
    data = swiss_roll(20_000, random_state=0)
    hop, flat = graph_steps(data.X, data.coordinates)
    assert (hop <= flat + 1e-9).all()
    np.testing.assert_allclose(hop, flat, rtol=0.02)
    assert kstest(data.arc / data.sides[0], "uniform").pvalue > 0.01
    np.testing.assert_allclose(data.distances_from(3)[3], 0)
    assert data.heat_kernel_from(3, 20.0, measure="probability").mean() == pytest.approx(1, abs=0.1)


def test_folded_sheet_is_isometric():
    data = folded_sheet(20_000, jitter=0.0, random_state=0)
    assert np.ptp(data.X[:, 2]) == pytest.approx(11 * 0.08, abs=1e-3)
    assert np.ptp(data.X[:, 1]) == pytest.approx(1, abs=1e-3)
    hop, flat = graph_steps(data.X, data.coordinates, k=3)
    assert (hop <= flat + 1e-9).all()
    straight = hop > 0.999 * flat
    assert straight.mean() > 0.8  # only steps around a turn take a short cut
    # The curve itself, finely sampled, has the length of the sheet.
    order = np.argsort(data.arc)
    across_layers = data.X[order][:, [0, 2]]
    assert np.linalg.norm(np.diff(across_layers, axis=0), axis=1).sum() == pytest.approx(12, abs=0.02)


def test_folded_sheet_layers_are_far_apart_along_the_sheet():
    data = folded_sheet(20_000, random_state=0)
    distance, index = cKDTree(data.X).query(data.X, k=60)
    geodesic = np.linalg.norm(data.coordinates[index] - data.coordinates[:, None], axis=2)
    assert (geodesic[distance < 0.1] > 1).any()


@pytest.mark.parametrize("metric", ["space", "sheet"])
def test_folded_sheet_signals(metric):
    data = folded_sheet(4000, short_range_metric=metric, jitter=0.001, random_state=5)
    np.testing.assert_allclose(data.f, data.long_range + data.short_range)
    expected = 2 * np.sin(np.pi * data.arc / 3) + np.cos(4 * np.pi * data.width)
    np.testing.assert_allclose(data.long_range, expected)


@pytest.mark.parametrize("metric", ["space", "sheet"])
def test_short_range_draw_has_the_stated_covariance(metric):
    # Pairs at about one length scale: the average product over pairs and draws against 0.25 exp(-d²/2ℓ²).
    products, expected = [], []
    for seed in range(4):
        data = folded_sheet(6000, short_range_metric=metric, random_state=seed)
        where = data.X if metric == "space" else data.coordinates
        pairs = cKDTree(where).query_pairs(0.06, output_type="ndarray")
        distance = np.linalg.norm(where[pairs[:, 0]] - where[pairs[:, 1]], axis=1)
        for low in (0.0, 0.02, 0.04):
            ring = (distance >= low) & (distance < low + 0.02)
            products.append(np.mean(data.short_range[pairs[ring, 0]] * data.short_range[pairs[ring, 1]]))
            expected.append(np.mean(0.25 * np.exp(-(distance[ring] ** 2) / (2 * 0.04**2))))
    np.testing.assert_allclose(
        np.reshape(products, (4, 3)).mean(axis=0), np.reshape(expected, (4, 3)).mean(axis=0), atol=0.03
    )


def test_folded_sheet_exact_answers_are_those_of_the_flat_rectangle():
    data = folded_sheet(20_000, random_state=2)
    distance = data.distances_from(7)
    np.testing.assert_allclose(distance**2, (data.arc - data.arc[7]) ** 2 + (data.width - data.width[7]) ** 2)
    assert data.heat_kernel_from(7, 0.05, measure="probability").mean() == pytest.approx(1, abs=0.1)


def test_negative_noise():
    with pytest.raises(ValueError, match="noise_sd"):
        circle(10, noise_sd=-1)


def test_impossible_sheet():
    with pytest.raises(ValueError, match="cannot be folded"):
        folded_sheet(10, n_layers=100, gap=0.5)
