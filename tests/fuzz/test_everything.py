"""Every public method of every kind of model: likelihoods × inferences × terms × geometries, also extreme.

Fits may be refused, by an error of our own. A fitted model must answer every question properly, without a
warning from NumPy or SciPy, within seconds, and leave its inputs as they were. `make test` runs a few dozen
problems, `make fuzz` (FLGP_FUZZ_CASES) three thousand.
"""

from __future__ import annotations

import os
import time

import numpy as np
import pytest
from fuzz_cases import Hang, expected
from questions import ask_everything
from scipy import sparse

from flgp import FLGPClassifier, FLGPRegressor, HeatKernelFeatures
from flgp.geometry import Circle, Graph, Interval, Mesh, Product, Sphere, TangentMesh, TangentSphere
from flgp.geometry.landmarks import Landmarks

CASES = int(os.environ.get("FLGP_FUZZ_CASES", "200")) * 3 // 10
LONGEST = 30.0  # seconds of one problem, of this process alone
REAL = ("gaussian", "gaussian", "student_t", "asymmetric_laplace")
POSITIVE = ("gamma", "exponential", "tweedie")
COUNTS = ("poisson", "negative_binomial", "binomial", "zero_inflated_poisson", "hurdle_poisson")
COUNTS += ("zero_inflated_negative_binomial", "hurdle_negative_binomial")
BOUNDED = ("bernoulli", "probit", "beta", "ordinal")
CHAINS = {"n_chains": 1, "n_draws": 20, "n_warmup": 5}
CORNERS = np.array([[1, 1, 1], [1, -1, -1], [-1, 1, -1], [-1, -1, 1.0]])
TETRAHEDRON = Mesh(CORNERS, [[0, 1, 2], [0, 1, 3], [0, 2, 3], [1, 2, 3]])


def some(rng, *choices):
    return choices[int(rng.integers(len(choices)))]


def places(rng, n):
    """X, where it lives, how far off a row may be asked about, and a smooth function of it."""
    angle = rng.uniform(0, 2 * np.pi, n)
    ring = np.column_stack([np.cos(angle), np.sin(angle)])
    known = ("circle", "interval", "sphere", "winds", "graph", "mesh", "mesh field", "product")
    kind = some(rng, "cloud", "cloud", "cloud", "cloud", "landmarks", *known)
    if kind in ("cloud", "landmarks"):
        scale, offset = some(rng, 1.0, 1.0, 1e-9, 1e9, 1e60), some(rng, 0.0, 0.0, 1e6)
        X = ring + 0.05 * rng.standard_normal(ring.shape)
        if rng.random() < 0.2:
            X = np.round(2 * X)  # many rows in the same place
        where = None if kind == "cloud" else Landmarks(8)
        return scale * (X + offset), where, True, np.sin(angle)
    if kind == "circle":
        return angle[:, None], Circle(), True, np.sin(angle)
    if kind == "interval":
        return angle[:, None], Interval(), True, np.sin(angle)
    if kind == "sphere":
        return np.column_stack([80 * ring[:, 0], 57 * angle]), Sphere(), False, np.sin(angle)
    if kind == "winds":
        return (
            np.column_stack([80 * ring[:, 0], 57 * angle, 90 * (angle > 3)]),
            TangentSphere(),
            False,
            np.sin(angle),
        )
    if kind == "graph":
        edges = sparse.diags_array([np.ones(19), np.ones(19)], offsets=[-1, 1], shape=(20, 20))
        node = rng.integers(0, 20, n)
        return node[:, None].astype(float), Graph(edges), False, np.sin(node / 3)
    if kind == "mesh":
        where = CORNERS[rng.integers(0, 4, n)]
        return where, TETRAHEDRON, False, where[:, 0]
    if kind == "mesh field":
        where = CORNERS[rng.integers(0, 4, n)]
        return np.column_stack([where, rng.standard_normal((n, 3))]), TangentMesh(TETRAHEDRON), False, angle
    return np.column_stack([angle, ring[:, 0]]), Product(Circle(), Interval()), True, np.sin(angle)


def problem(seed):
    """A model that is not fitted, X, y, arguments of `fit`, and rows to ask about."""
    rng = np.random.default_rng([7, seed])
    n = int(rng.integers(4, 40))
    X, geometry, anywhere, f = places(rng, n)
    own = X.shape[1]
    options = {"geometry": geometry, "random_state": 0, "n_jobs": 1, "n_eigenpairs": some(rng, "auto", 3, 8)}
    options["kernel"] = some(rng, "heat", "heat", "matern")
    if geometry is None:
        options |= {"n_anchors": some(rng, "auto", 5, 12), "base_kernel": some(rng, "lae", "se")}
        options |= {"n_anchor_sets": some(rng, "auto", 1, 2), "anchors": some(rng, "kmeans", "random")}
        options["bandwidth"] = some(rng, None, None, 0.3)
    kind = rng.random()
    if kind < 0.05:
        return HeatKernelFeatures(**options), X, None, {}, _rows(rng, X, anywhere)
    columns = {}
    if rng.random() < 0.25:
        X = np.column_stack([X, rng.standard_normal(n) * some(rng, 1.0, 1e-6, 1e20)])
        columns["linear"] = [X.shape[1] - 1]
    if rng.random() < 0.25:
        X = np.column_stack([X, rng.integers(0, 3, n)])
        columns["groups"] = [X.shape[1] - 1]
    options |= columns
    if columns:
        options["geometry_columns"] = list(range(own))
    options["hyperparameters"] = some(rng, "optimize", "optimize", "optimize", "integrate")
    options["residual"] = some(rng, None, "auto", "local")
    options["residual_kernel"] = some(rng, "auto", "matern32", "matern52", "rational_quadratic")
    hidden = rng.random(n) < some(rng, 0.0, 0.3, 0.8)
    hidden[:2] = False
    arguments = {"sample_weight": None}
    if rng.random() < 0.2:
        arguments["sample_weight"] = rng.uniform(0.5, 2.0, n) * some(rng, 1.0, 1e-12, 1e15, 1e30, 1e100)
    make = classes if kind < 0.4 else numbers
    model, y = make(rng, f, hidden, options, arguments)
    return model, X, y, arguments, _rows(rng, X, anywhere)


