"""`flgp brain …`: brain maps in, brain maps and pictures out."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated, Any

import typer

from .._words import check_choice
from ._options import Json, Quiet, grouped
from ._work import Work

# How much of the time the stages of a command take.
_SHARES = {"anchors": 30.0, "neighbours": 5.0, "spectrum": 45.0, "reconstruction": 10.0, "pictures": 10.0}
app = typer.Typer(help="Brain maps: reconstruct, activation, network, seed.", no_args_is_help=True)

_Mask = Annotated[Path | None, typer.Option(help="Mask; default: finite and non-zero voxels.")]
_Background = Annotated[str, typer.Option(help="Behind the pictures: mni, none, or an image.")]
_Region = Annotated[Path | None, typer.Option(help="Use this region, defined independently of the maps.")]
_Move = Annotated[bool, typer.Option(help="Move images on other grids to that of the (first) map.")]
_Anchors = Annotated[int | None, typer.Option(help="Number of anchors s; default: auto.")]
_Eigenpairs = Annotated[int | None, typer.Option(help="Number of eigenpairs M; default: auto.")]
_Effective = Annotated[float, typer.Option(help="A voxel is effective where |z| is above this.")]


@dataclass(frozen=True)
class Files:
    """How maps are read and where results go: options of all commands."""

    index: Annotated[int | None, typer.Option(help="Which volume of a 4-D image, from 0.")] = None
    resample: _Move = False
    output: Annotated[Path, typer.Option("--output", "-o", help="Folder for the results.")] = Path()


@dataclass(frozen=True)
class Graph:
    """The options of the model."""

    n_anchors: _Anchors = None
    n_neighbors: Annotated[int, typer.Option(help="Number of nearest anchors per voxel, r.")] = 3
    n_eigenpairs: _Eigenpairs = None
    random_state: Annotated[int, typer.Option(help="Random seed.")] = 0

    def model(self, residual: str = "none") -> Any:
        """The estimator with these options."""
        from .. import FLGPRegressor

        check_choice("--residual", residual, ("auto", "local", "none"))
        given = {name: value for name, value in asdict(self).items() if value is not None}
        # Positions have one unit.
        return FLGPRegressor(residual=None if residual == "none" else residual, scaling=None, **given)


@dataclass(frozen=True)
class Thresholds:
    """Which voxels are active."""

    effective_threshold: _Effective = 1.645
    min_subjects: Annotated[int, typer.Option(help="In at least this many subjects.")] = 2
    threshold: Annotated[float, typer.Option(help="The region of a subject has |z| above this.")] = 0.674


_FILES, _GRAPH, _THRESHOLDS = Files(), Graph(), Thresholds()


def _neuro() -> Any:
    """The neuroimaging module, or an error that says how to install it."""
    try:
        from .. import neuro
    except ImportError as error:
        raise ValueError(f"{error.name} is missing. Install it: pip install 'flgp[neuro]'") from error
    return neuro


def _names(paths: list[Path]) -> list[str]:
    """A name for each map, numbered where files in different folders have the same name."""
    from ..neuro.volumes import stem

    names = [stem(path.name) for path in paths]
    return [name if names.count(name) == 1 else f"{i + 1:03d}_{name}" for i, name in enumerate(names)]


@contextmanager
def _results(folder: Path, work: Work) -> Iterator[Any]:
    """Output files for a folder, all or none; the stages inside are shown, warnings become notes."""
    from ..neuro.outputs import output_files

    with work.running(), output_files(folder) as files:
        yield files


def _finish(work: Work, files: list[Path], result: dict[str, Any], lines: Sequence[str] = ()) -> None:
    """Print what was found and which files were written."""
    names = [str(path) for path in files]
    work.finish({**result, "files": names}, "\n".join([*lines, *(f"wrote {name}" for name in names)]))


def _regions(work: Work, maps: Sequence[Path], thresholds: Thresholds, files: Files, **given: Any) -> Any:
    """The activation regions of the maps."""
    with work.stage(f"regions of {len(maps)} maps"):
        own = {"index": files.index, "resample": files.resample, **asdict(thresholds)}
        return _neuro().activation_regions(maps, **own, **given)


def _background_image(choice: str) -> Any:
    from ..neuro.views import BACKGROUNDS

    if choice in BACKGROUNDS:
        return choice
    from ..neuro.volumes import read_volume

    volume = read_volume(choice, what="the background")
    return volume.image(volume.data)


@app.command()
@grouped(files=Files, graph=Graph)
def reconstruct(
    image: Annotated[Path, typer.Argument(metavar="MAP", help="NIfTI map, or GIFTI values with --mesh.")],
    mask: _Mask = None,
    missing: Annotated[Path | None, typer.Option(help="Non-zero where a voxel is missing.")] = None,
    labeled_ratio: Annotated[
        float | None, typer.Option(help="Keep this fraction, hold out the rest, and score.")
    ] = None,
    smooth: Annotated[bool, typer.Option(help="Posterior mean everywhere, even where observed.")] = False,
    mesh: Annotated[Path | None, typer.Option(help="GIFTI mesh: reconstruct on a surface.")] = None,
    files: Files = _FILES,
    graph: Graph = _GRAPH,
    residual: Annotated[str, typer.Option(help="auto, local, or none (the paper's model).")] = "auto",
    background: _Background = "mni",
    figure: Annotated[bool, typer.Option(help="Also save a picture.")] = True,
    quiet: Quiet = False,
    as_json: Json = False,
) -> None:
    """Complete a map, with its standard deviation; NaN inside the mask is missing."""
    neuro = _neuro()

    estimator = graph.model(residual)
    shared: dict[str, Any] = {"index": files.index, "labeled_ratio": labeled_ratio, "smooth": smooth}
    shared["random_state"] = graph.random_state
    (name,) = _names([image])
    work = Work(_SHARES, quiet, as_json)
    told: dict[str, Any] = {}
    with _results(files.output, work) as results:
        if mesh is not None:
            tool = neuro.SurfaceReconstructor(estimator, **shared).fit(mesh, image)
            ending = ".func.gii"
        else:
            tool = neuro.VolumeReconstructor(estimator, mask=mask, resample=files.resample, **shared)
            tool.fit(image, missing=missing)
            ending = ".nii.gz"
        with work.stage("reconstruction"):
            result = tool.reconstruct()
        result.mean.to_filename(results.path(f"{name}_mean{ending}"))
        result.std.to_filename(results.path(f"{name}_std{ending}"))
        if result.scores is not None:
            scores = asdict(result.scores)
            results.path(f"{name}_scores.json").write_text(
                json.dumps(scores, indent=2) + "\n", encoding="utf-8"
            )
            told["scores"] = scores
        if figure:
            from ..neuro import views

            with work.stage("pictures"):
                if mesh is not None:
                    from ..neuro.surface_views import plot_surface_reconstruction

                    picture = plot_surface_reconstruction(tool, result)
                else:
                    shown = _background_image(background)
                    picture = views.plot_reconstruction(tool, result, background=shown)
                picture.savefig(results.path(f"{name}_reconstruction.png"), dpi=130)
    scored = told.get("scores", {})
    lines = [", ".join(f"{key} {value:.6g}" for key, value in scored.items())] if scored else []
    _finish(work, results.published, told, lines)


@app.command()
@grouped(thresholds=Thresholds, files=Files)
def activation(
    maps: Annotated[list[Path], typer.Argument(metavar="MAPS...", help="One z map per subject.")],
    thresholds: Thresholds = _THRESHOLDS,
    min_voxels: Annotated[int, typer.Option(help="Drop subjects with fewer voxels in the region.")] = 5000,
    region: _Region = None,
    files: Files = _FILES,
    background: _Background = "mni",
    quiet: Quiet = False,
    as_json: Json = False,
) -> None:
    """Activation regions across subjects: counts, the common region, and that of each subject."""
    _neuro()
    from ..neuro.outputs import write_csv
    from ..neuro.views import plot_counts

    work = Work({"regions": 80.0, "pictures": 20.0}, quiet, as_json)
    with _results(files.output, work) as results:
        found = _regions(work, maps, thresholds, files, min_voxels=min_voxels, region=region)
        grid = found.grid

        def save(name: str, data: Any) -> None:
            grid.image(data, keep_range=False).to_filename(results.path(f"{name}.nii.gz"))

        save("effective", found.effective)
        save("common", found.common)
        save("counts", found.counts)
        names = _names(maps)
        for name, kept, region_mask in zip(names, found.kept, found.regions, strict=True):
            if kept:
                save(f"{name}_region", region_mask)
        sizes = zip(names, found.sizes.tolist(), found.kept.tolist(), strict=True)
        write_csv(results.path("regions.csv"), ["subject", "voxels", "kept"], sizes)
        with work.stage("pictures"):
            picture = plot_counts(found, background=_background_image(background))
            picture.savefig(results.path("counts.png"), dpi=130)
    told = {
        "effective_voxels": int(found.effective.sum()),
        "subjects": len(maps),
        "kept": int(found.kept.sum()),
        "common_voxels": int(found.common.sum()),
    }
    lines = [
        f"{told['effective_voxels']:,} effective voxels, {told['kept']} of {len(maps)} subjects "
        f"kept, {told['common_voxels']:,} voxels common to them"
    ]
    if region is None:
        lines.append("The regions are chosen from the maps themselves; use --region for an independent one.")
    if len(maps) < thresholds.min_subjects and region is None:
        lines.append(
            f"Fewer than {thresholds.min_subjects} maps: a voxel is effective if all of them reach the "
            "threshold."
        )
    _finish(work, results.published, told, lines)


@app.command()
@grouped(files=Files, graph=Graph)
def network(
    maps: Annotated[list[Path], typer.Argument(metavar="MAPS...", help="One map per subject.")],
    atlas: Annotated[Path, typer.Option(help="Atlas of integers; 0 is background.")],
    labels: Annotated[Path | None, typer.Option(help="Names: one line `number name` per region.")] = None,
    threshold: Annotated[float, typer.Option(help="Edges are correlations above this.")] = 0.7,
    min_voxels: Annotated[int, typer.Option(help="Drop regions with fewer voxels in the mask.")] = 10,
    covariates: Annotated[Path | None, typer.Option(help="CSV with a column `subject` (file names).")] = None,
    group_by: Annotated[str | None, typer.Option(help="Column of the covariates to group by.")] = None,
    mask: _Mask = None,
    files: Files = _FILES,
    graph: Graph = _GRAPH,
    quiet: Quiet = False,
    as_json: Json = False,
) -> None:
    """Coactivation networks: correlation between atlas regions under the fitted prior of each map.

    This says which regions the geometry of a map ties together. It is not functional connectivity, which is
    the correlation of measured time series.
    """
    neuro = _neuro()
    from ..neuro.groups import read_groups
    from ..neuro.network import write_edges, write_graphml, write_matrix
    from ..neuro.views import no_edges, plot_networks

    names = _names(maps)
    groups = read_groups(covariates, group_by, names)
    estimator = graph.model()
    work = Work({"map": 90.0 / len(maps), "pictures": 10.0}, quiet, as_json)
    with _results(files.output, work) as results:
        made = []
        for number, (name, path) in enumerate(zip(names, maps, strict=True)):
            with work.stage(f"map {number + 1} of {len(maps)}"):
                own = {"index": files.index, "resample": files.resample, "random_state": graph.random_state}
                tool = neuro.VolumeReconstructor(estimator, mask=mask, smooth=True, **own).fit(path)
                found = neuro.coactivation_network(
                    tool, atlas, labels, threshold=threshold, min_voxels=min_voxels, resample=files.resample
                )
            made.append((name, groups[name], found))
            write_matrix(results.path(f"{name}_network.csv"), found)
            write_graphml(results.path(f"{name}_network.graphml"), found)
        made.sort(key=lambda entry: entry[1])
        write_edges(results.path("edges.csv"), made)
        titles = [(f"{name} ({group})" if group else name, found) for name, group, found in made]
        with work.stage("pictures"):
            plot_networks(titles).savefig(results.path("networks.png"), dpi=130)
    lines, told = [], []
    for name, group, found in made:
        note = f" ({group})" if group else ""
        edges = f"{len(found.edges)} edges above {threshold:g}" if found.edges else no_edges(found)
        lines.append(f"{name}{note}: {len(found.labels)} regions, {edges}")
        told.append(
            {"map": name, "group": group or None, "regions": len(found.labels), "edges": len(found.edges)}
        )
    _finish(work, results.published, {"threshold": threshold, "networks": told}, lines)


@app.command()
@grouped(thresholds=Thresholds, files=Files, graph=Graph)
def seed(
    maps: Annotated[
        list[Path],
        typer.Argument(metavar="MAPS...", help="The map; further maps only help to find the seed."),
    ],
    at: Annotated[
        tuple[float, float, float] | None,
        typer.Option(metavar="X Y Z", help="Seed in mm; default: the peak."),
    ] = None,
    nearest: Annotated[bool, typer.Option(help="Take the nearest voxel if the seed is outside.")] = False,
    mask: _Mask = None,
    thresholds: Thresholds = _THRESHOLDS,
    region: _Region = None,
    files: Files = _FILES,
    graph: Graph = _GRAPH,
    background: _Background = "mni",
    quiet: Quiet = False,
    as_json: Json = False,
) -> None:
    """Log prior correlation of every voxel with a seed, for each map.

    Without --mask, the voxels are those of the activation region of each map; without --at, the seed is the
    voxel with the highest average intensity in the region common to the maps.
    """
    neuro = _neuro()
    from ..neuro.views import plot_seed

    estimator = graph.model()
    work = Work({"regions": 10.0, "map": 90.0 / len(maps)}, quiet, as_json)
    lines, told = [], []
    with _results(files.output, work) as results:
        inside = mask if region is None else region
        found = _regions(work, maps, thresholds, files, min_voxels=1, region=inside)
        where = found.grid.at(found.peak()) if at is None else at
        names = _names(maps)
        for number, (name, path, region_mask) in enumerate(zip(names, maps, found.regions, strict=True)):
            with work.stage(f"map {number + 1} of {len(maps)}"):
                own = {"index": files.index, "resample": True, "smooth": True}
                tool = neuro.VolumeReconstructor(estimator, mask=found.grid.image(region_mask), **own).fit(
                    path
                )
                result = neuro.seed_map(tool, where, nearest=nearest)
                result.log_correlation.to_filename(results.path(f"{name}_seed_log_correlation.nii.gz"))
                result.distance.to_filename(results.path(f"{name}_seed_distance.nii.gz"))
                picture = plot_seed(result, background=_background_image(background), name=name)
                picture.savefig(results.path(f"{name}_seed.png"), dpi=130)
            x, y, z = (float(value) for value in result.at)
            voxels = int(region_mask.sum())
            lines.append(f"{name}: seed at {x:g} {y:g} {z:g} mm, {voxels:,} voxels")
            told.append({"map": name, "seed": [x, y, z], "voxels": voxels})
    _finish(work, results.published, {"maps": told}, lines)
