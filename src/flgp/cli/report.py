"""`flgp report MODEL DATA`: one HTML file about a model and its points."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

from .._files import check_target
from ..tables import ReadOptions, TableError, TableModel, own_columns, read_table
from ._learning import FOLDS, is_quickly_judged
from ._options import AS_FOUND, Data, Exposure, Json, Model, Quiet, Trials, load_model, reads_table
from ._work import Work

# With this many labels, which are those of the fit, the report measures how good the model is.
_FEWEST_LABELS = 10
_SHARES = {"loading": 10.0, "reading": 10.0, "predictions,": 80.0}


@reads_table
def report(
    model: Model,
    data: Data,
    output: Annotated[Path, typer.Option("--output", "-o", help="The HTML file.")] = Path("report.html"),
    title: Annotated[str | None, typer.Option(help="Heading. Default: the name of the table.")] = None,
    exposure: Exposure = None,
    trials: Trials = None,
    max_points: Annotated[
        int, typer.Option(min=1, help="Show at most this many points, a random sample.")
    ] = 100_000,
    reading: ReadOptions = AS_FOUND,
    quiet: Quiet = False,
    as_json: Json = False,
) -> None:
    """Write one HTML file to send on: how good the model is, a map of the rows, which to look at."""
    from ..report import write_report

    if output.suffix.lower() not in (".html", ".htm"):
        raise TableError(f"{output} is not the name of an HTML file. Use a name that ends in .html.")
    check_target(output, [model, data])
    work = Work(_SHARES, quiet, as_json)
    with work.running():
        with work.stage("loading the model"):
            fitted = load_model(model)
        with work.stage("reading the table"):
            frame = read_table(data, reading, work.notes)
        schema, estimator = fitted.schema, fitted.estimator
        with work.stage("predictions, evidence and page"):
            y, sizes = None, {}
            if schema.target in frame.columns:
                column = fitted.target_values(frame)
                frame = frame.assign(**{str(schema.target): column})
                y = fitted.targets(frame)
                columns = {"exposure": exposure, "trials": trials}
                sizes = fitted.sizes(frame, columns, column.notna().to_numpy())
            X = schema.matrix(frame, work.notes)
            found = _evaluation(fitted, X, y, frame)
            write_report(
                estimator,
                X,
                output,
                y,
                feature_names=schema.feature_names,
                target=schema.target or "y",
                title=title or data.stem,
                notes=[
                    f"Scaling: {schema.scaling}.",
                    *(f"{note[:1].upper()}{note[1:]}." for note in schema.notes),
                ],
                evaluation=found,
                columns=own_columns(schema, frame),
                numbers=frame.index,
                max_points=max_points,
                **sizes,
            )
    size = output.stat().st_size
    result = {"report": str(output), "bytes": size, "points": min(len(frame), max_points)}
    work.finish(result, f"Written: {output} ({size / 1e6:.1f} MB). Open it in a browser.")


def _evaluation(fitted: TableModel, X: Any, y: Any, frame: Any) -> Any:
    """Held-out quality, if the table is that of the fit; otherwise None."""
    from ..model_selection import evaluate

    if y is None:
        return None
    labeled = frame[fitted.schema.target].notna().to_numpy()
    count = int(labeled.sum())
    known = getattr(fitted.estimator, "_labels_", None)
    if known is None or len(known.points) != count or not np.allclose(X[labeled], known.points):
        return None
    n_classes = len(getattr(fitted.estimator, "classes_", ())) or 1
    if count < _FEWEST_LABELS or not is_quickly_judged(count, n_classes):
        return None
    about = {name: np.asarray(frame[column], dtype=float) for name, column in fitted.schema.about.items()}
    return evaluate(fitted.estimator, X, y, cv=FOLDS, prefit=True, known=about)
