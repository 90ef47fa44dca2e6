"""Tangential fields on meshes against vector harmonics, flat waves and the flows round a torus."""

from pathlib import Path

import numpy as np
import pytest
from test_mesh import SPOT, icosphere, read_obj, rectangle, torus

import flgp
from flgp import FLGPRegressor
from flgp.geometry import Mesh, TangentMesh
from flgp.geometry.cotangent import stiffness_and_mass
from flgp.geometry.mesh_fields import MeshFields, oriented
from flgp.geometry.tangent import TangentHarmonics

RNG = np.random.default_rng(0)
BUNNY = Path("/work/shared/data/meshes/stanford-bunny.obj")


def tangents(normals, seed=0):
    """A unit vector across each normal."""
    direction = np.random.default_rng(seed).standard_normal(normals.shape)
    direction -= normals * np.sum(normals * direction, axis=1, keepdims=True)
    return direction / np.linalg.norm(direction, axis=1, keepdims=True)


def features(geometry, X, count):
    fitted = geometry.fit(X, RNG)
    basis = fitted.basis(count)
    return basis.eigenvalues, basis.features(fitted.locate(X))


def test_on_a_sphere_the_kernel_converges_to_that_of_vector_harmonics():
    degree, share, time = 6, 0.2, 0.1
    ell = np.arange(1.0, degree + 1)
    exact = np.repeat(ell * (ell + 1), (2 * (2 * ell + 1)).astype(int))
    x = icosphere(2)[0]
    points = np.column_stack([x, tangents(x)])
    values = TangentHarmonics(degree, share)(points)
    want = values * np.exp(-time * exact) @ values.T
    error = []
    for depth in (3, 4):
        eigenvalues, phi = features(TangentMesh(Mesh(*icosphere(depth)), share), points, len(exact))
        np.testing.assert_allclose(eigenvalues, exact, rtol=0.08 if depth == 3 else 0.02)
        error.append(np.abs(phi * np.exp(-time * exact) @ phi.T - want).max() / want.max())
    assert error[1] < 0.02
    assert error[1] < 0.6 * error[0]


def test_between_vertices_and_whatever_the_length_of_the_direction():
    V, F = icosphere(4)
    x = np.random.default_rng(1).standard_normal((40, 3))
    x /= np.linalg.norm(x, axis=1, keepdims=True)
    points = np.column_stack([x, tangents(x)])
    far = np.column_stack([x, 1e200 * tangents(x)])
    geometry = TangentMesh(Mesh(V, F), 0.5)
    phi, same = (features(geometry, X, 30)[1] for X in (points, far))
    np.testing.assert_allclose(phi, same, rtol=1e-12)
    want = TangentHarmonics(3, 0.5)(points)
    np.testing.assert_allclose(phi @ phi.T, want @ want.T, atol=0.02 * np.abs(want @ want.T).max())


def test_vertex_numbers_are_the_points_themselves():
    V, F = icosphere(2)
    geometry, direction = TangentMesh(Mesh(V, F), 0.5), tangents(V)
    by_number = features(geometry, np.column_stack([np.arange(len(V)), direction]), 30)[1]
    by_point = features(geometry, np.column_stack([V, direction]), 30)[1]
    np.testing.assert_allclose(by_number, by_point, atol=1e-10)


def test_fields_have_mean_square_one_and_are_orthogonal():
    V, F = icosphere(4)
    X = np.concatenate([np.column_stack([V, np.tile(e, (len(V), 1))]) for e in np.eye(3)])
    phi = features(TangentMesh(Mesh(V, F), 0.5), X, 30)[1]
    mass = stiffness_and_mass(V, F)[1]
    # Three components of a vector in a plane: twice the mean over directions in it.
    gram = phi.T @ (phi * np.tile(mass / mass.sum(), 3)[:, None]) / 2
    np.testing.assert_allclose(np.diag(gram), 1.0, rtol=1e-10)
    np.testing.assert_allclose(gram, np.eye(30), atol=0.005)


