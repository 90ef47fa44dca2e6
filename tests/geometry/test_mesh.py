from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import linalg, sparse

from flgp.geometry import Mesh
from flgp.geometry.closest_point import TriangleSearch
from flgp.geometry.cotangent import stiffness_and_mass
from flgp.kernels import get_kernel

RNG = np.random.default_rng(0)
SPOT = Path("/work/shared/data/meshes/spot.obj")


def icosphere(depth):
    """A sphere of 20 · 4^depth nearly equal triangles."""
    g = (1 + np.sqrt(5)) / 2
    V = np.array([[s * a, t * b, 0] for a, b in [(1, g)] for s in (-1, 1) for t in (-1, 1)], dtype=float)
    V = np.concatenate([V, np.roll(V, 1, axis=1), np.roll(V, 2, axis=1)])
    near = np.linalg.norm(V[:, None] - V, axis=2) < 2.01
    F = [
        (i, j, k)
        for i in range(12)
        for j in range(i)
        for k in range(j)
        if near[i, j] & near[j, k] & near[i, k]
    ]
    V, F = V / np.linalg.norm(V[0]), np.array(F)
    for _ in range(depth):
        middle = {}
        points, faces = list(V), []
        for i, j, k in F.tolist():
            a, b, c = (
                middle.setdefault(frozenset(edge), len(V) + len(middle)) for edge in ((i, j), (j, k), (k, i))
            )
            faces += [(i, a, c), (a, j, b), (c, b, k), (a, b, c)]
        points = np.empty((len(V) + len(middle), 3))
        points[: len(V)] = V
        for edge, number in middle.items():
            i, j = edge
            points[number] = V[i] + V[j]
        V, F = points / np.linalg.norm(points, axis=1, keepdims=True), np.array(faces)
    return V, F


def sheet(n, m, wrap_n=False, wrap_m=False):
    """The faces of a grid of n × m vertices, each cell cut in two; open, or closed round."""
    i, j = np.meshgrid(np.arange(n if wrap_n else n - 1), np.arange(m if wrap_m else m - 1), indexing="ij")
    i, j = i.ravel(), j.ravel()
    right, up = (i + 1) % n, (j + 1) % m
    a, b, c, d = i * m + j, right * m + j, right * m + up, i * m + up
    return np.concatenate([np.column_stack([a, b, c]), np.column_stack([a, c, d])])


def rectangle(n=61, m=41, width=3.0, height=2.0):
    x, y = np.meshgrid(np.linspace(0, width, n), np.linspace(0, height, m), indexing="ij")
    return np.column_stack([x.ravel(), y.ravel(), np.zeros(n * m)]), sheet(n, m)


def torus(n=150, m=60, large=1.0, small=0.4):
    u, v = np.meshgrid(2 * np.pi * np.arange(n) / n, 2 * np.pi * np.arange(m) / m, indexing="ij")
    out = large + small * np.cos(v)
    V = np.stack([out * np.cos(u), out * np.sin(u), small * np.sin(v)], axis=-1)
    return V.reshape(-1, 3), sheet(n, m, True, True)


def at_vertices(V, F, count):
    nodes = np.arange(len(V))[:, None]
    fitted = Mesh(V, F).fit(nodes, RNG)
    basis = fitted.basis(count)
    return basis, basis.features(fitted.locate(nodes))


def test_sphere_has_the_exact_eigenvalues():
    V, F = icosphere(5)
    basis, phi = at_vertices(V, F, 49)
    ell = np.repeat(np.arange(7), 2 * np.arange(7) + 1)
    np.testing.assert_allclose(basis.eigenvalues, ell * (ell + 1.0), rtol=0.01, atol=1e-9)
    _, mass = stiffness_and_mass(V, F)
    np.testing.assert_allclose(phi.T @ (phi * (mass / mass.sum())[:, None]), np.eye(49), atol=1e-7)
    assert (basis.n_parts, basis.n_capped) == (1, 0)
    assert basis.time_unit == 1 / basis.eigenvalues[-1]
    # the same kernel as that of the sphere: (2ℓ+1) P_ℓ depends on the angle only
    np.testing.assert_allclose((phi[:, 1:4] ** 2).sum(axis=1), 3, rtol=0.02)


def test_rectangle_reflects():
    basis, _ = at_vertices(*rectangle(), 25)
    exact = (np.pi * np.arange(12) / 3)[:, None] ** 2 + (np.pi * np.arange(12) / 2) ** 2
    np.testing.assert_allclose(basis.eigenvalues, np.sort(exact.ravel())[:25], rtol=0.01, atol=1e-9)


