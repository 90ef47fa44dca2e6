"""The whole report: one self-contained HTML file."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from html import escape
from importlib.resources import files
from string import Template
from typing import Any

import numpy as np
from sklearn.base import is_classifier
from sklearn.utils.validation import check_is_fitted

from .. import views
from .._files import write_text
from .._progress import stage
from .._typing import Array, BoolArray, IntArray
from ..metrics import ReliabilityCurve
from ..model_selection import Evaluation
from ..tables import OwnColumn
from .charts import Chart, spread
from .content import channels, viewer_data
from .facts import facts, footer, in_words, tables
from .summary import confusion, effects, headline, listings

# Number of dots in the residual plot; more would only hide one another.
_RESIDUALS = 1500
_FEW_NOTES = 3
_SHARES = (-0.03, 1.03)  # room for dots at 0 and 1

# Control characters in names, which HTML does not allow and a terminal obeys, are shown by their symbols.
_SYMBOLS = {code: 0x2400 + code for code in range(32) if chr(code) not in "\t\n\r"} | {0x7F: 0x2421}


def write_report(
    model: Any,
    X: Any,
    path: str | os.PathLike[str],
    y: Any = None,
    *,
    feature_names: Sequence[str] | None = None,
    target: str = "y",
    title: str = "Heat-kernel Gaussian process",
    notes: Sequence[str] = (),
    evaluation: Evaluation | None = None,
    columns: Sequence[OwnColumn] | None = None,
    numbers: Any = None,
    max_points: int = 100_000,
    random_state: int = 0,
    **sizes: Any,
) -> None:
    """Write a report about a fitted model as one HTML file that opens offline.

    Parameters
    ----------
    model : fitted FLGPRegressor or FLGPClassifier, with one target
    X : array of shape (n, p)
    path : path
    y : array of shape (n,), optional
        Labels; NaN, None or the marker of the classifier where there is none. Used for the calibration and
        residual plots, and shown in the view.
    feature_names : sequence of str, default x0, x1, …
    target : str
    title : str
    notes : sequence of str
        Sentences shown under the summary.
    evaluation : Evaluation, optional
        Of the model on these rows (`flgp.model_selection.evaluate`): quality, confusion, surprising labels.
    columns : sequence of OwnColumn, optional
        The user's columns, in their own units (`flgp.tables.own_columns`). Default: those of X.
    numbers : array of shape (n,), optional
        The number of each row in the user's table. Default: 1, 2, …
    max_points : int
        If there are more points, the report shows a random sample and says so.
    random_state : int
        Seed of that sample.
    sizes : exposure or trials (n,) of the rows, as in `predict`
        For the calibration and residual plots, so only labelled rows matter. The view is for size 1.
    """
    check_is_fitted(model)
    X = np.ascontiguousarray(model._validated(X, reset=False), dtype=float)
    names = [f"x{i}" for i in range(X.shape[1])] if feature_names is None else list(feature_names)
    if columns is None:
        columns = [OwnColumn(name, [k], X[:, k]) for k, name in enumerate(names)]
    every = np.arange(1, len(X) + 1) if numbers is None else np.asarray(numbers, dtype=int)
    known = np.zeros(len(X), dtype=bool) if y is None else views.labeled(model, y)
    rows: IntArray = np.arange(len(X))
    said = _notes(notes)
    if len(X) > max_points:
        rows = _sample(known, max_points, random_state)
        said += _notes([f"The view shows {len(rows):,} of the {len(X):,} points, chosen at random."])
    label = codes(model, y, known)[rows] if known.any() else None
    shown = X[rows]
    with stage(f"predictions for {len(rows):,} points"):
        answers = views.answers(model, shown)
        distance = model.distance_to_anchors(shown)
    with stage("maps and kernel"):
        data = viewer_data(model, shown, answers, label, every[rows], names, target)
    if sizes:
        data["names"]["prediction"] += f" ({next(iter(sizes))} 1)"
    data["channels"] = channels(distance, columns, evaluation, rows)
    with stage("charts"):
        quality = _quality(model, X, y, known, sizes) if evaluation is None else [_held_out(evaluation)]
        evidence = _evidence(model)
        effect = effects(model, shown, columns)
    prediction, uncertainty, _ = answers
    text = Template(_resource("page.html")).substitute(
        title=escape(title),
        style=_resource("style.css"),
        script=_resource("viewer.js"),
        headline=headline(model, evaluation, len(X), int(known.sum()), target, prediction),
        confusion=confusion(evaluation),
        effects=effect,
        listings=listings(
            evaluation, prediction, uncertainty, distance, rows, every, getattr(model, "classes_", None)
        ),
        lists=_resource("lists.js"),
        facts=facts(model, len(X), int(known.sum())),
        notes=said,
        charts="\n".join(chart for chart in quality if chart),
        words=in_words(model),
        evidence=evidence,
        tables=tables(model, names),
        footer=footer(),
        # A "</script>" in a name must not end the element.
        data=json.dumps(data, ensure_ascii=False, allow_nan=False).replace("<", "\\u003c"),
    )
    write_text(path, text.translate(_SYMBOLS))


def _notes(notes: Sequence[str]) -> str:
    """Sentences below the summary; many of them are folded away."""
    lines = "".join(f'<p class="muted">{escape(note)}</p>' for note in notes)
    if len(notes) <= _FEW_NOTES:
        return lines
    return f"<details><summary>How the table was read: {len(notes)} notes</summary>{lines}</details>"


def _held_out(found: Evaluation) -> str:
    """Calibration of rows that were predicted without their labels."""
    text = (
        f"{len(found.y):,} labelled rows, each predicted without its own label. Dots on the dashed line are "
        "well calibrated."
    )
    return _calibration(
        "Can the stated probabilities be trusted?", found.reliability, found.classes is not None, text
    )


def _calibration(title: str, curve: ReliabilityCurve, classes: bool, text: str) -> str:
    """Stated against observed probability."""
    what = ("probability of the interval", "share of labels inside")
    if classes:
        what = ("probability of the predicted class", "share that was right")
    chart = Chart(_SHARES, _SHARES, *what)
    chart.line(np.array([0.0, 1.0]), np.array([0.0, 1.0]), "guide")
    if not classes:  # bins of classes may hold a row each: a line through them would mislead
        chart.line(curve.confidence, curve.accuracy)
    chart.points(curve.confidence, curve.accuracy, 2.5 + 4 * np.sqrt(curve.count / curve.count.max()))
    return _card(title, chart, text)


def codes(model: Any, y: Any, known: BoolArray) -> Array:
    """Labels as numbers; NaN if there is none or it is not a class of the model."""
    result = np.full(len(known), np.nan)
    y = np.asarray(y)
    if not is_classifier(model):
        result[known] = y[known].astype(float)
        return result
    for code, name in enumerate(model.classes_):
        result[known & (y == name)] = code
    return result


def _sample(known: BoolArray, count: int, seed: int) -> IntArray:
    """Rows to show, in ascending order: labelled ones first, then others at random."""
    rng = np.random.default_rng(seed)
    order = rng.permutation(len(known))
    order = order[np.argsort(~known[order], kind="stable")]
    return np.sort(order[:count])


def _evidence(model: Any) -> str:
    try:
        times, values = views.evidence_curve(model)
    except ValueError:  # the diffusion time was given, or the model file has no labelled data
        return ""
    best = float(values.max())
    low = max(float(values.min()), best - 60.0)
    chart = Chart(
        (times[0], times[-1]), spread(np.array([low, best])), "diffusion time t", "log p(y | t)", True
    )
    chart.line(times, values)
    for learned in np.atleast_1d(model.diffusion_time_):
        chart.mark(float(learned))
    return _card("Evidence against diffusion time", chart, "The dashed line is the learned time.")


def _quality(model: Any, X: Array, y: Any, known: BoolArray, sizes: dict[str, Any]) -> list[str]:
    """Reliability and residuals over the labelled rows."""
    number = codes(model, y, known) if known.any() else np.empty(0)
    rows = np.flatnonzero(np.isfinite(number))
    if len(rows) < 2:
        return []
    caution = ""
    if _fitted_on(model, number[rows]):
        caution = "The model was fitted on these labels, so this is optimistic."
    truth = model.classes_[number[rows].astype(int)] if is_classifier(model) else number[rows]
    curve = views.calibration(model, X[rows], truth, **_taken(sizes, rows))
    text = f"{len(rows):,} labelled rows. {caution}"
    cards = [_calibration("Reliability", curve, is_classifier(model), text)]
    shown = rows if len(rows) <= _RESIDUALS else rows[np.linspace(0, len(rows) - 1, _RESIDUALS).astype(int)]
    return [*cards, _residuals(model, X[shown], number[shown], caution, _taken(sizes, shown))]


def _taken(sizes: dict[str, Any], rows: IntArray) -> dict[str, Any]:
    return {name: np.asarray(values)[rows] for name, values in sizes.items()}


def _residuals(model: Any, X: Array, number: Array, caution: str, sizes: dict[str, Array]) -> str:
    if is_classifier(model):
        p = model.predict_proba(X)[np.arange(len(X)), number.astype(int)]
        right = Chart((0.0, 1.0), (0.0, 1.0), "share of the labelled rows", "probability of the true class")
        right.line(np.linspace(0, 1, len(p)), np.sort(p))
        right.line(np.array([0.0, 1.0]), np.array([0.5, 0.5]), "guide")
        return _card("Probability given to the truth", right, caution)
    mean, std = model.predict(X, return_std=True, **sizes)
    z = (number - mean) / np.maximum(std, np.finfo(float).tiny)
    z = np.clip(z, -6, 6)
    chart = Chart(
        spread(mean), spread(np.append(z, [-3.0, 3.0])), "prediction", "residual / standard deviation"
    )
    for level in (-2.0, 0.0, 2.0):
        chart.line(np.array(spread(mean)), np.full(2, level), "guide")
    chart.points(mean, z, 2.5)
    return _card("Residuals", chart, f"About 95 % should lie between the outer lines. {caution}")


def _fitted_on(model: Any, label: Array) -> bool:
    """Whether these labels (numbers or class codes) are those of the fit."""
    known = getattr(model, "_labels_", None)
    if known is None:
        return False
    fitted = np.searchsorted(model.classes_, known.y) if is_classifier(model) else np.ravel(known.y)
    return np.array_equal(np.sort(fitted.astype(float)), np.sort(label.astype(float)))


def _card(title: str, chart: Chart, text: str) -> str:
    return f'<section><h2>{escape(title)}</h2>{chart.svg(title)}<p class="muted">{escape(text)}</p></section>'


def _resource(name: str) -> str:
    return files(__package__).joinpath(name).read_text(encoding="utf-8")
