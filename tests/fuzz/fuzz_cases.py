"""What the fuzz tests share: odd tables, odd parameters, and what counts as an answer."""

from __future__ import annotations

import linecache
import os
import signal
import traceback
import warnings
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pandas
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning, DataConversionWarning

import flgp

# `make test` draws a few dozen cases, `make fuzz` (FLGP_FUZZ_CASES) two thousand of each.
CASES = max(int(os.environ.get("FLGP_FUZZ_CASES", "200")) // 5, 1)
LONGEST = 300  # seconds of one case; a typical one takes a tenth of one, more on a busy machine
ROOT = Path(flgp.__file__).parent

few = settings(
    max_examples=CASES,
    deadline=None,
    derandomize=True,
    database=None,
    suppress_health_check=list(HealthCheck),
)

SCALES = [1.0, 1e-300, 1e-9, 1e9, 1e100, 1e300]
HOLDERS = ["array", "fortran", "float32", "list", "frame", "object", "int", "bool", "strided"]
STRANGE_X = ["text", "sparse", "one axis", "three axes", "complex", "nothing", "no columns", "none", "dates"]


@st.composite
def tables(draw, strange=True):
    """X, mostly numbers in some holder, now and then something that is no table at all."""
    n, p = draw(st.integers(1, 40)), draw(st.integers(1, 4))
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    kind = draw(st.sampled_from(["cloud", "ring", "grid", "point", "two points", "line", "far point"]))
    X = {
        "cloud": lambda: rng.standard_normal((n, p)),
        "ring": lambda: np.resize(np.column_stack([np.cos(np.arange(n)), np.sin(np.arange(n))]), (n, p)),
        "grid": lambda: rng.integers(0, 3, (n, p)).astype(float),
        "point": lambda: np.full((n, p), rng.standard_normal()),
        "two points": lambda: np.repeat(rng.integers(0, 2, (n, 1)), p, axis=1).astype(float),
        "line": lambda: np.outer(np.linspace(-1, 1, n), np.ones(p)),
        "far point": lambda: np.vstack([rng.standard_normal((n - 1, p)), np.full((1, p), 1e6)]),
    }[kind]()
    X = X * draw(st.sampled_from(SCALES)) + draw(st.sampled_from([0.0, 0.0, 1.0, 1e6, -1e12]))
    if draw(st.booleans()):
        X[:, draw(st.integers(0, p - 1))] = draw(st.sampled_from([0.0, 1.0, 1e200]))
    if strange and draw(st.integers(0, 24)) == 0:
        X[draw(st.integers(0, n - 1)), 0] = draw(st.sampled_from([np.nan, np.inf, -np.inf]))
    strange = strange and draw(st.integers(0, 11)) == 0
    return _held(X, draw(st.sampled_from(STRANGE_X if strange else HOLDERS)))


def _held(X, holder):
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        return {
            "array": lambda: X,
            "fortran": lambda: np.asfortranarray(X),
            "float32": lambda: X.astype(np.float32),
            "list": X.tolist,
            "frame": lambda: pandas.DataFrame(X, columns=[f"c{i}" for i in range(X.shape[1])]),
            "object": lambda: X.astype(object),
            "int": lambda: np.nan_to_num(X, posinf=9, neginf=-9).clip(-1e9, 1e9).astype(int),
            "bool": lambda: X > 0,
            "strided": lambda: np.repeat(X, 2, axis=0)[::2],
            "text": lambda: X.astype(str),
            "sparse": lambda: sparse.csr_array(np.nan_to_num(X, posinf=1, neginf=1)),
            "one axis": lambda: X[:, 0],
            "three axes": lambda: X[:, :, None],
            "complex": lambda: X + 1j,
            "nothing": lambda: X[:0],
            "no columns": lambda: X[:, :0],
            "none": lambda: None,
            "dates": lambda: np.full(X.shape, np.datetime64("2020-01-01")),
        }[holder]()


def rows_of(X):
    """How many rows something has, or a few."""
    shape = getattr(X, "shape", None)
    return shape[0] if shape else len(X) if isinstance(X, list) else 5


# What is good for something, extreme or not, and what is to be refused.
PARAMETERS = {
    "n_anchors": (["auto", 1, 2, 7, 10**9], [0, -3, 2.5, "many", None]),
    "n_neighbors": ([1, 2, 3, 5, 10**9], [0, 1.5, None]),
    "n_eigenpairs": (["auto", 1, 2, 10, 10**9], [0, "all"]),
    "anchors": (["kmeans", "minibatch", "random", "all"], ["best", None, [[0.0]], np.full((2, 2), np.nan)]),
    "anchor_weights": (["auto", "counts", "uniform"], ["heavy"]),
    "n_anchor_sets": (["auto", 1, 2, 3], [0, -1, 1.5, "many", None]),
    "base_kernel": (["lae", "se"], ["rbf", None]),
    "bandwidth": ([None, 0.1, 1e-45, 1e45], [0.0, -1.0, np.nan, np.inf, 1e-300, 1e300, "wide"]),
    "kernel": (["heat", "matern"], ["cubic"]),
    "nu": ([0.5, 1.5, 1e-9, 1e9], [0, np.nan, None]),
    "diffusion_time": ([None, 1.0, 1e-12, 1e12], [0, -1, np.inf, 1e300, "long"]),
    "amplitude": ([None, 1.0, 1e-12, 1e12], [0, np.nan, True, 1e300]),
    "hyperparameters": (["optimize", "integrate", "fixed"], ["guess"]),
    "time_prior": (["graph", "paper", "flat"], ["none", 3]),
    "intrinsic_dimension": ([None, 1.0], [0, np.nan]),
    "inference": (["auto", "laplace", "ep"], ["vi"]),
    "random_state": ([0, None, 2**31, np.random.RandomState(3)], [2**32, -1, "seed", 0.5]),
    "n_jobs": ([1, 2, -1], [0, 1.5]),
}


def parameters(**more):
    """A few parameters, now and then one to be refused."""
    known = {**PARAMETERS, **more}

    @st.composite
    def some(draw):
        names = draw(st.lists(st.sampled_from(sorted(known)), max_size=5, unique=True))
        return {name: draw(st.sampled_from(known[name][draw(st.integers(0, 19)) == 0])) for name in names}

    return some()


class Hang(BaseException):
    """A case took too long; not an Exception, so that nobody handles it."""


@contextmanager
def expected():
    """Only the project's own errors and warnings end a case, and in time; yields a list of the error."""
    error: list[Exception] = []

    def too_long(*_):
        raise Hang

    previous = signal.signal(signal.SIGALRM, too_long)
    signal.alarm(LONGEST)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            for own in (ConvergenceWarning, DataConversionWarning):
                warnings.simplefilter("ignore", own)
            for own in (".*connected part", ".*R-hat", ".*feature names"):
                warnings.filterwarnings("ignore", own, UserWarning)
            yield error
    except (ValueError, TypeError) as caught:
        if not (str(caught).strip() and is_own(caught)):
            raise AssertionError("not an error of the project's own") from caught
        error.append(caught)
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, previous)


def is_own(error):
    """Whether a `raise` of this project or a check of scikit-learn's made the error."""
    frame = traceback.extract_tb(error.__traceback__)[-1]
    path = Path(frame.filename)
    if "sklearn" in path.parts and {"utils", "base.py"} & set(path.parts):
        return True
    if ROOT not in path.parents:
        return False
    text = "".join(linecache.getline(frame.filename, i) for i in range(frame.lineno, frame.end_lineno + 1))
    return text.lstrip().startswith("raise")


def unchanged(before, after):
    """Whether two inputs are equal, whatever holds them."""
    if before is None or after is None:
        return before is after
    if sparse.issparse(before):
        before, after = before.toarray(), after.toarray()
    return np.asarray(before).tobytes() == np.asarray(after).tobytes() or str(before) == str(after)
