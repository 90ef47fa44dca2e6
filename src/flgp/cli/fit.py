"""`flgp fit DATA --target COLUMN`: learn from a table and write a model file."""

from __future__ import annotations

from pathlib import Path
from shlex import quote
from typing import Annotated, Any

import typer

from .._files import check_target
from ..tables import ReadOptions, TableError, TableModel
from ._learning import (
    BY_DEFAULT,
    FOLDS,
    MOST_LABELS,
    Learning,
    Target,
    cross_validated,
    is_quickly_judged,
    learn,
    learns_from_table,
)
from ._options import AS_FOUND, Data, Json, Quiet, described
from ._work import Work

# Without --cv, a model with fewer labels is not judged.
_FEWEST_LABELS = 20
_SHARES = {
    "reading": 8.0,
    "anchors": 25.0,
    "neighbours": 3.0,
    "spectrum": 55.0,
    "transduction": 2.0,
    "writing": 2.0,
}


@learns_from_table
def fit(
    data: Data,
    target: Target,
    output: Annotated[Path, typer.Option("--output", "-o", help="The model file.")] = Path("model.flgp"),
    cv: Annotated[
        int | None,
        typer.Option(
            "--cv",
            min=0,
            help="Folds of the cross-validation that the verdict rests on; 0 for none. "
            f"Default: {FOLDS}, if there are {_FEWEST_LABELS} to {MOST_LABELS:,} labels and not very many "
            "classes.",
        ),
    ] = None,
    compact: Annotated[
        bool, typer.Option("--compact", help="A small file for predictions, without the labels.")
    ] = False,
    learning: Learning = BY_DEFAULT,
    reading: ReadOptions = AS_FOUND,
    quiet: Quiet = False,
    as_json: Json = False,
) -> None:
    """Learn from the labelled and unlabelled rows of a table, and write a model file."""
    from .. import save
    from ..model_selection.verdict import as_dict

    if cv == 1:
        raise TableError("--cv 1 leaves no label to learn from. Use 2 or more folds, or 0 for none.")
    check_target(output, [data])
    work = Work(_SHARES, quiet, as_json)
    with work.running():
        model, table, _ = learn(work, data, target, learning, reading)
        work.notes += _reduced(model.estimator)
        with work.stage("writing the model"):
            save(model, output, compact=compact)
        classes = len(getattr(model.estimator, "classes_", ())) or 1
        n_labeled = int(table.frame[target].notna().sum())
        folds = _folds(cv, n_labeled, classes, quiet and not as_json)
        found = cross_validated(work, model, table, folds) if folds else None
    result = {
        "model": str(output),
        "bytes": output.stat().st_size,
        "rows": len(table.frame),
        "labelled": n_labeled,
        **described(model),
    }
    if found is not None:
        result["evaluation"] = as_dict(found)
    work.finish(result, "\n".join([_text(result), *_verdict(model, result, data, learning)]))


def _folds(wanted: int | None, n_labeled: int, n_classes: int, silent: bool) -> int:
    """How many folds to judge the model by; a verdict that nobody sees needs none."""
    from ..model_selection.evaluation import FEWEST_LABELS

    if wanted is not None:
        return min(wanted, n_labeled) if n_labeled >= FEWEST_LABELS else 0
    quick = n_labeled >= _FEWEST_LABELS and is_quickly_judged(n_labeled, n_classes)
    return FOLDS if quick and not silent else 0


def _reduced(estimator: Any) -> list[str]:
    """Notes on parameters that were reduced because the table is too small for them."""
    notes, anchors = [], len(estimator.anchors_)
    if not isinstance(estimator.n_anchors, str) and anchors < estimator.n_anchors:
        notes.append(f"n_anchors={estimator.n_anchors} was reduced to {anchors}, the number of distinct rows")
    if not isinstance(estimator.n_neighbors, str) and estimator.n_neighbors > anchors:
        notes.append(f"n_neighbors={estimator.n_neighbors} was reduced to the number of anchors, {anchors}")
    return notes


def _verdict(model: TableModel, result: dict[str, Any], data: Path, learning: Learning) -> list[str]:
    """What was learned, how good it is, and what to do next, in words."""
    from ..model_selection.evaluation import FEWEST_LABELS
    from ..model_selection.verdict import how_columns_are_used, what_was_learned

    estimator = model.estimator
    lines = [what_was_learned(estimator.term_shares_)]
    lines += how_columns_are_used(estimator.scaling_, model.schema.feature_names)
    table, file = quote(str(data)), quote(result["model"])
    if "evaluation" in result:
        lines += result["evaluation"]["verdict"]
    elif result["labelled"] < FEWEST_LABELS:
        lines.append(
            f"{result['labelled']} label(s) do not show how good it is, and the stated uncertainty is a "
            f"guess: flgp label {file} {table} says which rows to label next."
        )
    else:
        target = quote(str(model.schema.target))
        lines.append(f"How good is it? flgp evaluate {table} --target {target}{learning.as_options()}")
    return [*lines, f"Next: flgp report {file} {table}, or flgp predict {file} NEW.csv -o predictions.csv"]


def _text(result: dict[str, Any]) -> str:
    kind = "is a number"
    if result["classes"] is not None:
        kind = "has one class" if len(result["classes"]) == 1 else f"has {len(result['classes']):,} classes"
    return "\n".join(
        [
            f"{result['rows']:,} rows, {result['labelled']:,} of them labelled; "
            f"{len(result['features'])} features, scaling: {result['scaling']}.",
            f"{result['target']!r} {kind}: {result['estimator']}, {result['anchors']:,} anchors, "
            f"{result['eigenpairs']:,} eigenpairs, log evidence {result['log_evidence']:.4g}.",
            f"Written: {result['model']} ({result['bytes'] / 1e6:.1f} MB).",
        ]
    )
