"""What a fit and its evaluation mean, in plain sentences."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from .evaluation import Evaluation

_TERMS = {
    "manifold": "the shape of the data",
    "linear": "straight-line trends in the columns",
    "groups": "differences between groups",
    "local": "close neighbours",
}
_SMALL_SHARE = 0.01
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
            f"; log loss {own['log_loss']:.3g}."
        ]
    return [
        f"Typical error {own['rmse']:.4g} (95 % interval {low:.4g} to {high:.4g}) {where}; "
        f"R² {own['r2']:.2f}, {100 * own['coverage']:.0f} % of values in their "
        f"{100 * found.coverage:.0f} % intervals."
    ]


def _comparison(found: Evaluation) -> list[str]:
    best = found.best_reference()
    gain, error = found.advantage(best)
    value = found.scores[best][found.main]
    shown = f"{100 * value:.1f} % right" if found.task == "classification" else f"typical error {value:.4g}"
    own = found.scores["flgp"][found.main]
    ahead = own >= value if found.task == "classification" else own <= value
    if len(found.y) < _FEWEST_TO_COMPARE:
        how = "So few labels cannot tell which is better"
    elif gain > _CLEAR * error and ahead:
        how = "The model is clearly better"
    elif gain > _CLEAR * error:
        how = (
            "The model is no more often right, but its probabilities are clearly better"
            if (found.task == "classification")
            else "The model's errors are no smaller, but its stated uncertainty is clearly better"
        )
    elif gain < -_CLEAR * error:
        how = "That is clearly better than the model"
    else:
        how = (
            "So few labels cannot tell which is better"
            if len(found.y) < 200
            else "There is no clear difference"
        )
    return [f"The best plain method is {best}: {shown}. {how}."]


def _advice(found: Evaluation) -> list[str]:
    own, n = found.scores["flgp"], len(found.y)
    trivial = "majority" if found.task == "classification" else "mean"
    gain, error = found.advantage(trivial)
    if gain < error:
        return [
            f"That is no better than the {trivial}: check that the columns say anything about the target, "
            "and how they are scaled, before you use this model."
        ]
    advice = []
    lead, lead_error = found.advantage(found.best_reference())
    if n >= _FEWEST_TO_COMPARE and lead < -_CLEAR * lead_error:
        advice.append(f"Use {found.best_reference()}, or look at the scaling of the columns.")
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