def classes(rng, f, hidden, options, arguments):
    """A classifier and its labels: codes, or votes."""
    options |= {"multi_class": some(rng, "auto", "one_vs_rest", "coupled")}
    able = ("auto", "ep") if options["multi_class"] == "coupled" else ("auto", "laplace", "ep", "gibbs")
    options |= {**CHAINS, "inference": some(rng, *able), "mean": some(rng, "auto", "constant", "zero")}
    options["class_prior"] = some(rng, None, None, "uniform")
    options["calibrate"] = bool(rng.random() < 0.8)
    options["label_noise"] = some(rng, None, None, None, 0.1, "auto")
    y = np.digitize(f, [-0.3, 0.4]) if rng.random() < 0.5 else (f > 0).astype(int)
    if rng.random() < 0.1:  # probabilities of classes
        return FLGPClassifier(**options), rng.dirichlet([0.3, 0.3, 0.3], len(f))
    return FLGPClassifier(**options), np.where(hidden, -1, y)


def numbers(rng, f, hidden, options, arguments):
    """A regressor and its labels; adds arguments of `fit`."""
    n = len(f)
    options["likelihood"] = likelihood = some(rng, *REAL, *POSITIVE, *COUNTS, *BOUNDED)
    options |= {**CHAINS, "inference": some(rng, "auto", "auto", "laplace", "ep", "gibbs")}
    options["mean"] = some(rng, "constant", "zero")
    # With numbers of its own, so that all other problems are what they were.
    if likelihood == "gaussian" and rng.spawn(1)[0].random() < 0.3:
        options |= {"likelihood": "heteroscedastic", "inference": "auto", "residual": None}
        likelihood = "heteroscedastic"
    if likelihood in ("bernoulli", "probit"):
        y = (f > 0).astype(float)
    elif likelihood == "beta":
        y = np.clip(0.5 + 0.45 * f, some(rng, 0.01, 1e-12), 1 - 1e-12)
    elif likelihood == "ordinal":
        y = np.digitize(f, [-0.6, 0.0, 0.7]).astype(float)
    elif likelihood in COUNTS:
        y = np.round(3 * (f + 1.1) * some(rng, 1.0, 1.0, 1e6, 1e12))
    elif likelihood in POSITIVE:
        y = (f + 1.5) * some(rng, 1.0, 1e-9, 1e9)
        y = np.where(rng.random(n) < 0.2, 0.0, y) if likelihood == "tweedie" else y
    else:
        y = (f + 0.1 * rng.standard_normal(n)) * some(rng, 1.0, 1e-60, 1e60) + some(rng, 0.0, 0.0, 1e7)
    if likelihood == "binomial":
        arguments["trials"] = y + 5
    if likelihood in ("poisson", "negative_binomial") and rng.random() < 0.2:
        arguments["exposure"] = rng.uniform(0.5, 2.0, n) * some(rng, 1.0, 1e-6, 1e6)
    y = np.where(hidden, np.nan, y)
    if likelihood == "gaussian" and rng.random() < 0.3:
        y = np.column_stack([y, -2 * y])
        options["shared"] = bool(rng.random() < 0.4)
        options["coregionalization"] = some(rng, None, None, 1)
    elif likelihood == "gaussian" and rng.random() < 0.1:
        arguments["noise_scale"] = rng.uniform(0.5, 2.0, n)
    return FLGPRegressor(**options), y


def _rows(rng, X, anywhere):
    """Fitted rows, and where a geometry goes on, rows off it and far away."""
    rows = X[:6].copy()
    if anywhere:
        rows = np.concatenate([rows, X[:2] + 3 * np.ptp(X, axis=0)])
        if rng.random() < 0.3:
            far = X[:1].copy()
            far[0, 0] = some(rng, 1e40, -1e155, 1e200)
            rows = np.concatenate([rows, far])
    return rows


def ask(seed):
    """One problem from beginning to end."""
    model, X, y, arguments, rows = problem(seed)
    before = [None if values is None else values.copy() for values in (X, y, *arguments.values())]
    started = time.process_time()
    with expected() as refused:
        model.fit(X, y, **arguments) if y is not None else model.fit(X)
    if not refused:
        with expected() as error:
            ask_everything(model, rows)
        assert not error, f"problem {seed}: {error[0]}"
    assert time.process_time() - started < LONGEST, f"problem {seed}"
    for old, new in zip(before, (X, y, *arguments.values()), strict=True):
        np.testing.assert_array_equal(old, new)
    return not refused


@pytest.mark.parametrize("part", range(20))
def test_every_question_has_a_proper_answer(part):
    fitted, failed = 0, []
    seeds = range(part, CASES, 20)
    for seed in seeds:
        try:
            fitted += ask(seed)
        except (Exception, Hang) as error:
            error.add_note(f"problem {seed}")
            failed.append(error)
    if failed:
        raise BaseExceptionGroup(f"{len(failed)} problems failed", failed)
    if len(seeds) >= 20:  # of a few, all may be refused by chance
        assert fitted >= len(seeds) // 2
