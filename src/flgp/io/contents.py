"""Whether the sections of a model file fit each other, before anything is built from them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from .. import _stored
from ..process.evidence import NOISE
from ..rows.even import EvenColumns
from .fits import basis_suits, components, n_columns, n_coordinates, size_of
from .learned import LEARNED, MODELS, PARAMETER, SECTIONS
from .rules import A, ArrayEntry, ArrayRef, ByName, Check, Maybe, Numbers, Record, Text, bind, entries, wrong
from .schema import SCHEMA

_NEEDED = ("n_features_in_", "geometry_", "basis_", "eigenvalues_", "bandwidth_", "n_graph_components_")
_OF_FUNCTIONS = ("diffusion_time_", "amplitude_", "optimizer_result_", "log_marginal_likelihood_value_")
_OTHER = ("model", "parameters", "learned", "table", "versions", "witness", "labels", "arrays")
# Names of what may be known about labels.
_KNOWN = {"regressor": {"noise_scale", "exposure", "trials", "weight"}, "classifier": {"weight"}}
_OF_CLASSES = ("Bernoulli likelihood", "noisy Bernoulli likelihood", "categorical likelihood")
# Scaled covariates of fitted rows: a few standard deviations, more for outliers.
_LARGEST_COVARIATE = 1e8


def check_contents(
    header: Mapping[str, Any], table: Sequence[ArrayEntry], parameters: Mapping[str, Sequence[str]]
) -> Check:
    """Check a header with its `table` of arrays; `values` of the result checks the arrays once they are read.

    `parameters` are the names of the parameters of each model.
    """
    check = Check(SCHEMA, table)
    model = header.get("model")
    if not isinstance(model, str) or model not in MODELS:
        raise wrong("the file", f"holds a {model!r}, a model that this version of flgp does not know")
    needed = (*_OTHER, *(name for name, section in SECTIONS.items() if model in section.needed))
    entries(header, "the file", {**dict.fromkeys(_OTHER), **SECTIONS}, lambda name: name not in needed)
    given = _parameters(check, header["parameters"], parameters[model])
    found = {
        name: section.rule(check, header[name], name, {})
        for name, section in SECTIONS.items()
        if name in header
    }
    learned = _learned(check, header["learned"], model)
    labels = Maybe(A("labels"))(check, header["labels"], "labels", {})
    ByName(Text())(check, {"dict": header["versions"]}, "versions", {})
    _Fit(check, model, given, found, learned, labels).all()
    _witness(check, header["witness"], learned["n_features_in_"])
    _table(check, header["table"], learned["n_features_in_"])
    check.all_used()
    return check


def _parameters(check: Check, content: Any, names: Sequence[str]) -> dict[str, Any]:
    entries(content, "parameters", dict.fromkeys(names), lambda _: True)
    return {name: PARAMETER(check, node, f"parameters.{name}", {}) for name, node in content.items()}


def _learned(check: Check, content: Any, model: str) -> dict[str, Any]:
    needed = _NEEDED if model == "features" else _NEEDED + _OF_FUNCTIONS
    needed = (*needed, "classes_") if model == "classifier" else needed
    if not isinstance(content, dict):
        raise wrong("learned", "is not an object with fields")
    for name in content:
        if name not in LEARNED:
            raise wrong("learned", f"has {name!r}, which is not a learned attribute")
    entries(content, "learned", LEARNED, lambda name: name not in needed)
    return {name: LEARNED[name](check, node, f"learned.{name}", {}) for name, node in content.items()}


def _witness(check: Check, content: Any, p: int) -> None:
    """A few rows, and what the model said about them."""
    if not isinstance(content, list) or not 2 <= len(content) <= 6:
        raise wrong("witness", "is not a list of arrays")
    Numbers(("rows", "p"), -1e300, 1e300)(check, content[0], "witness", {"p": p})
    for i, node in enumerate(content[1:], start=1):
        shape = check.reference(node, f"witness[{i}]").shape
        axes = tuple(f"axis {j}" for j in range(len(shape)))
        Numbers(axes, -1e300, 1e300)(check, node, f"witness[{i}]", {})


def _width(column: Record) -> int:
    """Columns of X that a column of a table makes: as `Column.feature_names`."""
    if column["categories"] is not None:
        return len(column["categories"]) + int(column["marked"])
    return int(column["kind"] != "time") + 2 * len(column["cycles"]) + int(column["marked"])


def _table(check: Check, node: Any, p: int) -> None:
    table = Maybe(A("columns of a table"))(check, node, "table", {})
    if table is None:
        return
    width = sum(_width(column) for column in table["columns"])
    names = [column["name"] for column in table["columns"]]
    if width != p or len(set(names)) < len(names):
        raise wrong("table", "has other columns than the model")
    if not set(table["about"] or ()) <= {"sample_weight", "exposure", "trials"}:
        raise wrong("table", "knows something about labels that fit has no argument for")


def _ordinary(
    rows: np.ndarray, which: np.ndarray, center: np.ndarray, scale: np.ndarray, *even: np.ndarray
) -> bool:
    """Whether covariates are of an ordinary size."""
    own = EvenColumns(*even)(rows[:, which]) if even else rows[:, which]
    return bool(np.abs((own - center) * scale).max(initial=0.0) <= _LARGEST_COVARIATE)


def _on_one_scale(
    center: np.ndarray, unit: np.ndarray, scale: np.ndarray, rows: np.ndarray, *which: np.ndarray
) -> bool:
    own = rows[:, which[0]] if which else rows
    return bool(np.abs(EvenColumns(center, unit, scale)(own)).max(initial=0.0) <= _LARGEST_COVARIATE)


class _Fit:
    """The relations between the sections of one model."""

    def __init__(
        self,
        check: Check,
        model: str,
        given: Mapping[str, Any],
        sections: Mapping[str, Any],
        learned: Mapping[str, Any],
        labels: Record | None,
    ) -> None:
        self.check, self.model, self.given = check, model, given
        self.sections, self.learned, self.labels = sections, learned, labels
        self.process: Record = sections["process"]
        self.roles: Record = sections["roles of columns"]
        self.geometry: Record = learned["geometry_"]
        self.p: int = learned["n_features_in_"]

    def all(self) -> None:
        """Ask every question."""
        self._geometry()
        self._columns()
        self._terms()
        self._rows()
        self._functions()

    def _geometry(self) -> None:
        basis, learned = self.learned["basis_"], self.learned
        bases = [term["basis"] for term in self._all_terms() if term.concept == "manifold term"]
        if not all(basis_suits(self.geometry, other) for other in (basis, *bases)):
            raise wrong("basis_", "does not live on the geometry of the model")
        own = basis["spectrum"]["eigenvalues"] if "spectrum" in basis.fields else basis["eigenvalues"]
        self._same("eigenvalues_", learned["eigenvalues_"], own)
        if self.model == "features":
            count = size_of(basis)[1]
            if self.sections["number of features"] != count or count != components(self.process)[0].dims["M"]:
                raise wrong("number of features", "is not the number of eigenpairs")

    def _columns(self) -> None:
        roles, p = self.roles, self.p
        if (p if roles["geometry"] is None else roles.dims["g"]) != n_columns(self.geometry):
            raise wrong("roles of columns", "gives the geometry another number of columns than it takes")
        for name in ("geometry", "linear"):
            if roles[name] is not None:
                self._within(roles[name], f"roles of columns.{name}")
        if roles["even"] is not None and self.geometry.concept != "point cloud":
            raise wrong("roles of columns", "changes the units of a geometry that has its own")
        if even := self._even(roles["even"], roles["geometry"]):
            refs = (self.sections["examples"], *([] if roles["geometry"] is None else [roles["geometry"]]))
            words = "are on a scale that no row of X has"
            self.check.later("even columns", words, _on_one_scale, *even, *refs, key=len(refs))
        if roles["local"] is not None:
            self._within(roles["local"]["index"], "roles of columns.local")
        if any(column >= p for column in roles["groups"]):
            raise wrong("roles of columns", "has groups in columns that X does not have")
        if roles["names"] is not None and len(roles["names"]) != p:
            raise wrong("roles of columns", "names another number of columns than X has")
        if self.learned.get("feature_names_in_") != roles["names"]:
            raise wrong("feature_names_in_", "differ from the names in the roles of columns")
        grouped = self.given.get("groups")
        if (grouped is None) != (not roles["groups"]):
            raise wrong("roles of columns", "has other groups than the parameters")
        if not set(self.sections.get("levels", {})) <= set(roles["groups"]):
            raise wrong("levels", "belong to columns that are not groups")

    def _terms(self) -> None:
        linear = self.sections.get("covariates")
        wanted = ["manifold term"] if self.model == "features" or self.given.get("amplitude") != 0 else []
        wanted += [] if self.roles["linear"] is None else ["linear term"]
        wanted += ["groups term"] * len(self.roles["groups"])
        wanted += ["local term by features"] if self._by_features() else []
        if any([term.concept for term in layer["parts"]] != wanted for layer in self.process["layers"]):
            raise wrong("process", "has other terms than the parameters ask for")
        if (linear is None) != (self.roles["linear"] is None):
            raise wrong("covariates", "do not fit the roles of columns")
        for term in (*self._all_terms(), *(() if linear is None else (linear,))):
            if term.concept == "linear term":
                self._linear(term)
            elif term.concept == "groups term" and term["column"] not in self.roles["groups"]:
                raise wrong("groups term", "is about a column that is not a group")

    def _by_features(self) -> bool:
        return self.sections.get("kind of local term") == "features"

    def _linear(self, term: Record) -> None:
        if linear := self.roles["linear"]:
            self._same("linear term.columns", term["columns"], linear)
        else:
            raise wrong("linear term", "has columns that the roles of columns do not know")
        columns = term["columns"]
        self._within(columns, "linear term.columns")
        nodes = term["at_nodes_of"]
        if nodes is not None:
            if self.geometry.concept != "fitted graph" or nodes.shape[0] != self.geometry["n_nodes"]:
                raise wrong("linear term", "has covariates of nodes that the geometry does not have")
            column, own = term["node_column"] or 0, self.roles["geometry"]
            if own is None and column != 0:
                raise wrong("linear term", "reads the number of a node from the wrong column")
            if own is not None:
                words = "reads the number of a node from the wrong column"
                self.check.later("linear term", words, lambda a: a[0] == column, own, key=column)
            return

        even = self._even(term["even"], columns)
        refs = (self.sections["examples"], columns, term["center"], term["scale"], *even)
        self.check.later("linear term", "has a scale that no row of X has", _ordinary, *refs)

    def _even(self, even: Record | None, columns: ArrayRef | None) -> tuple[ArrayRef, ...]:
        """The arrays of what columns go through first; None: all of them."""
        if even is None:
            return ()
        if even.dims["q"] != (self.p if columns is None else columns.shape[0]):
            raise wrong("even columns", "are not those that they stand for")
        return even["center"], even["unit"], even["scale"]

    def _rows(self) -> None:
        if self.sections["examples"].shape[1] != self.p or self.sections["examples"].shape[0] < 1:
            raise wrong("examples", "are not rows of X")
        if self.labels is None:
            return
        if self.model == "features" or self.labels.dims["p"] != self.p:
            raise wrong("labels", "are not about rows of X")
        if set(self.labels["known"]) != _KNOWN[self.model]:
            raise wrong("labels", "have other properties than fit has arguments for")
        self._judged(self.labels["trust"])

    def _judged(self, trust: ArrayRef | None) -> None:
        """Labels that may be wrong have both numbers."""
        wrong_proba = self.learned.get("label_wrong_proba_")
        if (trust is None) != (wrong_proba is None) or (trust is not None and self.model != "classifier"):
            raise wrong("labels", "are trusted in one place but not in the other")
        if trust is not None and wrong_proba is not None and trust.shape != wrong_proba.shape:
            raise wrong("label_wrong_proba_", "is about other labels than those of the model")

    def _functions(self) -> None:
        process, parts = self.process, components(self.process)
        count, coupled = len(process["functions"]), process["coupled"] is not None
        self._local(parts)
        if self.model == "features":
            if count != 1 or len(parts) != 1 or parts[0]["local"] is not None:
                raise wrong("process", "is not that of eigenfeatures")
            return
        told = self.learned.get("likelihood_", [])
        stated = told if isinstance(told, list) else [told]
        for likelihood in (*(part["likelihood"] for part in parts), *stated):
            if any(likelihood[own] is None for own in _learned_by(likelihood.concept)):
                raise wrong("process", "has a likelihood whose parameters were not learned")
        known: list[Record] = self.sections["known values"]
        if len(known) != (1 if coupled else count):
            raise wrong("known values", "are those of another number of functions")
        for i, (values, function) in enumerate(zip(known, process["functions"], strict=False)):
            self._known_values(values, function["components"][0], f"known values[{i}]")
        if self.labels is not None:
            offset = self.labels["offset"]
            if (offset is not None) != self.sections["offset"]:
                raise wrong("labels", "have an offset, or have none, unlike the model")
            if offset is not None and offset.shape[1:] != (count,):
                raise wrong("labels", "have offsets of another number of functions than the model")
        if self.model == "classifier":
            self._classes(count, coupled)
        elif coupled or (self.sections["one target"] and count != 1):
            raise wrong("process", "has another number of functions than the model has targets")
        elif (process["correlation"] is None) != (self.given.get("coregionalization") is None):
            raise wrong(
                "process",
                "links outputs although the parameters do not ask for it, or does not although they do",
            )
        elif self.labels is not None and self.labels["y"].shape[1:] != (count,):
            raise wrong("labels", "have another number of targets than the model")

    def _classes(self, count: int, coupled: bool) -> None:
        classes = self.learned["classes_"]
        size = classes.shape[0]
        together = self.given.get("multi_class") != "one_vs_rest"
        together = together and self.given.get("inference", "auto") in ("auto", "ep")
        if count != (size if size > 2 else 1) or coupled != (size > 2 and together):
            raise wrong("process", "has another number of functions than the model has classes")
        if not self.sections["one target"] or "known shares of classes" not in self.sections:
            raise wrong("the file", "is not that of a classifier")
        if any(
            part["likelihood"].concept not in _OF_CLASSES
            or (coupled and part["likelihood"]["n_classes"] != size)
            for part in components(self.process)
        ):
            raise wrong("process", "has likelihoods that are not about classes")
        shares = self.sections["known shares of classes"]
        if shares is not None:
            bind(shares.dims, "C", size, "known shares of classes")
            self._clusters(shares["clusters"], size)
        if self.labels is not None:
            same = "are of other classes than the model's"
            if len(self.labels["y"].shape) != 1:
                raise wrong("labels", same)
            # Shares may name classes that have no label.
            fits = _same_classes if self.given.get("class_prior") is None else _known_classes
            self.check.later("labels", same, fits, self.labels["y"], classes)
        probable = self.learned.get("transduction_proba_")
        if probable is not None and probable.shape[1] != size:
            raise wrong("transduction_proba_", "has another number of classes than the model")
        predicted = self.learned.get("transduction_")
        if predicted is not None:
            words = "has classes that the model does not know"
            self.check.later("transduction_", words, _known_classes, predicted, classes)

    def _clusters(self, clusters: Record | None, n_classes: int) -> None:
        """Indicators are at the nodes of the manifold."""
        if clusters is None:
            return
        bind(clusters.dims, "C", n_classes, "classes as clusters")
        parts = self.sections["process"]["layers"][0]["parts"]
        nodes = [size_of(part)[0] for part in parts if part.concept == "manifold term"]
        if nodes != [clusters.dims["s"]]:
            raise wrong("classes as clusters", "has values at nodes that the manifold does not have")

    def _known_values(self, known: Record, component: Record, where: str) -> None:
        """Hyperparameters by name must be those of the terms and of the likelihood."""
        if known["likelihood"].concept != component["likelihood"].concept:
            raise wrong(where, "has another likelihood than the model")
        wanted = []
        for term in self.process["layers"][component["layer"]]["parts"]:
            if term.concept == "groups term":
                label = term["label"]
                wanted.append(f"group_variance[{label}]" if label else "group_variance")
            else:
                wanted += {
                    "manifold term": ["diffusion_time", "amplitude"],
                    "linear term": ["linear_variance"],
                    "local term by features": ["residual_variance"],
                }[term.concept]
        for values in known["least_squares"].values():
            if NOISE not in values or not set(values) <= {NOISE, *wanted}:
                raise wrong(where, "has a least-squares fit without noise, or of other terms")
        local = known["local"]
        if (local is None) != (component["local"] is None):
            raise wrong(where, "has a local term in one place but not in the other")
        if local is not None:
            wanted += ["residual_length_scale", "residual_variance"]
            wanted += ["residual_shape"] if local["kernel"] == "rational_quadratic" else []
        likelihood = known["likelihood"]
        own = _learned_by(likelihood.concept)
        if likelihood.concept == "ordinal likelihood":
            levels = likelihood["levels"] or [0.0, 0.0]
            own = tuple(f"gap_{i + 1}" for i in range(len(levels) - 2))
            if own and len(likelihood["gaps"] or ()) != len(own):
                raise wrong(where, "has a likelihood whose parameters were not learned")
        elif any(likelihood[name] is None for name in own):
            raise wrong(where, "has a likelihood whose parameters were not learned")
        wanted += own
        if not all(known["values"].get(name, 0.0) > 0 for name in wanted):
            raise wrong(where, f"are not positive values of {', '.join(wanted)}")

    def _local(self, parts: Sequence[Record]) -> None:
        """The columns in which a local term measures distances."""
        q = (
            n_coordinates(self.geometry)
            if self.roles["local"] is None
            else self.roles["local"]["index"].shape[0]
        )
        scale = self.sections.get("scales of the local term")
        if scale is not None and scale.shape != (q,):
            raise wrong("scales of the local term", "are those of other columns")
        local = [term for term in self._all_terms() if term.concept == "local term by features"]
        local += [part["field"]["posterior"] for part in parts if part["local"] is not None]
        for found in local:
            if found.dims["q"] != q:
                raise wrong(found.concept, "has points in other columns than the model")

    def _all_terms(self) -> list[Record]:
        return [term for layer in self.process["layers"] for term in layer["parts"]]

    def _same(self, where: str, one: ArrayRef, other: ArrayRef) -> None:
        """Two references to one array, or arrays of equal values."""
        if one.shape != other.shape:
            raise wrong(where, "differs from what it is a copy of")
        if one.position != other.position:
            self.check.later(where, "differs from what it is a copy of", np.array_equal, one, other)

    def _within(self, ref: ArrayRef, where: str) -> None:
        if ref.shape[0] == 0:
            raise wrong(where, "names no column")
        words = "names columns that X does not have"
        self.check.later(where, words, lambda values: values.max() < self.p, ref)


def _learned_by(likelihood: str) -> tuple[str, ...]:
    """The parameters of a likelihood that are learned; those of an ordinal one depend on its levels."""
    names = getattr(_stored.CONCEPTS[likelihood], "parameter_names", ())
    return names if isinstance(names, tuple) else ()


def _known_classes(y: np.ndarray, classes: np.ndarray) -> bool:
    return bool(np.isin(y, classes).all())


def _same_classes(y: np.ndarray, classes: np.ndarray) -> bool:
    return bool(np.array_equal(np.unique(y), classes))
