"""`flgp predict MODEL DATA`: predictions with their uncertainty for every row of a table."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

from ..tables import ReadOptions, TableError, read_blocks
from ..tables.identifiers import OWN_PREFIX, without_own
from ..tables.writing import TableWriter, check_output
from ._options import AS_FOUND, Data, Exposure, Json, Model, Quiet, Trials, load_model, reads_table
from ._work import Work

# Beyond this many radii from the nearest anchor a prediction is little more than the prior.
_FAR = 3.0
_DRIFT = 3  # exit code
_DIGITS, _ALL_DIGITS, _EXACT_TENS = 6, 17, 22
_SHARES = {"loading": 20.0, "reading,": 80.0}


@reads_table
def predict(
    model: Model,
    data: Data,
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", help="File for the predictions. Default: CSV to the screen."),
    ] = None,
    coverage: Annotated[
        float, typer.Option(help="Coverage of the intervals for numbers, between 0 and 1.")
    ] = 0.95,
    exposure: Exposure = None,
    trials: Trials = None,
    digits: Annotated[
        int,
        typer.Option(
            min=1,
            max=17,
            help="Significant digits of numbers, decimals of probabilities; 17 for all there are.",
        ),
    ] = _DIGITS,
    keep: Annotated[
        bool, typer.Option("--keep", help="Put the table's own columns before the predictions.")
    ] = False,
    escape_formulas: Annotated[
        bool,
        typer.Option("--escape-formulas", help="An apostrophe before text that a spreadsheet would run."),
    ] = False,
    far: Annotated[float, typer.Option(help="A row is far if its distance is above this.")] = _FAR,
    max_far_share: Annotated[
        float | None,
        typer.Option(help="Exit code 3 if a larger share of the rows is far: the data have drifted."),
    ] = None,
    block_rows: Annotated[
        int, typer.Option(min=1, help="Rows in memory at a time (text, JSON lines, Parquet).")
    ] = 100_000,
    reading: ReadOptions = AS_FOUND,
    quiet: Quiet = False,
    as_json: Json = False,
) -> None:
    """Predict every row of a table: number with interval, or class with probabilities.

    The column distance tells how far a row is from all fitted ones: up to 1 it is as close as these are to
    each other, above 3 its prediction is little more than the average.
    """
    import pandas

    if not 0 < coverage < 1:
        raise TableError(f"--coverage {coverage} is not between 0 and 1.")
    if output is None and as_json:
        raise TableError("--json needs --output: predictions and summary cannot both go to the screen.")
    if output is not None:
        check_output(output, model, data)
    work = Work(_SHARES, quiet or output is None, as_json)
    rows, n_far, names = 0, 0, []
    with work.running():
        with work.stage("loading the model"):
            fitted = load_model(model)
        with work.stage("reading, predicting and writing"), TableWriter(output, escape_formulas) as writer:
            columns = {"exposure": exposure, "trials": trials}
            for block in read_blocks(data, block_rows, reading, work.notes, cells=keep):
                frame = block.frame
                predictions = rounded(fitted.predict(frame, coverage, work.notes, columns), digits)
                rows += len(frame)
                n_far += int(np.sum(predictions["distance"].to_numpy() > far))
                prefixed = predictions.add_prefix(OWN_PREFIX)
                own = without_own(block.kept(output)) if keep else None
                table = pandas.concat([own, prefixed], axis=1) if keep else predictions
                names = list(prefixed.columns if keep else predictions.columns)
                writer.write(table, block.dialect)
                work.tell(f"{rows:,} rows")
    work.notes[:] = list(dict.fromkeys(work.notes))
    drifted = max_far_share is not None and n_far > max_far_share * rows
    if n_far:
        work.notes.append(
            f"{n_far:,} row(s) are far from all fitted points: predictions there are little more than the "
            "prior"
        )
    if drifted:
        work.notes.append(
            f"{n_far / rows:.1%} of the rows are far, more than --max-far-share: the data changed"
        )
    if output is None:
        if not quiet:
            work.tell_notes()
    else:
        result = {"output": str(output), "rows": rows, "columns": list(table.columns), "far": n_far}
        result["far_share"], result["drift"] = n_far / rows, drifted
        work.finish(result, f"Written: {output} ({rows:,} rows; {', '.join(names)}).")
    if drifted:
        raise typer.Exit(_DRIFT)


def rounded(predictions: Any, digits: int = _DIGITS) -> Any:
    """Numbers with some significant digits, probabilities with as many decimals; more would be noise."""
    result = predictions.copy()
    if digits >= _ALL_DIGITS:
        return result
    for name in result.columns[result.dtypes.map(lambda kind: kind.kind == "f")]:
        values = result[name].to_numpy()
        if name.startswith("probability_") or name == "distance":
            result[name] = np.round(values, digits)
            continue
        with np.errstate(all="ignore"):
            size = np.floor(np.log10(np.abs(values)))
        places = digits - 1 - np.where(np.isfinite(size), size, 0.0)
        # A power of ten up to 22 is exact in double precision, so that the shortest decimal is the right one.
        scale = 10.0 ** np.minimum(np.abs(places), _EXACT_TENS)
        short = np.where(places > 0, np.round(values * scale) / scale, np.round(values / scale) * scale)
        extreme = (np.abs(places) > _EXACT_TENS) & np.isfinite(values)
        short[extreme] = [float(f"{value:.{digits}g}") for value in values[extreme]]
        result[name] = np.where(np.isfinite(short), short, values)
    return result
