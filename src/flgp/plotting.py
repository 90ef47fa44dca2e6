"""Figures on Matplotlib axes. Each function draws on `ax`, or on the current axes, and returns it.

On three-dimensional axes (projection="3d"), points are drawn at their first three coordinates.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import is_classifier

from . import views
from ._typing import Array
from ._words import check_choice
from .estimators import prior_variances

__all__ = [
    "plot_anchors",
    "plot_calibration",
    "plot_covariance",
    "plot_eigenfunction",
    "plot_evidence",
    "plot_points",
    "plot_spectrum",
]


def plot_points(
    model: Any,
    X: Any,
    values: str = "prediction",
    *,
    y: Any = None,
    coordinates: str = "auto",
    ax: Any = None,
    **scatter: Any,
) -> Any:
    """Points coloured by prediction or uncertainty; labelled ones ringed.

    Parameters
    ----------
    model : fitted FLGPRegressor or FLGPClassifier
    X : array of shape (n, p)
    values : {"prediction", "uncertainty"}
        Uncertainty is the standard deviation of y, or the entropy of the class probabilities in bits.
    y : array of shape (n,), optional
        Labels; rows that have one are ringed.
    coordinates : {"auto", "features", "eigenmap"}
        The first columns of X or the slowest eigenfunctions. "auto": columns, if there are at most three.
    ax : matplotlib Axes
    **scatter : passed to `ax.scatter`

    Examples
    --------
    >>> from flgp import FLGPClassifier, plotting
    >>> from flgp.datasets import circles
    >>> data = circles(300, random_state=0)
    >>> model = FLGPClassifier(n_anchors=60, random_state=0).fit(data.X, data.y)
    >>> plotting.plot_points(model, data.X, "uncertainty").get_title()
    'uncertainty'
    """
    check_choice("values", values, ("prediction", "uncertainty"))
    ax = _axes(ax)
    where = _where(model, X, coordinates, ax)
    prediction, uncertainty, _ = views.answers(model, X)
    if values == "uncertainty":
        label = "entropy (bits)" if is_classifier(model) else "standard deviation of y"
        _scatter(ax, where, uncertainty, label, cmap="magma", **scatter)
    elif is_classifier(model):
        _scatter_classes(ax, where, prediction, model.classes_, **scatter)
    else:
        _scatter(ax, where, prediction, "prediction", cmap="viridis", **scatter)
    if y is not None:
        known = views.labeled(model, y)
        rings = {"facecolors": "none", "edgecolors": "k", "linewidths": 1.0}
        ax.scatter(*where[known].T, s=36, **rings, zorder=3, label="labelled")
    ax.set_title(values)
    return ax


def plot_covariance(
    model: Any,
    X: Any,
    point: Any,
    *,
    term: str | None = "manifold",
    coordinates: str = "auto",
    ax: Any = None,
    **scatter: Any,
) -> Any:
    """The prior covariance between one point and the others.

    Parameters
    ----------
    model : fitted estimator
    X : array of shape (n, p)
    point : int, or array of shape (p,)
        A row of X, or any point.
    term : str or None
        Covariance of this term of f, as in `covariance`; None: of the whole f.
    coordinates, ax, **scatter : as in `plot_points`

    Examples
    --------
    >>> from flgp import FLGPClassifier, plotting
    >>> from flgp.datasets import circles
    >>> data = circles(300, random_state=0)
    >>> model = FLGPClassifier(n_anchors=60, random_state=0).fit(data.X, data.y)
    >>> plotting.plot_covariance(model, data.X, 0).get_title()
    'covariance from ★'
    """
    ax = _axes(ax)
    X = np.asarray(X, dtype=float)
    source = X[point] if isinstance(point, (int, np.integer)) else np.asarray(point, dtype=float)
    covariance = model.covariance(X, source[None], term=term)[:, 0]
    where = _where(model, np.concatenate([X, source[None]]), coordinates, ax)
    _scatter(ax, where[:-1], covariance, "covariance", symmetric=True, **scatter)
    ax.scatter(*where[-1:].T, marker="*", s=160, c="gold", edgecolors="k", zorder=4)
    ax.set_title("covariance from ★")
    return ax


def plot_eigenfunction(
    model: Any, X: Any, index: int = 0, *, coordinates: str = "auto", ax: Any = None, **scatter: Any
) -> Any:
    """One eigenfunction of the graph Laplacian.

    Parameters
    ----------
    model : fitted estimator
    X : array of shape (n, p)
    index : int
        0 is the slowest one that is not constant.
    coordinates, ax, **scatter : as in `plot_points`

    Examples
    --------
    >>> from flgp import FLGPClassifier, plotting
    >>> from flgp.datasets import circles
    >>> data = circles(300, random_state=0)
    >>> model = FLGPClassifier(n_anchors=60, random_state=0).fit(data.X, data.y)
    >>> plotting.plot_eigenfunction(model, data.X, 0).get_title().startswith('eigenfunction 0')
    True
    """
    ax = _axes(ax)
    functions = views.eigenfunctions(model, X, index + 1)
    if functions.shape[1] <= index:
        raise ValueError(
            f"index={index} is too large: the model has {functions.shape[1]} such eigenfunctions."
        )
    eigenvalue = model.eigenvalues_[len(model.eigenvalues_) - np.sum(model.eigenvalues_ > 1e-9) + index]
    _scatter(ax, _where(model, X, coordinates, ax), functions[:, index], "φ", symmetric=True, **scatter)
    ax.set_title(f"eigenfunction {index}, λ = {eigenvalue:.3g}")
    return ax


def plot_anchors(model: Any, X: Any, *, coordinates: str = "auto", ax: Any = None) -> Any:
    """The points, the anchors, and a line between anchors that share a point.

    Parameters
    ----------
    model : fitted estimator
    X : array of shape (n, p)
    coordinates, ax : as in `plot_points`

    Examples
    --------
    >>> from flgp import FLGPClassifier, plotting
    >>> from flgp.datasets import circles
    >>> data = circles(300, random_state=0)
    >>> model = FLGPClassifier(n_anchors=60, random_state=0).fit(data.X, data.y)
    >>> plotting.plot_anchors(model, data.X).get_title()
    'anchors and graph'
    """
    ax = _axes(ax)
    points, anchors = _where(model, X, coordinates, ax), _where(model, model.anchors_, coordinates, ax)
    ax.scatter(*points.T, s=2, c="0.7", linewidths=0, label=f"{len(points):,} points")
    lines = anchors[views.anchor_edges(model, X)]
    if _is_3d(ax):
        from mpl_toolkits.mplot3d.art3d import Line3DCollection as Lines
    else:
        from matplotlib.collections import LineCollection as Lines
    ax.add_collection(Lines(lines, colors="tab:blue", linewidths=0.6, alpha=0.6))
    ax.scatter(*anchors.T, s=12, c="tab:red", linewidths=0, zorder=3, label=f"{len(anchors):,} anchors")
    ax.legend(loc="upper right", fontsize="small")
    ax.set_title("anchors and graph")
    return ax


def plot_spectrum(model: Any, *, ax: Any = None) -> Any:
    """Eigenvalues λ_i, and the prior variance d_i of each eigenfunction.

    Parameters
    ----------
    model : fitted estimator
    ax : matplotlib Axes

    Examples
    --------
    >>> from flgp import FLGPClassifier, plotting
    >>> from flgp.datasets import circles
    >>> data = circles(300, random_state=0)
    >>> model = FLGPClassifier(n_anchors=60, random_state=0).fit(data.X, data.y)
    >>> plotting.plot_spectrum(model).get_title()
    'spectrum'
    """
    ax = _axes(ax)
    order = np.arange(len(model.eigenvalues_))
    ax.plot(order, model.eigenvalues_, ".-", color="tab:blue", markersize=3, linewidth=0.8)
    ax.set(xlabel="i", ylim=(0, None), title="spectrum")
    ax.set_ylabel("eigenvalue λ", color="tab:blue")
    weights = prior_variances(model)
    seen = weights > 1e-12 * weights.max()
    other = ax.twinx()
    other.semilogy(order[seen], weights[seen], color="tab:orange", linewidth=1.2)
    other.set_ylabel("prior variance d", color="tab:orange")
    return ax


def plot_evidence(model: Any, *, n_times: int = 25, ax: Any = None) -> Any:
    """Log evidence against the diffusion time, with the other hyperparameters at their learned values.

    Parameters
    ----------
    model : fitted FLGPRegressor or FLGPClassifier, with diffusion_time=None
    n_times : int
    ax : matplotlib Axes

    Examples
    --------
    >>> from flgp import FLGPClassifier, plotting
    >>> from flgp.datasets import circles
    >>> data = circles(300, random_state=0)
    >>> model = FLGPClassifier(n_anchors=60, random_state=0).fit(data.X, data.y)
    >>> plotting.plot_evidence(model, n_times=5).get_title()
    'evidence'
    """
    ax = _axes(ax)
    times, values = views.evidence_curve(model, n_times)
    ax.semilogx(times, values, ".-", color="tab:blue")
    for learned in np.atleast_1d(model.diffusion_time_):
        ax.axvline(learned, color="tab:red", linewidth=1, linestyle="--")
    # Far from the maximum the curve falls so far that nothing else would be visible.
    best = values.max()
    ax.set_ylim(max(values.min(), best - 60.0) - 1.0, best + 3.0)
    ax.set(xlabel="diffusion time t (graph steps)", ylabel="log p(y | t)", title="evidence")
    return ax


def plot_calibration(model: Any, X: Any, y: Any, *, n_bins: int = 10, ax: Any = None, **sizes: Any) -> Any:
    """Stated against observed probability, for labelled rows that the model was not fitted on.

    Parameters
    ----------
    model : fitted FLGPRegressor or FLGPClassifier
    X : array of shape (n, p)
    y : array of shape (n,)
    n_bins : int
    ax : matplotlib Axes
    sizes : exposure or trials of the rows, as in `predict_interval`

    Examples
    --------
    >>> from flgp import FLGPClassifier, plotting
    >>> from flgp.datasets import circles
    >>> data = circles(300, random_state=0)
    >>> model = FLGPClassifier(n_anchors=60, random_state=0).fit(data.X, data.y)
    >>> plotting.plot_calibration(model, data.X, data.y).get_title()
    'calibration'
    """
    ax = _axes(ax)
    found = views.calibration(model, X, y, n_bins, **sizes)
    ax.plot([0, 1], [0, 1], color="0.6", linewidth=1, linestyle="--")
    sizes = 15 + 85 * found.count / found.count.max()
    ax.plot(found.confidence, found.accuracy, color="tab:blue", linewidth=1)
    ax.scatter(found.confidence, found.accuracy, s=sizes, color="tab:blue", zorder=3)
    stated = "probability of the predicted class" if is_classifier(model) else "probability of the interval"
    observed = "fraction of correct predictions" if is_classifier(model) else "fraction of y inside"
    ax.set(xlim=(0, 1), ylim=(0, 1), xlabel=stated, ylabel=observed, title="calibration")
    ax.set_aspect("equal")
    return ax


def _axes(ax: Any) -> Any:
    if ax is not None:
        return ax
    try:
        from matplotlib import pyplot
    except ImportError as error:
        raise ImportError("Figures need Matplotlib. Install it: pip install 'flgp[plot]'.") from error
    return pyplot.gca()


def _is_3d(ax: Any) -> bool:
    return bool(ax.name == "3d")


def _where(model: Any, X: Any, kind: str, ax: Any) -> Array:
    if kind == "auto" and np.shape(X)[1] > (3 if _is_3d(ax) else 2):
        kind = "eigenmap"
    where = views.coordinates(model, X, kind, 3 if _is_3d(ax) else 2)
    if not _is_3d(ax) and (kind == "features" or (kind == "auto" and np.shape(X)[1] <= 3)):
        ax.set_aspect("equal", adjustable="datalim")
    return where


def _scatter(ax: Any, where: Array, values: Array, label: str, symmetric: bool = False, **given: Any) -> None:
    low, high = views.color_limits(values)
    if symmetric:
        limit = max(abs(low), abs(high))
        low, high = -limit, limit
    chosen = {"cmap": "RdBu_r"} if symmetric else {}
    drawn = ax.scatter(
        *where.T, c=values, **{"s": 8, "linewidths": 0, "vmin": low, "vmax": high, **chosen, **given}
    )
    outside = {(False, False): "neither", (True, False): "min", (False, True): "max", (True, True): "both"}
    extend = outside[bool(values.min() < drawn.norm.vmin), bool(values.max() > drawn.norm.vmax)]
    ax.figure.colorbar(drawn, ax=ax, label=label, shrink=0.8, extend=extend)


def _scatter_classes(ax: Any, where: Array, codes: Array, classes: Array, **given: Any) -> None:
    import matplotlib

    colors = matplotlib.colormaps["tab10" if len(classes) <= 10 else "turbo"]
    for code, name in enumerate(classes):
        rows = codes == code
        color = colors(code if len(classes) <= 10 else code / (len(classes) - 1))
        ax.scatter(*where[rows].T, color=color, **{"s": 8, "linewidths": 0, "label": str(name), **given})
    if len(classes) <= 20:
        ax.legend(loc="upper right", fontsize="small", markerscale=2)
