"""Joint posterior of h + u at several points."""

from __future__ import annotations

import numpy as np
from scipy.spatial.distance import cdist

from .._typing import Array
from .kriging import JointPosterior, KrigingWeights


def error_covariance(posterior: JointPosterior, points: Array, kriging: KrigingWeights) -> Array:
    """Covariance (q, q), given β, of what the points' own kriging predictors leave open.

    The errors e_i = u(x_i) - b_i·(u + noise)_N(i) are linear functions of one Gaussian process, so that their
    exact covariance,
    k_u(x_i, x_j) - b_i k_u(N_i, x_j) - k_u(x_i, N_j) b_jᵀ + b_i Σ(N_i, N_j) b_jᵀ,
    is positive semi-definite and keeps the correlation of u between the points. Where u itself is kriged, the
    covariance of b_i·u_N(i) is added.
    """
    local, used = posterior.local, np.unique(kriging.neighbors)
    B = kriging.matrix(len(posterior.points))
    b = B[:, used]
    labelled = posterior.points[used]
    noise = local.noise_variance * posterior.noise_scale[used] + (local.diagonal - local.variance)
    cross = b @ local.covariance(cdist(labelled, points))
    between = local.covariance(cdist(labelled, labelled))
    between[np.diag_indices_from(between)] += noise
    errors = local.covariance(cdist(points, points)) - cross - cross.T + b @ (b @ between).T
    remainder = posterior.remainder(B)
    return 0.5 * (errors + errors.T) + remainder.T @ remainder
