"""`flgp evaluate DATA --target COLUMN`: how good a model of this table is, by cross-validation."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

from ..tables import ReadOptions, write_table
from ..tables.identifiers import OWN_PREFIX, without_own
from ..tables.writing import check_output
from ._learning import BY_DEFAULT, Learning, Target, cross_validated, learn, learns_from_table
from ._options import AS_FOUND, Data, Json, Quiet, plain
from ._work import Work

_SHARES = {"reading": 5.0, "anchors": 15.0, "neighbours": 3.0, "spectrum": 27.0, "cross-validation": 50.0}
# Classes of which a confusion matrix still fits on a screen.
_MOST_SHOWN = 12
_WORST = 10


@learns_from_table
def evaluate(
    data: Data,
    target: Target,
    cv: Annotated[int, typer.Option("--cv", min=2, help="Number of folds.")] = 5,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="File for the held-out predictions.")
    ] = None,
    learning: Learning = BY_DEFAULT,
    reading: ReadOptions = AS_FOUND,
    quiet: Quiet = False,
    as_json: Json = False,
) -> None:
    """Tell how good a model of this table is: every labelled row predicted without its label.

    All rows stay in the graph. Plain methods (majority or mean, k-NN, logistic or ridge regression) are
    scored beside the model.
    """
    if output is not None:
        check_output(output)
    work = Work(_SHARES, quiet, as_json)
    with work.running():
        model, table, block = learn(work, data, target, learning, reading, cells=output is not None)
        found = cross_validated(work, model, table, cv)
        if output is not None:
            write_table(held_out(found, block.kept(output)), output, dialect=block.dialect)
    from ..model_selection.verdict import as_dict, what_was_learned

    shares = model.estimator.term_shares_
    result = {
        **as_dict(found),
        "learned": what_was_learned(shares),
        "worst": worst_rows(found, table.frame.index),
    }
    if output is not None:
        result["output"] = str(output)
    work.finish(
        result, "\n".join([*_report(found, result["worst"]), "", *result["verdict"], result["learned"]])
    )


def held_out(found: Any, frame: Any) -> Any:
    """A table of the labelled rows with their held-out predictions."""
    import pandas

    own = without_own(frame.iloc[found.rows])
    columns: dict[str, Any] = {"row": own.index, "label": found.y, "prediction": found.prediction}
    if found.probability is not None:
        columns["probability_of_label"] = _stated(found)
    else:
        columns |= {"std": found.std, "lower": found.lower, "upper": found.upper}
    held = pandas.DataFrame({**columns, "loss": found.losses["flgp"]}, index=own.index)
    return pandas.concat([held.add_prefix(OWN_PREFIX), own], axis=1)


def worst_rows(found: Any, numbers: Any) -> list[dict[str, Any]]:
    """The rows that surprise the model most, with their numbers in the file."""
    how_sure = {"std": found.std} if found.probability is None else {"probability_of_label": _stated(found)}
    columns = {"row": np.asarray(numbers)[found.rows], "label": found.y, "prediction": found.prediction}
    return [
        {name: plain(values[i]) for name, values in (columns | how_sure).items()} for i in found.worst(_WORST)
    ]


def _stated(found: Any) -> Any:
    """The probability (m,) that each label was given."""
    return found.probability[np.arange(len(found.y)), np.searchsorted(found.classes, found.y)]


def _report(found: Any, worst: list[dict[str, Any]]) -> list[str]:
    lines = [str(found)]
    if found.classes is not None and len(found.classes) <= _MOST_SHOWN:
        names = [str(name)[:12] for name in found.classes]
        width = max(8, *(len(name) + 2 for name in names))
        lines += ["", "Rows of each class (left) by predicted class (top):"]
        lines.append(" " * width + "".join(f"{name:>{width}}" for name in names))
        lines += [
            f"{name:<{width}}" + "".join(f"{count:>{width}}" for count in counts)
            for name, counts in zip(names, found.confusion, strict=True)
        ]
    lines += ["", "Most surprising rows:"]
    for row in worst:
        sure = (
            f"probability {row['probability_of_label']:.3f}"
            if "probability_of_label" in row
            else f"± {row['std']:.4g}"
        )
        label, guess = (
            f"{row[k]:.4g}" if isinstance(row[k], float) else str(row[k])[:40]
            for k in ("label", "prediction")
        )
        lines.append(f"  row {row['row']}: {label}, predicted {guess} ({sure})")
    return lines
