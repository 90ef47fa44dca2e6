"""How the fields of a concept fit each other: numbers of nodes, features and labels, and orders."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from .rules import Check, Record, wrong

# What products of arrays may differ by, of the size of their parts: in double precision, in compact files.
_ROUNDING, _SINGLE = 1e-11, 1e-6
# Dimensions that are the nodes and the features of a concept; eigenfunctions known everywhere have M of both.
_SIZES = {
    "eigenvectors at nodes": ("s", "M"),
    "eigenfunctions at nodes": ("s", "M"),
    "groups term": ("G", "G"),
    "local term by features": ("k", "k"),
}


def size_of(record: Record) -> tuple[int, int]:
    """Nodes and features of a basis or a term: what its part of a posterior must have."""
    for inner in ("basis", "spectrum"):
        if inner in record.fields:
            return size_of(record[inner])
    if record.concept == "linear term":
        features = record.dims["q" if record["directions"] is None else "k"]
        return features, features
    nodes, weights = _SIZES.get(record.concept, ("M", "M"))
    return record.dims[nodes], record.dims[weights]


def numbered_parts(check: Check, record: Record, where: str) -> None:
    """Connected parts are numbered from 0, none left out, and no more are capped than there are."""
    capped = record["n_capped"]

    def complete(parts: np.ndarray) -> bool:
        top = int(parts.max())
        # There are at most as many parts as nodes; `bincount` of a larger number would not fit in memory.
        return top < len(parts) and bool(np.bincount(parts).all()) and capped <= top + 1

    check.later(where, "has connected parts that are not numbered from 0", complete, record["components"])


def transition(check: Check, record: Record, where: str) -> None:
    """No row of Z may be 0/0."""
    if record["epsilon"] is None:
        words = "has weights too different to divide by"
        check.later(where, words, lambda ratio: np.ptp(ratio) < 600.0, record["log_ratio"])


def by_formula(check: Check, record: Record, where: str) -> None:
    """As many eigenfunctions as eigenvalues."""
    functions, count = record["functions"], record.dims["M"]
    size = {
        "cosines and sines": lambda: 2 * functions["n_waves"] + 1,
        "cosines": lambda: functions["count"],
        "spherical harmonics": lambda: (functions["degree"] + 1) ** 2,
        "tangential harmonics": lambda: 2 * ((functions["degree"] + 1) ** 2 - 1),
    }[functions.concept]()
    if size != count:
        raise wrong(where, f"has {count} eigenvalues but {size} eigenfunctions")


def products(check: Check, record: Record, where: str) -> None:
    """Every factor has the eigenfunctions that are chosen from it."""
    limits = [size_of(factor)[1] for factor in record["factors"]]
    check.later(
        where,
        "chooses eigenfunctions that its factors do not have",
        lambda rows: (rows.max(axis=0) < np.array(limits)).all(),
        record["chosen"],
        key=tuple(limits),
    )


def fitted_product(check: Check, record: Record, where: str) -> None:
    """Every factor takes as many columns as it is given."""
    if [n_columns(factor) for factor in record["factors"]] != record["widths"]:
        raise wrong(where, "gives a factor another number of columns than it takes")


def neighbourhoods(check: Check, record: Record, where: str) -> None:
    """The sets of anchors add up, and each has enough of them."""
    sets = record["set_sizes"] or [record.dims["s"]]
    if sum(sets) != record.dims["s"] or record["n_neighbors"] > min(sets):
        raise wrong(where, "has sets of anchors that do not add up, or too many neighbours")
    if record["lae"] and record["lae_mass"] is None:
        raise wrong(where, "lacks the mass of its anchors")


def landmarks(check: Check, record: Record, where: str) -> None:
    """No more neighbours than landmarks."""
    if record["n_neighbors"] > record.dims["s"]:
        raise wrong(where, "has more neighbours than landmarks")


def ordered(check: Check, record: Record, where: str) -> None:
    """The lower end is below the upper one."""
    low, high = record["low"], record["high"]
    if low is not None and high is not None and not low < high:
        raise wrong(where, "has its ends in the wrong order")


def surface(check: Check, record: Record, where: str) -> None:
    """Faces have vertices."""
    count = record.dims["V"]
    check.later(
        where, "has faces without vertices", lambda faces: faces.max() < count, record["faces"], key=count
    )


def linear(check: Check, record: Record, where: str) -> None:
    """No more directions than columns."""
    if record["directions"] is not None and record.dims["k"] > record.dims["q"]:
        raise wrong(where, "has more directions than columns")


def term_values(check: Check, record: Record, where: str) -> None:
    """The covariance at the nodes is that of the factor."""
    if record["covariance"] is not None:
        words = "has a covariance that is not that of its factor"
        check.later(where, words, _is_product, record["factor"], record["covariance"])


def _is_product(factor: np.ndarray, covariance: np.ndarray) -> bool:
    """Whether covariance = factor factorᵀ, from products with two vectors: all of it would cost too much."""
    spread = np.sqrt(np.einsum("ij,ij->i", factor, factor))
    signs = np.where(np.random.default_rng(0).random(len(factor)) < 0.5, -1.0, 1.0)
    for along in (signs, signs * np.linspace(0.5, 1.0, len(factor))):
        error = np.abs(covariance @ along - factor @ (factor.T @ along))
        if not (error <= _ROUNDING * spread * (spread @ np.abs(along)) + 1e-300).all():
            return False
    diagonal = np.abs(np.diagonal(covariance) - spread**2)
    return bool((diagonal <= _ROUNDING * spread**2 + 1e-300).all())


def _is_cross(factor: np.ndarray, cross: np.ndarray, constant: np.ndarray) -> bool:
    """Whether a term's covariance with the constant is that of their factors."""
    size = np.sqrt(np.einsum("ij,ij->i", factor, factor) * (constant @ constant))
    return bool((np.abs(cross - factor @ constant) <= _SINGLE * size + 1e-300).all())


