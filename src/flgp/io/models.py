"""Save models to files and load them."""

from __future__ import annotations

import copy
import os
import platform
from typing import Any

import numpy as np
import scipy
import sklearn
from sklearn.utils.validation import check_is_fitted

from .._typing import Array
from ..estimators import FLGPClassifier, FLGPRegressor, HeatKernelFeatures
from . import container
from .codec import Decoder, Encoder
from .errors import ModelFileError

DEFAULT_MAX_BYTES = 16 * 2**30
# Number of points whose predictions are stored, and the tolerance when `load` repeats them.
_WITNESSES, _TOLERANCE = 5, 1e-8
# Larger labelled designs are left out; the loaded model then has no evidence at other hyperparameters.
_MAX_EVIDENCE_BYTES = 64 * 2**20
# Names in files of the estimators, and of the attributes that are not public.
ESTIMATORS: dict[str, type] = {
    "regressor": FLGPRegressor,
    "classifier": FLGPClassifier,
    "features": HeatKernelFeatures,
}
_SECTIONS = {
    "process": "_process_",
    "roles of columns": "_roles_",
    "covariates": "_linear_",
    "kind of local term": "_local_kind_",
    "scales of the local term": "_local_scale_",
    "levels": "_group_levels_",
    "known values": "_known_",
    "intrinsic dimension": "_dimension_",
    "one target": "_flat_",
    "shift of log odds": "_shift_",
    "examples": "_examples_",
    "number of features": "_n_features_out",
}


def save(model: Any, path: str | os.PathLike) -> None:
    """Write a fitted model to one file: JSON and plain arrays, no pickle.

    The file is written under a temporary name and then renamed, so a crash never leaves half a file. It holds
    a checksum, the versions it was written with, and a few predictions that `load` repeats.

    Parameters
    ----------
    model : FLGPRegressor, FLGPClassifier, HeatKernelFeatures or TableModel, fitted
    path : path

    Raises
    ------
    ModelFileError
        For a model with parts from outside flgp, such as a user-defined likelihood. For these use pickle or
        joblib, which store a reference to the code.

    Examples
    --------
    >>> import numpy as np, tempfile, os, flgp
    >>> X = np.random.default_rng(0).normal(size=(300, 2))
    >>> model = flgp.FLGPRegressor(random_state=0).fit(X, X[:, 0])
    >>> path = os.path.join(tempfile.mkdtemp(), "model.flgp")
    >>> flgp.save(model, path)
    >>> bool((flgp.load(path).predict(X) == model.predict(X)).all())
    True
    """
    table, estimator = _parts(model)
    name = next((name for name, kind in ESTIMATORS.items() if kind is type(estimator)), None)
    if name is None:
        known = ", ".join(kind.__name__ for kind in ESTIMATORS.values())
        raise ModelFileError(
            f"flgp.save stores {known}, not {type(estimator).__name__}. Use joblib for other objects."
        )
    check_is_fitted(estimator)
    encoder = Encoder()
    learned = {name: value for name, value in vars(estimator).items() if _is_learned(name)}
    header = {
        "model": name,
        "parameters": encoder.entries(estimator.get_params(deep=False)),
        **{
            section: encoder.encode(vars(estimator)[attribute])
            for section, attribute in _SECTIONS.items()
            if attribute in vars(estimator)
        },
        "learned": encoder.entries(learned),
        "table": None if table is None else encoder.encode(table),
        "versions": _versions(),
    }
    points = estimator._examples_[:_WITNESSES]
    header["witness"] = encoder.encode([points, *_predictions(estimator, points)])
    header["labels"] = _unless_large(encoder, getattr(estimator, "_labels_", None))
    container.write(path, header, encoder.arrays)


def _is_learned(name: str) -> bool:
    """Whether it is a public learned attribute; these names are part of the interface and safe in files."""
    return name.endswith("_") and not name.startswith("_")


def _unless_large(encoder: Encoder, value: Any) -> Any:
    """Labelled data, which predictions do not need, or None if they are large."""
    count = len(encoder.arrays)
    encoded = encoder.encode(value)
    if sum(values.nbytes for values in encoder.arrays[count:]) <= _MAX_EVIDENCE_BYTES:
        return encoded
    del encoder.arrays[count:]
    return None


