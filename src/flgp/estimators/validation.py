"""Checks of parameters and labels, with errors that name the argument and the remedy."""

from __future__ import annotations

import numbers
from typing import Any

import numpy as np
from sklearn.utils import check_random_state

from .._typing import Array, BoolArray
from ..likelihoods.observations import LARGEST
from ..rows.errors import in_words

# A weight counts observations, and with more of them than this nothing is left of the prior's digits.
_MOST_OBSERVATIONS = 1e9
# Parameters stay within these, so that their products with squared distances are numbers.
_LEAST, _MOST = 1e-50, 1e50


def is_auto(value: Any) -> bool:
    """Whether a parameter is "auto", which an array cannot be asked with `==`."""
    return isinstance(value, str) and value == "auto"


def check_count(name: str, value: Any, minimum: int = 1, auto: bool = False) -> None:
    """`value` must be an integer of at least `minimum`, or "auto"."""
    if auto and is_auto(value):
        return
    if not isinstance(value, numbers.Integral) or isinstance(value, bool) or value < minimum:
        hint = ' or "auto"' if auto else ""
        raise ValueError(f"{name}={value!r} must be an integer of at least {minimum}{hint}.")


def check_seed(random_state: Any) -> None:
    """`random_state` must be something that scikit-learn takes as a seed."""
    try:
        check_random_state(random_state)
    except (ValueError, TypeError) as error:
        raise ValueError(
            f"random_state={random_state!r} is not a valid seed. Use an integer from 0 to 2**32 - 1, or None."
        ) from error


def seeded(random_state: Any) -> np.random.Generator:
    """Random numbers from what scikit-learn takes as a seed."""
    return np.random.default_rng(check_random_state(random_state).randint(2**31))


def check_positive(name: str, value: Any, optional: bool = True, zero: bool = False) -> None:
    """`value` must be a positive number whose square is one too, or None where that means it is learned.

    `zero`: 0 is allowed as well.
    """
    if (optional and value is None) or (zero and isinstance(value, numbers.Real) and value == 0):
        return
    real = isinstance(value, numbers.Real) and not isinstance(value, bool)
    if not real or not np.isfinite(value) or value <= 0:
        hint = ", or None to learn it" if optional else ""
        raise ValueError(f"{name}={value!r} must be a positive finite number{hint}.")
    if not _LEAST <= value <= _MOST:
        raise ValueError(f"{name}={value!r} must be between {_LEAST} and {_MOST}. Change units.")


def check_row_values(name: str, values: Any, rows: int) -> Array | None:
    """A per-row argument of `fit`, shape (n,)."""
    if values is None:
        return None
    try:
        result = np.asarray(values, dtype=float)
    except (TypeError, ValueError) as error:
        raise ValueError(f"{name} must be numbers, one for each row of X.") from error
    if result.shape != (rows,):
        raise ValueError(
            f"{name} has shape {result.shape} but X has {rows} rows. Give one number for each row of X."
        )
    return result


def check_weights(sample_weight: Any, missing: BoolArray) -> tuple[Array | None, BoolArray]:
    """Weights (n,) and which rows do not count as labelled: those without a label or with weight zero."""
    weight = check_row_values("sample_weight", sample_weight, len(missing))
    if weight is None:
        return None, missing
    bad = ~missing & ~((weight >= 0) & (weight <= LARGEST))
    if bad.any():
        raise ValueError(
            f"sample_weight must not be negative, missing or above {LARGEST}: see {in_words(bad)}."
        )
    if not weight[~missing].any():
        raise ValueError("sample_weight is zero in every labelled row. Give at least one a positive weight.")
    return weight, missing | (weight == 0)


def refuse_repeats(weight: Array | None) -> None:
    """Refuse weights that stand for too many observations; Gaussian ones have become noise before."""
    if weight is not None and weight.max(initial=0.0) > _MOST_OBSERVATIONS:
        raise ValueError(
            f"sample_weight is up to {weight.max():.1e}, but a weight counts as that many observations, at "
            f"most {_MOST_OBSERVATIONS:.0e}. Divide all weights by the largest."
        )