def test_torus_of_revolution():
    """u = f(v) cos kφ makes it one-dimensional: -(ρ f')'/(r² ρ) + k²/ρ² f = λ f with ρ = R + r cos v."""
    large, small, m = 1.0, 0.4, 400
    basis, _ = at_vertices(*torus(large=large, small=small), 30)
    step = 2 * np.pi / m
    rho = large + small * np.cos(step * np.arange(m))
    between = large + small * np.cos(step * (np.arange(m) + 0.5))  # from v_i to v_i+1
    flow = np.diag(between + np.roll(between, 1))
    flow -= np.diag(between[:-1], 1) + np.diag(between[:-1], -1)
    flow[0, -1] = flow[-1, 0] = -between[-1]
    flow /= (step * small) ** 2
    exact = [linalg.eigh(flow + np.diag(k**2 / rho), np.diag(rho), eigvals_only=True)[:10] for k in range(15)]
    exact = np.sort(np.concatenate([exact[0]] + [np.repeat(own, 2) for own in exact[1:]]))
    np.testing.assert_allclose(basis.eigenvalues, exact[:30], rtol=0.01, atol=1e-9)


def test_large_meshes_agree_with_lapack():
    V, F = icosphere(4)
    V = V * [1.0, 1.3, 0.8]
    basis, phi = at_vertices(V, F, 100)
    stiffness, mass = stiffness_and_mass(V, F)
    exact = linalg.eigh(stiffness.toarray(), np.diag(mass), eigvals_only=True, subset_by_index=(0, 99))
    np.testing.assert_allclose(basis.eigenvalues, exact, atol=1e-7)
    np.testing.assert_allclose(stiffness @ phi, mass[:, None] * phi * basis.eigenvalues, atol=1e-6)


def read_obj(path):
    lines = path.read_text().splitlines()
    V = [[float(word) for word in line.split()[1:4]] for line in lines if line.startswith("v ")]
    F = [
        [int(word.split("/")[0]) - 1 for word in line.split()[1:4]] for line in lines if line.startswith("f ")
    ]
    return np.array(V), np.array(F)


@pytest.mark.skipif(not SPOT.exists(), reason=f"{SPOT} is not on this machine")
def test_kernel_of_geometric_kernels():
    kernels = pytest.importorskip("geometric_kernels.kernels", exc_type=ImportError)
    spaces = pytest.importorskip("geometric_kernels.spaces", exc_type=ImportError)
    V, F = read_obj(SPOT)
    basis, phi = at_vertices(V, F, 60)
    space = spaces.Mesh(V, F)
    space.cache[60] = (phi, basis.eigenvalues[:, None])
    kernel = kernels.MaternKarhunenLoeveKernel(space, 60, normalize=True)
    nodes = np.arange(0, len(V), 50)[:, None]
    for kind, nu in (("heat", np.inf), ("matern", 1.5)):
        length, power = 0.3, nu + 1.0
        theirs = kernel.K({"nu": np.array([nu]), "lengthscale": np.array([length])}, nodes)
        time = length**2 / 2 if kind == "heat" else power * length**2 / (2 * nu)
        weights = np.exp(get_kernel(kind, power).log_density(basis.eigenvalues, time))
        own = phi[nodes[:, 0]]
        np.testing.assert_allclose((own * (weights / weights.sum())) @ own.T, theirs, atol=1e-6)


@pytest.mark.skipif(not SPOT.exists(), reason=f"{SPOT} is not on this machine")
def test_laplacian_of_robust_laplacian():
    robust_laplacian = pytest.importorskip("robust_laplacian")
    V, F = read_obj(SPOT)
    L, M = robust_laplacian.mesh_laplacian(V, F)
    theirs = sparse.linalg.eigsh(L, 30, sparse.csc_matrix(M), sigma=-0.01, return_eigenvectors=False)
    ours, _ = at_vertices(V, F, 30)
    np.testing.assert_allclose(ours.eigenvalues, np.sort(theirs), rtol=0.01, atol=1e-8)


