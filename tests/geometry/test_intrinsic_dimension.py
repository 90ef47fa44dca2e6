import numpy as np
import pytest

from flgp import estimate_intrinsic_dimension


@pytest.mark.parametrize("d", [1, 2, 3])
def test_spheres_in_ten_dimensions(d, rng):
    sphere = rng.normal(size=(3000, d + 1))
    sphere /= np.linalg.norm(sphere, axis=1, keepdims=True)
    rotation = np.linalg.qr(rng.normal(size=(10, 10)))[0]
    assert estimate_intrinsic_dimension(sphere @ rotation[: d + 1]) == pytest.approx(d, rel=0.1)


def test_duplicates_and_few_points(rng):
    angle = np.repeat(rng.uniform(0, 2 * np.pi, 300), 3)
    ring = np.column_stack([np.cos(angle), np.sin(angle)])
    assert estimate_intrinsic_dimension(ring) == pytest.approx(1.0, rel=0.15)
    assert 0 < estimate_intrinsic_dimension(ring[::3][:4]) <= 2.0
    with pytest.raises(ValueError, match="2 distinct rows"):
        estimate_intrinsic_dimension(ring[:6])
    with pytest.raises(ValueError, match="n_neighbors=1"):
        estimate_intrinsic_dimension(ring, n_neighbors=1)
