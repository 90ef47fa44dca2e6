"""Heat-kernel Gaussian processes on unknown manifolds: many points, few labels, linear time."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .estimators import FLGPClassifier, FLGPRegressor, HeatKernelFeatures
    from .geometry.intrinsic_dimension import estimate_intrinsic_dimension
    from .io import ModelFileError, load, save

__version__ = "1.0.0"

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

_HOMES = {
    "FLGPClassifier": "estimators",
    "FLGPRegressor": "estimators",
    "HeatKernelFeatures": "estimators",
    "ModelFileError": "io",
    "estimate_intrinsic_dimension": "geometry.intrinsic_dimension",
    "load": "io",
    "save": "io",
}
_PACKAGES = (
    *("baselines", "datasets", "estimators", "geometry", "inference", "io", "kernels", "likelihoods"),
    *("metrics", "model_selection", "plotting", "priors", "process", "report", "rows", "tables", "terms"),
)


def __getattr__(name: str) -> Any:
    """Import what is used when it is first used: the command line must be ready for Ctrl-C before that."""
    if name in _HOMES:
        value = getattr(import_module(f".{_HOMES[name]}", __name__), name)
        globals()[name] = value
        return value
    if name in _PACKAGES:
        return import_module(f".{name}", __name__)
    raise AttributeError(f"module 'flgp' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__, *_PACKAGES})
