"""`flgp label MODEL DATA`: the rows whose labels would help most."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Annotated

import typer

from .._words import check_choice
from ..tables import ReadOptions, TableError, read_whole, write_table
from ..tables.identifiers import OWN_PREFIX, without_own
from ..tables.writing import check_output
from ._options import AS_FOUND, Data, Json, Model, Quiet, load_model, reads_table
from ._work import Work
from .predict import rounded

STRATEGIES = ("auto", "typical", "coverage", "uncertainty", "diverse", "variance", "random")
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
    fit again. typical: the middle of clusters without a label; coverage: rows that stand for many in doubt;
    uncertainty: where the model is least sure; diverse: the same, but rows that differ; variance: where a
    label tells most about all others; auto: for classes typical, then coverage; for numbers variance.
    """
    import pandas

    check_choice("--strategy", strategy, STRATEGIES)
    check_output(output)
    work = Work(_SHARES, quiet, as_json)
    with work.running():
        with work.stage("loading the model"):
            fitted = load_model(model)
        with work.stage("reading the table"):
            block = read_whole(data, reading, work.notes, cells=True)
            frame = block.frame
        with work.stage("choosing the rows"):
            rows, target = frame, fitted.schema.target
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
            own = without_own(block.kept(output)).loc[found.index]
            # The target is empty, to be filled in, also where the table has a mark such as "n/a".
            first = {"flgp_row": found.index} | ({} if target is None else {target: None})
            told = rounded(predictions[["prediction"]]).add_prefix(OWN_PREFIX)
            others = own.drop(columns=[target], errors="ignore")
            table = pandas.concat([pandas.DataFrame(first, index=found.index), others, told], axis=1)
            write_table(table, output, dialect=block.dialect)
    result = {"output": str(output), "rows": [int(row) for row in found.index], "strategy": strategy}
    fill = "" if target is None else f"Fill in {target!r}. "
    work.finish(
        result,
        f"Written: {output}, {number:,} rows to label. {fill}The column 'flgp_row' says where each row is in "
        f"{data}.",
    )
