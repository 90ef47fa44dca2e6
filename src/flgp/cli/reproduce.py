"""`flgp reproduce NAME`: a table of the paper, with our numbers next to the published ones."""

from __future__ import annotations

import sys
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)
from rich.table import Table as RichTable

from .._files import write_figure, write_text
from ..experiments.reproduce.catalogue import NAMES, find

if TYPE_CHECKING:
    from ..experiments.reproduce import Experiment, Failure, Options, Store, Table

_WIDTH = 200
_HELP = f"Experiment: {', '.join(NAMES)}."


class Figures(StrEnum):
    """Which figures to make."""

    ALL = "all"
    QUICK = "quick"
    NONE = "none"


def reproduce(
    name: Annotated[str, typer.Argument(help=_HELP, show_default=False)],
    maps: Annotated[list[Path] | None, typer.Argument(help="Brain maps (brain only).")] = None,
    n: Annotated[str | None, typer.Option(help="Numbers of points, separated by commas.")] = None,
    repeats: Annotated[int | None, typer.Option(help="Repeats; default: as in the paper.")] = None,
    methods: Annotated[str | None, typer.Option(help="Methods, separated by commas.")] = None,
    models: Annotated[str | None, typer.Option(help="paper, ours, or both separated by a comma.")] = None,
    seed: Annotated[int, typer.Option(help="Random seed.")] = 0,
    data_dir: Annotated[
        Path | None, typer.Option(help="Folder with the MNIST idx files. Default: FLGP_MNIST_DIR.")
    ] = None,
    out: Annotated[
        Path | None, typer.Option(help="Results folder; a run resumes where it stopped. Default: flgp-NAME.")
    ] = None,
    jobs: Annotated[int, typer.Option(min=1, help="Rows computed in parallel.")] = 1,
    folder_of_maps: Annotated[
        Path | None, typer.Option("--maps", help="Folder of maps, one per subject (brain only).")
    ] = None,
    region: Annotated[Path | None, typer.Option(help="Mask of the voxels to use (brain only).")] = None,
    min_voxels: Annotated[
        int, typer.Option(min=1, help="Leave out maps with fewer voxels in their region (brain only).")
    ] = 5000,
    quick: Annotated[bool, typer.Option(help="A small version, in about a minute.")] = False,
    figures: Annotated[
        Figures,
        typer.Option(
            help="Figures (PNG and PDF): quick, in about a minute; all, with panels of methods whose time "
            "grows with the square of n (15 minutes at n = 9,000); none."
        ),
    ] = Figures.QUICK,
) -> None:
    """Reproduce a table of the paper: the published numbers, the paper's model here, and ours."""
    from ..experiments.reproduce import Options, Store

    experiment = find(name)
    options = Options(
        n=_numbers(n),
        repeats=repeats,
        methods=_words(methods),
        models=_words(models),
        seed=seed,
        data_dir=None if data_dir is None else str(data_dir),
        quick=quick,
        maps=_maps(maps or [], folder_of_maps),
        region=None if region is None else str(region),
        min_voxels=min_voxels,
        figures=figures.value,
    )
    experiment.check(options)
    folder = out if out is not None else Path(f"flgp-{name}{'-quick' if quick else ''}")
    store = Store(folder, experiment, options, _command(sys.argv[1:]))
    # A table piped into a file is not wrapped at 80 columns.
    console = Console(width=None if sys.stdout.isatty() else _WIDTH)
    wanted = experiment.jobs(options)
    if not wanted:
        raise ValueError(
            f"Nothing to compute: no method of {name} is run at these n. Change --n or --methods."
        )
    failures = _compute(console, experiment, store, wanted, options, jobs)
    failures = [*experiment.left_out(options), *failures]
    _list_failures(console, failures, folder)
    rows = store.ordered()
    tables = experiment.tables(rows, options)
    for table in tables:
        console.print(_rich(table))
        if table.note:
            console.print(table.note, style="dim", highlight=False)
        write_text(folder / f"{table.name}.csv", table.csv())
    text = "\n".join(table.markdown() for table in tables)
    write_text(folder / "tables.md", text)
    if figures is not Figures.NONE:
        _draw(console, experiment, rows, options, folder)
    console.print(f"Results in {folder}", highlight=False)


