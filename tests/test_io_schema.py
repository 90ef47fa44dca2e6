"""The schema of model files covers everything that can be stored."""

from __future__ import annotations

import numpy as np
import pytest

import flgp.baselines
import flgp.tables  # noqa: F401 - both register what they store
from flgp import ModelFileError
from flgp._stored import CONCEPTS, stored_fields
from flgp.io.rules import ArrayEntry, Check, Numbers, Real, Sparse, Whole
from flgp.io.schema import SCHEMA


@pytest.mark.parametrize("concept", sorted(CONCEPTS))
def test_every_stored_field_has_an_entry(concept):
    """Add new fields to flgp/io/schema.py: the role, dtype, shape and range of what they hold."""
    assert concept in SCHEMA, f"flgp/io/schema.py has no entry for {concept!r}"
    assert set(SCHEMA[concept].fields) == {entry.name for entry in stored_fields(CONCEPTS[concept])}


def test_the_schema_has_nothing_that_is_not_stored():
    assert set(SCHEMA) <= set(CONCEPTS)


def checked(rule, values, scope=None):
    """Apply a rule to an array, both halves of the check."""
    check = Check(SCHEMA, [ArrayEntry(values.dtype, values.shape, "C")])
    rule(check, {"array": 0}, "here", {} if scope is None else scope)
    check.values([values])


def test_arrays_are_checked_for_dtype_shape_and_range():
    rule = Numbers(("s", "M"), 0.0, 5.0)
    checked(rule, np.ones((3, 2)), {"s": 3})
    for values, match in (
        (np.ones((3, 2), dtype=np.float32), "dtype"),
        (np.ones((3, 2), dtype=int), "dtype"),
        (np.ones(3), "axes"),
        (np.ones((2, 2)), "s is 2 here and 3 elsewhere"),
        (np.full((3, 2), np.nan), "outside"),
        (np.full((3, 2), np.inf), "outside"),
        (np.full((3, 2), -1.0), "outside"),
        (np.full((3, 2), 6.0), "outside"),
    ):
        with pytest.raises(ModelFileError, match=match):
            checked(rule, values, {"s": 3})
    with pytest.raises(ModelFileError, match="ascending"):
        checked(Numbers(("M",), ascending=True), np.array([1.0, 0.0]))
    with pytest.raises(ModelFileError, match="sum 1"):
        checked(Numbers(("M",), total=1.0), np.array([0.5, 0.4]))
    checked(Numbers(("M",), -1.0, 1.0, nan=True), np.array([np.nan, 0.4]))
    with pytest.raises(ModelFileError, match="outside"):
        checked(Numbers(("M",), -1.0, 1.0, nan=True), np.array([np.nan, 4.0]))


@pytest.mark.parametrize(
    "node",
    [
        *(True, None, "1", [], {"float": "nan"}, {"float": "inf"}, 1e200, -1, 10**30),
        *({"scalar": content} for content in (["<f8", "nan"], ["|O8", 1], ["<c16", 1.0], [1.0], "<f8")),
    ],
)
def test_numbers_are_checked(node):
    check = Check(SCHEMA, [])
    with pytest.raises(ModelFileError, match="here"):
        Real(0.0, 1e100)(check, node, "here", {})
    with pytest.raises(ModelFileError, match="here"):
        Whole(0, 100)(check, node, "here", {})


def test_numpy_scalars_are_numbers():
    check = Check(SCHEMA, [])
    assert Real(0.0, 9.0)(check, {"scalar": ["<f8", 1.5]}, "here", {}) == 1.5
    assert Whole(0, 9)(check, {"scalar": ["<i8", 3]}, "here", {}) == 3
    with pytest.raises(ModelFileError, match="outside the dtype"):
        Whole(0, 10**9)(check, {"scalar": ["|i1", 300]}, "here", {})


def test_sparse_matrices_are_checked_before_scipy_sees_them():
    def attempt(data, indices, indptr, shape):
        arrays = [np.asarray(data, float), np.asarray(indices, np.int32), np.asarray(indptr, np.int32)]
        table = [ArrayEntry(values.dtype, values.shape, "C") for values in arrays]
        check = Check(SCHEMA, table)
        node = {"sparse": [{"array": 0}, {"array": 1}, {"array": 2}, list(shape)]}
        Sparse(("N", "N"), 0.0, 9.0)(check, node, "here", {})
        check.values(arrays)

    attempt([1.0, 1.0], [1, 0], [0, 1, 2], (2, 2))
    for wrong in (
        ([1.0, -1.0], [1, 0], [0, 1, 2], (2, 2)),
        ([1.0, 1.0], [1, 2], [0, 1, 2], (2, 2)),
        ([1.0, 1.0], [1, -1], [0, 1, 2], (2, 2)),
        ([1.0, 1.0], [1, 0], [0, 2, 1], (2, 2)),
        ([1.0, 1.0], [1, 0], [0, 1, 3], (2, 2)),
        ([1.0, 1.0], [1, 0], [1, 1, 2], (2, 2)),
        ([1.0, 1.0], [1, 0], [0, 1, 2], (2, 3)),
        ([1.0, 1.0], [1, 0], [0, 1, 2], (60_000, 60_000)),
        ([1.0], [1, 0], [0, 1, 2], (2, 2)),
    ):
        with pytest.raises(ModelFileError):
            attempt(*wrong)