def weight_field(check: Check, record: Record, where: str) -> None:
    """The covariances of terms with the constant follow from their factors."""
    for part in record["parts"]:
        words = "has a covariance with the constant that is not that of their factors"
        check.later(where, words, _is_cross, part["factor"], part["cross"], record["constant_factor"])


def shared_prior(check: Check, record: Record, where: str) -> None:
    """Labelled rows have the features of all terms."""
    count = sum(ref.shape[1] for ref in record["features"]) + (record["constant"] != 0.0)
    if record["rows"] is not None and record.dims["M"] != count:
        raise wrong(where, "has labelled rows with other features than its terms")
    record.dims["K"] = count if record["rows"] is None else record.dims["m"]


def class_field(check: Check, record: Record, where: str) -> None:
    """A mean at every node, and a triangular factor."""
    nodes = [ref.shape[0] for ref in record["prior"]["features"]]
    if [ref.shape[0] for ref in record["means_at_nodes"]] != nodes:
        raise wrong(where, "has means at other nodes than its prior")
    check.later(
        where, "has a factor that is not triangular", lambda a: not np.tril(a, -1).any(), record["factor"]
    )


def compact_field(check: Check, record: Record, where: str) -> None:
    """A triangle for all weights and the constant."""
    size = record.dims["M"] + 1
    if record.dims["T"] != size * (size + 1) // 2:
        raise wrong(where, "has a triangle of another size than its weights")


def local_posterior(check: Check, record: Record, where: str) -> None:
    """No more neighbours than labels."""
    if record["n_neighbors"] > record.dims["m"]:
        raise wrong(where, "has more neighbours than labels")


def sparse_factor(check: Check, record: Record, where: str) -> None:
    """Every point is eliminated once, and a block's border after it."""
    blocks, size = record["blocks"], record["size"]
    if sum(block.dims["j"] for block in blocks) != size:
        raise wrong(where, "has another number of columns than its size")

    def ordered(*arrays: np.ndarray) -> bool:
        """Every point is eliminated once, and a block's border is eliminated after it."""
        half = len(arrays) // 2
        turn = np.full(size, -1)
        for i, own in enumerate(arrays[:half]):
            if len(own) and own.max() >= size:
                return False
            turn[own] = i
        if (turn < 0).any():
            return False
        borders = enumerate(arrays[half:])
        return all(len(rows) == 0 or (rows.max() < size and turn[rows].min() > i) for i, rows in borders)

    own, border = [block["own"] for block in blocks], [block["border"] for block in blocks]
    check.later(where, "is not a factor: its columns are out of order", ordered, *own, *border, key=size)


