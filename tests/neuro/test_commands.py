"""`flgp brain …`: files out, or one sentence, exit code 2 and nothing left behind."""

from __future__ import annotations

import json
from functools import partial

import nibabel as nib
import numpy as np
import pytest

from conftest import run_command

pytest.importorskip("typer")
from .conftest import AFFINE, SHAPE

FAST = ["--n-anchors", "120", "--n-eigenpairs", "40"]


@pytest.fixture
def files(tmp_path, brain, holes, mask):
    brain.to_filename(tmp_path / "whole.nii.gz")
    holes.to_filename(tmp_path / "holes.nii.gz")
    mask.to_filename(tmp_path / "mask.nii.gz")
    return tmp_path


run = partial(run_command, "brain")


def refused(capsys, files, *arguments):
    """The sentence of a command that must fail without leaving a file."""
    before = sorted(path.name for path in files.rglob("*"))
    assert run(*arguments, "-o", files / "out") == 2
    assert sorted(path.name for path in files.rglob("*")) == before
    return capsys.readouterr().err


def png_size(path):
    data = path.read_bytes()
    assert data.startswith(b"\x89PNG")
    return int.from_bytes(data[16:20], "big"), int.from_bytes(data[20:24], "big")


def test_reconstruct(files, holes):
    options = ("--mask", files / "mask.nii.gz", "-o", files / "out", "--residual", "none", *FAST)
    assert run("reconstruct", files / "holes.nii.gz", "--background", "none", *options) == 0
    names = {path.name for path in (files / "out").iterdir()}
    assert names == {"holes_mean.nii.gz", "holes_std.nii.gz", "holes_reconstruction.png"}
    mean = nib.load(files / "out" / "holes_mean.nii.gz")
    given = np.asarray(holes.dataobj)
    known = ~np.isnan(given)
    np.testing.assert_array_equal(np.asarray(mean.dataobj)[known], given[known])
    np.testing.assert_array_equal(mean.affine, AFFINE)
    assert mean.header.get_xyzt_units() == ("mm", "sec")
    assert min(png_size(files / "out" / "holes_reconstruction.png")) > 400


def test_reconstruct_scores_what_it_holds_out(files, capsys):
    options = ("--labeled-ratio", "0.4", "--no-figure", "-o", files / "out", *FAST)
    arguments = ("reconstruct", files / "whole.nii.gz", *options)
    assert run(*arguments) == 0
    scores = json.loads((files / "out" / "whole_scores.json").read_text())
    assert 0 < scores["trimmed_mse"] <= scores["mse"]
    told = capsys.readouterr()
    assert "coverage" in told.out
    assert "anchors for" in told.err  # every stage with its time
    assert run(*arguments, "--quiet") == 0
    assert capsys.readouterr() == ("", "")
    assert run(*arguments, "--json", "--quiet") == 0
    result = json.loads(capsys.readouterr().out)
    assert result["scores"] == scores
    assert len(result["files"]) == 3


def test_activation_network_and_seed(files):
    for k in range(3):
        data = np.random.default_rng(k).standard_normal(SHAPE) + np.asarray(
            nib.load(files / "whole.nii.gz").dataobj
        )
        nib.Nifti1Image(data.astype(np.float32), AFFINE).to_filename(files / f"sub-{k}.nii.gz")
    maps = [files / f"sub-{k}.nii.gz" for k in range(3)]
    out = files / "out"
    assert run("activation", *maps, "--min-voxels", "500", "-o", out, "--background", "none") == 0
    counts = np.asarray(nib.load(out / "counts.nii.gz").dataobj)
    assert counts.max() == 3
    assert (out / "regions.csv").read_text().count("\n") == 4
    png_size(out / "counts.png")

    atlas = 1.0 + (np.indices(SHAPE) >= np.array(SHAPE)[:, None, None, None] // 2).sum(axis=0)
    nib.Nifti1Image(atlas.astype(np.int16), AFFINE).to_filename(files / "atlas.nii.gz")
    (files / "labels.txt").write_text("1 A\n2 B\n3 C\n4 D\n")
    (files / "table.csv").write_text("subject,age\nsub-0,60\nsub-1,20\nsub-2,60\n")
    inside = ("--mask", files / "mask.nii.gz")
    options = ("--atlas", files / "atlas.nii.gz", "--labels", files / "labels.txt", *inside, *FAST)
    assert run("network", *maps, *options, "--covariates", files / "table.csv", "-o", out) == 0
    edges = (out / "edges.csv").read_text().splitlines()
    assert edges[0] == "subject,group,region_1,region_2,correlation"
    assert (out / "sub-2_network.graphml").exists()
    assert (out / "sub-2_network.csv").read_text().startswith("region,A,B,C,D")
    # Without an edge above the threshold, the regions alone are drawn.
    none = files / "none"
    assert run("network", maps[0], *options, "--threshold", "1.5", "-o", none) == 0
    assert (none / "edges.csv").read_text().count("\n") == 1
    png_size(none / "networks.png")
    png_size(out / "networks.png")

    assert run("seed", *maps[:2], *inside, "-o", out, "--background", "none", *FAST) == 0
    log = np.asarray(nib.load(out / "sub-0_seed_log_correlation.nii.gz").dataobj)
    assert log.max() == 0
    assert log.min() >= np.log(1e-4) - 1e-5
    png_size(out / "sub-1_seed.png")


def test_bad_input_is_one_sentence(files, capsys):
    whole, stack, elsewhere, empty, cut = (
        files / f"{name}.nii.gz" for name in ("whole", "stack", "elsewhere", "empty", "cut")
    )
    nib.Nifti1Image(np.ones((*SHAPE, 2), dtype=np.float32), AFFINE).to_filename(stack)
    nib.Nifti1Image(np.ones(SHAPE), np.eye(4)).to_filename(elsewhere)
    nib.Nifti1Image(np.zeros(SHAPE), AFFINE).to_filename(empty)
    cut.write_bytes(whole.read_bytes()[: whole.stat().st_size // 2])
    for message, *arguments in (
        ("--index", "reconstruct", stack, "--labeled-ratio", "0.5"),
        ("different grids", "reconstruct", whole, "--mask", elsewhere),
        ("affine", "reconstruct", whole, "--mask", elsewhere),
        ("is empty", "reconstruct", whole, "--mask", empty),
        ("n_anchors=100000", "reconstruct", whole, "--smooth", "--n-anchors", "100000"),
        ("mm away", "seed", whole, "--at", "500", "0", "-500", *FAST),
        ("truncated", "reconstruct", cut, "--smooth"),
        ("no file", "activation", files / "absent.nii.gz"),
        ("5,000 voxels", "activation", whole),
    ):
        assert message in refused(capsys, files, *arguments)


def test_results_of_an_earlier_run_survive_a_failure(files):
    out = files / "out"
    out.mkdir()
    (out / "whole_mean.nii.gz").write_text("earlier")
    assert run("reconstruct", files / "whole.nii.gz", "-o", out) == 2
    assert [path.name for path in out.iterdir()] == ["whole_mean.nii.gz"]
    assert (out / "whole_mean.nii.gz").read_text() == "earlier"
    assert run("reconstruct", files / "whole.nii.gz", "--smooth", "-o", files / "no" / "such" / "folder") == 2