def brute_force(points, V, F):
    """Distances from all triangles by minimising over a fine grid of each, then exactly on its best cell."""
    best = np.full(len(points), np.inf)
    for face in F:
        corner = V[face]
        normal = np.cross(corner[1] - corner[0], corner[2] - corner[0])
        for k, p in enumerate(points):
            candidates = []
            if np.linalg.norm(normal) > 1e-12:
                n = normal / np.linalg.norm(normal)
                foot = p - ((p - corner[0]) @ n) * n
                turns = [np.cross(corner[(i + 1) % 3] - corner[i], foot - corner[i]) @ n for i in range(3)]
                if min(turns) >= 0:
                    candidates.append(foot)
            for i in range(3):
                a, b = corner[i], corner[(i + 1) % 3]
                t = np.clip((p - a) @ (b - a) / max((b - a) @ (b - a), 1e-300), 0, 1)
                candidates.append(a + t * (b - a))
            best[k] = min(best[k], *(np.linalg.norm(p - c) for c in candidates))
    return best


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 10_000), st.integers(3, 30), st.integers(1, 40), st.floats(0.01, 30))
def test_closest_points_are_those_of_brute_force(seed, n_vertices, n_faces, spread):
    rng = np.random.default_rng(seed)
    V = rng.standard_normal((n_vertices, 3)) * rng.choice([1, 0.01, 20], size=(n_vertices, 1))
    F = np.array([rng.choice(n_vertices, 3, replace=False) for _ in range(n_faces)])
    if n_vertices > 3:
        V[0] = V[1]  # a triangle with two corners in one place
    points = spread * rng.standard_normal((12, 3))
    face, weights, distance = TriangleSearch(V, F)(points)
    np.testing.assert_allclose(distance, brute_force(points, V, F), atol=1e-9 * spread)
    assert (weights >= 0).all()
    np.testing.assert_allclose(weights.sum(axis=1), 1)
    found = np.einsum("bi,bik->bk", weights, V[F[face]])
    np.testing.assert_allclose(np.linalg.norm(points - found, axis=1), distance, atol=1e-9 * spread)


def test_the_centre_of_a_sphere_is_as_near_to_all_triangles():
    V, F = icosphere(3)
    _, _, distance = TriangleSearch(V, F)(np.array([[0.0, 0.0, 0.0], [1e-3, 0, 0]]))
    exact = np.abs(np.einsum("fk,fk->f", V[F].mean(axis=1), V[F].mean(axis=1)) ** 0.5).min()
    np.testing.assert_allclose(distance[0], exact, rtol=1e-3)
    assert distance[1] <= distance[0]


def test_far_points_need_not_be_exact():
    V, F = icosphere(3)
    points = RNG.standard_normal((50, 3))
    search = TriangleSearch(V, F)
    _, _, exact = search(points)
    _, _, rough = search(points, 0.2)
    near = exact < 0.2
    np.testing.assert_array_equal(rough[near], exact[near])
    assert (rough >= exact).all()
    assert (rough < exact + 0.2).all()


def test_points_on_the_mesh():
    V, F = icosphere(3)
    face, weights = RNG.integers(0, len(F), 500), RNG.dirichlet([1, 1, 1], 500)
    X = np.einsum("bi,bik->bk", weights, V[F[face]])
    fitted = Mesh(V, F).fit(X, RNG)
    edge = np.linalg.norm(V[F[:, 0]] - V[F[:, 1]], axis=1).mean()
    np.testing.assert_allclose(fitted.radius, 0.01 * edge, rtol=0.1)
    places = fitted.locate(X)
    np.testing.assert_allclose(places.rows.combine(V), X, atol=1e-12)
    np.testing.assert_array_equal(places.closeness, 1)
    basis = fitted.basis(20)
    _, at_nodes = at_vertices(V, F, 20)
    expected = np.einsum("bi,bim->bm", weights, at_nodes[F[face]])
    np.testing.assert_allclose(basis.features(places), expected, atol=1e-9)
    np.testing.assert_array_equal(fitted.coordinates(X), X)
    nodes = Mesh(V, F).fit(np.array([[5]]), RNG)
    np.testing.assert_array_equal(nodes.coordinates(np.array([[5]])), V[[5]])
    np.testing.assert_array_equal(nodes.distance(np.array([[5]])), [0])
    weights = RNG.standard_normal(20)
    np.testing.assert_allclose(
        basis.rows(places).combine(basis.at_nodes(weights)), basis.features(places) @ weights, atol=1e-12
    )


def test_off_the_mesh_the_prior_returns():
    V, F = icosphere(3)
    fitted = Mesh(V, F).fit(1.05 * V, RNG)
    np.testing.assert_allclose(fitted.radius, 0.05, rtol=0.05)
    far = fitted.locate(np.array([[1.05, 0, 0], [1.5, 0, 0], [3.0, 0, 0]])).closeness
    assert far[0] > 0.99
    assert far[1] < 1e-10
    assert far[2] == 0 or far[2] < 1e-300


