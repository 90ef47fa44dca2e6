"""The methods that the paper compares with, under the same surface as the estimators."""

from .euclidean import EGPClassifier, EGPRegressor
from .glgp import GLGPClassifier, GLGPRegressor

__all__ = ["EGPClassifier", "EGPRegressor", "GLGPClassifier", "GLGPRegressor"]
