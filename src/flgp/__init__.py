"""Heat-kernel Gaussian processes on unknown manifolds: many points, few labels, linear time."""

from typing import TYPE_CHECKING, Any

from .estimators import FLGPClassifier, FLGPRegressor, HeatKernelFeatures
from .geometry.intrinsic_dimension import estimate_intrinsic_dimension

if TYPE_CHECKING:
    from .io import ModelFileError, load, save

__version__ = "0.1.0"

__all__ = [
    "FLGPClassifier",
    "FLGPRegressor",
    "HeatKernelFeatures",
    "ModelFileError",
    "__version__",
    "estimate_intrinsic_dimension",
    "load",
    "save",
]


def __getattr__(name: str) -> Any:
    """Model files are imported when they are first used, so that `import flgp` stays light."""
    if name in ("ModelFileError", "load", "save"):
        from . import io

        return getattr(io, name)
    raise AttributeError(f"module 'flgp' has no attribute {name!r}")
