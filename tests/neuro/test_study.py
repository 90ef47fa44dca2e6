"""`flgp reproduce brain --maps DIR`: a folder of simulated subjects, whose activation is known."""

from __future__ import annotations

import csv

import nibabel as nib
import numpy as np
import pytest

from conftest import run_command
from flgp.experiments.reproduce import Options, Store, find, maps_in
from flgp.experiments.reproduce.brain_groups import group_table, subject_table
from flgp.experiments.reproduce.subjects import study_of

from .conftest import AFFINE

SHAPE = (12, 12, 6)
NOISE = 0.3
N_SUBJECTS = 20


def simulate(folder, count=N_SUBJECTS):
    """Maps of smooth bumps with noise of a known size, and the mask that they share."""
    mm = nib.affines.apply_affine(AFFINE, np.moveaxis(np.indices(SHAPE), 0, -1))
    centre = mm.reshape(-1, 3).mean(axis=0)
    mask = (((mm - centre) / np.ptp(mm.reshape(-1, 3), axis=0) * 2) ** 2).sum(axis=-1) < 1
    maps = folder / "maps"
    maps.mkdir()
    for number in range(count):
        rng = np.random.default_rng([21, number])
        peaks = centre + rng.uniform(-8, 8, (3, 3))
        height = rng.uniform(2, 5, 3)
        truth = sum(
            h * np.exp(-((mm - p) ** 2).sum(axis=-1) / 200) for h, p in zip(height, peaks, strict=True)
        )
        noisy = np.where(mask, truth + NOISE * rng.standard_normal(SHAPE), 0.0)
        nib.Nifti1Image(noisy.astype(np.float32), AFFINE).to_filename(maps / f"{100300 + number}.nii.gz")
    nib.Nifti1Image(mask.astype(np.uint8), AFFINE).to_filename(folder / "mask.nii.gz")
    return maps, folder / "mask.nii.gz", int(mask.sum())


@pytest.fixture(scope="module")
def simulated(tmp_path_factory):
    return simulate(tmp_path_factory.mktemp("study"))


def run(*arguments):
    assert run_command("reproduce", "brain", "--quick", "--figures", "none", *arguments) == 0


def table(path):
    with path.open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


@pytest.mark.slow
def test_a_folder_of_subjects_gives_the_noise_and_honest_intervals(simulated, tmp_path, capsys):
    maps, mask, size = simulated
    common = ("--maps", maps, "--region", mask, "--min-voxels", 100, "--methods", "defaults")
    run(*common, "--jobs", 2, "--out", tmp_path)
    subjects, (line,) = table(tmp_path / "brain-subjects.csv"), table(tmp_path / "brain-group.csv")
    assert [row["subject"] for row in subjects] == [str(100300 + i) for i in range(N_SUBJECTS)]
    assert line["subjects"] == str(N_SUBJECTS)
    assert not (tmp_path / "failures.csv").exists()
    # A held-out value is f and noise: its error is the noise and a little more. Trimming takes away from it.
    values = np.array([float(row["MSE"]) for row in subjects])
    mean, error = map(float, line["MSE"].split(" ± "))
    assert mean == pytest.approx(values.mean(), abs=1e-4)
    assert error == pytest.approx(values.std(ddof=1) / np.sqrt(N_SUBJECTS), abs=1e-4)
    assert NOISE**2 < mean < 1.5 * NOISE**2
    trimmed = float(line["trimmed MSE"].split(" ± ")[0])
    # E[z²] without the largest 1 % of a normal's squares: 0.917 of the whole.
    assert trimmed == pytest.approx(0.917 * mean, rel=0.03)
    covered, error = map(float, line["95 % cover"].split(" ± "))
    assert abs(covered - 95.0) < 4 * error + 0.5
    capsys.readouterr()
    run(*common, "--out", tmp_path)
    assert f"{N_SUBJECTS} of {N_SUBJECTS} rows are already done." in capsys.readouterr().out
    rows = Store(
        tmp_path, find("brain"), Options(maps=maps_in(maps), region=str(mask), min_voxels=100, quick=True)
    ).rows
    assert {row["n_labeled"] + row["n_held_out"] for row in rows} == {size}


