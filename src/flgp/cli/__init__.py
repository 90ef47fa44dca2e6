"""The command line, `flgp` or `python -m flgp`: one module for each group of commands."""

from __future__ import annotations

import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager

try:
    import rich  # noqa: F401 - only for the error message
    import typer
except ImportError as error:  # pragma: no cover - depends on the installation
    raise SystemExit(
        "The command line needs typer and rich. Install them: pip install 'flgp[cli]'."
    ) from error

from .. import __version__
from . import bench, brain
from ._text import printable
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
for _command in (evaluate, fit, predict, report, label, info, reproduce):
    app.command()(_command)
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


class Interrupt(BaseException):
    """Ctrl-C; not a KeyboardInterrupt, which Typer would take for itself and call "Aborted"."""


def _interrupt(*_: object) -> None:
    raise Interrupt


def main(arguments: list[str] | None = None) -> None:
    """Run the command line; an error prints one sentence and exits with code 2, Ctrl-C with code 130."""
    try:
        with _interruptible():
            app(arguments)
    except (ValueError, OSError, TypeError, ImportError, MemoryError) as error:
        sentence = " ".join(str(error).split())
        typer.echo(f"Error: {printable(sentence)}", err=True)
        sys.exit(2)
    except (Interrupt, KeyboardInterrupt) as error:
        # The stages it went through, the innermost first.
        inside = list(dict.fromkeys(getattr(error, "__notes__", [])))
        where = f" during {' in '.join(inside)}" if inside else ""
        typer.echo(
            f"Stopped{where}. Run the same command again; `flgp reproduce` continues from here.", err=True
        )
        sys.exit(130)


@contextmanager
def _interruptible() -> Iterator[None]:
    """Ctrl-C raises Interrupt inside, unless it is ignored, as in the background of a shell."""
    before = None
    try:
        if threading.current_thread() is threading.main_thread():
            before = signal.getsignal(signal.SIGINT)
            if callable(before):
                signal.signal(signal.SIGINT, _interrupt)
        yield
    finally:
        if callable(before):
            signal.signal(signal.SIGINT, before)
