"""Options and inputs shared by several commands."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import wraps
from pathlib import Path
from typing import Annotated, Any, get_type_hints

import typer

from ..tables import Column, ReadOptions, Schema, TableError, TableModel
from ..tables.formats import READERS

Data = Annotated[
    Path,
    typer.Argument(
        help="CSV, TSV (also .gz), XLSX, JSON lines, Parquet, Feather, NPY, NPZ; - is standard input.",
        show_default=False,
    ),
]
Model = Annotated[Path, typer.Argument(help="A model file, written by flgp fit.", show_default=False)]
Exposure = Annotated[
    str | None,
    typer.Option(help="Column with the exposures, or a number for all rows. Default: the column of the fit."),
]
Trials = Annotated[
    str | None,
    typer.Option(help="Column with the trials, or a number for all rows. Default: the column of the fit."),
]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Print only errors.")]
Json = Annotated[bool, typer.Option("--json", help="Print the result as one JSON object.")]


AS_FOUND = ReadOptions()  # everything is detected


def _reading(text: str, *names: str) -> Any:
    return typer.Option(*names, help=text, rich_help_panel="Reading the table")


def reading_options(
    sep: Annotated[str | None, _reading("Separator of columns. Default: detected.")] = None,
    decimal: Annotated[str | None, _reading("Decimal mark, . or , (default: detected).")] = None,
    encoding: Annotated[str | None, _reading("Encoding, such as cp1252 (default: detected).")] = None,
    no_header: Annotated[bool, _reading("The first line holds data.", "--no-header")] = False,
    na: Annotated[list[str] | None, _reading("A cell that means missing, besides ?, NA, n/a, -.")] = None,
    dates: Annotated[str | None, _reading("day-first or month-first, for 03/04/2021.")] = None,
    sheet: Annotated[str | None, _reading("Sheet of a workbook. Default: the first.")] = None,
) -> ReadOptions:
    """How to read a table, from the options of a command."""
    return ReadOptions(sep, decimal, encoding, not no_header, tuple(na or ()), dates, sheet)


def grouped(**groups: Callable[..., Any]) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Give a command options in groups: each named argument is made by a function of further options."""

    def of(command: Callable[..., None]) -> Callable[..., None]:
        own = inspect.signature(command)
        added = {name: inspect.signature(make).parameters for name, make in groups.items()}
        hints = get_type_hints(command, include_extras=True)
        for make in groups.values():
            hints |= get_type_hints(make, include_extras=True)
        parameters: list[inspect.Parameter] = []
        for name, parameter in own.parameters.items():
            parameters += added[name].values() if name in added else [parameter]
        parameters = [parameter.replace(annotation=hints[parameter.name]) for parameter in parameters]

        @wraps(command)
        def with_options(**given: Any) -> None:
            made = {
                name: make(**{option: given.pop(option) for option in added[name]})
                for name, make in groups.items()
            }
            command(**given, **made)

        with_options.__signature__ = own.replace(parameters=parameters)  # type: ignore[attr-defined]
        with_options.__annotations__ = {p.name: p.annotation for p in parameters} | {"return": None}
        del with_options.__wrapped__
        return with_options

    return of


reads_table = grouped(reading=reading_options)


def load_model(path: Path) -> TableModel:
    """Load a model; one saved without a table takes the columns in their order."""
    from .. import load
    from ..estimators import FLGPClassifier, FLGPRegressor

    if not path.exists():
        raise TableError(f"There is no file {path}. Write one with flgp fit.")
    try:
        model = load(path)
    except ValueError as error:
        if path.suffix.lower() not in READERS:
            raise
        raise TableError(
            f"{path} is a table, not a model. Name a model first: flgp fit writes one."
        ) from error
    if isinstance(model, TableModel):
        return model
    if not isinstance(model, FLGPRegressor | FLGPClassifier):
        raise TableError(
            f"{path} holds a {type(model).__name__}, which cannot predict. Fit a regressor or classifier."
        )
    names = getattr(model, "feature_names_in_", [f"x{i}" for i in range(model.n_features_in_)])
    columns = [Column(str(name), None, 0.0, 1.0) for name in names]
    if hasattr(model, "feature_names_in_"):
        del model.feature_names_in_  # the schema orders the columns
    return TableModel(model, Schema(columns, None, "none", []))


def described(model: TableModel) -> dict[str, Any]:
    """What `fit` and `info` say about a model."""
    estimator, schema = model.estimator, model.schema
    return {
        "estimator": type(estimator).__name__,
        "target": schema.target,
        "features": schema.feature_names,
        "scaling": schema.scaling,
        "classes": plain(getattr(estimator, "classes_", None)),
        "anchors": len(estimator.anchors_),
        "eigenpairs": len(estimator.eigenvalues_),
        "connected_parts": estimator.n_graph_components_,
        "diffusion_time": plain(estimator.diffusion_time_),
        "log_evidence": estimator.log_marginal_likelihood_value_,
    }


def plain(value: Any) -> Any:
    """NumPy numbers and arrays as Python objects, for JSON."""
    return value.tolist() if hasattr(value, "tolist") else value
