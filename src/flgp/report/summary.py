"""The parts of a report for the person it is sent to: a headline, rows to look at, effects of columns."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import Any

import numpy as np
from sklearn.base import is_classifier

from .._typing import Array, IntArray
from ..model_selection import Evaluation
from ..model_selection.verdict import verdict, what_was_learned
from ..tables import OwnColumn
from .text import short

_COUNTS = ("poisson", "negative_binomial", "binomial")
_LISTED = 50  # rows in each list
_MOST_CLASSES = 15  # of which a confusion matrix is readable
_FEW_CLASSES, _SHORT_NAME = 4, 3  # names of more classes stand upright
_EFFECT_ROWS, _EFFECT_COLUMNS = 400, 60
_SAME = 1e-9  # relative difference of predictions that are the same
_NEARLY_ALL = 0.99  # never call it 100 of 100
_CLEAR_ENOUGH = 0.2  # width of an interval
_FAR = 1.0  # farther than all fitted points


def headline(
    model: Any, found: Evaluation | None, n: int, n_labeled: int, target: str, prediction: Array
) -> str:
    """A sentence, three numbers, and the verdict."""
    classes = is_classifier(model)
    constant = not classes and np.ptp(prediction) <= _SAME * np.abs(prediction).max()
    name = short(target)
    counts = getattr(model, "likelihood", None) in _COUNTS
    kind = f"one of {len(model.classes_):,} classes" if classes else "a count" if counts else "a number"
    cards = [("predicts", name, kind)]
    if found is None:
        sentence = f"A model predicts {name} for {n:,} rows. How good it is was not measured here."
        cards.append(("quality", "not measured", "needs the labelled table of the fit"))
    else:
        low, high = found.interval
        value = found.scores["flgp"][found.main]
        if classes:
            cases = round(100 * min(value, _NEARLY_ALL))
            sentence = (
                f"The model predicts {name} and is right in about {cases} of 100 cases on rows whose "
                f"label it has not seen{_open(low, high, len(found.y))}. The most frequent class alone is "
                f"right in {round(100 * found.scores['majority']['accuracy'])}."
            )
            cards.append(
                ("right, held out", f"{100 * value:.1f} %", f"{100 * low:.0f} to {100 * high:.0f} %")
            )
        else:
            sentence = (
                f"The model predicts {name} with a typical error of {value:.3g} on rows whose label it has "
                "not seen."
            )
            cards.append(("typical error, held out", f"{value:.3g}", f"{low:.3g} to {high:.3g}"))
    rows = "no labels here" if n_labeled == 0 else f"{n_labeled:,} of them labelled"
    cards.append(("rows", f"{n:,}", rows))
    shown = "".join(
        f"<div><dt>{escape(label)}</dt><dd>{escape(big)}<small>{escape(small)}</small></dd></div>"
        for label, big, small in cards
    )
    said = [*(verdict(found) if found is not None else [])]
    said.append(what_was_learned({} if constant else model.term_shares_))
    if found is None:
        said.append(
            "To see how good the predictions are, run flgp evaluate, or make the report from the labelled "
            "table."
        )
    more = "".join(f"<p>{escape(line)}</p>" for line in said)
    return f'<p class="lead">{escape(sentence)}</p><dl class="numbers">{shown}</dl>{more}'


def _open(low: float, high: float, n_labeled: int) -> str:
    """What a few labels leave open."""
    if high - low <= _CLEAR_ENOUGH:
        return ""
    return f"; {n_labeled:,} labels leave open anything from {round(100 * low)} to {round(100 * high)}"


def confusion(found: Evaluation | None) -> str:
    """Which classes are taken for which, held out; the most frequent confusions where there are many."""
    if found is None or found.classes is None:
        return ""
    counts, names = found.confusion, [short(name) for name in found.classes]
    head = "<section><h2>Which classes are confused, held out</h2>"
    if len(names) <= _MOST_CLASSES:
        top = "".join(f'<th scope="col">{escape(name)}</th>' for name in names)
        rows = "".join(
            f'<tr><th scope="row">{escape(name)}</th>'
            + "".join(f"<td{' class=right' if i == j else ''}>{c or '·'}</td>" for j, c in enumerate(row))
            + "</tr>"
            for i, (name, row) in enumerate(zip(names, counts, strict=True))
        )
        tall = " tall" if len(names) > _FEW_CLASSES and max(map(len, names)) > _SHORT_NAME else ""
        size = f'class="confusion{tall}" style="--classes:{len(names)}"'
        grid = f"<table {size}><thead><tr><th>true ↓ predicted →</th>{top}</tr></thead>"
        body = f"{grid}<tbody>{rows}</tbody></table>"
    else:
        wrong = counts - np.diag(np.diag(counts))
        order = np.argsort(-wrong, axis=None, kind="stable")[:20]
        pairs = [np.unravel_index(at, wrong.shape) for at in order if wrong.ravel()[at] > 0]
        cells = [[names[i], names[j], int(wrong[i, j])] for i, j in pairs]
        body = table(["true", "predicted", "rows"], cells) if cells else "<p>None.</p>"
    return f'{head}<div class="scroll" tabindex="0">{body}</div></section>'


def listings(
    found: Evaluation | None,
    prediction: Array,
    uncertainty: Array,
    distance: Array,
    rows: IntArray,
    numbers: IntArray,
    names: Any,
) -> str:
    """Rows to look at: the least certain, the most surprising labels, and those far from the data."""
    classes = names is not None

    def guess(i: int) -> str:
        return short(names[int(prediction[i])]) if classes else f"{prediction[i]:.4g}"

    doubt = "entropy (bits)" if classes else "standard deviation"
    least = np.argsort(-uncertainty, kind="stable")[:_LISTED]
    cells = [[numbers[rows[i]], guess(i), f"{uncertainty[i]:.3g}", f"{distance[i]:.2f}"] for i in least]
    parts = [_list("Least certain", "uncertain", ["row", "prediction", doubt, "distance"], cells)]
    if found is not None:
        cells = []
        for i in found.worst(_LISTED):
            label, own = (_value(values[i]) for values in (found.y, found.prediction))
            cells.append([numbers[found.rows[i]], label, own, f"{found.losses['flgp'][i]:.3g}"])
        heads = ["row", "label", "held-out prediction", "surprise (−log p)"]
        parts.append(_list("Most surprising labels", "wrong", heads, cells))
    far = np.argsort(-distance, kind="stable")[:_LISTED]
    far = far[distance[far] > _FAR]
    if len(far):
        cells = [[numbers[rows[i]], f"{distance[i]:.2f}", guess(i)] for i in far]
        parts.append(_list("Far from the data of the fit", "far", ["row", "distance", "prediction"], cells))
    return "\n".join(parts)


def effects(model: Any, X: Array, columns: Sequence[OwnColumn]) -> str:
    """How much predictions change if the values of one of the user's columns are exchanged between rows."""
    if len(columns) > _EFFECT_COLUMNS or len(X) < 2:
        return ""
    rng = np.random.default_rng(0)
    some = X[rng.permutation(len(X))[:_EFFECT_ROWS]]
    answer = model.predict_proba if is_classifier(model) else model.predict
    before = answer(some)
    sizes = []
    for column in columns:
        other = some.copy()
        other[:, column.features] = rng.permutation(other[:, column.features])
        change = np.abs(answer(other) - before)
        sizes.append(float(change.sum(axis=1).mean() / 2 if change.ndim == 2 else change.mean()))
    order = np.argsort(-np.array(sizes), kind="stable")
    most = max(sizes)
    if most <= _SAME * np.abs(before).max():
        return ""
    bars = "".join(
        f'<tr><th scope="row">{escape(short(columns[k].name))}</th><td><i class="bar" style="width:'
        f'{100 * sizes[k] / most:.0f}%"></i></td><td>{sizes[k]:.3g}</td></tr>'
        for k in order
    )
    unit = "probability" if is_classifier(model) else "the prediction"
    text = (
        f"Mean change of {unit} if the column is shuffled between rows. Columns that repeat each other share "
        "their effect."
    )
    return (
        '<section><h2>Effect of each column</h2><div class="scroll" tabindex="0"><table class="effects">'
        f'{bars}</table></div><p class="muted">{text}</p></section>'
    )


def table(heads: Sequence[str], cells: Sequence[Sequence[Any]]) -> str:
    """A plain table; the page lets one sort it by its heads."""
    top = "".join(f'<th scope="col">{escape(head)}</th>' for head in heads)
    rows = "".join("<tr>" + "".join(f"<td>{escape(str(c))}</td>" for c in row) + "</tr>" for row in cells)
    return f"<table><thead><tr>{top}</tr></thead><tbody>{rows}</tbody></table>"


def _value(value: Any) -> str:
    return f"{value:.4g}" if isinstance(value, float) else short(value)


def _list(title: str, name: str, heads: Sequence[str], cells: Sequence[Sequence[Any]]) -> str:
    return (
        f'<section class="list" data-name="{name}"><h2>{escape(title)}</h2><div class="scroll" tabindex="0">'
        f"{table(heads, cells)}</div></section>"
    )
