"""`flgp bench zoo`: every data set × every method, with the same columns, labels and seeds.

Columns are the same for every method, flgp included. Rows that are in the folder are not computed again.
"""

from __future__ import annotations

import sys
from argparse import ArgumentParser, Namespace, RawDescriptionHelpFormatter
from collections.abc import Sequence
from pathlib import Path

from ..._files import write_figure, write_text
from .figure import plot_ranks
from .run import METHODS, NEEDS, Row, Store, all_methods, check_names, installed, run
from .sets import DataSet, find_sets
from .table import TITLES, page, rank_table


def parser() -> ArgumentParser:
    """The options of the command."""
    options = ArgumentParser(
        "flgp bench zoo", description=__doc__, formatter_class=RawDescriptionHelpFormatter
    )
    options.add_argument(
        "--group", choices=("small", "large", "all"), default="small", help="which data sets (default: small)"
    )
    options.add_argument("--sets", help="data sets of any group, separated by commas")
    options.add_argument("--methods", help="methods, separated by commas (default: all that are installed)")
    options.add_argument(
        "--draws", type=int, default=5, help="draws of the labels, seeds 100, 101, … (default: 5)"
    )
    options.add_argument("--quick", action="store_true", help="at most 400 rows of each set and one draw")
    options.add_argument("--out", type=Path, default=Path("flgp-zoo"), help="folder (default: flgp-zoo)")
    options.add_argument(
        "--time-limit",
        type=float,
        default=600.0,
        help="seconds for one fit; a method that needs more is skipped on that set (default: 600)",
    )
    options.add_argument(
        "--data-dir", type=Path, help="folder with faces/orl.npz, mnist/, fashion/, draws/ and uci/NAME"
    )
    options.add_argument("--extra", type=Path, help="folder of NAME.npz with X and classes y")
    return options


def main(argv: Sequence[str] | None = None) -> None:
    """Compute the missing rows, then write the pages and the figure."""
    given = parser().parse_args(argv)
    sets, notes = choose_sets(given)
    methods = all_methods() if given.methods is None else given.methods.split(",")
    check_names("method", methods, all_methods())
    notes += [f"{name}: skipped, {NEEDS[name]} is not installed." for name in methods if not installed(name)]
    if given.draws < 1:
        raise ValueError(f"--draws {given.draws} must be at least 1.")
    if given.time_limit <= 0:
        raise ValueError(f"--time-limit {given.time_limit:g} must be positive.")
    for note in notes:
        print(note, file=sys.stderr, flush=True)
    store = Store(given.out)
    draws = 1 if given.quick else given.draws
    run(sets, methods, draws, store, quick=given.quick, limit=given.time_limit, tell=_tell)
    size = "quick" if given.quick else "full"
    rows = [row for row in store.rows.values() if row.size == size]
    write(rows, given.out)


def choose_sets(given: Namespace) -> tuple[dict[str, DataSet], list[str]]:
    """The sets that are asked for, and a note for each that is missing."""
    sets, missing = find_sets(given.data_dir, given.extra)
    if given.sets is not None:
        names = given.sets.split(",")
        for name in names:
            if name in missing:
                raise ValueError(f"The data set {name!r} is not available: {missing[name].reason}.")
        check_names("data set", names, sets)
        return {name: sets[name] for name in names}, []
    groups = ("small", "large") if given.group == "all" else (given.group,)
    notes = [f"{name}: skipped, {no.reason}." for name, no in missing.items() if no.group in groups]
    return {name: data for name, data in sets.items() if data.group in groups}, notes


def write(rows: Sequence[Row], folder: Path) -> None:
    """The pages and the figure, and the mean ranks on standard output."""
    folder.mkdir(parents=True, exist_ok=True)
    for task in METHODS:
        if any(row.task == task for row in rows):
            write_text(folder / f"{task}.md", page(rows, task))
            print(f"\n{TITLES[task]}\n\n{rank_table(rows, task)}")
    if rows:
        write_figure(plot_ranks(rows), folder / "ranks.png", dpi=120)


def _tell(row: Row) -> None:
    score = f"error {row.error:.4f}" if row.task == "classes" else f"RMSE {row.rmse:.4f}"
    said = f"{score}, {row.seconds:.2f} s" if row.status == "ok" else row.status
    print(f"{row.set}, {row.labels}, draw {row.draw}, {row.method}: {said}", file=sys.stderr, flush=True)
