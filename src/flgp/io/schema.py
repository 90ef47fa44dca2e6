"""The schema of model files: every stored concept with the role, dtype, shape and range of its fields.

Dimensions: n fitted rows, p columns of X, s nodes (anchors, vertices), M eigenpairs, K columns of a factor of
the posterior covariance, m labels, q columns of a term, C latent functions, S draws.

A concept that is added to the code needs an entry here; `tests/test_schema.py` names those that have none.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from . import fits
from .rules import (
    A,
    ArrayRef,
    Check,
    Concept,
    Flag,
    Maybe,
    Numbers,
    OneOf,
    Real,
    Rule,
    Several,
    Sparse,
    Text,
    Whole,
    bind,
    wrong,
)
from .rules import ByName as Named

# Fits refuse larger values: coordinates beyond 1e70, labels and weights beyond 1e100, parameters beyond 1e50.
# The limits here leave room for what is computed from these, and none for a result that overflows.
POINT, LEVEL, VARIANCE = 1e75, 1e110, 1e225
FEATURE = 1e40
TINY = 1e-225

KERNELS = ("heat kernel", "Matérn kernel")
PRIORS = (
    "flat prior",
    "log-normal prior",
    "half-normal prior",
    "inverse-gamma prior",
    "graph prior of time",
    "paper prior of time",
)
ONE_FUNCTION = (
    "Bernoulli likelihood",
    "noisy Bernoulli likelihood",
    "binomial likelihood",
    "gamma likelihood",
    "exponential likelihood",
    "Gaussian likelihood",
    "heteroscedastic Gaussian likelihood",
    "Poisson likelihood",
    "negative binomial likelihood",
    "Student-t likelihood",
    "beta likelihood",
    "ordinal likelihood",
    "Tweedie likelihood",
    "zero-inflated Poisson likelihood",
    "zero-inflated negative binomial likelihood",
    "hurdle Poisson likelihood",
    "hurdle negative binomial likelihood",
    "asymmetric Laplace likelihood",
)
LIKELIHOODS = (*ONE_FUNCTION, "categorical likelihood")
GEOMETRIES = (
    "circle",
    "interval",
    "sphere",
    "tangential fields on the sphere",
    "graph",
    "mesh",
    "tangential fields on a mesh",
    "product of geometries",
    "landmark geometry",
)
FITTED = (
    "point cloud",
    "landmarks",
    "fitted circle",
    "fitted interval",
    "fitted sphere",
    "fitted tangential fields on the sphere",
    "fitted graph",
    "fitted mesh",
    "fitted tangential fields on a mesh",
    "fitted product of geometries",
)
FORMULAS = ("cosines and sines", "cosines", "spherical harmonics", "tangential harmonics")
BASES = (
    "basis of a point cloud",
    "basis on landmarks",
    "eigenfunctions by formula",
    "eigenfunctions at nodes",
    "products of eigenfunctions",
)
TERMS = ("manifold term", "linear term", "groups term", "local term by features")
FIELDS = (
    "Gaussian posterior of f",
    "posterior of a coupled function",
    "posterior of the weights",
    "posterior of f with a local term",
    "draws of f",
)
LOCAL_KERNELS = ("squared_exponential", "matern12", "matern32", "matern52", "rational_quadratic")

positive = Real(1e-60, 1e60)  # parameters: fits accept 1e-50 to 1e50
level = Real(-LEVEL, LEVEL)
variance = Real(0.0, VARIANCE)
distance = Real(1e-160, POINT)
index = Numbers(("q",), 0, 2**40, "i")
nothing: Mapping[str, Rule] = {}


def levels(*shape: int | str) -> Numbers:
    """Values of f or y, or their standard deviations."""
    return Numbers(shape, -LEVEL, LEVEL)


def variances(*shape: int | str) -> Numbers:
    """Values that are not negative."""
    return Numbers(shape, 0.0, VARIANCE)


def points(*shape: int | str) -> Numbers:
    """Coordinates."""
    return Numbers(shape, -POINT, POINT)


def is_array(node: Any) -> bool:
    """Whether a node refers to an array."""
    return isinstance(node, dict) and set(node) == {"array"}


def _is_sparse(node: Any) -> bool:
    return isinstance(node, dict) and set(node) == {"sparse"}


def _is_text(node: Any) -> bool:
    return isinstance(node, str)


def anything(node: Any) -> bool:
    """Always."""
    return True


class _Labels:
    """Labels of classes (m,), or targets (m, k) with NaN where one of several is missing."""

    def __call__(self, check: Check, node: Any, where: str, scope: dict[str, int]) -> ArrayRef:
        ref = check.reference(node, where)
        if ref.entry.dtype.kind == "f" and len(ref.shape) == 2:
            own = Numbers(("m", "outputs"), -LEVEL, LEVEL, nan=True)
        else:
            own = Numbers(("m",), -(2**62), 2**62, "biufU")
        return own(check, node, where, scope)


class _Draws:
    """Draws of weights or latent values, with a further axis where functions are coupled."""

    def __call__(self, check: Check, node: Any, where: str, scope: dict[str, int]) -> ArrayRef:
        ref = check.reference(node, where)
        axes = ("chains", "n", "of one", "C")
        if len(ref.shape) not in (3, 4):
            raise wrong(where, f"has the shape {ref.shape}, but three or four axes are expected")
        own = dict(scope)  # the third axis is that of this field alone
        return Numbers(axes[: len(ref.shape)], -LEVEL, LEVEL)(check, node, where, own)


diagnostic = Numbers(("monitored",), -1e300, 1e300, nan=True, infinite=True)
given_weights = Maybe(Numbers(("m",), 1e-110, LEVEL))

SCHEMA: dict[str, Concept] = {
    # -- likelihoods, priors, kernels
    "Bernoulli likelihood": Concept({"link": Text(("logit", "probit"))}),
    "binomial likelihood": Concept(nothing),
    "noisy Bernoulli likelihood": Concept(
        {"link": Text(("logit", "probit")), "label_noise": Real(0.0, 0.999)}
    ),
    "categorical likelihood": Concept({"n_classes": Whole(2, 10**6), "label_noise": Real(0.0, 0.999)}),
    "gamma likelihood": Concept({"shape": Maybe(Real(1e-60, 1e60))}),
    "exponential likelihood": Concept({"shape": Maybe(Real(1.0, 1.0))}),
    "Gaussian likelihood": Concept({"noise_variance": Maybe(Real(TINY, VARIANCE))}),
    "heteroscedastic Gaussian likelihood": Concept(
        {
            "noise_variance": Maybe(Real(TINY, VARIANCE)),
            "noise_time": Maybe(positive),
            "noise_spread": Maybe(positive),
        }
    ),
    "Poisson likelihood": Concept(nothing),
    "negative binomial likelihood": Concept({"dispersion": Maybe(positive)}),
    "Student-t likelihood": Concept(
        {"scale": Maybe(Real(1e-160, LEVEL)), "degrees_of_freedom": Real(1e-60, 1e60)}
    ),
    "beta likelihood": Concept({"precision": Maybe(positive)}),
    "ordinal likelihood": Concept(
        {
            "levels": Maybe(Several(Real(0.0, 1e15), 2, 10_000)),
            "gaps": Maybe(Several(positive, 0, 10_000)),
        }
    ),
    "Tweedie likelihood": Concept({"dispersion": Maybe(Real(TINY, VARIANCE)), "power": Real(1.0, 2.0)}),
    **{
        f"{kind} {counts}": Concept({"zero_odds": Maybe(positive), **own})
        for kind in ("zero-inflated", "hurdle")
        for counts, own in (
            ("Poisson likelihood", nothing),
            ("negative binomial likelihood", {"dispersion": Maybe(positive)}),
        )
    },
    "asymmetric Laplace likelihood": Concept(
        {"scale": Maybe(Real(1e-160, LEVEL)), "quantile": Real(0.0, 1.0)}
    ),
    "flat prior": Concept(nothing),
    "log-normal prior": Concept({"median": Real(TINY, VARIANCE), "spread": positive}),
    "half-normal prior": Concept({"scale": Real(1e-115, LEVEL)}),
    "inverse-gamma prior": Concept({"shape": positive, "rate": Real(TINY, VARIANCE)}),
    "graph prior of time": Concept({"p": Real(-1e60, 1e60), "tau": Real(TINY, VARIANCE), "q": positive}),
    "paper prior of time": Concept(
        {"dimension": positive, "slowest": Real(TINY, VARIANCE), "power": Real(-1e60, 1e60)}
    ),
    "heat kernel": Concept(nothing),
    "Matérn kernel": Concept({"nu": positive}),
    # -- eigenfunctions
    "eigenvectors at nodes": Concept(
        {
            "eigenvalues": Numbers(("M",), 0.0, 2.0 + 1e-9, ascending=True),
            "lift": Numbers(("s", "M"), -FEATURE, FEATURE),
            "components": Numbers(("s",), 0, 2**40, "i"),
            "n_capped": Whole(),
        },
        fits.numbered_parts,
    ),
    "eigenfunctions at nodes": Concept(
        {
            "eigenvalues": Numbers(("M",), -1e-6, VARIANCE, ascending=True),
            "lift": Numbers(("s", "M"), -LEVEL, LEVEL),
            "components": Numbers(("s",), 0, 2**40, "i"),
            "n_capped": Whole(),
            "time_unit": Real(TINY, VARIANCE),
        },
        fits.numbered_parts,
    ),
    "eigenfunctions by formula": Concept(
        {"eigenvalues": Numbers(("M",), 0.0, VARIANCE, ascending=True), "functions": A(FORMULAS)},
        fits.by_formula,
    ),
    "cosines and sines": Concept({"n_waves": Whole(1)}),
    "cosines": Concept({"count": Whole(1)}),
    "spherical harmonics": Concept({"degree": Whole(0, 10**5)}),
    "tangential harmonics": Concept({"degree": Whole(1, 10**4), "divergent": Real(1e-60, 1.0)}),
    "products of eigenfunctions": Concept(
        {
            "eigenvalues": Numbers(("M",), -1e-6, VARIANCE, ascending=True),
            "factors": Several(A(BASES), 2, 100),
            "chosen": Numbers(("M", "k"), 0, 2**40, "i"),
        },
        fits.products,
    ),
    "basis of a point cloud": Concept(
        {"spectrum": A(("eigenvectors at nodes",)), "transition": A(("transition weights",))},
        fits.basis_of_cloud,
    ),
    "transition weights": Concept(
        {
            "log_ratio": Numbers(("s",), -VARIANCE, VARIANCE),
            "epsilon": Maybe(Real(1e-160, POINT)),
            "n_sets": Whole(1, 10**6),
        },
        fits.transition,
    ),
    "basis on landmarks": Concept(
        {
            "spectrum": A(("eigenvectors at nodes",)),
            "bandwidth": Real(1e-160, POINT),
            "log_ratio": Numbers(("s",), -1e6, 1e6),
        },
        fits.basis_on_landmarks,
    ),
    # -- geometries, as given and as fitted
    "circle": Concept({"period": Real(1e-160, LEVEL)}),
    "interval": Concept({"low": Maybe(level), "high": Maybe(level)}, fits.ordered),
    "sphere": Concept(nothing),
    "tangential fields on the sphere": Concept({"divergent": Maybe(Real(1e-60, 1.0))}),
    "graph": Concept({"adjacency": Sparse(("N", "N"), 0.0, 1e150)}),
    "mesh": Concept({"vertices": points("V", 3), "faces": Numbers(("F", 3), 0, 2**40, "i")}, fits.surface),
    "tangential fields on a mesh": Concept({"mesh": A(("mesh",)), "divergent": Maybe(Real(1e-60, 1.0))}),
    "product of geometries": Concept({"geometries": Several(A(GEOMETRIES), 2, 100)}),
    "landmark geometry": Concept(
        {
            "n_landmarks": Maybe(Whole(1)),
            "landmarks": Text(("kmeans", "minibatch", "random", "all")),
            "n_neighbors": Maybe(Whole(1)),
            "bandwidth": Maybe(positive),
        }
    ),
    "point cloud": Concept(
        {
            "graph": A(("anchors and their neighbourhoods",)),
            "given_bandwidth": Maybe(positive),
            "in_memory": Flag(),
        }
    ),
    "anchors and their neighbourhoods": Concept(
        {
            "anchors": points("s", "p"),
            "n_neighbors": Whole(1),
            "lae": Flag(),
            "sizes": Numbers(("s",), 1.0, 1e18),
            "radii": Numbers(("s",), 1e-160, POINT),
            "nearest_sqdist": Numbers(("s",), 0.0, POINT**2),
            "mean_sqdist": Real(1e-300, POINT**2),
            "n_rows": Whole(1),
            "lae_mass": Maybe(Numbers(("s",), 1e-300, 1e18)),
            "set_sizes": Maybe(Several(Whole(1), 2)),
        },
        fits.neighbourhoods,
    ),
    "landmarks": Concept(
        {
            "anchors": points("s", "p"),
            "n_neighbors": Whole(1),
            "radius": Real(1e-308, POINT),
            "mean_sqdist": Real(1e-300, POINT**2),
            "reach": Maybe(Numbers(("s",), 0.0, 4 * POINT**2)),
            "given_bandwidth": Maybe(positive),
        },
        fits.landmarks,
    ),
    "fitted circle": Concept({"period": Real(1e-160, LEVEL)}),
    "fitted interval": Concept({"low": level, "high": level, "unit": Real(1e-250, LEVEL)}, fits.ordered),
    "fitted sphere": Concept({"n_columns": Whole(2, 3)}),
    "fitted tangential fields on the sphere": Concept({"divergent": Real(1e-60, 1.0)}),
    "fitted graph": Concept(
        {
            "n_nodes": Whole(1),
            "adjacency": Maybe(OneOf(((_is_sparse, Sparse(("N", "N"), 0.0, 1e150)),))),
        }
    ),
    "fitted mesh": Concept(
        {
            "vertices": points("V", 3),
            "faces": Numbers(("F", 3), 0, 2**40, "i"),
            "n_columns": Whole(1, 3),
            "radius": Real(1e-160, POINT),
        },
        fits.surface,
    ),
    "fitted tangential fields on a mesh": Concept(
        {"surface": A(("fitted mesh",)), "divergent": Real(1e-60, 1.0)}
    ),
    "fitted product of geometries": Concept(
        {"factors": Several(A(FITTED), 2, 100), "widths": Several(Whole(1), 2, 100)}, fits.fitted_product
    ),
    # -- terms
    "terms": Concept({"parts": Several(A(TERMS), 0, 1000)}),
    "constant term": Concept({"mean": level, "variance": Maybe(variance)}),
    "manifold term": Concept({"basis": A(BASES), "kernel": A(KERNELS), "time_prior": A(PRIORS)}),
    "linear term": Concept(
        {
            "columns": index,
            "center": points("q"),
            "scale": Numbers(("q",), 0.0, 1e160),
            "directions": Maybe(Numbers(("q", "k"), -1.0 - 1e-6, 1.0 + 1e-6)),
            "at_nodes_of": Maybe(points("N", "q")),
            "node_column": Whole(),
            "relevance": Maybe(Numbers(("q",), 0.0, 1e10)),
            "on_cloud": Flag(),
        },
        fits.linear,
    ),
    "groups term": Concept(
        {"column": Whole(), "levels": Numbers(("G",), -POINT, POINT, ascending=True), "label": Text()}
    ),
    "local term by features": Concept(
        {"points": points("k", "q"), "inverse": Numbers(("k", "k"), -1e10, 1e10)}
    ),
    "local term": Concept({"kernel": Text(LOCAL_KERNELS), "spacing": distance, "extent": distance}),
    "local process": Concept(
        {
            "kernel": Text(LOCAL_KERNELS),
            "length_scale": distance,
            "variance": Real(TINY, VARIANCE),
            "noise_variance": variance,
            "shape": Real(1e-3, 1e3),
        }
    ),
    # -- posteriors
    "posterior of a term at its nodes": Concept(
        {
            "mean": levels("s"),
            "factor": levels("s", "K"),
            "gap_variance": variance,
            "cross": Numbers(("s",), -VARIANCE, VARIANCE),
            "covariance": Maybe(Numbers(("s", "s"), -VARIANCE, VARIANCE)),
        },
        fits.term_values,
    ),
    "Gaussian posterior of f": Concept(
        {
            "parts": Several(A(("posterior of a term at its nodes",)), 0, 1000),
            "constant": level,
            "constant_factor": levels("K"),
        },
        fits.weight_field,
    ),
    "prior of coupled functions at nodes": Concept(
        {
            "features": Several(Numbers(("s", "k"), -LEVEL, LEVEL), 0, 1000),
            "constant": Real(0.0, LEVEL),
            "gap_variances": Several(variance, 0, 1000),
            "rows": Maybe(levels("m", "M")),
        },
        fits.shared_prior,
    ),
    "posterior of a coupled function": Concept(
        {
            "prior": A(("prior of coupled functions at nodes",), common=True),
            "means_at_nodes": Several(Numbers(("s",), -LEVEL, LEVEL), 0, 1000),
            "constant": level,
            "factor": levels("K", "K"),
        },
        fits.class_field,
    ),
    "posterior of the weights": Concept(
        {"mean": levels("M"), "triangle": levels("T"), "constant": level}, fits.compact_field
    ),
    "posterior of a local term": Concept(
        {
            "points": points("m", "q"),
            "noise_scale": Numbers(("m",), 1e-110, LEVEL),
            "residual": levels("m"),
            "spread": levels("m", "K"),
            "local": A(("local process",)),
            "n_neighbors": Whole(1),
            "cholesky": Maybe(A(("sparse factor",))),
        },
        fits.local_posterior,
    ),
    "sparse factor": Concept(
        {
            "blocks": Several(A(("block of a sparse factor",)), 1, form="list"),
            "size": Whole(1, dimension="m"),
        },
        fits.sparse_factor,
    ),
    "block of a sparse factor": Concept(
        {
            "own": Numbers(("j",), 0, 2**40, "i"),
            "border": Numbers(("r",), 0, 2**40, "i"),
            "diagonal": levels("j", "j"),
            "below": levels("r", "j"),
        },
        lambda check, record, where: check.later(
            where, "has a diagonal that is not positive", fits.positive_diagonal, record["diagonal"]
        ),
    ),
    "posterior of f with a local term": Concept(
        {"features": A(("Gaussian posterior of f",)), "posterior": A(("posterior of a local term",))},
        fits.local_field,
    ),
    "draws of f": Concept(
        {
            "at_nodes": Several(Numbers(("s", "S"), -LEVEL, LEVEL), 0, 1000),
            "constants": levels("S"),
            "gap_variances": Several(variance, 0, 1000),
        },
        fits.field_draws,
    ),
    "component of a mixture": Concept(
        {
            "weight": Real(0.0, 1.0 + 1e-9),
            "layer": Whole(),
            "field": A(FIELDS),
            "likelihood": A(LIKELIHOODS),
            "variances": variances("M"),
            "constant_variance": variance,
            "local": Maybe(A(("local process",))),
            "noise": Maybe(A(("noise as a function",))),
        }
    ),
    "noise as a function": Concept({"field": A(("Gaussian posterior of f",)), "variances": variances("M")}),
    "latent function": Concept(
        {"components": Several(A(("component of a mixture",)), 1, 10_000)}, fits.weights_sum_to_one
    ),
    "process": Concept(
        {
            "layers": Several(A(("terms",)), 1, 10_000),
            "functions": Several(A(("latent function",)), 1, 10**5),
            "coupled": Maybe(A(("categorical likelihood",))),
            "calibration": A(("calibration of classes",)),
            "correlation": Maybe(Numbers(("C", "C"), -1.0 - 1e-9, 1.0 + 1e-9)),
        },
        fits.process,
    ),
    "known hyperparameters": Concept(
        {
            "values": Named(Real(0.0, VARIANCE)),
            "likelihood": A(LIKELIHOODS),
            "local": Maybe(A(("local term",))),
            "least_squares": Named(Named(Real(0.0, VARIANCE))),
        }
    ),
    "calibration of classes": Concept(
        {"sharpness": Real(0.1, 100.0), "shares": Named(Real(0.0, 1.0 + 1e-9))}
    ),
    "known shares of classes": Concept(
        {"shift": Numbers(("C",), -1e6, 1e6), "clusters": Maybe(A(("classes as clusters",)))}
    ),
    "classes as clusters": Concept(
        {
            "at_nodes": Numbers(("s", "C"), -LEVEL, LEVEL),
            "shares": Numbers(("C",), TINY, 1.0, total=1.0),
            "power": Real(0.1, 10.0),
            "weight": Real(0.0, 1.0),
            "shift": Numbers(("C",), -1e6, 1e6),
        }
    ),
    "posterior of hyperparameters": Concept(
        {
            "names": Several(Text(), 1, 1000),
            "nodes": Numbers(("nodes", "k"), TINY, VARIANCE),
            "weights": Numbers(("nodes",), 0.0, 1.0 + 1e-9, total=1.0),
        },
        lambda check, record, where: bind({"k": len(record["names"])}, "k", record.dims["k"], where),
    ),
    "Markov chains": Concept(
        {
            "draws": _Draws(),
            "latent": _Draws(),
            "log_density": Numbers(("chains", "n"), -1e300, 1e300),
            "rows": Numbers(("watched",), 0, 2**40, "i"),
            "rhat": diagnostic,
            "ess_bulk": diagnostic,
            "ess_tail": diagnostic,
        },
        fits.chains,
    ),
    # -- columns and labels
    "scaled columns": Concept({"index": index, "scale": Numbers(("q",), 1e-60, 1e60)}),
    "roles of columns": Concept(
        {
            "geometry": Maybe(Numbers(("g",), 0, 2**40, "i")),
            "linear": Maybe(Numbers(("l",), 0, 2**40, "i")),
            "groups": Several(Whole(), 0, 10**5),
            "local": Maybe(A(("scaled columns",))),
            "names": Maybe(Several(Text(), 1)),
        }
    ),
    "labels": Concept(
        {
            "points": points("m", "p"),
            "y": _Labels(),
            "known": Named(given_weights),
            "row": Numbers(("m",), 0, 2**60, "i"),
            "in_memory": Flag(),
            "offset": Maybe(levels("m", "functions")),
        },
        fits.labels,
    ),
    "column of a table": Concept(
        {
            "name": Text(),
            "categories": Maybe(Several(Text(), 1, 10**5, form="list")),
            "center": Real(-1e308, 1e308),
            "scale": Real(1e-308, 1e308),
            "kind": Text(("number", "boolean", "date", "time", "duration", "category")),
            "fill": OneOf(((_is_text, Text()), (anything, Maybe(Real(-1e308, 1e308))))),
            "marked": Flag(),
            "cycles": Several(Text(), 0, 10, form="list"),
        }
    ),
    "columns of a table": Concept(
        {
            "columns": Several(A(("column of a table",)), 1, form="list"),
            "target": Maybe(Text()),
            "scaling": Text(("standard", "range", "none")),
            "notes": Several(Text(), form="list"),
            "about": Named(Text()),
            "missing": Text(("impute", "error")),
        }
    ),
}
