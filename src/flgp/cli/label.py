"""`flgp label MODEL DATA`: the rows whose labels would help most."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Annotated

import typer

from ..tables import ReadOptions, TableError, read_table, write_table
from ..tables.identifiers import OWN_PREFIX, without_own
from ..tables.writing import check_output
from ._options import (
    AS_FOUND,
    Data,
    Json,
    Model,
    Quiet,
    load_model,
    reads_table,
)
from ._work import Work

STRATEGIES = ("auto", "coverage", "uncertainty", "diverse", "variance", "random")
_SHARES = {"loading": 20.0, "reading": 20.0, "choosing": 55.0, "writing": 5.0}


@reads_table
def label(
    model: Model,
    data: Data,
    output: Annotated[Path, typer.Option("--output", "-o", help="File for the rows to label.")] = Path(
        "to_label.csv"
    ),
    number: Annotated[int, typer.Option("--number", "-n", min=1, help="How many rows.")] = 20,
    strategy: Annotated[str, typer.Option(help=f"One of {', '.join(STRATEGIES)}.")] = "auto",
    seed: Annotated[int, typer.Option(help="Random seed.")] = 0,
    reading: ReadOptions = AS_FOUND,
    quiet: Quiet = False,
    as_json: Json = False,
) -> None:
    """Choose the rows of a table whose labels would help the model most, and write them to a file.

    Rows that have a label are left out. Fill in the target in the file, put those labels into the table, and
    fit again. coverage: rows that stand for many in doubt; uncertainty: where the model is least sure;
    diverse: the same, but rows that differ; variance: where a label tells most about all others;
    auto: coverage for classes, variance for numbers.
    """
    if strategy not in STRATEGIES:
        raise TableError(f"Unknown --strategy {strategy!r}. Use one of {', '.join(STRATEGIES)}.")
    check_output(output)
    work = Work(_SHARES, quiet, as_json)
    with work.running():
        with work.stage("loading the model"):
            fitted = load_model(model)
        with work.stage("reading the table"):
            frame = read_table(data, reading, work.notes)
        with work.stage("choosing the rows"):
            rows, target = frame.assign(flgp_row=range(1, len(frame) + 1)), fitted.schema.target
            if target in frame.columns:
                rows = rows[fitted.target_values(frame).isna().to_numpy()]
                # A compact model does not know its labels, but the table does.
                warnings.filterwarnings("ignore", "The model does not hold its labels")
            if len(rows) < number:
                raise TableError(
                    f"The table has {len(rows)} row(s) without a label. Ask for at most that many with -n."
                )
            X = fitted.schema.matrix(rows, work.notes)
            chosen = fitted.estimator.suggest(X, number, strategy=strategy, random_state=seed)
            found = rows.iloc[chosen]
            predictions = fitted.predict(found)
        with work.stage("writing the rows"):
            first = ["flgp_row", *([target] if target in found.columns else [])]
            told = predictions[["prediction"]].add_prefix(OWN_PREFIX)
            others = [name for name in without_own(found).columns if name not in first]
            write_table(found[[*first, *others]].join(told), output)
    result = {"output": str(output), "rows": [int(row) for row in found["flgp_row"]], "strategy": strategy}
    work.finish(
        result,
        f"Written: {output}, {number:,} rows to label; column 'flgp_row' numbers the rows of the table.",
    )
