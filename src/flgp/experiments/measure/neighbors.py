"""Search for the nearest anchors, against the libraries faiss-cpu and usearch where they are installed.

The rows have 100 columns: principal components of MNIST, if FLGP_MNIST_DIR says where its files are, and
noise. One thread.
"""

from __future__ import annotations

import os
import time
from argparse import ArgumentParser, Namespace
from collections.abc import Callable, Iterator
from importlib import import_module
from importlib.util import find_spec
from typing import Any, NamedTuple

import numpy as np

from ..._threads import threads
from ..._typing import Array, IntArray
from ...datasets.mnist import MNIST_VARIABLE, mnist_pca
from ...geometry.point_cloud.anchors import choose_anchors
from ...geometry.point_cloud.neighbors import NeighborSearch
from .catalogue import whole

N_COLUMNS, NEIGHBORS = 100, 3
# Links of a point, and candidates while a graph is built and searched.
_LINKS, _BUILD, _SEARCH = 32, 200, 256

# Rows → neighbours; the time to prepare the search is part of the measurement.
Query = Callable[[Array], IntArray]


class Search(NamedTuple):
    """How one method did."""

    method: str
    seconds_to_build: float  # CPU seconds
    seconds_to_query: float
    recall: float  # share of the true neighbours that it found


def _ours(anchors: Array) -> Query:
    search = NeighborSearch(anchors)
    return lambda X: search(X, NEIGHBORS)[0]


def _faiss(index: Any, anchors: Array) -> Query:
    import_module("faiss").omp_set_num_threads(1)
    index.add(anchors.astype(np.float32))
    return lambda X: index.search(X.astype(np.float32), NEIGHBORS)[1]


def _faiss_exact(anchors: Array) -> Query:
    return _faiss(import_module("faiss").IndexFlatL2(anchors.shape[1]), anchors)


def _faiss_graph(anchors: Array) -> Query:
    index = import_module("faiss").IndexHNSWFlat(anchors.shape[1], _LINKS)
    index.hnsw.efConstruction, index.hnsw.efSearch = _BUILD, _SEARCH
    return _faiss(index, anchors)


def _usearch(anchors: Array) -> Query:
    make = import_module("usearch.index").Index
    index = make(ndim=anchors.shape[1], metric="l2sq", dtype="f32", expansion_search=_SEARCH)
    index.add(np.arange(len(anchors)), anchors.astype(np.float32), threads=1)
    return lambda X: index.search(X.astype(np.float32), NEIGHBORS, threads=1).keys.astype(np.intp)


METHODS: dict[str, tuple[str, Callable[[Array], Query]]] = {
    "flgp": ("numpy", _ours),
    "faiss, exact": ("faiss", _faiss_exact),
    "faiss, HNSW": ("faiss", _faiss_graph),
    "usearch": ("usearch", _usearch),
}


def compare(X: Array, anchors: Array) -> Iterator[Search]:
    """Each installed method on the same rows and anchors; the truth is by differences in double precision."""
    some = np.linspace(0, len(X) - 1, min(len(X), 2000)).astype(np.intp)
    truth = np.stack([np.argsort(((anchors - row) ** 2).sum(axis=1))[:NEIGHBORS] for row in X[some]])
    for method, (package, prepare) in METHODS.items():
        if find_spec(package) is None:
            continue
        with threads(1):
            begun = time.process_time()
            query = prepare(anchors)
            built = time.process_time()
            found = query(X)[some]
            done = time.process_time()
        recall = np.mean([np.isin(own, true).mean() for own, true in zip(found, truth, strict=True)])
        yield Search(method, built - begun, done - built, float(recall))


def problems(n: int, n_anchors: int) -> Iterator[tuple[str, Array, Array]]:
    """Rows and anchors by name."""
    rng = np.random.default_rng(0)
    if os.environ.get(MNIST_VARIABLE):
        digits = mnist_pca(N_COLUMNS, min(n, 70_000)).X.astype(np.float64)
        yield "MNIST", digits, choose_anchors(digits, n_anchors, "kmeans", rng)
    noise = rng.standard_normal((n, N_COLUMNS))
    yield "noise", noise, noise[rng.choice(n, n_anchors, replace=False)]


def add_options(parser: ArgumentParser) -> None:
    parser.add_argument("--n", type=whole, default=70_000)
    parser.add_argument("--anchors", type=whole, default=10_000)


def measure(options: Namespace) -> None:
    print("| rows | method | CPU s to build | to search | recall |\n|" + " --- |" * 5)
    for name, X, anchors in problems(options.n, options.anchors):
        for row in compare(X, anchors):
            times = f"{row.seconds_to_build:.2f} | {row.seconds_to_query:.2f} | {row.recall:.5f}"
            print(f"| {name} | {row.method} | {times} |", flush=True)
