"""The dimension of the set that the points lie on."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.neighbors import NearestNeighbors
from sklearn.utils import check_array

from .._linalg import distinct_rows

# Number of query points, and of points among which their neighbours are searched.
_QUERIES, _REFERENCES = 2_000, 20_000


def estimate_intrinsic_dimension(X: Any, n_neighbors: int = 20, random_state: int = 0) -> float:
    """Maximum likelihood estimate of the intrinsic dimension d.

    Around a point of a d-dimensional set the number of neighbours within distance u grows like u^d, so
    log(u_k/u_j) over its k nearest neighbours is exponential with rate d (Levina & Bickel 2004). The rates of
    all points are averaged as inverses (MacKay & Ghahramani 2005), which is the joint maximum likelihood.

    Parameters
    ----------
    X : array-like of shape (n, p)
    n_neighbors : int
        k: large enough to average out noise, small enough that the set is flat among them.
    random_state : int
        Seed of the subsample: 2,000 points, neighbours among 20,000.

    Returns
    -------
    float
        d, between 0 and p; not rounded.

    Examples
    --------
    >>> import numpy as np
    >>> from flgp import estimate_intrinsic_dimension
    >>> angle = np.random.default_rng(0).uniform(0, 2 * np.pi, 1000)
    >>> round(estimate_intrinsic_dimension(np.column_stack([np.cos(angle), np.sin(angle)])))
    1
    """
    X = check_array(X, dtype=float)
    if n_neighbors < 2:
        raise ValueError(f"n_neighbors={n_neighbors!r} must be at least 2.")
    rng = np.random.default_rng(random_state)
    # Duplicates are at distance 0, which says nothing about the dimension.
    points = distinct_rows(X[rng.permutation(len(X))[:_REFERENCES]])
    if len(points) < 3:
        raise ValueError(f"X has {len(points)} distinct rows. The intrinsic dimension needs at least 3.")
    k = min(n_neighbors, len(points) - 1)
    queries = points[rng.permutation(len(points))[:_QUERIES]]
    distance = NearestNeighbors(n_neighbors=k + 1).fit(points).kneighbors(queries)[0][:, 1:]
    # Points that differ only by rounding do not count either.
    distance = distance[distance[:, 0] > 0]
    if len(distance) == 0:
        return float(X.shape[1])
    log_ratio = np.log(distance[:, -1:] / distance[:, :-1])  # (queries, k - 1)
    # With k - 1 exponential variables the unbiased rate has k - 2 in the numerator.
    inverse = log_ratio.sum(axis=1) / max(k - 2, 1)
    mean = float(inverse.mean())
    return float(X.shape[1]) if mean <= 0 else min(1.0 / mean, float(X.shape[1]))