def sparse_block(check: Check, record: Record, where: str) -> None:
    """The triangular block can be divided by."""
    words = "has a diagonal that is not positive"
    check.later(where, words, lambda block: (np.diag(block) > 1e-115).all(), record["diagonal"])


def field_draws(check: Check, record: Record, where: str) -> None:
    """At least one draw."""
    if record.dims["S"] < 1:
        raise wrong(where, "has no draws")


def chains(check: Check, record: Record, where: str) -> None:
    """Draws, latent values and diagnostics are of the same chains."""
    draws, latent = record["draws"].shape, record["latent"].shape
    monitored = int(np.prod(latent[2:])) + 1
    if draws[:2] != latent[:2] or latent[2] != record.dims["watched"] or len(draws) != len(latent):
        raise wrong(where, "has draws and latent values that do not fit each other")
    if (record.dims["chains"], record.dims["n"]) != draws[:2] or monitored != record.dims["monitored"]:
        raise wrong(where, "has diagnostics that do not fit the draws")


def weights_sum_to_one(check: Check, record: Record, where: str) -> None:
    """Weights of a mixture sum to 1, and its components have one likelihood."""
    total = sum(part["weight"] for part in record["components"])
    if abs(total - 1.0) > 1e-6:
        raise wrong(where, f"has weights that sum to {total:g}, not 1")
    if len({part["likelihood"].concept for part in record["components"]}) > 1:
        raise wrong(where, "has components with different likelihoods")


def process(check: Check, record: Record, where: str) -> None:
    """Every component has values at the nodes of its terms."""
    layers: list[Record] = record["layers"]
    if len({tuple(term.concept for term in layer["parts"]) for layer in layers}) > 1:
        raise wrong(where, "has layers with different terms")
    with_local = set()
    for i, function in enumerate(record["functions"]):
        for j, part in enumerate(function["components"]):
            here = f"{where}.functions[{i}].components[{j}]"
            if part["layer"] >= len(layers):
                raise wrong(here, "is on a layer that does not exist")
            _component_fits(layers[part["layer"]]["parts"], part, here)
            with_local.add(part["local"] is not None)
    coupled = record["coupled"]
    if coupled is not None and coupled["n_classes"] != len(record["functions"]):
        raise wrong(where, "couples another number of functions than it has")
    is_coupled = {part["likelihood"].concept == "categorical likelihood" for part in components(record)}
    if is_coupled != {coupled is not None}:
        raise wrong(where, "has likelihoods that do not fit its functions")
    if not layers[0]["parts"] and with_local != {True}:
        raise wrong(where, "has no terms")
    if record["correlation"] is not None:
        _linked_fits(check, record, where)


def _linked_fits(check: Check, record: Record, where: str) -> None:
    """Linked functions have one Gaussian posterior each, of the same weights, and correlations."""
    functions = record["functions"]
    if record["coupled"] is not None or record["correlation"].shape[0] != len(functions):
        raise wrong(where, "links another number of functions than it has")
    fields = [function["components"][0]["field"] for function in functions]
    alone = all(len(function["components"]) == 1 for function in functions)
    if not alone or any(part.concept != "Gaussian posterior of f" for part in fields):
        raise wrong(where, "links functions that have no common weights")
    if len({part["constant_factor"].shape for part in fields}) != 1:
        raise wrong(where, "links functions that have no common weights")
    check.later(where, "has a correlation matrix that is not valid", _is_correlation, record["correlation"])


def _is_correlation(matrix: np.ndarray) -> bool:
    symmetric = np.array_equal(matrix, matrix.T) and bool((np.abs(np.diag(matrix) - 1.0) < 1e-9).all())
    return symmetric and float(np.linalg.eigvalsh(matrix).min()) > 0.0


def components(record: Record) -> list[Record]:
    """All components of a process."""
    return [part for function in record["functions"] for part in function["components"]]


