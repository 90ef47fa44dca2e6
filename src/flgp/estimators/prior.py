"""The manifold's part of the prior, as features: for figures, reports and networks."""

from __future__ import annotations

import numpy as np

from .._typing import Array
from ..terms import Manifold
from ._model import HeatKernelModel


def prior_variances(model: HeatKernelModel) -> Array:
    """D (M,): the prior variance of each eigenfunction of `model.basis_`, averaged over latent functions."""
    process = model._process_
    for layer, terms in enumerate(process.layers):
        for term, span in terms.spanned():
            if isinstance(term, Manifold) and term.basis.bandwidth == model.basis_.bandwidth:
                parts = [part for f in process.functions for part in f.components if part.layer == layer]
                weights = np.array([part.weight for part in parts])
                return weights @ np.stack([part.variances[span] for part in parts]) / weights.sum()
    return np.zeros(len(model.basis_.eigenvalues))  # the model has no manifold term


def prior_features(model: HeatKernelModel, X: Array) -> Array:
    """g(x) D^(1/2) φ(x), shape (b, M): inner products are the prior covariance of the manifold's part."""
    places = model._inputs(np.asarray(X, dtype=float)).places
    return places.closeness[:, None] * model.basis_.features(places) * np.sqrt(prior_variances(model))
