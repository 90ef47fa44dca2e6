"""Heat-kernel Gaussian processes on unknown manifolds: many points, few labels, linear time."""

from .estimators import FLGPClassifier, FLGPRegressor, HeatKernelFeatures

__version__ = "0.1.0"

__all__ = ["FLGPClassifier", "FLGPRegressor", "HeatKernelFeatures", "__version__"]
