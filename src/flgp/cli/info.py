"""`flgp info MODEL`: the content of a model file."""

from __future__ import annotations

import json
from typing import Any

import typer

from ._options import Json, Model, described, load_model, plain
from ._text import printable


def info(model: Model, as_json: Json = False) -> None:
    """Show the content of a model file: target, columns, learned values, versions."""
    from ..io import describe

    fitted = load_model(model)
    about = describe(model)
    estimator, schema = fitted.estimator, fitted.schema
    result = {
        "file": str(model),
        "bytes": about["bytes"],
        "format": about["format"],
        **described(fitted),
        "likelihood": str(getattr(estimator, "likelihood_", "bernoulli")),
        "amplitude": plain(estimator.amplitude_),
        "bandwidth": estimator.bandwidth_,
        "weight": schema.about.get("sample_weight"),
        "exposure": schema.about.get("exposure"),
        "trials": schema.about.get("trials"),
        "notes": schema.notes,
        "versions": about["versions"],
    }
    if as_json:
        typer.echo(json.dumps(result, ensure_ascii=False))
        return
    width = max(map(len, result))
    for name, value in result.items():
        typer.echo(f"{name.replace('_', ' '):<{width}}  {printable(_text(value))}")


def _text(value: Any) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{k} {v}" for k, v in value.items())
    if isinstance(value, list):
        return "; ".join(_text(part) for part in value) or "–"
    return f"{value:.6g}" if isinstance(value, float) else "–" if value is None else str(value)