def _compute(
    console: Console,
    experiment: Experiment,
    store: Store,
    wanted: list[dict[str, Any]],
    options: Options,
    n_jobs: int,
) -> list[Failure]:
    """Run the missing rows; show and store each one when it is ready. Returns those that failed."""
    from ..experiments.reproduce import Failure, run_jobs

    failures: list[Failure] = []
    missing = store.missing(wanted)
    done = len(wanted) - len(missing)
    if done:
        console.print(f"{done} of {len(wanted)} rows are already done.", highlight=False)
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TextColumn("left"),
        TimeRemainingColumn(elapsed_when_finished=False),
    )
    # On standard error, so that piped output holds only rows and tables.
    with Progress(*columns, console=Console(stderr=True), transient=True) as progress:
        task = progress.add_task(experiment.name, total=len(wanted), completed=done)
        for row in run_jobs(experiment, missing, options, n_jobs):
            progress.advance(task)
            if isinstance(row, Failure):
                failures.append(row)
                continue
            store.add(row)
            console.print(_row_text(experiment, row), highlight=False, soft_wrap=True)
    return failures


def _list_failures(console: Console, failures: list[Failure], folder: Path) -> None:
    """Show what gave no row and why, and keep it in a file; a file of an earlier run goes."""
    path = folder / "failures.csv"
    if not failures:
        path.unlink(missing_ok=True)
        return
    from ..experiments.reproduce import Table

    lines: list[tuple[str, ...]] = [
        (" ".join(f"{key}={value}" for key, value in failure.job.items()), failure.reason)
        for failure in failures
    ]
    table = Table("failures", f"No result: {len(failures)}", ("what", "why"), lines)
    console.print(_rich(table))
    write_text(path, table.csv())


def _maps(named: list[Path], folder: Path | None) -> tuple[str, ...]:
    from ..experiments.reproduce import maps_in

    if named and folder is not None:
        raise ValueError("Give the maps themselves or --maps with a folder, not both.")
    return maps_in(folder) if folder is not None else tuple(map(str, named))


def _row_text(experiment: Experiment, row: dict[str, Any]) -> str:
    keys = " ".join(f"{name}={row[name]}" for name in experiment.keys)
    values = [f"{name} {row[name]:.4g}" for name in experiment.metrics if not isinstance(row[name], str)]
    return f"{keys}: {', '.join(values)}"


def _rich(table: Table) -> RichTable:
    result = RichTable(title=table.title, title_justify="left")
    for index, column in enumerate(table.columns):
        result.add_column(column, justify="left" if index == 0 else "right")
    for row in table.rows:
        result.add_row(*row)
    return result


def _draw(
    console: Console, experiment: Experiment, rows: list[dict[str, Any]], options: Options, folder: Path
) -> None:
    try:
        from ..experiments.reproduce.draw.style import printed
    except ImportError:
        console.print("No figures: Matplotlib is missing. Install it: pip install 'flgp[plot]'.")
        return
    with printed():
        for name, figure in experiment.figures(rows, options):
            for ending in ("png", "pdf"):
                write_figure(figure, folder / f"{name}.{ending}")
            console.print(f"figure {folder / name}.png", highlight=False, soft_wrap=True)


def _command(arguments: list[str]) -> str:
    """The command as typed, without the user's folders, which do not change the numbers."""
    shown = ["flgp"]
    words = iter(arguments)
    for word in words:
        option, equals, _ = word.partition("=")
        if option not in ("--data-dir", "--out", "--maps"):
            shown.append(word)
        elif not equals:
            next(words, None)  # the folder
    return " ".join(shown)


def _words(text: str | None) -> tuple[str, ...] | None:
    return None if text is None else tuple(word.strip().lower() for word in text.split(",") if word.strip())


def _numbers(text: str | None) -> tuple[int, ...] | None:
    try:
        return None if text is None else tuple(int(word.replace("_", "")) for word in text.split(","))
    except ValueError as error:
        raise ValueError(
            f"--n {text!r} is not a list of integers. Use, for example, --n 3000,9000."
        ) from error
