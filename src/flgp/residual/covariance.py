"""Joint posterior of h + u at several points."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.spatial.distance import cdist

from .._typing import Array
from ..graph.neighbors import NeighborSearch
from .kriging import JointPosterior, kriging_weights


def predict_covariance(posterior: JointPosterior, points: Array, rows: Any) -> tuple[Array, Array]:
    """Joint posterior of f at q points: mean (q,) and covariance (q, q).

    The errors e_i = u(x_i) - b_i·(u + noise)_N(i) of the points' own kriging predictors are linear functions
    of one Gaussian process, so that their exact covariance,
    k_u(x_i, x_j) - b_i k_u(N_i, x_j) - k_u(x_i, N_j) b_jᵀ + b_i Σ(N_i, N_j) b_jᵀ,
    is positive semi-definite, keeps the correlation of u between the points, has the variances of `predict`
    as its diagonal, and is the dense model's for k = m. β adds Δ S Δᵀ. Time and memory O((q + U)²) for the
    U labelled points that occur as neighbours, U ≤ qk.
    """
    points = np.ascontiguousarray(points, dtype=np.float64)
    kriging = kriging_weights(posterior, points, NeighborSearch(posterior.points))
    B = kriging.matrix(len(posterior.points))
    local, used = posterior.local, np.unique(kriging.neighbors)
    b = B[:, used]
    labelled = posterior.points[used]
    noise = local.noise_variance * posterior.noise_scale[used] + (local.diagonal - local.variance)
    cross = b @ local.covariance(cdist(labelled, points))
    between = local.covariance(cdist(labelled, labelled))
    between[np.diag_indices_from(between)] += noise
    errors = local.covariance(cdist(points, points)) - cross - cross.T + b @ (b @ between).T
    delta = rows @ posterior.weights.factor - B @ posterior.spread
    covariance = errors + delta @ delta.T
    mean = rows @ posterior.weights.mean + B @ posterior.residual
    return mean, 0.5 * (covariance + covariance.T)
