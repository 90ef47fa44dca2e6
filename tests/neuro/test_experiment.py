"""`flgp reproduce brain`: rows and tables from maps of one's own; the bundled map and surface."""

from __future__ import annotations

import nibabel as nib
import numpy as np
import pytest
from scipy.stats import spearmanr

from flgp import FLGPRegressor
from flgp.experiments.reproduce import Options, find
from flgp.experiments.reproduce.subjects import study_of
from flgp.neuro import SurfaceReconstructor, VolumeReconstructor, activation_regions
from flgp.neuro.prior import prior_correlation
from flgp.neuro.surface import read_mesh

from .conftest import AFFINE


@pytest.fixture
def options(tmp_path, brain, mask):
    mask.to_filename(tmp_path / "mask.nii")
    for k in range(2):
        data = np.tile(np.asarray(brain.dataobj), (2, 2, 2))
        nib.Nifti1Image((data * (1 + 0.1 * k)).astype(np.float32), AFFINE).to_filename(tmp_path / f"{k}.nii")
    return Options(
        maps=tuple(str(tmp_path / f"{k}.nii") for k in range(2)), repeats=1, quick=True, methods=("lk", "egp")
    )


def test_rows_and_tables(options):
    experiment = find("brain")
    experiment.check(options)
    jobs = experiment.jobs(options)
    assert {(job["method"], job["model"]) for job in jobs} == {
        (method, model) for method in ("lk", "egp") for model in ("paper", "ours")
    }
    assert {job["subject"] for job in jobs} == {"0", "1"}
    X, y = study_of(options).data("1")
    assert X.shape == (len(y), 3)
    assert np.abs(y).min() > 0.674
    job = next(job for job in jobs if job["method"] == "lk" and job["model"] == "paper")
    row = experiment.run(job, options)
    assert set(experiment.metrics) == set(row)
    assert row["n_labeled"] == round(0.2 * (row["n_labeled"] + row["n_held_out"]))
    assert row["mse"] < 0.5 * y.var()
    table, _, group = experiment.tables([{**job, **row}], options)
    assert group.rows[0][:4] == ("0.2", "LKFLGP", "paper", "1")
    assert "0.083" in table.markdown()  # the published figure beside ours
    assert "1 map(s) given: " in table.note
    figures = dict(experiment.figures([{**job, **row}], options))
    assert len(figures["brain-errors"].axes) == 3


@pytest.mark.slow
def test_the_bundled_map():
    from nilearn.datasets import load_sample_motor_activation_image

    path = load_sample_motor_activation_image()
    found = activation_regions([path])
    assert found.sizes.tolist() == [9947]
    model = FLGPRegressor(n_anchors=1500, n_eigenpairs=500, residual=None, random_state=0)
    tool = VolumeReconstructor(model, mask=found.grid.image(found.common), labeled_ratio=0.2, random_state=0)
    with pytest.warns(UserWarning, match="very few points"):
        result = tool.fit_reconstruct(path)
    assert result.scores.mse < 0.1 * tool.values_.var()
    assert 0.9 < result.scores.coverage < 0.98
    given = nib.load(path)
    kept = np.zeros(given.shape, dtype=bool)
    kept[tool.mask_] = tool.labeled_
    kept |= ~tool.mask_
    np.testing.assert_array_equal(np.asarray(result.mean.dataobj)[kept], np.asarray(given.dataobj)[kept])
    np.testing.assert_array_equal(result.mean.affine, given.affine)


@pytest.mark.slow
def test_correlation_follows_the_geodesic_on_fsaverage5():
    from nilearn.datasets import fetch_surf_fsaverage

    mesh = read_mesh(fetch_surf_fsaverage("fsaverage5")["white_left"])
    n = len(mesh.coordinates)
    values = np.where(np.arange(n) % 200 == 0, np.random.default_rng(0).standard_normal(n), np.nan)
    model = FLGPRegressor(
        n_anchors=2000, n_eigenpairs=500, residual=None, diffusion_time=100.0, amplitude=1.0, random_state=0
    )
    tool = SurfaceReconstructor(model).fit(mesh, values)
    ranks = []
    for seed in (1000, 4000, 9000):
        correlation = prior_correlation(tool.model_, tool.points_, tool.points_[seed])
        geodesic = mesh.geodesic(seed)
        straight = np.linalg.norm(mesh.coordinates - mesh.coordinates[seed], axis=1)
        near = geodesic < 60
        ranks.append([spearmanr(correlation[near], distance[near])[0] for distance in (geodesic, straight)])
    along, through = np.mean(ranks, axis=0)
    assert along < -0.93
    assert along < through - 0.1
