"""The scikit-learn surface."""

from .classifier import FLGPClassifier
from .features import HeatKernelFeatures
from .prior import prior_features, prior_variances
from .regressor import FLGPRegressor

__all__ = ["FLGPClassifier", "FLGPRegressor", "HeatKernelFeatures", "prior_features", "prior_variances"]
