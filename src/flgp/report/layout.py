"""A map of neighbourhoods: many clusters do not fit into two eigenfunctions, so t-SNE lays out forty.

Some rows are laid out, and all others are put among the closest of them.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.manifold import TSNE
from sklearn.neighbors import KNeighborsRegressor
from threadpoolctl import threadpool_limits

from .._typing import Array
from ..geometry.base import Places

_MODES, _MOST_MODES, _BEYOND_PARTS = 40, 120, 10
_LANDMARKS, _PERPLEXITY, _ROUNDS = 1_200, 30.0, 500
FEWEST = 50  # rows; fewer need no map of their neighbourhoods
_NEAREST = 3
_SHARE_OF_COLUMNS = 0.01


def neighborhoods(model: Any, X: Array, places: Places, others: Array) -> tuple[Array, Array]:
    """Positions (n, 2) of the rows of X and (m, 2) of other points, close ones close to each other.

    There are at least `FEWEST` rows; `places` is where they are on the geometry of the model.
    """
    n_modes = min(len(model.eigenvalues_), max(_MODES, model.basis_.n_parts + _BEYOND_PARTS), _MOST_MODES)
    nodes = model.basis_.at_nodes(np.eye(len(model.eigenvalues_))[:, :n_modes])
    center = X.mean(axis=0)
    scale = np.maximum(X.std(axis=0), 1e-300) * np.sqrt(X.shape[1]) / _SHARE_OF_COLUMNS

    def features(points: Array, at: Places) -> Array:
        """Correlations of eigenfunctions; the columns tell points apart between which these do not vary."""
        return np.hstack([_unit(model.basis_.rows(at).combine(nodes)), (points - center) / scale])

    own = features(X, places)
    rng = np.random.default_rng(0)
    some = own if len(own) <= _LANDMARKS else own[np.sort(rng.choice(len(own), _LANDMARKS, replace=False))]
    # Copies of a row would be pushed apart; and t-SNE's threads wait for each other longer than they work.
    some = np.unique(some.round(9), axis=0)
    with threadpool_limits(1):
        among = KNeighborsRegressor(min(_NEAREST, len(some)), weights=_closeness).fit(some, _laid_out(some))
        if len(others) == 0:
            return among.predict(own), np.zeros((0, 2))
        return among.predict(own), among.predict(features(others, model._inputs(others).places))


def _laid_out(features: Array) -> Array:
    if len(features) < FEWEST:  # nearly all rows are copies
        return features[:, :2] if features.shape[1] > 1 else np.pad(features, ((0, 0), (0, 1)))
    perplexity = min(_PERPLEXITY, len(features) / 4)
    return TSNE(perplexity=perplexity, max_iter=_ROUNDS, init="pca", random_state=0, n_jobs=1).fit_transform(
        features
    )


def _closeness(distance: Array) -> Array:
    """How much landmarks at these distances count."""
    return 1.0 / np.maximum(distance, 1e-9) ** 2


def _unit(features: Array) -> Array:
    """Rows of length 1: inner products are correlations, also at the rim where eigenfunctions are large."""
    return features / np.maximum(np.linalg.norm(features, axis=1, keepdims=True), 1e-300)
