"""Exposures or trials of the rows that are predicted."""

from __future__ import annotations

from typing import Any

import numpy as np

from .._typing import Array
from ..likelihoods import Likelihood, Observations
from ..rows.sources import is_distributed
from .validation import check_row_values

_REMEDY = "Correct these rows, or leave the argument out to predict for 1."


def row_sizes(likelihood: Likelihood, X: Any, exposure: Any, trials: Any) -> Array | None:
    """What the likelihood uses of `exposure` and `trials`, (n,); None: 1 in every row."""
    given = {"exposure": exposure, "trials": trials}
    given = {name: values for name, values in given.items() if values is not None}
    if not given:
        return None
    if is_distributed(X):
        name = next(iter(given))
        raise ValueError(f"{name} cannot be given for rows on a cluster. Predict for 1, or give an array.")
    known = {name: check_row_values(name, values, X.shape[0]) for name, values in given.items()}
    obs = Observations.of(np.zeros(X.shape[0]), **known)
    likelihood.validate_known(obs, _REMEDY)
    return next((known[name] for name in known if name in likelihood.uses), None)
