"""`flgp bench zoo`: every data set × every method, with the same columns, labels and seeds.

Columns are standardised for every method, flgp included. Rows that are in the folder are not computed again.
"""

from __future__ import annotations

import sys
from argparse import ArgumentParser, RawDescriptionHelpFormatter
from collections.abc import Sequence
from pathlib import Path

from .figure import plot_ranks
from .run import METHODS, NEEDS, Row, Store, all_methods, check_names, installed, run
from .sets import find_sets
from .table import TITLES, page, rank_table


def parser() -> ArgumentParser:
    """The options of the command."""
    options = ArgumentParser(
        "flgp bench zoo", description=__doc__, formatter_class=RawDescriptionHelpFormatter
    )
    options.add_argument("--sets", help="data sets, separated by commas (default: all that are there)")
    options.add_argument("--methods", help="methods, separated by commas (default: all that are installed)")
    options.add_argument(
        "--draws", type=int, default=5, help="draws of the labels, seeds 100, 101, … (default: 5)"
    )
    options.add_argument("--quick", action="store_true", help="at most 400 rows of each set and one draw")
    options.add_argument("--out", type=Path, default=Path("flgp-zoo"), help="folder (default: flgp-zoo)")
    options.add_argument("--data-dir", type=Path, help="folder with faces/orl.npz, mnist/ and uci/NAME")
    options.add_argument("--extra", type=Path, help="folder of NAME.npz with X and classes y")
    return options


def main(argv: Sequence[str] | None = None) -> None:
    """Compute the missing rows, then write the pages and the figure."""
    given = parser().parse_args(argv)
    sets, notes = find_sets(given.data_dir, given.extra)
    if given.sets is not None:
        names = given.sets.split(",")
        check_names("data set", names, sets)
        sets, notes = {name: sets[name] for name in names}, []
    methods = all_methods() if given.methods is None else given.methods.split(",")
    check_names("method", methods, all_methods())
    notes += [f"{name}: skipped, {NEEDS[name]} is not installed." for name in methods if not installed(name)]
    if given.draws < 1:
        raise ValueError(f"--draws {given.draws} must be at least 1.")
    for note in notes:
        print(note, file=sys.stderr, flush=True)
    store = Store(given.out)
    run(sets, methods, 1 if given.quick else given.draws, store, quick=given.quick, tell=_tell)
    size = "quick" if given.quick else "full"
    rows = [row for row in store.rows.values() if row.size == size]
    write(rows, given.out)


def write(rows: Sequence[Row], folder: Path) -> None:
    """The pages and the figure, and the mean ranks on standard output."""
    folder.mkdir(parents=True, exist_ok=True)
    for task in METHODS:
        if any(row.task == task for row in rows):
            (folder / f"{task}.md").write_text(page(rows, task), encoding="utf-8")
            print(f"\n{TITLES[task]}\n\n{rank_table(rows, task)}")
    if rows:
        plot_ranks(rows).savefig(folder / "ranks.png", dpi=120)


def _tell(row: Row) -> None:
    score = f"error {row.error:.4f}" if row.task == "classes" else f"RMSE {row.rmse:.4f}"
    said = f"{score}, {row.seconds:.2f} s" if row.status == "ok" else row.status
    print(f"{row.set}, {row.labels}, draw {row.draw}, {row.method}: {said}", file=sys.stderr, flush=True)
