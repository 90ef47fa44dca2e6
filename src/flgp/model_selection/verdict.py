"""What a fit and its evaluation mean, in plain sentences."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ..rows.even import EvenColumns
from .evaluation import Evaluation

_TERMS = {
    "manifold": "the shape of the data",
    "linear": "straight-line trends in the columns",
    "groups": "differences between groups",
    "local": "close neighbours",
}
# How the model compares with another method by its errors (0: the same, 1: better, -1: worse), and what it
# states beside its predictions.
_BY_ERRORS = {
    "classification": (
        ("is about as often right", "is clearly more often right", "is clearly less often right"),
        "probabilities are",
    ),
    "regression": (
        ("has errors of about the same size", "has clearly smaller errors", "has clearly larger errors"),
        "stated uncertainty is",
    ),
}
_SMALL_SHARE = 0.01
# Columns that a sentence names.
_NAMED = 5
# A difference of mean losses of this many standard errors is one.
_CLEAR = 2.0
# With fewer labels the standard error is itself too uncertain to call anything clear.
_FEWEST_TO_COMPARE = 30
_MISCALIBRATED, _FEW_LABELS = 0.1, 50
_OFF_COVERAGE = 0.05


def what_was_learned(shares: Mapping[str, float]) -> str:
    """A sentence about the share of each term, from `term_shares_`."""
    known = sorted(((share, name) for name, share in shares.items() if name in _TERMS), reverse=True)
    parts = [f"{100 * s:.0f} % {_TERMS[name]}" for s, name in known if s >= _SMALL_SHARE]
    return f"What predictions rest on: {', '.join(parts)}." if parts else "All predictions are the same."


def how_columns_are_used(scaling: EvenColumns | None, names: Sequence[str]) -> list[str]:
    """A sentence about `scaling_`, with the `names` of columns if all are the geometry's."""
    if scaling is None:
        return []
    known = names if len(names) == len(scaling.unit) else []
    heavy = [name for name, unit in zip(known, scaling.unit, strict=False) if unit > 0]
    more = len(heavy) - _NAMED
    listed = ", ".join(heavy[:_NAMED]) + (f" and {more} more" if more > 0 else "")
    drawn = f", with large values drawn in, as a logarithm does, in {listed}" if heavy else ""
    return [f"All columns were put on one scale{drawn}."]


def verdict(found: Evaluation) -> list[str]:
    """Sentences about an evaluation: how good, how much better than plain methods, what to do next."""
    return [*_quality(found), *_comparison(found), *_advice(found)]


def _quality(found: Evaluation) -> list[str]:
    low, high = found.interval
    own = found.scores["flgp"]
    where = f"on {len(found.y):,} labelled rows, each predicted without its own label ({found.n_folds} folds)"
    if found.task == "classification":
        return [
            f"{100 * own['accuracy']:.1f} % right (95 % interval {100 * low:.1f} to {100 * high:.1f}) {where}"
            f"; log loss {own['log_loss']:.3g}. The most frequent class alone is right in "
            f"{100 * found.scores['majority']['accuracy']:.1f} %."
        ]
    return [
        f"Typical error {own['rmse']:.4g} (95 % interval {low:.4g} to {high:.4g}) {where}; "
        f"R² {own['r2']:.2f}, {100 * own['coverage']:.0f} % of values in their "
        f"{100 * found.coverage:.0f} % intervals."
    ]


def _comparison(found: Evaluation) -> list[str]:
    """Both measures of the best plain method, and which of the two methods is better by each of them."""
    best = found.best_reference()
    scores, classes = found.scores[best], found.task == "classification"
    shown = (
        f"{100 * scores['accuracy']:.1f} % right, log loss {scores['log_loss']:.3g}"
        if classes
        else f"typical error {scores['rmse']:.4g}, negative log-likelihood {scores['nll']:.3g}"
    )
    return [f"The best plain method is {best}: {shown}. {_how(found, best)}."]


def _how(found: Evaluation, best: str) -> str:
    if len(found.y) < _FEWEST_TO_COMPARE:
        return f"{len(found.y)} labels are too few to tell which is better"
    right, sure = _clearly(found, best, "errors"), _clearly(found, best, "losses")
    if right == sure == 0:
        return "There is no clear difference between the two"
    by_errors, stated = _BY_ERRORS[found.task]
    good = ("about as good", "clearly better", "clearly worse")[sure]
    return f"The model {by_errors[right]}, {'and' if right == sure else 'but'} its {stated} {good}"


def _clearly(found: Evaluation, other: str, measure: str, errors: float = _CLEAR) -> int:
    """1 if the model is better than another method by so many standard errors, -1 if worse, 0 otherwise."""
    gain, error = found.advantage(other, measure)
    return int(gain > errors * error) - int(-gain > errors * error)


def _advice(found: Evaluation) -> list[str]:
    own, n = found.scores["flgp"], len(found.y)
    trivial = "majority" if found.task == "classification" else "mean"
    if not any(_clearly(found, trivial, measure, 1.0) > 0 for measure in ("errors", "losses")):
        return [
            f"That is no better than the {trivial}: check that the columns say anything about the target, "
            "and how they are scaled, before you use this model."
        ]
    advice = []
    best = found.best_reference()
    if (
        n >= _FEWEST_TO_COMPARE
        and sum(_clearly(found, best, measure) for measure in ("errors", "losses")) < 0
    ):
        advice.append(f"Use {best}, or look at the scaling of the columns.")
    if found.task == "classification" and own["calibration_error"] > _MISCALIBRATED + 1.0 / np.sqrt(n):
        advice.append(
            f"Stated probabilities are off by {100 * own['calibration_error']:.0f} points on average: do not "
            "take them literally."
        )
    if found.task == "regression" and own["coverage"] < found.coverage - _OFF_COVERAGE - 1.0 / np.sqrt(n):
        advice.append("The intervals are too narrow: try --option hyperparameters=integrate.")
    if found.classes is not None:
        counts = np.array([np.sum(found.y == c) for c in found.classes])
        rare = found.classes[counts < 3]
        if len(rare):
            shown = ", ".join(map(str, rare[:5])) + (" …" if len(rare) > 5 else "")
            advice.append(f"Too few labels to judge these classes: {shown}.")
    if n < _FEW_LABELS:
        advice.append("More labels would help most: flgp label says which rows to label next.")
    return advice


def as_dict(found: Evaluation) -> dict[str, Any]:
    """The evaluation for JSON."""
    result: dict[str, Any] = {
        "task": found.task,
        "folds": found.n_folds,
        "labelled": len(found.y),
        "scores": found.scores,
        found.main: found.scores["flgp"][found.main],
        "interval": list(found.interval),
        "best_reference": found.best_reference(),
        "verdict": verdict(found),
    }
    if found.classes is not None:
        result["classes"] = [str(name) for name in found.classes]
        result["confusion"] = found.confusion.tolist()
    return result
