"""`flgp bench CASE`: ours and the installed peers, alternating, with accuracy and memory next to time."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

_CASES = ("circles", "scaling", "mnist", "spiral")


def bench(
    case: Annotated[str, typer.Argument(help=f"Case: {', '.join(_CASES)}.")] = "circles",
    n: Annotated[str | None, typer.Option(help="Numbers of points, separated by commas.")] = None,
    methods: Annotated[str | None, typer.Option(help="Methods, separated by commas.")] = None,
    repeats: Annotated[int, typer.Option(min=1, help="Runs of each; the medians are reported.")] = 3,
    threads: Annotated[int | None, typer.Option(min=1, help="Threads for every method.")] = None,
    timeout: Annotated[float, typer.Option(help="Seconds after which a run is given up.")] = 3600.0,
    peers_python: Annotated[
        str | None, typer.Option(help="Another Python interpreter, in which peers are installed.")
    ] = None,
    csv: Annotated[Path | None, typer.Option(help="Write every run here.")] = None,
    plot: Annotated[
        Path | None, typer.Option(help="Draw time against n and error against time here.")
    ] = None,
) -> None:
    """Time ours and the installed peers on the same data, in one process tree, taking turns."""
    from .._threads import thread_count
    from ..bench import CASES, Run, run_case, table, write_csv

    if case not in CASES:
        raise ValueError(f"case {case!r} is not known. Use one of {', '.join(CASES)}.")

    def tell(run: Run) -> None:
        took = f"{run.seconds:.3f} s, error {run.error:.4f}" if run.status == "ok" else run.status
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
        from ..bench.figure import plot_runs

        plot_runs(runs).savefig(plot)


def _size(text: str) -> int:
    try:
        return int(float(text))
    except ValueError:
        raise ValueError(f"--n has {text!r}. Give numbers separated by commas, such as 1e5,1e6.") from None