def test_a_flat_sheet_has_sines():
    V, F = rectangle(61, 41, 3.0, 2.0)
    inside = (np.abs(V[:, 0] - 1.5) < 1.2) & (np.abs(V[:, 1] - 1) < 0.8)
    along = np.column_stack([V, np.tile([1.0, 0, 0], (len(V), 1))])
    eigenvalues, phi = features(TangentMesh(Mesh(V, F), 0.5), along, 2)
    # u = √2 cos(πx/3): ∇u/√λ is along x, its curl across.
    np.testing.assert_allclose(eigenvalues, (np.pi / 3) ** 2, rtol=2e-3)
    want = 2 * np.sin(np.pi * V[:, 0] / 3)
    np.testing.assert_allclose(np.abs(phi[inside, 1]), np.abs(want)[inside], atol=0.02)
    np.testing.assert_allclose(phi[:, 0], 0.0, atol=0.01)


def test_two_harmonic_fields_run_round_a_torus():
    V, F = torus(120, 48)
    on_mesh = MeshFields(V, oriented(F))
    (found,) = on_mesh.harmonic(len(V))
    assert found.shape == (len(V), 3, 2)
    radius = np.hypot(V[:, 0], V[:, 1])
    round_axis = np.column_stack([-V[:, 1], V[:, 0], np.zeros(len(V))]) / radius[:, None]
    out = V[:, :2] / radius[:, None]
    # dv/(large + small cos v) in the other direction: both have neither divergence nor curl.
    tube = np.column_stack([-out * (V[:, 2] / 0.4)[:, None], (radius - 1.0) / 0.4])
    exact = np.stack([round_axis / radius[:, None], tube / radius[:, None]], axis=2)
    one, other = (fields.reshape(-1, 2) for fields in (found, exact))
    rest = other - one @ np.linalg.lstsq(one, other)[0]
    assert np.linalg.norm(rest, axis=0).max() < 0.01 * np.linalg.norm(other, axis=0).min()
    assert MeshFields(*icosphere(2)).harmonic(162) == []


def test_a_flow_round_the_hole_is_learned():
    V, F = torus(60, 24)
    radius = np.hypot(V[:, 0], V[:, 1])
    flow = np.column_stack([-V[:, 1], V[:, 0], np.zeros(len(V))]) / radius[:, None] ** 2
    rng = np.random.default_rng(0)
    place, axis = np.repeat(rng.choice(len(V), 15, replace=False), 3), np.tile(np.arange(3), 15)
    X = np.column_stack([place, np.eye(3)[axis]])
    y = flow[place, axis] + 0.02 * rng.standard_normal(45)
    model = FLGPRegressor(geometry=TangentMesh(Mesh(V, F)), mean="zero", random_state=0).fit(X, y)
    everywhere = np.column_stack([np.arange(len(V)), flow])
    found = model.predict(everywhere)
    np.testing.assert_allclose(found, np.linalg.norm(flow, axis=1), atol=0.15)


def field_on(V, F, seed, share, time, count=60):
    """All three components of a random field at the vertices, and the rows."""
    X = np.concatenate([np.column_stack([V, np.tile(e, (len(V), 1))]) for e in np.eye(3)])
    eigenvalues, phi = features(TangentMesh(Mesh(V, F), share), X, count)
    weights = np.random.default_rng(seed).standard_normal(count)
    f = phi @ (np.exp(-0.5 * time * eigenvalues) * weights)
    return X, f / f.std()


@pytest.mark.skipif(not BUNNY.exists(), reason=f"{BUNNY} is not on this machine")
def test_the_bunny_has_fields():
    V, F = read_obj(BUNNY)
    used, F = np.unique(F, return_inverse=True)
    V, F = V[used], F.reshape(-1, 3)
    X, f = field_on(V, F, 0, 0.3, 0.01 * np.ptp(V) ** 2, 20)
    v = f.reshape(3, -1)
    normal = np.zeros_like(V)
    own = np.cross(*(V[oriented(F)][:, k] - V[oriented(F)][:, 0] for k in (1, 2)))
    for k in range(3):
        np.add.at(normal, F[:, k], own)
    along = np.sum(v.T * normal, axis=1) / np.linalg.norm(normal, axis=1)
    np.testing.assert_allclose(along, 0.0, atol=1e-8)
    assert len(X) == 3 * len(V)


