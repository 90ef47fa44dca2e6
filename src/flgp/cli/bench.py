"""`flgp bench NAME`: flgp and the installed peers on the same data, or a single measurement."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Annotated

import typer

from .._files import write_figure
from ..experiments.measure.catalogue import MEASUREMENTS, main

CASES = {
    "circles": "Six circles, 3,000 and 900,000 points, against all peers.",
    "scaling": "Time against the number of points, 10^5 to 10^7.",
    "mnist": "MNIST, 70,000 digits; needs FLGP_MNIST_DIR or the network.",
    "baselines": "FLGP-X, GLGP and sparse GLGP of this package, 3,000 and 9,000 points.",
    "volume": "A map of 70,746 voxels, a fifth of them labelled, against GPBoost's Vecchia.",
    "spiral": "A function on a spiral.",
}

app = typer.Typer(help="Benchmarks: other software on the same data, and single measurements.")


@app.callback(invoke_without_command=True)
def bench(context: typer.Context) -> None:
    """Benchmarks: other software on the same data, and single measurements."""
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())


def _against_peers(case: str) -> Callable[..., None]:
    def run(
        n: Annotated[str | None, typer.Option(help="Numbers of points, separated by commas.")] = None,
        methods: Annotated[str | None, typer.Option(help="Methods, separated by commas.")] = None,
        repeats: Annotated[int, typer.Option(min=1, help="Runs per method; the medians are reported.")] = 3,
        threads: Annotated[int | None, typer.Option(min=1, help="Threads for every method.")] = None,
        timeout: Annotated[float, typer.Option(help="Seconds after which a run is stopped.")] = 3600.0,
        peers_python: Annotated[
            str | None, typer.Option(help="Another Python interpreter, in which peers are installed.")
        ] = None,
        csv: Annotated[Path | None, typer.Option(help="Write every run here.")] = None,
        plot: Annotated[
            Path | None, typer.Option(help="Draw time against n and error against time here.")
        ] = None,
    ) -> None:
        from .._threads import thread_count
        from ..experiments.bench import CASES, Run, run_case, table, write_csv

        def tell(run: Run) -> None:
            took = (
                f"{run.seconds:.3f} s, CPU {run.cpu:.3f} s, error {run.error:.4f}"
                if run.status == "ok"
                else run.status
            )
            typer.echo(f"{run.case} n={run.n:,} run {run.repeat + 1} {run.method}: {took}", err=True)

        runs = run_case(
            CASES[case],
            sizes=None if n is None else [_size(text) for text in n.split(",")],
            methods=None if methods is None else methods.split(","),
            repeats=repeats,
            threads=thread_count(None) if threads is None else threads,
            timeout=timeout,
            peers_python=peers_python,
            report=tell,
        )
        typer.echo(table(runs))
        if csv is not None:
            write_csv(runs, csv)
        if plot is not None:
            from ..experiments.bench.figure import plot_runs

            write_figure(plot_runs(runs), plot)

    return run


def _measurement(name: str) -> Callable[..., None]:
    def run(arguments: Annotated[list[str] | None, typer.Argument()] = None) -> None:
        main(name, arguments or [])

    return run


def _size(text: str) -> int:
    try:
        return int(float(text))
    except ValueError:
        raise ValueError(f"--n has {text!r}. Use numbers separated by commas, such as 1e5,1e6.") from None


@app.command(
    "zoo",
    rich_help_panel="Many data sets",
    add_help_option=False,  # as for the measurements below
    context_settings={"ignore_unknown_options": True},
)
def zoo(arguments: Annotated[list[str] | None, typer.Argument()] = None) -> None:
    """Many data sets, flgp and its rivals, with few labels or in plain tables."""
    from ..experiments.zoo import main as compare

    compare(arguments or [])


for _name, _help in CASES.items():
    app.command(_name, help=_help, rich_help_panel="flgp and the installed peers, in turn")(
        _against_peers(_name)
    )
for _name, _help in MEASUREMENTS.items():
    app.command(
        _name,
        help=_help,
        rich_help_panel="Single measurements",
        add_help_option=False,  # the parser of the measurement handles all options
        context_settings={"ignore_unknown_options": True},
    )(_measurement(_name))
