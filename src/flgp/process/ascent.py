"""Quasi-Newton ascent of an evidence that is not a number everywhere."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from scipy.optimize import OptimizeResult, minimize

from .._typing import Array

# The value at the start of a search, if the function is not a number there.
_NO_VALUE = 1e100
# Least loss that a search sees on the way to a place where the function is not a number.
_LEAST_RISE = 1e-3


def ascend(
    log_posterior: Callable[[Array], tuple[float, Array]],
    start: Array,
    bounds: Array | Sequence[tuple[float, float]] | None = None,
    gtol: float = 1e-5,
    first_step: float = np.inf,
    **options: Any,
) -> OptimizeResult:
    """L-BFGS from `start` to a maximum of a function that also gives its gradient; `fun` is minus its value.

    Far off, an approximation may overflow or not settle: such places are avoided. Between bounds the
    first step is as long as the gradient, often to a corner: `first_step` limits it.
    """
    best: tuple[float, Array, Array] | None = None

    def repelled(x: Array) -> tuple[float, Array]:
        """A slope back to the best place, as steep as was expected: the line search takes a shorter step."""
        if best is None:
            return _NO_VALUE, np.zeros_like(x)
        value, gradient, at = best
        away = x - at
        rise = max(abs(float(gradient @ away)), _LEAST_RISE)
        return value + rise, 2.0 * rise * away / max(float(away @ away), 1e-300)

    def objective(x: Array) -> tuple[float, Array]:
        nonlocal best
        try:
            with np.errstate(over="ignore", invalid="ignore"):
                value, gradient = log_posterior(x)
        except np.linalg.LinAlgError:
            return repelled(x)
        if not (np.isfinite(value) and np.isfinite(gradient).all()):
            return repelled(x)
        if best is None or -value < best[0]:
            best = (-value, -gradient, x.copy())
        return -value, -gradient

    first, unit = objective(start), 1.0
    if bounds is not None:
        low, high = np.transpose(bounds)
        if np.array_equal(low, high):  # SciPy's answer would have no slope then
            return OptimizeResult(
                x=start, fun=first[0], jac=first[1], nfev=1, success=True, message="nothing to learn"
            )
        free = np.where(first[1] > 0, start > low, start < high)
        # In units in which the gradient is that long.
        unit = max(1.0, float(np.linalg.norm(first[1][free])) / first_step)

    def scaled(x: Array) -> tuple[float, Array]:
        value, slope = first if np.array_equal(x, start) else objective(x)
        return value / unit, slope / unit

    settings = {**options, "gtol": gtol / unit}
    found = minimize(scaled, start, jac=True, method="L-BFGS-B", bounds=bounds, options=settings)
    found.fun, found.jac = found.fun * unit, found.jac * unit
    return found
