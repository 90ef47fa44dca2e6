"""Save models to files and load them."""

from __future__ import annotations

import copy
import os
import warnings
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from .._typing import Array
from .._versions import versions
from ..estimators import FLGPClassifier, FLGPRegressor, HeatKernelFeatures
from ..estimators.columns import ColumnRoles
from ..estimators.regression_targets import likelihood_of
from ..process.compact_field import expanded
from . import container
from .codec import Decoder, Encoder
from .compact import are_close, narrowed, widened, without_rows
from .contents import check_contents
from .errors import ModelFileError
from .learned import SECTIONS

DEFAULT_MAX_BYTES = 16 * 2**30
# Number of points whose predictions are stored, and the tolerance when `load` repeats them.
_WITNESSES, _TOLERANCE = 5, 1e-8
# At most this many anchors at which a loaded model must give finite answers.
_PROBES = 256
# Larger labelled designs are left out; the loaded model then has no evidence at other hyperparameters.
_MAX_EVIDENCE_BYTES = 64 * 2**20
# Names of the estimators in files.
ESTIMATORS: dict[str, type] = {
    "regressor": FLGPRegressor,
    "classifier": FLGPClassifier,
    "features": HeatKernelFeatures,
}


def save(model: Any, path: str | os.PathLike[str], *, compact: bool = False) -> None:
    """Write a fitted model to one file: JSON and plain arrays, no pickle.

    The file is written under a temporary name and then renamed, so a crash never leaves half a file. It holds
    a checksum, the versions it was written with, and a few predictions that `load` repeats.

    Parameters
    ----------
    model : FLGPRegressor, FLGPClassifier, HeatKernelFeatures or TableModel, fitted
    path : path
    compact : bool
        A much smaller file for predictions, which agree to 1e-4: numbers of large arrays in 4 bytes where
        that is enough, the posterior by its weights, and no rows of the fit but those that the model consists
        of (anchors, labelled points of a local term). `update` and `log_marginal_likelihood` need the labels
        and raise an error without them.

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
    if compact:
        header, arrays = _compact_contents(name, estimator, table)
    else:
        header, arrays = _contents(name, estimator, table, estimator)
    _refuse_unreadable(estimator, header, [widened(values) for values in arrays])
    container.write(path, header, arrays)


def _contents(name: str, estimator: Any, table: Any, witness: Any) -> tuple[dict[str, Any], list[np.ndarray]]:
    """Header and arrays of a file; `witness` is the model whose predictions `load` repeats."""
    encoder = Encoder()
    learned = {name: value for name, value in vars(estimator).items() if _is_learned(name)}
    header = {
        "model": name,
        "parameters": encoder.entries(estimator.get_params(deep=False)),
        **{
            name: encoder.encode(vars(estimator)[section.attribute])
            for name, section in SECTIONS.items()
            if section.attribute in vars(estimator)
        },
        "learned": encoder.entries(learned),
        "table": None if table is None else encoder.encode(table),
        "versions": versions(),
    }
    points = witness._examples_[:_WITNESSES]
    header["witness"] = encoder.encode([points, *_predictions(witness, points)])
    header["labels"] = _unless_large(encoder, getattr(estimator, "_labels_", None))
    return header, encoder.arrays


def _compact_contents(name: str, estimator: Any, table: Any) -> tuple[dict[str, Any], list[np.ndarray]]:
    """The same without fitted rows, and with 4 bytes per number of a large array where that is enough."""
    short = without_rows(estimator)
    header, arrays = _contents(name, short, table, estimator)
    # What the file holds is a slightly different model: that one must reproduce its own predictions.
    rounded = _estimator(header, Decoder([widened(narrowed(values)) for values in arrays]))
    points = _probes(rounded)
    if not are_close(_predictions(estimator, points), _predictions(rounded, points)):
        rounded = _estimator(header, Decoder(arrays))
        return _contents(name, short, table, rounded)
    header, arrays = _contents(name, short, table, rounded)
    last = len(arrays) - len(header["witness"])  # these stay exact
    return header, [narrowed(values) if i < last else values for i, values in enumerate(arrays)]


def _refuse_unreadable(estimator: Any, header: dict[str, Any], arrays: list[np.ndarray]) -> None:
    """Ask of a model what `load` will ask of its file, before there is one."""
    plain = [container.plain_array(values) for values in arrays]
    try:
        check = check_contents({**header, "arrays": None}, container.array_table(plain), _parameter_names())
        check.values(plain)
        estimator._check_parameters()
        _check_answers(estimator)
    except ValueError as error:
        raise ModelFileError(
            f"This model cannot be stored: {error}. Use joblib or pickle for this model."
        ) from error


def _parameter_names() -> dict[str, list[str]]:
    return {name: list(kind().get_params(deep=False)) for name, kind in ESTIMATORS.items()}


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


def load(path: str | os.PathLike[str], *, max_bytes: int = DEFAULT_MAX_BYTES) -> Any:
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
    with container.opened(path, max_bytes) as file:
        header = file.header
        try:
            check = check_contents(header, file.table, _parameter_names())
            arrays = file.arrays()
            check.values(arrays)
        except ModelFileError as error:
            raise _unreadable(path, header, error) from error
    try:
        # The file is untrusted data: whatever goes wrong below is an error in the file.
        with np.errstate(all="ignore"), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return _model(header, Decoder(arrays), path)
    except ModelFileError:
        raise
    except Exception as error:
        raise _unreadable(path, header, error) from error


def describe(path: str | os.PathLike[str], *, max_bytes: int = DEFAULT_MAX_BYTES) -> dict[str, Any]:
    """Describe a model file without loading it: class, versions, sizes. Its checksum is verified.

    Parameters
    ----------
    path : path
    max_bytes : int

    Returns
    -------
    dict with the keys "class", "format", "versions", "bytes", "arrays"
    """
    with container.opened(path, max_bytes) as file:
        try:
            check_contents(file.header, file.table, _parameter_names())
            file.verify()
        except ModelFileError as error:
            raise _unreadable(path, file.header, error) from error
        return {
            "class": ESTIMATORS[file.header["model"]].__name__,
            "format": container.FORMAT_VERSION,
            "versions": file.header["versions"],
            "bytes": file.size,
            "arrays": len(file.table),
        }


def _model(header: dict[str, Any], decoder: Decoder, path: Any) -> Any:
    """The model of a file that was checked."""
    estimator = _estimator(header, decoder)
    _check_answers(estimator)
    _check_witness(estimator, decoder.decode(header["witness"]), path)
    if header["table"] is None:
        return estimator
    from ..tables import TableModel

    return TableModel(estimator, decoder.decode(header["table"]))


def _estimator(header: dict[str, Any], decoder: Decoder) -> Any:
    """The estimator of a file."""
    kind = ESTIMATORS[header["model"]]
    estimator = kind(**decoder.entries(header["parameters"]))
    estimator._check_parameters()
    for attribute, value in decoder.entries(header["learned"]).items():
        setattr(estimator, attribute, value)
    for name, section in SECTIONS.items():
        if name in header:
            setattr(estimator, section.attribute, decoder.decode(header[name]))
    estimator._process_ = expanded(estimator._process_)
    if header["labels"] is not None:
        estimator._labels_ = decoder.decode(header["labels"])
    return estimator


def _check_answers(estimator: Any) -> None:
    """Labels that the model could have been fitted on, and finite answers at nodes and at fitted rows.

    Every value was checked alone; together they may still be too large.
    """
    if estimator.n_graph_components_ != estimator.basis_.n_parts:
        raise ValueError("n_graph_components_ is not the number of connected parts")
    _check_roles(estimator)
    if hasattr(estimator, "transform"):
        return
    for known, function in zip(estimator._known_, estimator._process_.functions, strict=False):
        # Those of a mixture surround the values at which it was made.
        layers, room = estimator._process_.layers, 1e-6 if len(function.components) == 1 else 1e6
        at_best = layers[function.components[0].layer].variances(known.values).sum()
        if not any(abs(part.variances.sum() - at_best) <= room * at_best for part in function.components):
            raise ValueError("the known hyperparameters are not those of the model")
    if isinstance(estimator, FLGPRegressor):
        wanted = type(likelihood_of(estimator))
        functions = estimator._process_.functions
        if any(type(part.likelihood) is not wanted for f in functions for part in f.components):
            raise ValueError("the likelihood is not that of the parameters")
    labels = getattr(estimator, "_labels_", None)
    if labels is not None:
        estimator._problem(labels, estimator._known_)
        estimator._inputs(labels.points)  # refuses points that are not on the geometry
    for answer in _predictions(estimator, _probes(estimator)):
        if not np.isfinite(answer).all():
            raise ValueError("predictions are not finite")


def _check_roles(estimator: Any) -> None:
    """The parameters give the columns of X the roles that they have in the fitted model."""
    roles = estimator._roles_
    found = estimator._roles(own_linear=roles.linear is not None)  # the number of labels decides too
    if roles.even is not None and estimator.scaling is None:
        raise ValueError("the columns go through something that the parameters do not ask for")
    if not all(
        (one is None) == (other is None) and np.array_equal(one, other)
        for one, other in zip(_listed(found), _listed(roles), strict=True)
    ):
        raise ValueError("the roles of columns are not those of the parameters")


def _listed(roles: ColumnRoles) -> list[Any]:
    local = (None, None) if roles.local is None else (roles.local.index, roles.local.scale)
    return [roles.geometry, roles.linear, roles.groups, roles.names, *local]


def _probes(estimator: Any) -> Array:
    """Fitted rows, and where the model has anchors in all columns of X, some of these."""
    anchors = getattr(estimator, "anchors_", None)
    if anchors is None or anchors.shape[1] != estimator.n_features_in_:
        return estimator._examples_
    return np.concatenate([estimator._examples_, anchors[:: -(-len(anchors) // _PROBES)]])


def _predictions(estimator: Any, points: Array) -> list[Array]:
    """Predictions of any kind of model at points, as arrays."""
    estimator = copy.copy(estimator)
    vars(estimator).pop("feature_names_in_", None)  # the points have none
    if hasattr(estimator, "transform"):
        return [estimator.covariance(points)]
    latent = list(estimator.latent_mean_and_variance(points))
    offset = 0.0 if estimator._with_offset_ else None
    if hasattr(estimator, "predict_proba"):
        return [*latent, estimator.predict_proba(points, offset=offset)]
    return [*latent, estimator.predict(points, offset=offset)]


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


def _unreadable(path: Any, header: dict[str, Any], error: BaseException) -> ModelFileError:
    if str(error).startswith(f"{path} "):  # the bytes themselves are wrong
        return ModelFileError(str(error))
    stated = header.get("versions")
    writer = stated.get("flgp") if isinstance(stated, dict) else None
    writer = writer if isinstance(writer, str) and len(writer) < 30 and writer.isprintable() else "?"
    return ModelFileError(
        f"{path} cannot be read by this flgp (it was written by {writer}): {error}. "
        "Load it with that version, or fit the model again."
    )
