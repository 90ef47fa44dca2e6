"""Offsets: what another model says about f, row by row."""

from __future__ import annotations

from typing import Any

import numpy as np

from .._typing import Array
from ..likelihoods import Categorical
from ..likelihoods.observations import LARGEST, rows_in_words
from ..rows.sources import is_distributed

# Φ(x/√2) ≈ σ(1.2 x), so a difference of logits is 0.83 of latents.
_PER_LOGIT, _STEPS = 0.83, 20
# Logits further below the largest say the same: never.
_DEEPEST = 12.0


def check_offset(offset: Any, X: Any, n_columns: int) -> Array | None:
    """Offsets (n, k) of the rows of X, from a number or an array (n,) or (n, k); None: none are given."""
    if offset is None:
        return None
    if is_distributed(X):
        raise ValueError("offset cannot be given for rows on a cluster. Leave it out, or give an array.")
    n = X.shape[0]
    try:
        values = np.asarray(offset, dtype=float)
    except (TypeError, ValueError) as error:
        raise ValueError("offset must be numbers, one for each row of X.") from error
    if values.ndim == 0:
        values = np.full((n, n_columns), float(values))
    if values.ndim == 1 and n_columns == 1:
        values = values[:, None]
    if values.shape != (n, n_columns):
        wanted = f"({n},)" if n_columns == 1 else f"({n}, {n_columns})"
        raise ValueError(
            f"offset has shape {np.shape(offset)}, but {wanted} is needed: one row for each of X."
        )
    bad = ~(np.abs(values) <= LARGEST).all(axis=1)
    if bad.any():
        raise ValueError(f"offset must be finite in every row, labelled or not: see {rows_in_words(bad)}.")
    return values


def training_offset(offset: Any, X: Any, n_columns: int, X_unlabeled: Any) -> Array | None:
    """The same for the rows of a fit, which has no offsets for rows beside X."""
    if offset is not None and X_unlabeled is not None:
        raise ValueError(
            "offset has no rows for X_unlabeled. Put all rows into X, with y marked as missing, or leave "
            "one of the two out."
        )
    return check_offset(offset, X, n_columns)


def same_use(given: Array | None, fitted: bool) -> Array | None:
    """Refuse an offset that the fit did not have, or the lack of one that it had."""
    if given is None and fitted:
        raise ValueError(
            "This model was fitted with an offset: pass the offset of these rows too (offset=0 adds nothing)."
        )
    if given is not None and not fitted:
        raise ValueError("offset is given, but the model was fitted without. Leave it out, or fit with it.")
    return given


def probit_offsets(logits: Array) -> Array:
    """Latents (n, C) at which the multinomial probit has the probabilities softmax(logits), centred.

    Fixed-point steps from the logits, scaled so that two classes agree where they are about as likely.
    """
    kind = Categorical(logits.shape[1])
    shifted = np.clip(logits - logits.max(axis=1, keepdims=True), -_DEEPEST, 0.0)
    log_p = shifted - np.log(np.exp(shifted).sum(axis=1, keepdims=True))
    f = _PER_LOGIT * log_p
    # In a Gaussian's tail the logarithm of a probability falls ever faster.
    share = 1.0 / (1.0 + 0.4 * np.sqrt(-2.0 * log_p))
    for _ in range(_STEPS):
        gap = log_p - np.log(np.maximum(kind.conditional(f), 1e-300))
        f = f + share * np.clip(gap, -1.0, 1.0)
        f -= f.mean(axis=1, keepdims=True)
    return f