def test_a_subject_does_not_depend_on_the_others(simulated, tmp_path):
    """With a region of its own, a study may grow: the rows that are there stay right."""
    maps, mask, _ = simulated
    experiment = find("brain")
    paths = maps_in(maps)
    alone, several = (
        Options(maps=some, region=str(mask), min_voxels=100, quick=True, methods=("lk",), models=("paper",))
        for some in ((paths[3],), paths[2:5])
    )
    (job,) = experiment.jobs(alone)
    assert job in experiment.jobs(several)
    first, second = (experiment.run(job, options) for options in (alone, several))
    assert {**first, "seconds": 0} == {**second, "seconds": 0}


def test_what_fails_is_listed_and_the_rest_goes_on(simulated, tmp_path, capsys, monkeypatch):
    maps, mask, _ = simulated
    folder = tmp_path / "maps"
    folder.mkdir()
    for path in sorted(maps.iterdir())[:3]:
        (folder / path.name).write_bytes(path.read_bytes())
    (folder / "cut.nii").write_bytes(b"no map")
    nib.Nifti1Image(np.ones((4, 4, 4), np.float32), AFFINE).to_filename(folder / "other-grid.nii")
    nib.Nifti1Image(np.full(SHAPE, np.nan, np.float32), AFFINE).to_filename(folder / "nothing.nii")
    from flgp.experiments.reproduce import brain

    made = brain.regressor

    def fails_once(*arguments):
        monkeypatch.setattr(brain, "regressor", made)
        raise ValueError("no luck")

    monkeypatch.setattr(brain, "regressor", fails_once)
    common = ("--maps", folder, "--region", mask, "--min-voxels", 100, "--methods", "lk", "--models", "paper")
    run(*common, "--out", tmp_path / "out")
    why = {row["what"]: row["why"] for row in table(tmp_path / "out" / "failures.csv")}
    assert len(why) == 4
    assert "ValueError: no luck" in why["subject=100300 ratio=0.2 method=lk model=paper repeat=0"]
    assert "grid" in why["subject=other-grid"] or "shape" in why["subject=other-grid"]
    assert "--min-voxels" in why["subject=nothing"]
    assert "subject=cut" in why
    assert table(tmp_path / "out" / "brain-group.csv")[0]["subjects"] == "2"
    run(*common, "--out", tmp_path / "out")  # what failed is tried again
    assert table(tmp_path / "out" / "brain-group.csv")[0]["subjects"] == "3"
    assert len(table(tmp_path / "out" / "failures.csv")) == 3


def test_maps_that_choose_the_region_are_part_of_the_study(simulated, tmp_path):
    from flgp.experiments.reproduce import ResultsError

    paths = maps_in(simulated[0])
    experiment = find("brain")
    Store(tmp_path, experiment, Options(maps=paths[:3], min_voxels=10))
    Store(tmp_path, experiment, Options(maps=paths[:3], min_voxels=10))
    with pytest.raises(ResultsError, match="maps"):
        Store(tmp_path, experiment, Options(maps=paths[:4], min_voxels=10))


def test_subjects_count_once():
    rows = [
        {"subject": s, "ratio": 0.2, "method": "lk", "model": "paper", "repeat": r, "mse": value}
        for s, r, value in (("a", 0, 1.0), ("a", 1, 3.0), ("b", 0, 5.0))
    ]
    rows = [{**row, **dict.fromkeys(("trimmed_mse", "nll", "trimmed_nll", "coverage"), 0.0)} for row in rows]
    assert group_table(rows).rows[0][3:5] == ("2", "3.5000 ± 1.5000")
    assert group_table(rows[:2]).rows[0][3:5] == ("1", "2.0000")
    assert [line[0] for line in subject_table(rows).rows] == ["a", "b"]


def test_folders_without_maps_are_named(tmp_path):
    with pytest.raises(ValueError, match="No map in"):
        maps_in(tmp_path)
    with pytest.raises(ValueError, match="not a folder"):
        maps_in(tmp_path / "nowhere")


def test_names_that_look_alike_keep_their_folders(simulated, tmp_path):
    path = sorted(simulated[0].iterdir())[0]
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "z.nii.gz").write_bytes(path.read_bytes())
    options = Options(maps=tuple(str(tmp_path / name / "z.nii.gz") for name in "ab"), min_voxels=10)
    assert list(study_of(options).maps) == [str(tmp_path / name / "z") for name in "ab"]