def load(path: str | os.PathLike, *, max_bytes: int = DEFAULT_MAX_BYTES) -> Any:
    """Read a model written by `save`. Nothing in the file is executed.

    Parameters
    ----------
    path : path
    max_bytes : int
        Larger files are refused.

    Returns
    -------
    The fitted model, with the predictions of the one that was saved.

    Raises
    ------
    ModelFileError
        For a file that is damaged, truncated, too large, not a model or of a newer format, that holds a class
        unknown to this version, or that does not reproduce the stored predictions.
    OSError
        If there is no such file or it cannot be read.

    Examples
    --------
    >>> import tempfile, flgp
    >>> from flgp.datasets import circle
    >>> data = circle(200)
    >>> path = tempfile.mkdtemp() + "/model.flgp"
    >>> flgp.save(flgp.FLGPRegressor(random_state=0).fit(data.X, data.y), path)
    >>> flgp.load(path).predict(data.X[:1]).shape
    (1,)
    """
    header, arrays = container.read(path, max_bytes)
    try:
        with np.errstate(all="ignore"):
            return _model(header, Decoder(arrays), path)
    except ModelFileError:
        raise
    except Exception as error:  # any error while decoding means that the file is bad
        raise _unreadable(path, header, error) from error


def describe(path: str | os.PathLike, *, max_bytes: int = DEFAULT_MAX_BYTES) -> dict[str, Any]:
    """Describe a model file without loading it: class, parameters, versions, sizes.

    Parameters
    ----------
    path : path
    max_bytes : int

    Returns
    -------
    dict with the keys "class", "format", "versions", "bytes", "arrays"
    """
    header = container.read_header(path, max_bytes)
    return {
        "class": getattr(ESTIMATORS.get(header.get("model", "")), "__name__", "unknown"),
        "format": container.FORMAT_VERSION,
        "versions": header.get("versions", {}),
        "bytes": os.path.getsize(path),
        "arrays": len(header["arrays"]),
    }


def _model(header: dict[str, Any], decoder: Decoder, path: Any) -> Any:
    name = header["model"]
    if name not in ESTIMATORS:
        raise ModelFileError(
            f"{path} holds a {name!r}, a model that flgp {_versions()['flgp']} does not know. Upgrade flgp."
        )
    kind = ESTIMATORS[name]
    estimator = kind(**decoder.entries(header["parameters"]))
    parameters = estimator.get_params(deep=False)
    for attribute, value in decoder.entries(header["learned"]).items():
        if attribute in parameters or not _is_learned(attribute) or hasattr(kind, attribute):
            raise ValueError(f"{attribute!r} is not a learned attribute")
        setattr(estimator, attribute, value)
    for section, attribute in _SECTIONS.items():
        if section in header:
            setattr(estimator, attribute, decoder.decode(header[section]))
    if header["labels"] is not None:
        estimator._labels_ = decoder.decode(header["labels"])
    check_is_fitted(estimator)
    if estimator._examples_.shape[1:] != (estimator.n_features_in_,) or estimator.eigenvalues_.ndim != 1:
        raise ValueError("the stored examples do not match n_features_in_")
    _check_witness(estimator, decoder.decode(header["witness"]), path)
    if header["table"] is None:
        return estimator
    from ..tables import Schema, TableModel

    table = decoder.decode(header["table"])
    if not isinstance(table, Schema) or len(table.feature_names) != estimator.n_features_in_:
        raise ValueError("the columns of the table do not match the model")
    return TableModel(estimator, table)


def _predictions(estimator: Any, points: Array) -> list[Array]:
    """Predictions of any kind of model at points, as arrays."""
    estimator = copy.copy(estimator)
    vars(estimator).pop("feature_names_in_", None)  # the points have none
    if hasattr(estimator, "transform"):
        return [estimator.covariance(points)]
    latent = list(estimator.latent_mean_and_variance(points))
    if hasattr(estimator, "predict_proba"):
        return [*latent, estimator.predict_proba(points)]
    return [*latent, estimator.predict(points)]


def _check_witness(estimator: Any, witness: Any, path: Any) -> None:
    points, *expected = witness
    found = _predictions(estimator, points)
    for old, new in zip(expected, found, strict=True):
        scale = float(np.abs(old).max(initial=0.0))
        if old.shape != new.shape or not np.allclose(new, old, rtol=_TOLERANCE, atol=_TOLERANCE * scale):
            raise ModelFileError(
                f"The model in {path} does not reproduce the predictions stored with it. Load it "
                "with the version of flgp that wrote it (see flgp.io.describe), or fit it again."
            )


def _parts(model: Any) -> tuple[Any, Any]:
    """The description of a table, if the model has one, and the estimator."""
    from ..tables import TableModel

    return (model.schema, model.estimator) if isinstance(model, TableModel) else (None, model)


def _versions() -> dict[str, str]:
    from .. import __version__

    return {
        "flgp": __version__,
        "python": platform.python_version(),
        "numpy": np.__version__,
        "scipy": scipy.__version__,
        "scikit-learn": sklearn.__version__,
    }


def _unreadable(path: Any, header: dict[str, Any], error: BaseException) -> ModelFileError:
    versions = header.get("versions")
    writer = versions.get("flgp", "?") if isinstance(versions, dict) else "?"
    return ModelFileError(
        f"{path} cannot be read by this flgp (it was written by {writer}): {error}. "
        "Load it with that version, or fit the model again."
    )