def _component_fits(terms: Sequence[Record], part: Record, where: str) -> None:
    sizes = [size_of(term) for term in terms]
    if part.dims["M"] != sum(features for _, features in sizes):
        raise wrong(where, "has another number of variances than its terms have features")
    noise = part["noise"]
    if (noise is not None) != (part["likelihood"].concept == "heteroscedastic Gaussian likelihood"):
        raise wrong(where, "has a noise function that its likelihood does not have, or lacks one")
    if noise is not None:
        if noise.dims["M"] != part.dims["M"]:
            raise wrong(where, "has a noise function with another number of features than its terms")
        _nodes_fit(terms, [values.dims["s"] for values in noise["field"]["parts"]], where)
    field = part["field"]
    local = field.concept == "posterior of f with a local term"
    if local != (part["local"] is not None):
        raise wrong(where, "has a local term in one place but not in the other")
    if field.concept == "posterior of the weights":
        if field.dims["M"] != part.dims["M"]:
            raise wrong(where, "has another number of weights than its terms have features")
        return
    if field.concept == "draws of f":
        found = [ref.shape[0] for ref in field["at_nodes"]]
    elif field.concept == "posterior of a coupled function":
        found = [ref.shape[0] for ref in field["means_at_nodes"]]
        if [ref.shape[1] for ref in field["prior"]["features"]] != [features for _, features in sizes]:
            raise wrong(where, "has a prior with other features than its terms")
    else:
        found = [values.dims["s"] for values in (field["features"] if local else field)["parts"]]
    _nodes_fit(terms, found, where)


def _nodes_fit(terms: Sequence[Record], found: list[int], where: str) -> None:
    if found != [size_of(term)[0] for term in terms]:
        raise wrong(where, f"has values at {found} nodes, which its terms do not have")


def n_columns(geometry: Record) -> int:
    """How many columns a fitted geometry takes."""
    if geometry.concept == "point cloud":
        return geometry["graph"].dims["p"]
    if geometry.concept == "landmarks":
        return geometry.dims["p"]
    if geometry.concept == "fitted tangential fields on a mesh":
        return n_columns(geometry["surface"]) + 3
    if geometry.concept == "fitted product of geometries":
        return sum(geometry["widths"])
    fixed = 3 if geometry.concept == "fitted tangential fields on the sphere" else 1
    return int(geometry.fields.get("n_columns", fixed))


# Columns of the coordinates that a local term measures distances in, where these are not the geometry's own.
_COORDINATES = {
    "fitted circle": 2,
    "fitted sphere": 3,
    "fitted mesh": 3,
    "fitted graph": None,
    "fitted tangential fields on the sphere": None,
    "fitted tangential fields on a mesh": None,
}


def n_coordinates(geometry: Record) -> int | None:
    """How many coordinates a local term on this geometry has; None if the geometry has no coordinates."""
    if geometry.concept == "fitted product of geometries":
        each = [n_coordinates(factor) for factor in geometry["factors"]]
        return None if None in each else sum(count for count in each if count is not None)
    return _COORDINATES[geometry.concept] if geometry.concept in _COORDINATES else n_columns(geometry)


# The formula of the eigenfunctions on a geometry, or the number of nodes that hold them.
_FORMULAS = {
    "fitted circle": "cosines and sines",
    "fitted interval": "cosines",
    "fitted sphere": "spherical harmonics",
    "fitted tangential fields on the sphere": "tangential harmonics",
}
_NODES: dict[str, Callable[[Record], int]] = {
    "fitted graph": lambda graph: graph["n_nodes"],
    "fitted mesh": lambda mesh: mesh.dims["V"],
    "fitted tangential fields on a mesh": lambda fields: 3 * fields["surface"].dims["V"],
}


def basis_suits(geometry: Record, basis: Record) -> bool:
    """Whether a basis lives on a geometry."""
    kind, other = geometry.concept, basis.concept
    if kind in _FORMULAS:
        return other == "eigenfunctions by formula" and basis["functions"].concept == _FORMULAS[kind]
    if kind == "fitted product of geometries":
        if other != "products of eigenfunctions" or len(basis["factors"]) != len(geometry["factors"]):
            return False
        return all(map(basis_suits, geometry["factors"], basis["factors"]))
    if kind == "point cloud":
        graph = geometry["graph"]
        if other != "basis of a point cloud" or size_of(basis)[0] != graph.dims["s"]:
            return False
        transition = basis["transition"]
        sets = 1 if graph["set_sizes"] is None else len(graph["set_sizes"])
        return bool(graph["lae"] == (transition["epsilon"] is None) and (transition["n_sets"] or 1) == sets)
    if kind == "landmarks":
        return other == "basis on landmarks" and size_of(basis)[0] == geometry.dims["s"]
    at_nodes = kind in _NODES and other == "eigenfunctions at nodes"
    return at_nodes and size_of(basis)[0] == _NODES[kind](geometry)