@pytest.mark.skipif(not SPOT.exists(), reason=f"{SPOT} is not on this machine")
def test_components_together_are_better_than_alone():
    V, F = read_obj(SPOT)
    scale = np.linalg.norm(np.ptp(V, axis=0))
    X, f = field_on(V, F, 3, 0.05, 0.005 * scale**2)
    n, rng = len(V), np.random.default_rng(0)
    places = rng.choice(n, 60, replace=False)
    known = np.concatenate([places + k * n for k in range(3)])
    rest = rng.choice(np.setdiff1d(np.arange(3 * n), known), 2000, replace=False)
    y = f[known] + 0.05 * rng.standard_normal(len(known))
    field = FLGPRegressor(geometry=TangentMesh(Mesh(V, F)), mean="zero", random_state=0)
    mean, std = field.fit(X[known], y).predict(X[rest], return_std=True)
    assert field.geometry_.divergent < 0.5
    alone = FLGPRegressor(geometry=Mesh(V, F), residual=None, shared=True, random_state=0)
    alone.fit(V[places], y.reshape(3, -1).T)
    apart = alone.predict(V).T.ravel()[rest]
    error, other = (np.sqrt(np.mean((p - f[rest]) ** 2)) for p in (mean, apart))
    assert error < 0.7 * other
    assert 0.88 < np.mean(np.abs(mean - f[rest]) < 1.96 * std) <= 1.0


def test_the_order_of_corners_does_not_matter():
    V, F = icosphere(2)
    mixed = F.copy()
    flipped = np.random.default_rng(0).random(len(F)) < 0.5
    mixed[flipped] = mixed[flipped][:, ::-1]
    normal = np.cross(*(V[oriented(mixed)][:, k] - V[oriented(mixed)][:, 0] for k in (1, 2)))
    outward = np.sum(normal * V[mixed].mean(axis=1), axis=1)
    assert (outward > 0).all() or (outward < 0).all()


def test_stored_and_loaded(tmp_path):
    V, F = icosphere(1)
    X, f = field_on(V, F, 1, 0.5, 0.1, 20)
    model = FLGPRegressor(geometry=TangentMesh(Mesh(V, F)), mean="zero", random_state=0).fit(X, f)
    flgp.save(model, tmp_path / "field.flgp")
    again = flgp.load(tmp_path / "field.flgp")
    np.testing.assert_array_equal(again.predict(X), model.predict(X))
    assert again.geometry.divergent is None
    assert len(again.geometry.mesh.vertices) == len(V)


def test_degenerate_triangles_do_no_harm():
    V, F = rectangle(9, 7)
    V[:, 1] *= np.where(V[:, 0] > 2.9, 0.0, 1.0)  # one side is pressed into a point
    X = np.column_stack([V, np.tile([0.6, 0.8, 0.0], (len(V), 1))])
    eigenvalues, phi = features(TangentMesh(Mesh(V, F), 0.5), X, 40)
    assert np.isfinite(eigenvalues).all()
    assert np.isfinite(phi).all()


def test_bad_meshes_rows_and_shares_are_named():
    V, F = icosphere(1)
    mesh = Mesh(V, F)
    with pytest.raises(ValueError, match="between 0 and 1"):
        TangentMesh(mesh, 1.5)
    with pytest.raises(ValueError, match="takes a Mesh"):
        TangentMesh((V, F))
    pages = np.array([[0, 1, 2], [0, 1, 3], [0, 1, 4]])
    with pytest.raises(ValueError, match="more than two faces"):
        TangentMesh(Mesh(V[:5], pages))
    strip = np.array([[0, 1, 2], [1, 2, 3], [2, 3, 4], [3, 4, 0], [4, 0, 1]])
    with pytest.raises(ValueError, match="one-sided"):
        TangentMesh(Mesh(V[:5], strip))
    with pytest.raises(ValueError, match="6 columns"):
        FLGPRegressor(geometry=TangentMesh(mesh)).fit(np.zeros((5, 3)), np.zeros(5))
    rows = np.column_stack([V, np.zeros((len(V), 3))])
    with pytest.raises(ValueError, match=r"direction.*zero in rows 0, 1"):
        TangentMesh(mesh).fit(rows, RNG)
    good = np.column_stack([V, tangents(V)])
    with pytest.raises(ValueError, match="residual"):
        FLGPRegressor(geometry=TangentMesh(mesh, 0.5), residual="local").fit(good, np.arange(len(V)) * 1.0)