def test_several_parts():
    V, F = icosphere(2)
    small, faces = icosphere(1)
    both = np.concatenate([V, 0.05 * small + [3, 0, 0], 0.9 * V - [3, 0, 0]])
    all_faces = np.concatenate([F, faces + len(V), F + len(V) + len(small)])
    basis, phi = at_vertices(both, all_faces, 12)
    assert (basis.n_parts, basis.n_capped) == (3, 1)
    np.testing.assert_allclose(basis.eigenvalues[:3], 0, atol=1e-12)
    for column in phi.T:
        assert len(np.unique(basis.components[np.abs(column) > 1e-12])) == 1
    constant = (phi[:, :3] ** 2).sum(axis=1)
    np.testing.assert_allclose(constant[len(V)] / constant[0], 10, rtol=0.3)
    fitted = Mesh(both, all_faces).fit(both, RNG)
    parts = basis.part_of(fitted.locate(both[[0, len(V), len(both) - 1]]))
    np.testing.assert_array_equal(parts, [0, 1, 2])
    # fewer than there are parts: one each all the same
    assert len(fitted.basis(1).eigenvalues) == 3
    assert fitted.basis(1).time_unit == 1


def test_bad_triangles_do_no_harm():
    V, F = rectangle(31, 21)
    good, _ = at_vertices(V, F, 12)
    # a vertex on the middle of an edge: one triangle of no area, and two in one place with another
    i, j, _ = F[200]
    V = np.concatenate([V, [(V[i] + V[j]) / 2]])
    F = np.concatenate([F, [[i, j, len(V) - 1]]])
    bad, phi = at_vertices(V, F, 12)
    assert np.isfinite(phi).all()
    np.testing.assert_allclose(bad.eigenvalues, good.eigenvalues, rtol=0.03, atol=1e-9)
    V[-1] = V[i]
    assert np.isfinite(at_vertices(V, F, 12)[1]).all()


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 10_000), st.integers(4, 20), st.booleans())
def test_any_triangles_have_a_laplacian(seed, n, flat):
    rng = np.random.default_rng(seed)
    V = rng.standard_normal((n, 3)) * ([1, 1e-9, 0] if flat else [1, 1, 1])
    F = np.array([rng.choice(n, 3, replace=False) for _ in range(2 * n)])
    used, F = np.unique(F, return_inverse=True)
    V, F = V[used], F.reshape(-1, 3)
    stiffness, mass = stiffness_and_mass(V, F)
    assert (mass > 0).all()
    values = linalg.eigvalsh(stiffness.toarray())
    assert values[0] > -1e-9 * values[-1]
    np.testing.assert_allclose(stiffness.sum(axis=1), 0, atol=1e-9 * values[-1])
    basis, phi = at_vertices(V, F, 5)
    assert np.isfinite(phi).all()
    assert (np.diff(basis.eigenvalues) >= 0).all()


TRIANGLE = np.eye(3)


@pytest.mark.parametrize(
    ("vertices", "faces", "message"),
    [
        (TRIANGLE[:, :2], [[0, 1, 2]], "3 coordinates"),
        (TRIANGLE * np.nan, [[0, 1, 2]], "NaN"),
        (TRIANGLE, np.zeros((0, 3), dtype=int), "3 vertex numbers per triangle"),
        (TRIANGLE, [[0, 1]], "3 vertex numbers per triangle"),
        (TRIANGLE, [[0, 1, 2.5]], "not integers"),
        (TRIANGLE, [[1, 2, 3]], "subtract 1"),
        (TRIANGLE, [[-1, 0, 1]], "from -1 to 1"),
        (TRIANGLE, [[0, 1, 1], [0, 1, 2]], "same vertex twice, the first is face 0"),
        (np.eye(4)[:, :3], [[0, 1, 2]], "1 vertices belong to no face"),
        (np.ones((3, 3)), [[0, 1, 2]], "the same point"),
    ],
)
def test_bad_meshes(vertices, faces, message):
    with pytest.raises(ValueError, match=message):
        Mesh(vertices, faces)


def test_bad_rows():
    mesh = Mesh(TRIANGLE, [[0, 1, 2]])
    with pytest.raises(ValueError, match=r"row 1\. Check that points and vertices have the same units"):
        mesh.fit(np.array([[1.0, 0, 0], [100, 0, 0]]), RNG)
    with pytest.raises(ValueError, match="out of range in row 0"):
        mesh.fit(np.array([[3]]), RNG)
    with pytest.raises(ValueError, match="NaN"):
        mesh.fit(np.full((1, 3), np.nan), RNG)
    for n in (0, 2, 4):
        with pytest.raises(ValueError, match="geometry_columns"):
            mesh.columns(n)
    assert [mesh.columns(n) for n in (1, 3)] == [1, 3]
    assert repr(mesh) == "Mesh(3 vertices, 1 faces)"
