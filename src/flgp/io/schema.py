"""The schema of model files: every stored concept with the role, dtype, shape and range of its fields.

Dimensions: n fitted rows, p columns of X, s nodes (anchors, vertices), M eigenpairs, K columns of a factor of
the posterior covariance, m labels, q columns of a term, C latent functions, S draws.

A concept that is added to the code needs an entry here; `tests/test_io_schema.py` names those that have none.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from ..process.class_models import LINEAR, PROBIT, SQUARES
from . import fits
from .rules import (
    A,
    ArrayRef,
    ByName,
    Check,
    Concept,
    Either,
    Flag,
    Maybe,
    Numbers,
    Real,
    Record,
    Rule,
    Several,
    Sparse,
    Text,
    Whole,
    wrong,
)

# Fits refuse larger values: coordinates beyond 1e70, labels and weights beyond 1e100, parameters beyond 1e50.
# The limits here leave room for what is computed from these, and none for a result that overflows.
POINT, LEVEL, VARIANCE = 1e75, 1e110, 1e225
FEATURE = 1e40
TINY = 1e-225
LOCAL_KERNELS = ("squared_exponential", "matern12", "matern32", "matern52", "rational_quadratic")

positive = Real(1e-60, 1e60)  # parameters: fits accept 1e-50 to 1e50
level = Real(-LEVEL, LEVEL)
variance = Real(0.0, VARIANCE)
positive_variance = Real(TINY, VARIANCE)
distance = Real(1e-160, POINT)
share = Real(1e-60, 1.0)
link = Text(("logit", "probit"))
label_noise = Real(0.0, 0.999)


def levels(*shape: int | str) -> Numbers:
    """Values of f or y, or their standard deviations."""
    return Numbers(shape, -LEVEL, LEVEL)


def variances(*shape: int | str) -> Numbers:
    """Values that are not negative."""
    return Numbers(shape, 0.0, VARIANCE)


def points(*shape: int | str) -> Numbers:
    """Coordinates."""
    return Numbers(shape, -POINT, POINT)


def indices(*shape: int | str) -> Numbers:
    """Positions of rows, columns, nodes or functions."""
    return Numbers(shape, 0, 2**40, "i")


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
        if len(ref.shape) not in (3, 4):
            raise wrong(where, f"has the shape {ref.shape}, but three or four axes are expected")
        return levels(*("chains", "n", "*", "C")[: len(ref.shape)])(check, node, where, dict(scope))


diagnostic = Numbers(("monitored",), -1e300, 1e300, nan=True, infinite=True)
at_nodes: Mapping[str, Rule] = {"components": indices("s"), "n_capped": Whole()}
triangles: Mapping[str, Rule] = {"vertices": points("V", 3), "faces": indices("F", 3)}


def _concept(
    group: str, fits: Callable[[Check, Record, str], None] | None = None, /, **fields: Rule
) -> Concept:
    """The fields of a concept of some group, and the function that checks how they fit each other."""
    return Concept(fields, fits, group)


# Concepts of one group can take each other's place: `A("basis")` allows all that are made by `basis`.
_GROUPS = ("", "likelihood", "prior", "kernel", "formula", "basis", "geometry", "fitted", "term", "field")
concept, likelihood, prior, kernel, formula, basis, geometry, fitted, term, field = (
    partial(_concept, group) for group in _GROUPS
)

SCHEMA: dict[str, Concept] = {
    "Bernoulli likelihood": likelihood(link=link),
    "binomial likelihood": likelihood(),
    "noisy Bernoulli likelihood": likelihood(link=link, label_noise=label_noise),
    "categorical likelihood": likelihood(n_classes=Whole(2, 10**6), label_noise=label_noise),
    "gamma likelihood": likelihood(shape=Maybe(positive)),
    "exponential likelihood": likelihood(shape=Real(1.0, 1.0)),
    "Gaussian likelihood": likelihood(noise_variance=Maybe(positive_variance)),
    "heteroscedastic Gaussian likelihood": likelihood(
        noise_variance=Maybe(positive_variance), noise_time=Maybe(positive), noise_spread=Maybe(positive)
    ),
    "Poisson likelihood": likelihood(),
    "negative binomial likelihood": likelihood(dispersion=Maybe(positive)),
    "Student-t likelihood": likelihood(scale=Maybe(Real(1e-160, LEVEL)), degrees_of_freedom=positive),
    "beta likelihood": likelihood(precision=Maybe(positive)),
    "ordinal likelihood": likelihood(
        levels=Maybe(Several(Real(0.0, 1e15), 2, 10_000)), gaps=Maybe(Several(positive, 0, 10_000))
    ),
    "Tweedie likelihood": likelihood(dispersion=Maybe(positive_variance), power=Real(1.0, 2.0)),
    **{
        f"{kind} {counts}": likelihood(zero_odds=Maybe(positive), **own)
        for kind in ("zero-inflated", "hurdle")
        for counts, own in (
            ("Poisson likelihood", {}),
            ("negative binomial likelihood", {"dispersion": Maybe(positive)}),
        )
    },
    "asymmetric Laplace likelihood": likelihood(scale=Maybe(Real(1e-160, LEVEL)), quantile=Real(0.0, 1.0)),
    "flat prior": prior(),
    "log-normal prior": prior(median=positive_variance, spread=positive),
    "half-normal prior": prior(scale=Real(1e-115, LEVEL)),
    "inverse-gamma prior": prior(shape=positive, rate=positive_variance),
    "graph prior of time": prior(p=Real(-1e60, 1e60), tau=positive_variance, q=positive),
    "paper prior of time": prior(dimension=positive, slowest=positive_variance, power=Real(-1e60, 1e60)),
    "heat kernel": kernel(),
    "Matérn kernel": kernel(nu=positive),
    # -- eigenfunctions
    "eigenvectors at nodes": concept(
        fits.numbered_parts,
        eigenvalues=Numbers(("M",), 0.0, 2.0 + 1e-9, ascending=True),
        lift=Numbers(("s", "M"), -FEATURE, FEATURE),
        **at_nodes,
    ),
    "transition weights": concept(
        fits.transition,
        log_ratio=Numbers(("s",), -VARIANCE, VARIANCE),
        epsilon=Maybe(distance),
        n_sets=Whole(1, 10**6),
    ),
    "cosines and sines": formula(n_waves=Whole(1)),
    "cosines": formula(count=Whole(1)),
    "spherical harmonics": formula(degree=Whole(0, 10**5)),
    "tangential harmonics": formula(degree=Whole(1, 10**4), divergent=share),
    "basis of a point cloud": basis(
        spectrum=A("eigenvectors at nodes", same="s"), transition=A("transition weights", same="s")
    ),
    "basis on landmarks": basis(
        spectrum=A("eigenvectors at nodes", same="s"),
        bandwidth=distance,
        log_ratio=Numbers(("s",), -1e6, 1e6),
    ),
    "eigenfunctions by formula": basis(
        fits.by_formula, eigenvalues=Numbers(("M",), 0.0, VARIANCE, ascending=True), functions=A("formula")
    ),
    "eigenfunctions at nodes": basis(
        fits.numbered_parts,
        eigenvalues=Numbers(("M",), -1e-6, VARIANCE, ascending=True),
        lift=levels("s", "M"),
        **at_nodes,
        time_unit=positive_variance,
    ),
    "products of eigenfunctions": basis(
        fits.products,
        eigenvalues=Numbers(("M",), -1e-6, VARIANCE, ascending=True),
        factors=Several(A("basis"), 2, 100, dimension="k"),
        chosen=indices("M", "k"),
    ),
    # -- geometries, as given and as fitted
    "circle": geometry(period=Real(1e-160, LEVEL)),
    "interval": geometry(fits.ordered, low=Maybe(level), high=Maybe(level)),
    "sphere": geometry(),
    "tangential fields on the sphere": geometry(divergent=Maybe(share)),
    "graph": geometry(adjacency=Sparse(("N", "N"), 0.0, 1e150)),
    "mesh": geometry(fits.surface, **triangles),
    "tangential fields on a mesh": geometry(mesh=A("mesh"), divergent=Maybe(share)),
    "product of geometries": geometry(geometries=Several(A("geometry"), 2, 100)),
    "landmark geometry": geometry(
        n_landmarks=Maybe(Whole(1)),
        landmarks=Text(("kmeans", "minibatch", "random", "all")),
        n_neighbors=Maybe(Whole(1)),
        bandwidth=Maybe(positive),
    ),
    "anchors and their neighbourhoods": concept(
        fits.neighbourhoods,
        anchors=points("s", "p"),
        n_neighbors=Whole(1),
        lae=Flag(),
        sizes=Numbers(("s",), 1.0, 1e18),
        radii=Numbers(("s",), 1e-160, POINT),
        nearest_sqdist=Numbers(("s",), 0.0, POINT**2),
        mean_sqdist=Real(1e-300, POINT**2),
        n_rows=Whole(1),
        lae_mass=Maybe(Numbers(("s",), 1e-300, 1e18)),
        set_sizes=Maybe(Several(Whole(1), 2)),
    ),
    "point cloud": fitted(
        graph=A("anchors and their neighbourhoods"), given_bandwidth=Maybe(positive), in_memory=Flag()
    ),
    "landmarks": fitted(
        fits.landmarks,
        anchors=points("s", "p"),
        n_neighbors=Whole(1),
        radius=Real(1e-308, POINT),
        mean_sqdist=Real(1e-300, POINT**2),
        reach=Maybe(Numbers(("s",), 0.0, 4 * POINT**2)),
        given_bandwidth=Maybe(positive),
    ),
    "fitted circle": fitted(period=Real(1e-160, LEVEL)),
    "fitted interval": fitted(fits.ordered, low=level, high=level, unit=Real(1e-250, LEVEL)),
    "fitted sphere": fitted(n_columns=Whole(2, 3)),
    "fitted tangential fields on the sphere": fitted(divergent=share),
    "fitted graph": fitted(n_nodes=Whole(1), adjacency=Maybe(Sparse(("N", "N"), 0.0, 1e150))),
    "fitted mesh": fitted(fits.surface, **triangles, n_columns=Whole(1, 3), radius=distance),
    "fitted tangential fields on a mesh": fitted(surface=A("fitted mesh"), divergent=share),
    "fitted product of geometries": fitted(
        fits.fitted_product,
        factors=Several(A("fitted"), 2, 100, dimension="k"),
        widths=Several(Whole(1), 2, 100, dimension="k"),
    ),
    # -- terms
    "terms": concept(parts=Several(A("term"), 0, 1000)),
    "constant term": concept(mean=level, variance=Maybe(variance)),
    "manifold term": term(basis=A("basis"), kernel=A("kernel"), time_prior=A("prior")),
    "linear term": term(
        fits.linear,
        columns=indices("q"),
        center=points("q"),
        scale=Numbers(("q",), 0.0, 1e160),
        directions=Maybe(Numbers(("q", "k"), -1.0 - 1e-6, 1.0 + 1e-6)),
        at_nodes_of=Maybe(points("N", "q")),
        node_column=Whole(),
        steps=Whole(),
        relevance=Maybe(Numbers(("q",), 0.0, 1e10)),
        even=Maybe(A("even columns")),
        on_cloud=Flag(),
    ),
    "groups term": term(column=Whole(), levels=Numbers(("G",), -POINT, POINT, ascending=True), label=Text()),
    "local term by features": term(points=points("k", "q"), inverse=Numbers(("k", "k"), -1e10, 1e10)),
    "local term": concept(kernel=Text(LOCAL_KERNELS), spacing=distance, extent=distance),
    "local process": concept(
        kernel=Text(LOCAL_KERNELS),
        length_scale=distance,
        variance=positive_variance,
        noise_variance=variance,
        shape=Real(1e-3, 1e3),
    ),
    # -- posteriors
    "posterior of a term at its nodes": concept(
        fits.term_values,
        mean=levels("s"),
        factor=levels("s", "K"),
        gap_variance=variance,
        cross=Numbers(("s",), -VARIANCE, VARIANCE),
        covariance=Maybe(Numbers(("s", "s"), -VARIANCE, VARIANCE)),
    ),
    "prior of coupled functions at nodes": concept(
        fits.shared_prior,
        features=Several(levels("s", "k"), 0, 1000, dimension="terms"),
        constant=Real(0.0, LEVEL),
        gap_variances=Several(variance, 0, 1000, dimension="terms"),
        rows=Maybe(levels("m", "M")),
    ),
    "posterior of a local term": concept(
        fits.local_posterior,
        points=points("m", "q"),
        noise_scale=Numbers(("m",), 1e-110, LEVEL),
        residual=levels("m"),
        spread=levels("m", "K"),
        local=A("local process"),
        n_neighbors=Whole(1),
        cholesky=Maybe(A("sparse factor", same="m")),
    ),
    "sparse factor": concept(
        fits.sparse_factor,
        blocks=Several(A("block of a sparse factor"), 1, form="list"),
        size=Whole(1, dimension="m"),
    ),
    "block of a sparse factor": concept(
        fits.sparse_block,
        own=indices("j"),
        border=indices("r"),
        diagonal=levels("j", "j"),
        below=levels("r", "j"),
    ),
    "Gaussian posterior of f": field(
        fits.weight_field,
        parts=Several(A("posterior of a term at its nodes", same="K"), 0, 1000, shared=True),
        constant=level,
        constant_factor=levels("K"),
    ),
    "posterior of a coupled function": field(
        fits.class_field,
        prior=A("prior of coupled functions at nodes", same="K", common=True),
        means_at_nodes=Several(levels("s"), 0, 1000),
        constant=level,
        factor=levels("K", "K"),
    ),
    "posterior of the weights": field(
        fits.compact_field, mean=levels("M"), triangle=levels("T"), constant=level
    ),
    "posterior of f with a local term": field(
        features=A("Gaussian posterior of f", same="K"), posterior=A("posterior of a local term", same="K")
    ),
    "draws of f": field(
        fits.field_draws,
        at_nodes=Several(levels("*", "S"), 0, 1000, shared=True, dimension="terms"),
        constants=levels("S"),
        gap_variances=Several(variance, 0, 1000, dimension="terms"),
    ),
    "component of a mixture": concept(
        weight=Real(0.0, 1.0 + 1e-9),
        layer=Whole(),
        field=A("field"),
        likelihood=A("likelihood"),
        variances=variances("M"),
        constant_variance=variance,
        local=Maybe(A("local process")),
        noise=Maybe(A("noise as a function")),
    ),
    "noise as a function": concept(field=A("Gaussian posterior of f"), variances=variances("M")),
    "latent function": concept(
        fits.weights_sum_to_one, components=Several(A("component of a mixture"), 1, 10_000)
    ),
    "process": concept(
        fits.process,
        layers=Several(A("terms"), 1, 10_000),
        functions=Several(A("latent function"), 1, 10**5),
        coupled=Maybe(A("categorical likelihood")),
        calibration=A("calibration of classes"),
        correlation=Maybe(Numbers(("C", "C"), -1.0 - 1e-9, 1.0 + 1e-9)),
    ),
    "known hyperparameters": concept(
        values=ByName(variance),
        likelihood=A("likelihood"),
        local=Maybe(A("local term")),
        least_squares=ByName(ByName(variance), (SQUARES, LINEAR)),
    ),
    "calibration of classes": concept(
        sharpness=Real(0.1, 100.0), shares=ByName(Real(0.0, 1.0 + 1e-9), (PROBIT, SQUARES, LINEAR))
    ),
    "known shares of classes": concept(
        shift=Numbers(("C",), -1e6, 1e6), clusters=Maybe(A("classes as clusters"))
    ),
    "classes as clusters": concept(
        at_nodes=levels("s", "C"),
        shares=Numbers(("C",), TINY, 1.0, total=1.0),
        power=Real(0.1, 10.0),
        weight=Real(0.0, 1.0),
        shift=Numbers(("C",), -1e6, 1e6),
    ),
    "posterior of hyperparameters": concept(
        names=Several(Text(), 0, 1000, dimension="k"),
        nodes=Numbers(("nodes", "k"), TINY, VARIANCE),
        weights=Numbers(("nodes",), 0.0, 1.0 + 1e-9, total=1.0),
    ),
    "Markov chains": concept(
        fits.chains,
        draws=_Draws(),
        latent=_Draws(),
        log_density=Numbers(("chains", "n"), -1e300, 1e300),
        rows=indices("watched"),
        rhat=diagnostic,
        ess_bulk=diagnostic,
        ess_tail=diagnostic,
    ),
    # -- columns and labels
    "scaled columns": concept(index=indices("q"), scale=Numbers(("q",), 1e-60, 1e60)),
    "even columns": concept(
        center=points("q"), unit=Numbers(("q",), 0.0, POINT), scale=Numbers(("q",), 0.0, 1e160)
    ),
    "roles of columns": concept(
        geometry=Maybe(indices("g")),
        linear=Maybe(indices("l")),
        groups=Several(Whole(), 0, 10**5),
        local=Maybe(A("scaled columns")),
        names=Maybe(Several(Text(), 1)),
        even=Maybe(A("even columns")),
    ),
    "labels": concept(
        points=points("m", "p"),
        y=_Labels(),
        known=ByName(Maybe(Numbers(("m",), 1e-110, LEVEL))),
        row=Numbers(("m",), 0, 2**60, "i"),
        in_memory=Flag(),
        offset=Maybe(levels("m", "functions")),
        trust=Maybe(Numbers(("m",), 1e-4, 1.0)),
    ),
    "column of a table": concept(
        name=Text(),
        categories=Maybe(Several(Text(), 1, 10**5, form="list")),
        center=Real(-1e308, 1e308),
        scale=Real(1e-308, 1e308),
        kind=Text(("number", "boolean", "date", "time", "duration", "category")),
        fill=Either(lambda node: isinstance(node, str), Text(), Maybe(Real(-1e308, 1e308))),
        marked=Flag(),
        cycles=Several(Text(), 0, 10, form="list"),
    ),
    "columns of a table": concept(
        columns=Several(A("column of a table"), 1, form="list"),
        target=Maybe(Text()),
        scaling=Text(("standard", "range", "none")),
        notes=Several(Text(), form="list"),
        about=ByName(Text()),
        missing=Text(("impute", "error")),
    ),
}
