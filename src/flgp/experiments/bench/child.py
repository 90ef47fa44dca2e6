"""One run of one method in a separate process; prints a line of JSON.

Started by path with any Python that has the package of the method, so it does not import flgp unless the
method does: `python -P child.py METHOD FOLDER THREADS key=value …`. The folder holds X.npy, y.npy (truth),
labeled.npy and targets.npy. Importing packages and reading files is not timed; building the
neighbour graph is.
"""

from __future__ import annotations

import json
import os
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any


def anonymous_bytes(process: int | str = "self") -> int | None:
    """Memory of a process that is not backed by a file; None if the system does not report it."""
    try:
        with open(f"/proc/{process}/status") as status:
            return next(int(line.split()[1]) * 1024 for line in status if line.startswith("RssAnon"))
    except (OSError, StopIteration):
        return None


class PeakMemory:
    """Peak of anonymous memory above its value at the start, sampled every few milliseconds."""

    def __enter__(self) -> PeakMemory:
        start = anonymous_bytes()
        self.start, self.running = start or 0, start is not None
        self.peak, self.known = self.start, self.running
        self.thread = threading.Thread(target=self.watch, daemon=True)
        self.thread.start()
        return self

    def watch(self) -> None:
        """Record the memory until stopped."""
        while self.running:
            self.peak = max(self.peak, anonymous_bytes() or 0)
            time.sleep(0.005)

    def __exit__(self, *_: object) -> None:
        self.running = False
        self.thread.join()
        self.added = self.peak - self.start if self.known else None


def first_rows(p: SimpleNamespace) -> SimpleNamespace:
    """The same problem with the labelled rows and 200 others."""
    import numpy as np

    rows = np.union1d(p.labeled, np.arange(min(200, len(p.X))))
    small = {"X": p.X[rows], "y": p.y[rows], "labeled": np.searchsorted(rows, p.labeled)}
    few = {"n_anchors": "50", "n_eigenpairs": "20"}
    return SimpleNamespace(**{**vars(p), **small, "options": {**p.options, **few}})


def marked(p: SimpleNamespace) -> Any:
    """The targets of all rows, NaN or -1 where unlabelled."""
    import numpy as np

    y = np.full(len(p.X), np.nan) if p.task == "regression" else np.full(len(p.X), -1)
    y[p.labeled] = p.targets
    return y


def ours(p: SimpleNamespace, *sizes: str, **options: Any) -> Any:
    """An FLGP estimator, with the `sizes` that the case states."""
    from flgp import FLGPClassifier, FLGPRegressor

    kind = FLGPRegressor if p.task == "regression" else FLGPClassifier
    stated: dict[str, Any] = {name: int(p.options[name]) for name in sizes}
    return kind(n_jobs=p.threads, random_state=p.seed, **stated, **options)


def flgp(p: SimpleNamespace, base_kernel: str) -> Any:
    """FLGP: fit on all rows and predict all rows."""
    model = ours(p, "n_anchors", "n_neighbors", "n_eigenpairs", base_kernel=base_kernel)
    return lambda: model.fit(p.X, marked(p)).transduction_


def flgp_defaults(p: SimpleNamespace) -> Any:
    """FLGP with all defaults: fit on all rows, and the class probabilities (or the mean) of all rows."""
    model = ours(p)

    def run() -> Any:
        model.fit(p.X, marked(p))
        if p.task == "regression":
            return model.predict(p.X)
        return model.classes_[model.predict_proba(p.X).argmax(axis=1)]

    return run


