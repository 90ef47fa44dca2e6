"""The schema of what estimators learn, and of the other sections of a model file."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from .rules import (
    A,
    ArrayRef,
    ByName,
    Check,
    Either,
    Flag,
    Given,
    Maybe,
    Numbers,
    Objects,
    Real,
    Rule,
    Several,
    Text,
    Whole,
    content_of,
    number,
    pairs,
    wrong,
)
from .schema import LOCAL_KERNELS, POINT, VARIANCE, points

any_real = Real(-1e300, 1e300, nan=True, infinite=True)
each_function = Either(
    lambda node: content_of(node, "array") is not None,
    Numbers(("functions",), 0.0, VARIANCE, nan=True),
    Real(0.0, VARIANCE, nan=True),
)


def one_or_several(rule: Rule) -> Either:
    """A value for one latent function, or a list of one for each."""
    return Either(lambda node: isinstance(node, list), Several(rule, 2, form="list"), rule)


class _Report:
    """What the search says about itself; nothing is computed from it."""

    NAMES = ("names", "theta", "gradient", "bounds", "at_bound", "n_evaluations", "success", "message")

    def __call__(self, check: Check, node: Any, where: str, scope: dict[str, int]) -> Any:
        content = content_of(node, "result")
        if not isinstance(content, dict) or set(content) != set(self.NAMES):
            raise wrong(where, "is not the report of a search")
        own: dict[str, int] = {}
        names = Several(Text(), 0, 1000)(check, content["names"], where, {})
        own["k"] = len(names)
        for name in ("theta", "gradient"):
            wide = Numbers(("k",), -1e300, 1e300, nan=True, infinite=True)
            wide(check, content[name], f"{where}.{name}", own)
        ByName(Several(any_real, 2, 2))(check, content["bounds"], f"{where}.bounds", {})
        ByName(Flag())(check, content["at_bound"], f"{where}.at_bound", {})
        number(content["n_evaluations"], where, "i")
        Flag()(check, content["success"], where, {})
        Text()(check, content["message"], where, {})
        return names


class Classes:
    """Classes (C,): different from each other and sorted."""

    def __call__(self, check: Check, node: Any, where: str, scope: dict[str, int]) -> ArrayRef:
        ref = Numbers(("C",), -(2**62), 2**62, "biufU")(check, node, where, scope)

        def sorted_once(classes: np.ndarray) -> bool:
            return bool(len(classes) and (classes[1:] > classes[:-1]).all())

        check.later(where, "is not sorted, or has a class twice", sorted_once, ref)
        return ref


class Predictions:
    """A prediction for every fitted row, (n,) or (n, k)."""

    def __call__(self, check: Check, node: Any, where: str, scope: dict[str, int]) -> ArrayRef:
        ref = check.reference(node, where)
        axes = ("n",) if len(ref.shape) == 1 else ("n", "outputs")
        kinds = "biufU" if len(ref.shape) == 1 else "f"
        return Numbers(axes, -1e300, 1e300, kinds)(check, node, where, {})


LEARNED: dict[str, Rule] = {
    "n_features_in_": Whole(1, 2**31),
    "feature_names_in_": Objects(Text()),
    "classes_": Classes(),
    "geometry_": A("fitted"),
    "basis_": A("basis"),
    "eigenvalues_": Numbers(("M",), -1e-6, VARIANCE, ascending=True),
    "bandwidth_": Maybe(Real(1e-160, POINT)),
    "n_graph_components_": Whole(1),
    "diffusion_time_": each_function,
    "amplitude_": each_function,
    "residual_length_scale_": each_function,
    "residual_variance_": each_function,
    "residual_kernel_": one_or_several(Maybe(Text(LOCAL_KERNELS))),
    "noise_variance_": each_function,
    "likelihood_": one_or_several(A("likelihood")),
    "log_marginal_likelihood_value_": Real(-1e300, 1e300),
    "optimizer_result_": one_or_several(_Report()),
    "hyperparameter_posterior_": one_or_several(A("posterior of hyperparameters")),
    "bandwidth_trace_": Several(Several(any_real, 2, 2), form="list"),
    "term_shares_": ByName(Real(0.0, 1.0 + 1e-6)),
    "feature_relevance_": Numbers(("p",), 0.0, 1.0 + 1e-6),
    "coregionalization_": Numbers(("C", "C"), -1.0 - 1e-9, 1.0 + 1e-9),
    "kernel_": A("kernel"),
    "transduction_": Predictions(),
    "transduction_proba_": Numbers(("n", "C"), 0.0, 1.0 + 1e-9),
    "chains_": one_or_several(A("Markov chains")),
    "intrinsic_dimension_": Real(1e-60, 1e60),
    "label_noise_": Real(0.0, 0.999),
    "label_wrong_proba_": Numbers(("labels",), -1e-9, 1.0 + 1e-9),
}


class _Levels:
    """The levels of each column of groups that does not hold numbers, by the column's position."""

    def __call__(self, check: Check, node: Any, where: str, scope: dict[str, int]) -> dict[int, Any]:
        if node == {"dict": {}}:
            return {}
        found = dict(pairs(check, node, where, Several(Given(), 1, form="list")))
        if any(type(column) is not int for column in found):
            raise wrong(where, "is not a dict of levels")
        return found


class Section(NamedTuple):
    """An attribute of an estimator that is not public, what it may hold, and which models always have it."""

    attribute: str
    rule: Rule
    needed: tuple[str, ...] = ()


LATENT = ("regressor", "classifier")
MODELS = (*LATENT, "features")
SECTIONS = {
    "process": Section("_process_", A("process"), MODELS),
    "roles of columns": Section("_roles_", A("roles of columns"), MODELS),
    "covariates": Section("_linear_", Maybe(A("linear term")), LATENT),
    "kind of local term": Section("_local_kind_", Maybe(Text(("features", "neighbors")))),
    "scales of the local term": Section("_local_scale_", Maybe(Numbers(("q",), 1e-160, 1e160))),
    "levels": Section("_group_levels_", _Levels()),
    "known values": Section("_known_", Several(A("known hyperparameters"), 1, form="list"), LATENT),
    "intrinsic dimension": Section("_dimension_", Maybe(Real(1e-60, 1e60)), LATENT),
    "one target": Section("_flat_", Flag(), LATENT),
    "offset": Section("_with_offset_", Flag(), LATENT),
    "known shares of classes": Section("_shares_", Maybe(A("known shares of classes"))),
    "examples": Section("_examples_", points("examples", "p"), MODELS),
    "number of features": Section("_n_features_out", Whole(1), ("features",)),
}
PARAMETER = Given(("geometry", "kernel", "prior", "likelihood"))
