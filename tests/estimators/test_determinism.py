"""The same numbers again: by seed, by number of threads, beside other fits, with inputs left alone."""

import hashlib
import subprocess
import sys
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from functools import partial
from multiprocessing import get_context
from pathlib import Path

import numpy as np
import pytest
from joblib import Parallel, delayed

from conftest import ring
from flgp import FLGPClassifier, FLGPRegressor, HeatKernelFeatures

SIZE = {"n_anchors": 50, "n_eigenpairs": 15}


def data(kind, seed=0, n=300):
    X, angle = ring(n, seed=seed, noise=0.05)
    rng = np.random.default_rng(seed)
    known = np.arange(n) % 8 == 0
    if kind == "classes":
        return X, np.where(known, (3 * angle / 6.2832).astype(int), -1)
    if kind == "poisson":
        return X, np.where(known, rng.poisson(np.exp(1 + np.sin(angle))), np.nan)
    return X, np.where(known, np.sin(2 * angle) + 0.1 * rng.standard_normal(n), np.nan)


def fitted(kind, seed=0, **options):
    """A model, and all it says about its points, as one array."""
    X, y = data(kind, seed)
    options = {"random_state": seed, **SIZE, **options}
    if kind == "features":
        model = HeatKernelFeatures(**options).fit(X)
        return model, model.transform(X)
    if kind == "classes":
        model = FLGPClassifier(**options).fit(X, y)
        return model, model.predict_proba(X)
    likelihood = "poisson" if kind == "poisson" else "gaussian"
    model = FLGPRegressor(likelihood=likelihood, **options).fit(X, y)
    return model, np.column_stack(model.predict(X, return_std=True))


def answers(kind, seed=0, **options):
    return fitted(kind, seed, **options)[1]


KINDS = ["gaussian", "poisson", "classes", "features"]


@pytest.mark.parametrize("n_jobs", [1, 2])
@pytest.mark.parametrize("kind", KINDS)
def test_the_same_seed_and_threads_give_the_same_bits(kind, n_jobs):
    assert np.array_equal(answers(kind, n_jobs=n_jobs), answers(kind, n_jobs=n_jobs))


def test_another_process_gives_the_same_bits():
    folders = [str(Path(__file__).parent), str(Path(__file__).parents[1])]
    code = (
        f"import hashlib, sys; sys.path[:0] = {folders!r}; from test_determinism import answers; "
        "print(hashlib.sha256(answers('classes', n_jobs=1).tobytes()).hexdigest())"
    )
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ended.stdout.strip() == hashlib.sha256(answers("classes", n_jobs=1).tobytes()).hexdigest()


@pytest.mark.parametrize("base_kernel", ["lae", "se"])
@pytest.mark.parametrize("kind", KINDS)
def test_one_and_two_threads_agree(kind, base_kernel):
    anchors = fitted(kind, n_jobs=1)[0].anchors_
    given = {"anchors": anchors, "diffusion_time": 8.0, "amplitude": 1.0}
    given |= {"base_kernel": base_kernel, "bandwidth": 0.3}
    if kind == "gaussian":
        given |= {"noise_variance": 0.01, "residual": None}
    if kind == "features":
        del given["amplitude"]
    one, two = answers(kind, n_jobs=1, **given), answers(kind, n_jobs=2, **given)
    if kind == "features":  # eigenvectors are known up to sign and rotation, the kernel is not
        one, two = one @ one.T, two @ two.T
    np.testing.assert_allclose(one, two, rtol=0, atol=1e-8)


CASES = [(kind, seed) for kind in KINDS for seed in (0, 1)]


def test_fits_in_threads_give_the_serial_numbers():
    serial = [answers(kind, seed, n_jobs=1) for kind, seed in CASES]
    with ThreadPoolExecutor(4) as pool:
        parallel = list(pool.map(lambda case: answers(*case, n_jobs=1), CASES))
    for one, other in zip(serial, parallel, strict=True):
        np.testing.assert_allclose(one, other, rtol=0, atol=1e-8)


