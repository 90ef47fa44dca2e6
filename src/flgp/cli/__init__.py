"""The command line, `flgp` or `python -m flgp`: one module for each group of commands."""

from __future__ import annotations

import sys

try:
    import rich  # noqa: F401 - only for the error message
    import typer
except ImportError as error:  # pragma: no cover - depends on the installation
    raise SystemExit(
        "The command line needs typer and rich. Install them: pip install 'flgp[cli]'."
    ) from error

from .. import __version__
from . import bench, brain
from .evaluate import evaluate
from .fit import fit
from .info import info
from .label import label
from .predict import predict
from .report import report
from .reproduce import reproduce

app = typer.Typer(
    name="flgp",
    help="Heat-kernel Gaussian processes on unknown manifolds.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)
app.command()(fit)
app.command()(evaluate)
app.command()(predict)
app.command()(label)
app.command()(report)
app.command()(info)
app.command()(reproduce)
app.add_typer(bench.app, name="bench")
app.add_typer(brain.app, name="brain")


def _show_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"flgp {__version__}")
        raise typer.Exit


@app.callback()
def options(
    version: bool = typer.Option(False, "--version", callback=_show_version, is_eager=True, help="Version."),
) -> None:
    """Heat-kernel Gaussian processes on unknown manifolds."""


def main(arguments: list[str] | None = None) -> None:
    """Run the command line; an error prints one sentence and exits with code 2."""
    try:
        app(arguments)
    except (ValueError, OSError, TypeError, ImportError, MemoryError) as error:
        sentence = " ".join(str(error).split())
        typer.echo(f"Error: {sentence}", err=True)
        sys.exit(2)
    except KeyboardInterrupt:
        typer.echo("Stopped. Run the same command again to continue from here.", err=True)
        sys.exit(130)
