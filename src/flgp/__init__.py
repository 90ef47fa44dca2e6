"""Heat-kernel Gaussian processes on unknown manifolds: many points, few labels, linear time."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .estimators import FLGPClassifier, FLGPRegressor, HeatKernelFeatures
    from .geometry.intrinsic_dimension import estimate_intrinsic_dimension
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

# Imported when first used: scikit-learn takes a second or more to import, and `flgp --help` needs none of it.
_PLACES = {
    "FLGPClassifier": "estimators",
    "FLGPRegressor": "estimators",
    "HeatKernelFeatures": "estimators",
    "estimate_intrinsic_dimension": "geometry.intrinsic_dimension",
    "ModelFileError": "io",
    "load": "io",
    "save": "io",
}
_PACKAGES = (
    *(
        "baselines",
        "datasets",
        "estimators",
        "geometry",
        "inference",
        "io",
        "kernels",
        "likelihoods",
        "metrics",
    ),
    *("model_selection", "plotting", "priors", "process", "report", "rows", "tables", "terms"),
)


def __getattr__(name: str) -> Any:
    if name in _PLACES:
        value = getattr(import_module(f".{_PLACES[name]}", __name__), name)
        globals()[name] = value
        return value
    if name in _PACKAGES:
        return import_module(f".{name}", __name__)
    raise AttributeError(f"module 'flgp' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*globals(), *_PLACES, *_PACKAGES])