@pytest.mark.parametrize("backend", ["spawn", "loky"])
def test_fits_in_processes_give_the_serial_numbers(backend):
    cases = CASES[1:5:3]
    serial = [answers(kind, seed, n_jobs=1) for kind, seed in cases]
    if backend == "spawn":
        with ProcessPoolExecutor(2, mp_context=get_context("spawn")) as pool:
            parallel = list(pool.map(_one, cases))
    else:
        parallel = Parallel(2)(delayed(_one)(case) for case in cases)
    for one, other in zip(serial, parallel, strict=True):
        np.testing.assert_allclose(one, other, rtol=0, atol=1e-8)


def _one(case):
    return answers(*case, n_jobs=1)


def test_one_model_answers_many_threads():
    model, _ = fitted("classes", n_jobs=2)
    parts = [ring(200, seed=seed)[0] for seed in range(6)]
    serial = [model.predict_proba(part) for part in parts]
    with ThreadPoolExecutor(6) as pool:
        for one, other in zip(serial, pool.map(model.predict_proba, parts), strict=True):
            assert np.array_equal(one, other)


@pytest.mark.parametrize(("dtype", "order"), [(np.float64, "F"), (np.float32, "C")])
@pytest.mark.parametrize("kind", ["gaussian", "poisson", "classes"])
def test_inputs_are_not_changed(kind, dtype, order):
    X, y = data(kind)
    X = np.asarray(X, dtype=dtype, order=order)
    weight = np.linspace(0.5, 1.5, len(X))
    arrays = [X, y, weight, X[:20].copy(), X[:100].copy()]
    before = [array.copy() for array in arrays]
    for array in arrays:
        array.setflags(write=False)  # writing would raise
    X, y, weight, anchors, unlabeled = arrays
    options = {"anchors": anchors, "n_eigenpairs": 10, "random_state": 0}
    if kind == "classes":
        model = FLGPClassifier(**options).fit(X, y, unlabeled, sample_weight=weight)
        model.predict_proba(X)
    else:
        likelihood = "poisson" if kind == "poisson" else "gaussian"
        model = FLGPRegressor(likelihood=likelihood, **options).fit(X, y, unlabeled, sample_weight=weight)
        model.predict(X, return_std=True)
        model.sample_y(X[:10], 3)
    model.update(X[:5], y[:5], sample_weight=weight[:5])
    model.score(X, y)
    model.covariance(X[:5])
    for array, old in zip(arrays, before, strict=True):
        assert np.array_equal(array, old, equal_nan=True)
    assert np.array_equal(model.anchors, anchors)


ORDERS = [np.random.default_rng(seed).permutation for seed in (1, 2)]


@pytest.mark.parametrize("shuffle", ORDERS)
@pytest.mark.parametrize("anchors", ["kmeans", "minibatch", "random", "all"])
def test_another_order_of_the_rows_gives_the_same_anchors(anchors, shuffle):
    X, _ = data("gaussian")
    order = shuffle(len(X))
    given = {"anchors": anchors, **SIZE, "random_state": 0}
    one, other = HeatKernelFeatures(**given).fit(X), HeatKernelFeatures(**given).fit(X[order])
    assert np.array_equal(one.anchors_, other.anchors_)


@pytest.mark.parametrize("shuffle", ORDERS)
@pytest.mark.parametrize("kind", ["gaussian", "poisson", "classes"])
@pytest.mark.parametrize("options", [SIZE, {}])
def test_another_order_of_the_rows_gives_the_same_predictions(kind, options, shuffle):
    """They depended on it as on the seed: by a tenth of their range."""
    X, y = data(kind)
    order = shuffle(len(X))
    answers = []
    for rows in (slice(None), order):
        model = FLGPClassifier if kind == "classes" else partial(FLGPRegressor, likelihood=kind)
        fitted = model(random_state=0, **options).fit(X[rows], y[rows])
        answers.append(fitted.predict_proba(X) if kind == "classes" else fitted.predict(X))
    np.testing.assert_allclose(answers[1], answers[0], rtol=0, atol=1e-5 * np.abs(answers[0]).max())
