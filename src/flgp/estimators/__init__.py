"""The scikit-learn surface.

In the order of reading:

- regressor, classifier, features: what users call; they validate, compose and delegate.
- _model (parameters of the geometry, validation, answers in blocks), _latent (questions about f): shared.
- locator, answers: rows as the terms see them, and what the process says about them.
- labels, class_labels, class_votes, offsets, columns, groups: arrays as users hand them in.
- class_targets, regression_targets: what is to be learned from the labels.
- _fitting: the one fit. On its way column_scaling, composition, column_relevance, local_neighbors and
  geometry_choice decide; what it leaves behind is in learned_attributes.
- label_noise, class_prior, class_clusters, class_shares, class_probabilities: classes after the fit.
- suggestion, coverage: which rows to label next.
"""

from .classifier import FLGPClassifier
from .features import HeatKernelFeatures
from .prior import prior_features, prior_variances
from .regressor import FLGPRegressor

__all__ = ["FLGPClassifier", "FLGPRegressor", "HeatKernelFeatures", "prior_features", "prior_variances"]
