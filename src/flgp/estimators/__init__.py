"""The scikit-learn surface."""

from .classifier import FLGPClassifier
from .features import HeatKernelFeatures
from .regressor import FLGPRegressor

__all__ = ["FLGPClassifier", "FLGPRegressor", "HeatKernelFeatures"]
