"""`flgp fit DATA --target COLUMN`: learn from a table and write a model file."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

from .._files import check_target
from ..tables import Schema, TableError, TableModel, read_table
from ..tables.schema import SCALINGS
from ._options import Data, Json, Quiet, plain
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
# Integers with at most this many distinct values are treated as classes.
_FEW_VALUES = 10
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
    likelihood: Annotated[str, typer.Option(help=f"One of {', '.join(LIKELIHOODS)}.")] = "auto",
    scaling: Annotated[
        str, typer.Option(help="Scaling of numbers: standard (mean 0, deviation 1), range (0 to 1), or none.")
    ] = "standard",
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
    quiet: Quiet = False,
    as_json: Json = False,
) -> None:
    """Learn from the labelled and unlabelled rows of a table, and write a model file."""
    from .. import save

    _check_choices(likelihood, scaling, output)
    check_target(output, [data])
    work = Work(_SHARES, quiet, as_json)
    with work.running():
        with work.stage("reading the table"):
            frame = read_table(data)
            wanted = [name.strip() for part in features or [] for name in part.split(",") if name.strip()]
            given = {"sample_weight": weight, "exposure": exposure, "trials": trials}
            about = {argument: column for argument, column in given.items() if column is not None}
            _check_columns(frame, target, wanted, about)
            # Columns about the labels are not features.
            rest = [name for name in frame.columns if name != target and name not in about.values()]
            schema = Schema.of(frame, target, wanted or (rest if about else None), scaling)
            work.notes += schema.notes
        estimator = _estimator(frame[target], target, likelihood, work.notes)
        estimator.set_params(random_state=seed, n_jobs=jobs, **_parameters(option, estimator))
        model = TableModel.fit(estimator, frame, schema, about)
        with work.stage("writing the model"):
            save(model, output)
    result = _result(model, frame, output)
    work.finish(result, _text(result))


def _check_columns(frame: Any, target: str, features: list[str], about: dict[str, Any]) -> None:
    """Check that the columns about the labels exist and have no other use."""
    for argument, column in about.items():
        option = "--weight" if argument == "sample_weight" else f"--{argument}"
        if column not in frame.columns:
            raise TableError(f"{option}: there is no column {column!r}. Check its name.")
        if column == target or column in features or list(about.values()).count(column) > 1:
            raise TableError(f"{option}: column {column!r} already has another use. Use each column once.")


def _check_choices(likelihood: str, scaling: str, output: Path) -> None:
    if likelihood not in LIKELIHOODS:
        raise TableError(f"Unknown likelihood {likelihood!r}. Use one of {', '.join(LIKELIHOODS)}.")
    if scaling not in SCALINGS:
        raise TableError(f"Unknown scaling {scaling!r}. Use one of {', '.join(SCALINGS)}.")
    if not output.resolve().parent.is_dir():
        raise TableError(f"There is no folder {output.parent}. Create it first.")


def _estimator(target: Any, name: str, likelihood: str, notes: list[str]) -> Any:
    """The estimator for a target."""
    from ..estimators import FLGPClassifier, FLGPRegressor

    if likelihood == "auto":
        likelihood = _guess(target)
        if likelihood == "classes" and target.dtype.kind in "iuf":
            notes.append(
                f"{name!r} has few distinct integers and is treated as classes; if it is a number, use "
                "--likelihood gaussian"
            )
    return FLGPClassifier() if likelihood == "classes" else FLGPRegressor(likelihood=likelihood)


def _guess(target: Any) -> str:
    if target.dtype.kind not in "iuf":
        return "classes"
    values = np.unique(target.dropna().to_numpy(dtype=float))
    return "classes" if len(values) <= _FEW_VALUES and (values == np.floor(values)).all() else "gaussian"


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
