"""Newton's method for the mode of a latent posterior."""

from __future__ import annotations

from typing import Protocol

from .._typing import Array

_MAX_NEWTON = 200
# Newton's decrement: half the squared length of the step, in nats. What is left after the last step is
# its square where W is exact, and only a share of it where W is the expected curvature.
_TOLERANCE, _LINEAR_TOLERANCE = 1e-9, 1e-15
# Relative rounding of the objective: what a step gains below it cannot be seen.
_ROUNDING = 1e-13
# Less of a step than this, without a visible gain, leads nowhere.
_SHORT = 1e-3


class Objective(Protocol):
    """What Newton's method climbs."""

    def objective(self, x: Array) -> float:
        """Log posterior density, up to a constant."""
        ...

    def step(self, x: Array) -> tuple[Array, float]:
        """Newton's step from x, and the slope of the objective along it."""
        ...


def climb(posterior: Objective, x: Array, exact: bool, patient: bool = True) -> Array:
    """The mode, by Newton's method with step halving from x.

    With the `exact` curvature steps converge quadratically. A `patient` climb goes on where rounding of the
    objective hides what a step gains, which may cost dozens of evaluations a step and moves x by less than
    1e-7 standard deviations.
    """
    value = posterior.objective(x)
    tolerance = _TOLERANCE if exact else _LINEAR_TOLERANCE
    previous = 0.0
    for _ in range(_MAX_NEWTON):
        step, slope = posterior.step(x)
        if 0.5 * slope < tolerance:
            # So close the objective cannot judge a step any more, but the step itself is right.
            return x + step
        hidden = 0.5 * slope < _ROUNDING * (1.0 + abs(value))
        if patient and hidden and slope < 0.5 * previous:
            # The objective cannot judge this step either, but the last ones did what they should.
            x, previous = x + step, slope
            continue
        previous = slope
        length = 1.0
        while (new := posterior.objective(x + length * step)) < value and length > 1e-12:
            length *= 0.5
        if new <= value and length < (_SHORT if patient else 1.0):
            break  # a small part of the step, and no gain to be seen: the next step would be nearly the same
        x, value = x + length * step, new
    return x
