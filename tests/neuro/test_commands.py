"""`flgp brain …`: files out, or one sentence, exit code 2 and nothing left behind."""

from __future__ import annotations

import json

import nibabel as nib
import numpy as np
import pytest

pytest.importorskip("typer")
from flgp.cli import main

from .conftest import AFFINE, SHAPE

FAST = ["--n-anchors", "120", "--n-eigenpairs", "40"]


@pytest.fixture
def files(tmp_path, brain, holes, mask):
    brain.to_filename(tmp_path / "whole.nii.gz")
    holes.to_filename(tmp_path / "holes.nii.gz")
    mask.to_filename(tmp_path / "mask.nii.gz")
    return tmp_path


def run(*arguments):
    """Exit code of the command."""
    try:
        main(["brain", *map(str, arguments)])
    except SystemExit as end:
        return end.code or 0
    return 0


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
    arguments = (
        "reconstruct",
        files / "holes.nii.gz",
        "--mask",
        files / "mask.nii.gz",
        "-o",
        files / "out",
        *FAST,
    )
    assert run(*arguments, "--residual", "none", "--background", "none") == 0
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
    arguments = (
        "reconstruct",
        files / "whole.nii.gz",
        "--labeled-ratio",
        "0.4",
        "--no-figure",
        "-o",
        files / "out",
    )
    assert run(*arguments, *FAST) == 0
    scores = json.loads((files / "out" / "whole_scores.json").read_text())
    assert 0 < scores["trimmed_mse"] <= scores["mse"]
    told = capsys.readouterr()
    assert "coverage" in told.out
    assert "anchors for" in told.err  # every stage with its time
    assert run(*arguments, "--quiet", *FAST) == 0
    assert capsys.readouterr() == ("", "")
    assert run(*arguments, "--json", "--quiet", *FAST) == 0
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
    options = [
        "--atlas",
        files / "atlas.nii.gz",
        "--labels",
        files / "labels.txt",
        "--mask",
        files / "mask.nii.gz",
    ]
    assert run("network", *maps, *options, "--covariates", files / "table.csv", "-o", out, *FAST) == 0
    edges = (out / "edges.csv").read_text().splitlines()
    assert edges[0] == "subject,group,region_1,region_2,correlation"
    assert (out / "sub-2_network.graphml").exists()
    assert (out / "sub-2_network.csv").read_text().startswith("region,A,B,C,D")
    # Without an edge above the threshold, the regions alone are drawn.
    none = files / "none"
    assert run("network", maps[0], *options, "--threshold", "1.5", "-o", none, *FAST) == 0
    assert (none / "edges.csv").read_text().count("\n") == 1
    png_size(none / "networks.png")
    png_size(out / "networks.png")

    assert (
        run("seed", *maps[:2], "--mask", files / "mask.nii.gz", "-o", out, "--background", "none", *FAST) == 0
    )
    log = np.asarray(nib.load(out / "sub-0_seed_log_correlation.nii.gz").dataobj)
    assert log.max() == 0
    assert log.min() >= np.log(1e-4) - 1e-5
    png_size(out / "sub-1_seed.png")


def test_bad_input_is_one_sentence(files, capsys):
    stack = nib.Nifti1Image(np.ones((*SHAPE, 2), dtype=np.float32), AFFINE)
    stack.to_filename(files / "stack.nii.gz")
    assert "--index" in refused(
        capsys, files, "reconstruct", files / "stack.nii.gz", "--labeled-ratio", "0.5"
    )
    nib.Nifti1Image(np.ones(SHAPE), np.eye(4)).to_filename(files / "elsewhere.nii.gz")
    sentence = refused(
        capsys, files, "reconstruct", files / "whole.nii.gz", "--mask", files / "elsewhere.nii.gz"
    )
    assert "different grids" in sentence
    assert "affine" in sentence
    nib.Nifti1Image(np.zeros(SHAPE), AFFINE).to_filename(files / "empty.nii.gz")
    assert "is empty" in refused(
        capsys, files, "reconstruct", files / "whole.nii.gz", "--mask", files / "empty.nii.gz"
    )
    sentence = refused(
        capsys, files, "reconstruct", files / "whole.nii.gz", "--smooth", "--n-anchors", "100000"
    )
    assert "n_anchors=100000" in sentence
    sentence = refused(capsys, files, "seed", files / "whole.nii.gz", "--at", "500", "0", "-500", *FAST)
    assert "mm away" in sentence
    whole = (files / "whole.nii.gz").read_bytes()
    (files / "cut.nii.gz").write_bytes(whole[: len(whole) // 2])
    assert "truncated" in refused(capsys, files, "reconstruct", files / "cut.nii.gz", "--smooth")
    assert "no file" in refused(capsys, files, "activation", files / "absent.nii.gz")
    assert "5,000 voxels" in refused(capsys, files, "activation", files / "whole.nii.gz")


def test_results_of_an_earlier_run_survive_a_failure(files):
    out = files / "out"
    out.mkdir()
    (out / "whole_mean.nii.gz").write_text("earlier")
    assert run("reconstruct", files / "whole.nii.gz", "-o", out) == 2
    assert [path.name for path in out.iterdir()] == ["whole_mean.nii.gz"]
    assert (out / "whole_mean.nii.gz").read_text() == "earlier"
    assert run("reconstruct", files / "whole.nii.gz", "--smooth", "-o", files / "no" / "such" / "folder") == 2
