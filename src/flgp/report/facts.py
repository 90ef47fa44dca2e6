"""The numbers and settings of a report, as HTML."""

from __future__ import annotations

from dataclasses import fields, is_dataclass
from html import escape
from typing import Any

import numpy as np

from .._versions import versions
from ..estimators import prior_variances
from .text import number

_SHOWN_NAMES = 60
_NOTED_SHARPNESS = 0.1  # logarithm
_NOTED_SHARE = 0.01
_SLOW = 0.5  # an eigenfunction counts if this share of the largest prior variance is left of it


def in_words(model: Any) -> str:
    """The learned hyperparameters in plain sentences."""
    lines = []
    d = prior_variances(model)
    if d.max(initial=0.0) > 0 and model.term_shares_.get("manifold", 0.0) > _NOTED_SHARE:
        modes = int(np.count_nonzero(d > _SLOW * d.max()))
        pattern = "one pattern" if modes == 1 else f"about {modes:,} patterns"
        lines.append(
            f"The prediction varies over the shape of the data in {pattern}; the fewer, the smoother. (These "
            "are the eigenfunctions with at least half of the largest prior variance.)"
        )
    parts = int(model.n_graph_components_)
    lines.append(
        "All points are connected: a label tells something about each of them."
        if parts == 1
        else f"The points fall into {parts:,} separate parts. A label says little about the other parts."
    )
    if getattr(model, "noise_variance_", None) is not None:
        noise = np.sqrt(np.asarray(model.noise_variance_, dtype=float))
        lines.append(
            f"Labels scatter about the function with a standard deviation of {number(noise)} that no column "
            "explains."
        )
    sharpness = float(getattr(model, "sharpness_", 1.0))
    if abs(np.log(sharpness)) > _NOTED_SHARPNESS:
        how = "more" if sharpness > 1 else "less"
        lines.append(f"Checked on left-out labels, the probabilities were made {how} confident.")
    return "".join(f"<p>{escape(line)}</p>" for line in lines)


def facts(model: Any, n_points: int, n_labeled: int) -> str:
    """The summary at the top."""
    items = {
        "points": f"{n_points:,}",
        "labels here": f"{n_labeled:,}",
        "anchors": f"{len(getattr(model, 'anchors_', ())):,}",
        "eigenpairs": f"{len(model.eigenvalues_):,}",
        "connected parts": f"{model.n_graph_components_:,}",
        "diffusion time": number(model.diffusion_time_),
        "log evidence": number(model.log_marginal_likelihood_value_),
    }
    return "\n".join(f"<div><dt>{name}</dt><dd>{escape(value)}</dd></div>" for name, value in items.items())


def tables(model: Any, feature_names: list[str]) -> str:
    """Learned values, parameters and columns."""
    learned = {"amplitude_": model.amplitude_, "bandwidth_": model.bandwidth_}
    for name in ("noise_variance_", "likelihood_", "residual_kernel_", "residual_length_scale_"):
        if hasattr(model, name):
            learned[name] = getattr(model, name)
    report = model.optimizer_result_
    for single in report if isinstance(report, list) else [report]:
        at_bound = [name for name, hit in single.at_bound.items() if hit]
        if at_bound:
            learned["at the end of its range"] = ", ".join(at_bound)
    given = model.get_params(deep=False)
    names = feature_names[:_SHOWN_NAMES]
    if len(feature_names) > _SHOWN_NAMES:
        names = [*names, f"and {len(feature_names) - _SHOWN_NAMES} more"]
    return "\n".join(
        [
            f"<div><h2>Learned</h2>{_table(learned)}</div>",
            f"<div><h2>Settings</h2>{_table(given)}</div>",
            f"<div><h2>Columns</h2><p>{escape(', '.join(names))}</p></div>",
        ]
    )


def footer() -> str:
    """The versions."""
    return escape(", ".join(f"{name} {which}" for name, which in versions().items()))


def _table(values: dict[str, Any]) -> str:
    rows = (f"<tr><td>{escape(k)}</td><td>{escape(_text(v))}</td></tr>" for k, v in values.items())
    return f"<table>{''.join(rows)}</table>"


def _text(value: Any) -> str:
    if isinstance(value, np.ndarray) and value.dtype.kind == "f" and value.ndim <= 1:
        return number(value)
    if isinstance(value, np.ndarray):
        return f"array of shape {value.shape}"
    if isinstance(value, list | tuple):
        return ", ".join(_text(part) for part in value)[:400]
    if is_dataclass(value):
        parts = (f"{f.name}={_text(getattr(value, f.name))}" for f in fields(value))
        return f"{type(value).__name__}({', '.join(parts)})"
    return f"{value:.4g}" if isinstance(value, float) else str(value)[:200]
