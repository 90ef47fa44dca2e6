"""`flgp fit DATA --target COLUMN`: learn from a table and write a model file."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any

import typer

from .._files import check_target
from ..tables import Prepared, ReadOptions, TableError, TableModel, prepare, read_table
from ..tables.schema import MISSING_RULES, SCALINGS
from ..tables.target import TASKS
from ._options import (
    AS_FOUND,
    Data,
    Json,
    Quiet,
    plain,
    reads_table,
)
from ._work import Work

LIKELIHOODS = (
    "auto",
    "classes",
    "gaussian",
    "heteroscedastic",
    "student_t",
    "poisson",
    "negative_binomial",
    "binomial",
    "gamma",
    "exponential",
    "bernoulli",
    "probit",
    "beta",
    "ordinal",
    "tweedie",
    "zero_inflated_poisson",
    "zero_inflated_negative_binomial",
    "hurdle_poisson",
    "hurdle_negative_binomial",
    "asymmetric_laplace",
)
# Without --cv, this many folds if the number of labels is in this range: judged in little time.
_FOLDS, _FEWEST_LABELS, _MOST_LABELS = 5, 20, 2_000
_SHARES = {
    "reading": 8.0,
    "anchors": 25.0,
    "neighbours": 3.0,
    "spectrum": 55.0,
    "transduction": 2.0,
    "writing": 2.0,
}


Target = Annotated[
    str, typer.Option(help="Column to predict; rows where it is empty are unlabelled.", show_default=False)
]
Features = Annotated[
    list[str] | None, typer.Option(help="A feature column, or several separated by commas. Default: all.")
]
Exclude = Annotated[
    list[str] | None, typer.Option(help="A column that is not a feature, or several separated by commas.")
]
Task = Annotated[
    str | None, typer.Option(help=f"{', '.join(TASKS)}. Default: found by looking at the target.")
]
Likelihood = Annotated[str, typer.Option(help=f"One of {', '.join(LIKELIHOODS)}.")]
Scaling = Annotated[
    str, typer.Option(help="Scaling of numbers: standard (mean 0, deviation 1), range (0 to 1), or none.")
]
Missing = Annotated[str, typer.Option(help="Missing values in features: impute (and mark them), or error.")]
Weight = Annotated[str | None, typer.Option(help="Column with the weights of the labelled rows.")]
ExposureColumn = Annotated[
    str | None, typer.Option("--exposure", help="Column with the exposure of counts; predictions use it too.")
]
TrialsColumn = Annotated[
    str | None, typer.Option("--trials", help="Column with the trials of a binomial; predictions use it too.")
]
Seed = Annotated[int, typer.Option(help="Seed of the anchors.")]
Jobs = Annotated[int | None, typer.Option(help="Threads. Default: all cores.")]
Option = Annotated[
    list[str] | None,
    typer.Option("--option", help="NAME=VALUE for any parameter of the estimator, such as n_anchors=2000."),
]


@reads_table
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
            f"Default: {_FOLDS}, if there are {_FEWEST_LABELS} to {_MOST_LABELS:,} labels.",
        ),
    ] = None,
    compact: Annotated[
        bool,
        typer.Option(
            "--compact",
            help="A small file for predictions, without the labels.",
        ),
    ] = False,
    features: Features = None,
    exclude: Exclude = None,
    task: Task = None,
    likelihood: Likelihood = "auto",
    scaling: Scaling = "standard",
    missing: Missing = "impute",
    weight: Weight = None,
    exposure: ExposureColumn = None,
    trials: TrialsColumn = None,
    seed: Seed = 0,
    jobs: Jobs = None,
    option: Option = None,
    reading: ReadOptions = AS_FOUND,
    quiet: Quiet = False,
    as_json: Json = False,
) -> None:
    """Learn from the labelled and unlabelled rows of a table, and write a model file."""
    from .. import save
    from ..model_selection.verdict import as_dict

    check_choices(likelihood, scaling, missing)
    if cv == 1:
        raise TableError("--cv 1 leaves no label to learn from. Use 2 or more folds, or 0 for none.")
    if not output.resolve().parent.is_dir():
        raise TableError(f"There is no folder {output.parent}. Create it first.")
    check_target(output, [data])
    work = Work(_SHARES, quiet, as_json)
    with work.running():
        with work.stage("reading the table"):
            table = prepare(
                read_table(data, reading, work.notes),
                target,
                features=features or (),
                exclude=exclude or (),
                about=about_labels(weight, exposure, trials),
                likelihood=likelihood,
                task=task,
                scaling=scaling,
                missing=missing,
            )
            work.notes += table.notes
        estimator = make_estimator(table)
        estimator.set_params(**{"random_state": seed, "n_jobs": jobs} | parameters(option, estimator))
        model = TableModel.fit(estimator, table.frame, table.schema)
        work.notes += _reduced(model.estimator)
        with work.stage("writing the model"):
            save(model, output, compact=compact)
        folds = _folds(cv, int(table.frame[target].notna().sum()), quiet and not as_json)
        found = cross_validated(work, model, table, folds) if folds else None
    result = _result(model, table.frame, output)
    if found is not None:
        result["evaluation"] = as_dict(found)
    work.finish(result, "\n".join([_text(result), *_verdict(model, result, data)]))


def _folds(wanted: int | None, n_labeled: int, silent: bool) -> int:
    """How many folds to judge the model by; a verdict that nobody sees needs none."""
    if wanted is not None:
        return min(wanted, n_labeled) if n_labeled >= 4 else 0
    return _FOLDS if _FEWEST_LABELS <= n_labeled <= _MOST_LABELS and not silent else 0


def _reduced(estimator: Any) -> list[str]:
    """Notes about numbers that the user asked for and the table is too small for."""
    notes, anchors = [], len(estimator.anchors_)
    if not isinstance(estimator.n_anchors, str) and anchors < estimator.n_anchors:
        notes.append(
            f"n_anchors={estimator.n_anchors} was reduced to {anchors}: there are no more distinct rows"
        )
    if not isinstance(estimator.n_neighbors, str) and estimator.n_neighbors > anchors:
        notes.append(f"n_neighbors={estimator.n_neighbors} was reduced to the number of anchors, {anchors}")
    return notes


def cross_validated(work: Work, model: TableModel, table: Prepared, cv: int) -> Any:
    """The evaluation of a fitted model of a table."""
    from ..model_selection import evaluate

    X, y, known = model.training(table.frame)
    with work.stage(f"cross-validation with {cv} folds"):
        return evaluate(model.estimator, X, y, cv=cv, prefit=True, known=known)


def _verdict(model: TableModel, result: dict[str, Any], data: Path) -> list[str]:
    """What was learned and how good it is, in words."""
    from ..model_selection.verdict import what_was_learned

    lines = [what_was_learned(model.estimator.term_shares_)]
    if "evaluation" in result:
        return [*lines, *result["evaluation"]["verdict"]]
    return [*lines, f"How good is it? flgp evaluate {data} --target {model.schema.target!r}"]


def about_labels(weight: str | None, exposure: str | None, trials: str | None) -> dict[str, str]:
    """Columns about the labels, by the argument of `fit`."""
    given = {"sample_weight": weight, "exposure": exposure, "trials": trials}
    return {argument: column for argument, column in given.items() if column is not None}


def make_estimator(table: Prepared) -> Any:
    """The estimator for a table."""
    from ..estimators import FLGPClassifier, FLGPRegressor

    return FLGPClassifier() if table.likelihood == "classes" else FLGPRegressor(likelihood=table.likelihood)


def check_choices(likelihood: str, scaling: str, missing: str) -> None:
    """Refuse unknown words before the work rather than after it."""
    if likelihood not in LIKELIHOODS:
        raise TableError(f"Unknown likelihood {likelihood!r}. Use one of {', '.join(LIKELIHOODS)}.")
    if scaling not in SCALINGS:
        raise TableError(f"Unknown scaling {scaling!r}. Use one of {', '.join(SCALINGS)}.")
    if missing not in MISSING_RULES:
        raise TableError(f"Unknown --missing {missing!r}. Use one of {', '.join(MISSING_RULES)}.")


def parameters(options: list[str] | None, estimator: Any) -> dict[str, Any]:
    """NAME=VALUE pairs, the values in JSON or as plain text."""
    found: dict[str, Any] = {}
    for text in options or []:
        name, equals, value = text.partition("=")
        if not equals or name not in estimator.get_params():
            known = ", ".join(sorted(estimator.get_params()))
            raise TableError(f"--option {text!r} must be NAME=VALUE, where NAME is one of: {known}.")
        try:
            found[name] = json.loads(value)
        except ValueError:
            found[name] = value
    return found


def _result(model: TableModel, frame: Any, output: Path) -> dict[str, Any]:
    estimator, schema = model.estimator, model.schema
    return {
        "model": str(output),
        "bytes": output.stat().st_size,
        "estimator": type(estimator).__name__,
        "target": schema.target,
        "rows": len(frame),
        "labelled": int(frame[schema.target].notna().sum()),
        "features": schema.feature_names,
        "scaling": schema.scaling,
        "classes": plain(getattr(estimator, "classes_", None)),
        "anchors": len(estimator.anchors_),
        "eigenpairs": len(estimator.eigenvalues_),
        "connected_parts": estimator.n_graph_components_,
        "diffusion_time": plain(estimator.diffusion_time_),
        "log_evidence": estimator.log_marginal_likelihood_value_,
    }


def _text(result: dict[str, Any]) -> str:
    kind = f"{len(result['classes'])} classes" if result["classes"] is not None else "a number"
    return "\n".join(
        [
            f"{result['rows']:,} rows, {result['labelled']:,} of them labelled; "
            f"{len(result['features'])} features, scaling: {result['scaling']}.",
            f"{result['target']!r} is {kind}: {result['estimator']}, {result['anchors']:,} anchors, "
            f"{result['eigenpairs']:,} eigenpairs, log evidence {result['log_evidence']:.4g}.",
            f"Written: {result['model']} ({result['bytes'] / 1e6:.1f} MB).",
        ]
    )
