"""Values on meshes."""

from __future__ import annotations

import nibabel as nib
import numpy as np
import pytest
from scipy.stats import spearmanr

from flgp import FLGPRegressor
from flgp.neuro import ImageError, Mesh, SurfaceReconstructor
from flgp.neuro.prior import prior_correlation
from flgp.neuro.surface import read_mesh, vertex_image

from .conftest import SMALL


def grid(rows=60, columns=20):
    """Triangles of a rectangular grid."""
    a = (np.arange(rows - 1)[:, None] * columns + np.arange(columns - 1)).ravel()
    return np.vstack(
        [np.column_stack([a, a + columns, a + 1]), np.column_stack([a + 1, a + columns, a + columns + 1])]
    )


def folded(rows=60, columns=20):
    """A sheet of 60×20 mm folded once: two banks 3 mm apart, with opposite normals."""
    arc, y = np.meshgrid(np.arange(rows, dtype=float), np.arange(columns, dtype=float), indexing="ij")
    arc, y = arc.ravel(), y.ravel()
    radius, straight = 1.5, (rows - 1) / 2 - 1.5 * np.pi / 2
    angle = np.clip((arc - straight) / radius, 0, np.pi)
    back = np.maximum(arc - straight - np.pi * radius, 0)
    x = np.minimum(arc, straight) + radius * np.sin(angle) - back
    return Mesh(np.column_stack([x, y, radius * (1 - np.cos(angle))]), grid(rows, columns)), arc


def test_normals_and_geodesics():
    mesh = Mesh(
        np.column_stack([np.repeat(np.arange(60.0), 20), np.tile(np.arange(20.0), 60), np.zeros(1200)]),
        grid(),
    )
    np.testing.assert_allclose(np.abs(mesh.normals()), np.tile([0, 0, 1.0], (1200, 1)))
    np.testing.assert_allclose(mesh.geodesic(0)[::20], np.arange(60.0))  # along an edge of the sheet
    sheet, arc = folded()
    np.testing.assert_allclose(sheet.geodesic(0)[::20], arc[::20], rtol=0.02)


def test_prior_correlation_follows_the_sheet_and_not_the_straight_line():
    mesh, arc = folded()
    values = np.where(np.arange(1200) % 7 == 0, np.sin(arc / 8), np.nan)
    model = FLGPRegressor(
        n_anchors=300, n_eigenpairs=60, residual=None, diffusion_time=60.0, amplitude=1.0, random_state=0
    )
    tool = SurfaceReconstructor(model).fit(mesh, values)
    seed = 5 * 20 + 10
    correlation = prior_correlation(tool.model_, tool.points_, tool.points_[seed])
    geodesic = mesh.geodesic(seed)
    straight = np.linalg.norm(mesh.coordinates - mesh.coordinates[seed], axis=1)
    near = geodesic < 30  # further away there is nothing left to rank
    assert spearmanr(correlation[near], geodesic[near])[0] < -0.95
    assert spearmanr(correlation, straight)[0] > -0.9
    across = int(np.argmin(np.where(geodesic > 40, straight, np.inf)))  # the other bank, 3 mm away
    beside = int(np.argmin(np.abs(geodesic - 6)))  # twice as far in space, on the same bank
    assert straight[across] < straight[beside]
    assert correlation[across] < 0.2 * correlation[beside]


def test_the_picture_of_a_seed_shows_that_correlation_follows_the_sheet():
    pytest.importorskip("matplotlib")
    from flgp.neuro.surface_views import plot_geodesic

    mesh, arc = folded()
    values = np.where(np.arange(1200) % 7 == 0, np.sin(arc / 8), np.nan)
    model = FLGPRegressor(n_eigenpairs=60, residual=None, diffusion_time=60.0, amplitude=1.0, random_state=0)
    figure = plot_geodesic(SurfaceReconstructor(model).fit(mesh, values), 5 * 20 + 10, reach=45.0)
    ranks = {
        name: float(value)
        for name, _, value in (ax.get_title().partition(": rank correlation ") for ax in figure.axes)
        if value
    }
    assert ranks["Geodesic distance"] < -0.95
    assert ranks["Geodesic distance"] < ranks["Straight distance"] - 0.1


def test_values_are_completed_and_kept(tmp_path):
    mesh, arc = folded()
    truth = np.sin(arc / 8)
    values = np.where(np.random.default_rng(0).random(1200) < 0.3, np.nan, truth)
    tool = SurfaceReconstructor(SMALL)
    result = tool.fit_reconstruct(mesh, values)
    path = tmp_path / "mean.func.gii"
    result.mean.to_filename(path)
    mean = nib.load(path).darrays[0].data
    known = ~np.isnan(values)
    np.testing.assert_array_equal(mean[known], values[known].astype(np.float32))
    np.testing.assert_allclose(mean[~known], truth[~known], atol=0.1)
    assert (result.std.darrays[0].data[~known] > 0).all()
    scores = (
        SurfaceReconstructor(SMALL, labeled_ratio=0.3, random_state=0).fit_reconstruct(mesh, truth).scores
    )
    assert scores.mse < 0.05 * truth.var()


def test_gifti_files(tmp_path):
    mesh, arc = folded()
    points = nib.gifti.GiftiDataArray(mesh.coordinates.astype(np.float32), intent="NIFTI_INTENT_POINTSET")
    faces = nib.gifti.GiftiDataArray(mesh.faces.astype(np.int32), intent="NIFTI_INTENT_TRIANGLE")
    nib.gifti.GiftiImage(darrays=[points, faces]).to_filename(tmp_path / "mesh.surf.gii")
    vertex_image(arc).to_filename(tmp_path / "arc.func.gii")
    read = read_mesh(tmp_path / "mesh.surf.gii")
    np.testing.assert_allclose(read.coordinates, mesh.coordinates, rtol=1e-6)
    tool = SurfaceReconstructor(SMALL, labeled_ratio=0.5, random_state=0).fit(
        tmp_path / "mesh.surf.gii", tmp_path / "arc.func.gii"
    )
    np.testing.assert_array_equal(tool.values_, arc)


def test_refusals(tmp_path):
    mesh, arc = folded()
    with pytest.raises(ImageError, match=r"shape \(10,\), but the mesh has 1,200 vertices"):
        SurfaceReconstructor(smooth=True).fit(mesh, arc[:10])
    with pytest.raises(ImageError, match="nothing to reconstruct"):
        SurfaceReconstructor().fit(mesh, arc)
    with pytest.raises(ImageError, match="no vertex has a finite value"):
        SurfaceReconstructor().fit(mesh, np.full(1200, np.nan))
    with pytest.raises(ImageError, match=r"2 columns.*--index"):
        SurfaceReconstructor(smooth=True).fit(mesh, np.column_stack([arc, arc]))
    with pytest.raises(ImageError, match="vertex numbers below 1200"):
        read_mesh((mesh.coordinates, mesh.faces + 1200))
    (tmp_path / "bad.gii").write_text("no mesh")
    with pytest.raises(ImageError, match="mesh cannot be read"):
        read_mesh(tmp_path / "bad.gii")
