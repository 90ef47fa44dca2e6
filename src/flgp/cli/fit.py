"""`flgp fit DATA --target COLUMN`: learn from a table and write a model file."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any

import typer

from ..tables import Prepared, TableError, TableModel, prepare, read_table
from ..tables.schema import MISSING_RULES, SCALINGS
from ..tables.target import TASKS
from ._options import (
    Data,
    Dates,
    Decimal,
    Encoding,
    Json,
    Marks,
    NoHeader,
    Quiet,
    Sep,
    Sheet,
    plain,
    reading,
)
from ._work import Work

LIKELIHOODS = (
    "auto",
    "classes",
    "gaussian",
    "student_t",
    "poisson",
    "negative_binomial",
    "binomial",
    "gamma",
    "exponential",
    "bernoulli",
    "probit",
)
_SHARES = {
    "reading": 8.0,
    "anchors": 25.0,
    "neighbours": 3.0,
    "spectrum": 55.0,
    "transduction": 2.0,
    "writing": 2.0,
}


def fit(
    data: Data,
    target: Annotated[str, typer.Option(help="Column to predict; rows where it is empty are unlabelled.")],
    output: Annotated[Path, typer.Option("--output", "-o", help="The model file.")] = Path("model.flgp"),
    features: Annotated[
        list[str] | None, typer.Option(help="A feature column, or several separated by commas. Default: all.")
    ] = None,
    exclude: Annotated[
        list[str] | None, typer.Option(help="A column that is not a feature, or several separated by commas.")
    ] = None,
    task: Annotated[
        str | None, typer.Option(help=f"{', '.join(TASKS)}. Default: found by looking at the target.")
    ] = None,
    likelihood: Annotated[str, typer.Option(help=f"One of {', '.join(LIKELIHOODS)}.")] = "auto",
    scaling: Annotated[
        str, typer.Option(help="Scaling of numbers: standard (mean 0, deviation 1), range (0 to 1), or none.")
    ] = "standard",
    missing: Annotated[
        str, typer.Option(help="Missing values in features: impute (and mark them), or error.")
    ] = "impute",
    weight: Annotated[str | None, typer.Option(help="Column with the weights of the labelled rows.")] = None,
    exposure: Annotated[
        str | None, typer.Option(help="Column with the exposure of counts; predictions use it too.")
    ] = None,
    trials: Annotated[
        str | None, typer.Option(help="Column with the trials of a binomial; predictions use it too.")
    ] = None,
    seed: Annotated[int, typer.Option(help="Seed of the anchors.")] = 0,
    jobs: Annotated[int | None, typer.Option(help="Threads. Default: all cores.")] = None,
    option: Annotated[
        list[str] | None,
        typer.Option(
            "--option", help="NAME=VALUE for any parameter of the estimator, such as n_anchors=2000."
        ),
    ] = None,
    sep: Sep = None,
    decimal: Decimal = None,
    encoding: Encoding = None,
    no_header: NoHeader = False,
    na: Marks = None,
    dates: Dates = None,
    sheet: Sheet = None,
    quiet: Quiet = False,
    as_json: Json = False,
) -> None:
    """Learn from the labelled and unlabelled rows of a table, and write a model file."""
    from .. import save

    _check_choices(likelihood, scaling, missing, output)
    options = reading(sep, decimal, encoding, no_header, na, dates, sheet)
    work = Work(_SHARES, quiet, as_json)
    with work.running():
        with work.stage("reading the table"):
            table = prepare(
                read_table(data, options, work.notes),
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
        estimator.set_params(random_state=seed, n_jobs=jobs, **_parameters(option, estimator))
        model = TableModel.fit(estimator, table.frame, table.schema)
        with work.stage("writing the model"):
            save(model, output)
    result = _result(model, table.frame, output)
    work.finish(result, _text(result))


def about_labels(weight: str | None, exposure: str | None, trials: str | None) -> dict[str, str]:
    """Columns about the labels, by the argument of `fit`."""
    given = {"sample_weight": weight, "exposure": exposure, "trials": trials}
    return {argument: column for argument, column in given.items() if column is not None}


def make_estimator(table: Prepared) -> Any:
    """The estimator for a table."""
    from ..estimators import FLGPClassifier, FLGPRegressor

    return FLGPClassifier() if table.likelihood == "classes" else FLGPRegressor(likelihood=table.likelihood)


def _check_choices(likelihood: str, scaling: str, missing: str, output: Path) -> None:
    if likelihood not in LIKELIHOODS:
        raise TableError(f"Unknown likelihood {likelihood!r}. Use one of {', '.join(LIKELIHOODS)}.")
    if scaling not in SCALINGS:
        raise TableError(f"Unknown scaling {scaling!r}. Use one of {', '.join(SCALINGS)}.")
    if missing not in MISSING_RULES:
        raise TableError(f"Unknown --missing {missing!r}. Use one of {', '.join(MISSING_RULES)}.")
    if not output.resolve().parent.is_dir():
        raise TableError(f"There is no folder {output.parent}. Create it first.")


def _parameters(options: list[str] | None, estimator: Any) -> dict[str, Any]:
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