def baseline(p: SimpleNamespace, which: str) -> Any:
    """The paper's baselines of this package: every point an anchor or a landmark, 20 bandwidths."""
    from flgp.baselines import GLGPClassifier

    n = len(p.X)
    if which == "flgp-x":
        r = 20 if n <= 5_000 else 60
        graph = {"anchors": "all", "base_kernel": "se", "n_neighbors": r, "linear": None, "residual": None}
        model = ours(p, "n_eigenpairs", amplitude=1.0, **graph)
    else:
        model = GLGPClassifier(
            n_neighbors=None if which == "glgp" else max(n // 100, 3),
            n_eigenpairs=int(p.options["n_eigenpairs"]),
            amplitude=1.0,
            n_jobs=p.threads,
            random_state=p.seed,
        )
    return lambda: model.fit(p.X, marked(p)).transduction_


def gpboost_vecchia(p: SimpleNamespace) -> Any:
    """GPBoost's Matérn process with 30 neighbours (Vecchia), on the labelled rows."""
    import gpboost
    import numpy as np

    def run() -> Any:
        X = np.asarray(p.X, dtype=float)
        rest = np.setdiff1d(np.arange(len(X)), p.labeled)
        model = gpboost.GPModel(
            gp_coords=X[p.labeled],
            cov_function="matern",
            cov_fct_shape=1.5,
            gp_approx="vecchia",
            num_neighbors=30,
            likelihood="gaussian",
            num_parallel_threads=p.threads,
            seed=p.seed,
        )
        center = float(np.mean(p.targets))
        model.fit(y=np.asarray(p.targets, dtype=float) - center)
        result = np.empty(len(X))
        result[p.labeled] = p.targets
        result[rest] = center + model.predict(gp_coords_pred=X[rest], predict_var=False)["mu"]
        return result

    return run


def ckdtree(p: SimpleNamespace) -> Any:
    """Not a method: the neighbour search alone, as a reference for the machine."""
    import numpy as np
    from scipy.spatial import cKDTree

    rows = np.random.default_rng(p.seed).choice(len(p.X), int(p.options["n_anchors"]), replace=False)
    anchors, r = p.X[rows], int(p.options["n_neighbors"])

    def run() -> Any:
        cKDTree(anchors).query(p.X, k=r, workers=p.threads)

    return run


def label_spreading(p: SimpleNamespace) -> Any:
    """scikit-learn's label spreading on a neighbour graph."""
    from sklearn.semi_supervised import LabelSpreading

    # The defaults stop before the labels reach most points.
    model = LabelSpreading(kernel="knn", n_neighbors=10, alpha=0.99, max_iter=5000, n_jobs=p.threads)
    return lambda: model.fit(p.X, marked(p)).transduction_


def in_batches(predict: Any, X: Any, size: int = 20_000) -> Any:
    """Predictions of many rows by a method whose memory grows with rows × labels."""
    import numpy as np

    return np.concatenate([predict(X[i : i + size]) for i in range(0, len(X), size)])


def gp_classifier(p: SimpleNamespace) -> Any:
    """scikit-learn's Gaussian process in Euclidean space, on the labelled rows."""
    from sklearn.gaussian_process import GaussianProcessClassifier
    from sklearn.gaussian_process.kernels import RBF, ConstantKernel

    model = GaussianProcessClassifier(ConstantKernel() * RBF(), random_state=p.seed, n_jobs=p.threads)
    return lambda: in_batches(model.fit(p.X[p.labeled], p.targets).predict, p.X)


def gp_regressor(p: SimpleNamespace) -> Any:
    """scikit-learn's Gaussian process in Euclidean space, on the labelled rows."""
    from sklearn.gaussian_process import GaussianProcessRegressor
    from sklearn.gaussian_process.kernels import RBF, ConstantKernel, WhiteKernel

    kernel = ConstantKernel() * RBF() + WhiteKernel()
    model = GaussianProcessRegressor(kernel, normalize_y=True, n_restarts_optimizer=2, random_state=p.seed)
    return lambda: in_batches(model.fit(p.X[p.labeled], p.targets).predict, p.X)


def graphlearning(p: SimpleNamespace, which: str) -> Any:
    """GraphLearning's Laplace or Poisson learning, including its neighbour search."""
    import graphlearning as gl

    def run() -> Any:
        W = gl.weightmatrix.knn(p.X, 10)
        model = gl.ssl.laplace(W) if which == "laplace" else gl.ssl.poisson(W)
        return model.fit_predict(p.labeled, p.targets.astype(int))

    return run


def gpytorch_svgp(p: SimpleNamespace, steps: int = 200, inducing: int = 200) -> Any:
    """GPyTorch's sparse variational Gaussian process, on the labelled rows."""
    import gpytorch
    import numpy as np
    import torch

    torch.set_num_threads(p.threads)
    torch.manual_seed(p.seed)
    kinds = gpytorch.kernels
    count = len(np.unique(p.targets)) if p.task == "multiclass" else 1
    batch = torch.Size([count] if count > 1 else [])

    class Process(gpytorch.models.ApproximateGP):
        def __init__(self, points: Any) -> None:
            q = gpytorch.variational.CholeskyVariationalDistribution(len(points), batch_shape=batch)
            start = points.expand(*batch, *points.shape).clone()
            strategy = gpytorch.variational.VariationalStrategy(self, start, q)
            if count > 1:
                strategy = gpytorch.variational.IndependentMultitaskVariationalStrategy(strategy, count)
            super().__init__(strategy)
            self.mean = gpytorch.means.ConstantMean(batch_shape=batch)
            self.kernel = kinds.ScaleKernel(kinds.RBFKernel(batch_shape=batch), batch_shape=batch)

        def forward(self, x: Any) -> Any:
            return gpytorch.distributions.MultivariateNormal(self.mean(x), self.kernel(x))

    def run() -> Any:
        X = torch.as_tensor(np.asarray(p.X, dtype=np.float32))
        seen = X[torch.as_tensor(p.labeled)]
        given = torch.as_tensor(p.targets)
        model = Process(X[torch.randperm(len(X))[:inducing]])
        if p.task == "regression":
            likelihood, given = gpytorch.likelihoods.GaussianLikelihood(), given.float()
        elif count == 1:
            likelihood, given = gpytorch.likelihoods.BernoulliLikelihood(), given.float()
        else:
            likelihood = gpytorch.likelihoods.SoftmaxLikelihood(num_classes=count, mixing_weights=False)
        objective = gpytorch.mlls.VariationalELBO(likelihood, model, num_data=len(seen))
        optimizer = torch.optim.Adam([*model.parameters(), *likelihood.parameters()], lr=0.05)
        for _ in range(steps):
            optimizer.zero_grad()
            loss = -objective(model(seen), given)
            loss.backward()
            optimizer.step()
        model.eval()
        likelihood.eval()
        with torch.no_grad():
            parts = []
            for rows in X.split(4000):
                latent = model(rows)
                if p.task == "regression":
                    parts.append(latent.mean)
                elif count == 1:
                    parts.append((latent.mean > 0).long())
                else:
                    parts.append(likelihood(latent).probs.mean(0).argmax(-1))
            return torch.cat(parts).numpy()

    return run


# For each method the package that it needs, and the function that makes a run.
METHODS: dict[str, tuple[str, Callable[[Any], Callable[[], Any]]]] = {
    "flgp": ("flgp", flgp_defaults),
    "flgp-x": ("flgp", lambda p: baseline(p, "flgp-x")),
    "glgp": ("flgp", lambda p: baseline(p, "glgp")),
    "sparse-glgp": ("flgp", lambda p: baseline(p, "sparse-glgp")),
    "gpboost-vecchia": ("gpboost", gpboost_vecchia),
    "flgp-lk": ("flgp", lambda p: flgp(p, "lae")),
    "flgp-sk": ("flgp", lambda p: flgp(p, "se")),
    "ckdtree": ("scipy", ckdtree),
    "label-spreading": ("sklearn", label_spreading),
    "gp-classifier": ("sklearn", gp_classifier),
    "gp-regressor": ("sklearn", gp_regressor),
    "graphlearning-laplace": ("graphlearning", lambda p: graphlearning(p, "laplace")),
    "graphlearning-poisson": ("graphlearning", lambda p: graphlearning(p, "poisson")),
    "gpytorch-svgp": ("gpytorch", gpytorch_svgp),
}


def main(method: str, folder: str, threads: str, *options: str) -> None:
    """Run one method and print its time, memory and error."""
    for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
        os.environ[name] = threads  # before NumPy is imported
    import numpy as np

    place = Path(folder)
    arrays = {name: np.load(place / f"{name}.npy") for name in ("X", "y", "labeled", "targets")}
    given = dict(option.split("=", 1) for option in options)
    p = SimpleNamespace(
        **arrays, task=given["task"], threads=int(threads), options=given, seed=int(given["seed"])
    )
    make = METHODS[method][1]
    make(first_rows(p))()  # warm-up: libraries initialise at the first call
    run = make(p)
    with PeakMemory() as memory:
        started, used = time.perf_counter(), time.process_time()
        prediction = run()
        seconds, cpu = time.perf_counter() - started, time.process_time() - used
    error = None
    if prediction is not None:
        rest = np.setdiff1d(np.arange(len(p.X)), p.labeled)
        gap = prediction[rest] - p.y[rest]
        error = float(np.sqrt(np.mean(gap**2)) if p.task == "regression" else np.mean(gap != 0))
    print(json.dumps({"seconds": seconds, "cpu": cpu, "memory": memory.added, "error": error}))


if __name__ == "__main__":
    main(*sys.argv[1:])
