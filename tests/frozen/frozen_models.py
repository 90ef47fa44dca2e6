"""Models over every likelihood, inference and source of rows, through the public interface only.

Each case returns named arrays: what the model answers at fitted points, at new ones and far off the cloud.
"""

from __future__ import annotations

from functools import partial

import numpy as np

import flgp
from flgp import HeatKernelFeatures
from flgp.baselines import GLGPClassifier, GLGPRegressor

# The models of the first round: a manifold and, where asked for, a local term; every class for itself.
FLGPRegressor = partial(
    flgp.FLGPRegressor, linear=None, n_neighbors=3, n_residual_neighbors=30, residual_columns=[0, 1, 2]
)
FLGPClassifier = partial(
    flgp.FLGPClassifier,
    linear=None,
    mean="zero",
    residual=None,
    n_neighbors=3,
    n_residual_neighbors=30,
    multi_class="one_vs_rest",
)


PLAIN = {"residual": None, "random_state": 0, "n_jobs": 1}


def cloud(n=500, seed=0):
    """A noisy closed curve in three columns, with its angle."""
    rng = np.random.default_rng(seed)
    angle = np.sort(rng.uniform(0, 2 * np.pi, n))
    X = np.column_stack([np.cos(angle), np.sin(angle), 0.4 * np.sin(2 * angle)])
    return X + 0.02 * rng.standard_normal(X.shape), angle, rng


def queries(X):
    """Fitted points, points near the cloud, one far away."""
    near = X[5:400:40] + 0.03
    return np.concatenate([X[::50], near, [[4.0, 4.0, 4.0]]])


def thinned(y, every=5):
    """y with labels on every fifth row only."""
    result = np.full(len(y), np.nan)
    result[::every] = y[::every]
    return result


def regression(model, y, X=None, **known):
    points, _, _ = cloud()
    fitted = model.fit(points if X is None else X, y, **known)
    at = queries(points)
    mean, std = fitted.predict(at, return_std=True)
    latent_mean, latent_variance = fitted.latent_mean_and_variance(at)
    return {
        "mean": mean,
        "std": std,
        "latent_mean": latent_mean,
        "latent_variance": latent_variance,
        "latent_interval": fitted.latent_interval(at),
        "interval": fitted.predict_interval(at),
        "evidence": np.array(fitted.log_marginal_likelihood_value_),
        "time": np.atleast_1d(fitted.diffusion_time_),
        "amplitude": np.atleast_1d(fitted.amplitude_),
        "eigenvalues": fitted.eigenvalues_[:10],
        "draws": fitted.sample_f(at, 3, random_state=1),
        "samples": fitted.sample_y(at, 3, random_state=1).astype(float),
    }


def classification(model, y, X=None, **known):
    points, _, _ = cloud()
    fitted = model.fit(points if X is None else X, y, **known)
    at = queries(points)
    latent_mean, latent_variance = fitted.latent_mean_and_variance(at)
    return {
        "probabilities": fitted.predict_proba(at),
        "classes": fitted.predict(at).astype(float),
        "latent_mean": latent_mean,
        "latent_variance": latent_variance,
        "evidence": np.array(fitted.log_marginal_likelihood_value_),
        "time": np.atleast_1d(fitted.diffusion_time_),
        "samples": fitted.sample_y(at, 3, random_state=1).astype(float),
    }


def smooth():
    _, angle, rng = cloud()
    return np.sin(2 * angle) + 0.3 * np.cos(5 * angle) + 0.2 * rng.standard_normal(len(angle))


def counts():
    _, angle, rng = cloud()
    return rng.poisson(np.exp(1 + np.sin(2 * angle))).astype(float)


def classes(k):
    _, angle, rng = cloud()
    noisy = angle + 0.2 * rng.standard_normal(len(angle))
    y = (noisy / (2 * np.pi) * 2 * k).astype(int) % k
    keep = np.arange(len(y)) % 10 == 0
    return np.where(keep, y, -1)


def gaussian():
    return regression(FLGPRegressor(**PLAIN), thinned(smooth()))


def gaussian_weighted():
    y = thinned(smooth())
    weight = np.linspace(0.5, 2.0, len(y))
    model = FLGPRegressor(
        residual=None, kernel="matern", nu=2.5, time_prior="paper", random_state=0, n_jobs=1
    )
    return regression(model, y, sample_weight=weight)


def zero_mean():
    model = FLGPRegressor(residual=None, mean="zero", time_prior="flat", random_state=0, n_jobs=1)
    return regression(model, thinned(smooth()))


def two_outputs():
    y = np.column_stack([thinned(smooth()), thinned(counts(), 7)])
    return regression(FLGPRegressor(**PLAIN), y)


def local():
    return regression(FLGPRegressor(residual="local", random_state=0, n_jobs=1), thinned(smooth(), 3))


def local_parts():
    points, _, _ = cloud()
    model = FLGPRegressor(residual="local", residual_kernel="matern32", random_state=0, n_jobs=1)
    model.fit(points, thinned(smooth(), 3))
    at = queries(points)
    mean, covariance = model.predict(at, return_cov=True)
    return {
        "mean": mean,
        "covariance": covariance,
        "length_scale": np.array(model.residual_length_scale_),
        "variance": np.array(model.residual_variance_),
    }


def local_integrated():
    model = FLGPRegressor(
        residual="local", residual_kernel="matern52", hyperparameters="integrate", random_state=0, n_jobs=1
    )
    return regression(model, thinned(smooth()))


def local_counts():
    model = FLGPRegressor(
        likelihood="poisson", residual="local", residual_kernel="matern52", random_state=0, n_jobs=1
    )
    return regression(model, thinned(counts()))


def local_classes():
    model = FLGPClassifier(
        residual="local", inference="laplace", residual_kernel="matern32", random_state=0, n_jobs=1
    )
    return classification(model, classes(2))


def poisson():
    y = thinned(counts())
    exposure = np.linspace(0.5, 2.0, len(y))
    return regression(FLGPRegressor(likelihood="poisson", **PLAIN), y, exposure=exposure)


def poisson_sampled():
    model = FLGPRegressor(
        likelihood="poisson",
        residual=None,
        inference="gibbs",
        n_chains=2,
        n_draws=40,
        n_warmup=20,
        random_state=0,
        n_jobs=1,
    )
    return regression(model, thinned(counts()))


def negative_binomial():
    return regression(
        FLGPRegressor(likelihood="negative_binomial", **PLAIN),
        thinned(counts()),
    )


def binomial():
    _, angle, rng = cloud()
    trials = rng.integers(3, 9, len(angle)).astype(float)
    y = thinned(rng.binomial(trials.astype(int), 1 / (1 + np.exp(-2 * np.sin(angle)))).astype(float))
    return regression(FLGPRegressor(likelihood="binomial", **PLAIN), y, trials=trials)


def gamma():
    y = thinned(np.exp(smooth()))
    return regression(FLGPRegressor(likelihood="gamma", **PLAIN), y)


def exponential():
    y = thinned(np.exp(smooth()))
    return regression(FLGPRegressor(likelihood="exponential", **PLAIN), y)


def student_t():
    y = smooth()
    y[::45] += 5.0
    return regression(FLGPRegressor(likelihood="student_t", **PLAIN), thinned(y))


def integrated():
    model = FLGPRegressor(residual=None, hyperparameters="integrate", random_state=0, n_jobs=1)
    return regression(model, thinned(smooth(), 20))


def integrated_bandwidth():
    model = FLGPRegressor(
        residual=None, base_kernel="se", n_anchors=60, hyperparameters="integrate", random_state=0, n_jobs=1
    )
    return regression(model, thinned(smooth(), 10))


def fixed():
    model = FLGPRegressor(
        residual=None, diffusion_time=20.0, amplitude=0.5, noise_variance=0.04, hyperparameters="fixed",
        random_state=0, n_jobs=1,
    )  # fmt: skip
    return regression(model, thinned(smooth()))


def anchor_sets():
    model = FLGPRegressor(residual=None, n_anchors=60, n_anchor_sets=3, random_state=0, n_jobs=1)
    return regression(model, thinned(smooth()))


def all_anchors():
    model = FLGPRegressor(
        residual=None, anchors="all", base_kernel="se", bandwidth=0.1, random_state=0, n_jobs=1
    )
    return regression(model, thinned(smooth()))


def binary():
    return classification(FLGPClassifier(random_state=0, n_jobs=1), classes(2))


def binary_laplace():
    return classification(FLGPClassifier(inference="laplace", random_state=0, n_jobs=1), classes(2))


def binary_sampled():
    model = FLGPClassifier(inference="gibbs", n_chains=2, n_draws=40, n_warmup=20, random_state=0, n_jobs=1)
    return classification(model, classes(2))


def binary_integrated():
    return classification(FLGPClassifier(hyperparameters="integrate", random_state=0, n_jobs=1), classes(2))


def one_vs_rest():
    model = FLGPClassifier(
        multi_class="one_vs_rest", base_kernel="se", n_anchors=60, random_state=0, n_jobs=1
    )
    return classification(model, classes(3))


def glgp():
    model = GLGPRegressor(n_landmarks=80, n_eigenpairs=40, bandwidth=0.2, random_state=0, n_jobs=1)
    return regression(model, thinned(smooth()))


def glgp_searched():
    return classification(
        GLGPClassifier(n_landmarks=60, n_eigenpairs=30, random_state=0, n_jobs=1), classes(2)
    )


def glgp_sparse():
    model = GLGPRegressor(n_neighbors=8, n_eigenpairs=40, random_state=0, n_jobs=1)
    return regression(model, thinned(smooth()))


def streamed():
    import tempfile
    from pathlib import Path

    points, _, _ = cloud()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "rows.npy"
        np.save(path, points)
        rows = np.load(path, mmap_mode="r")
        return regression(FLGPRegressor(**PLAIN), thinned(smooth()), rows)


def dask():
    import dask.array as da

    points, _, _ = cloud()
    rows = da.from_array(points, chunks=(100, 3))
    return regression(FLGPRegressor(**PLAIN), thinned(smooth()), rows)


def updated():
    points, _, _ = cloud()
    y = smooth()
    model = FLGPRegressor(**PLAIN).fit(points, thinned(y))
    model.update(points[3::25], y[3::25], relearn=False)
    at = queries(points)
    kept = model.predict(at)
    model.update(points[4::25], y[4::25])
    mean, std = model.predict(at, return_std=True)
    return {"kept": kept, "mean": mean, "std": std}


def features():
    points, _, _ = cloud()
    model = HeatKernelFeatures(random_state=0, n_jobs=1).fit(points)
    at = queries(points)
    return {"kernel": model.transform(at) @ model.transform(at).T, "covariance": model.covariance(at)}


CASES = {
    case.__name__: case
    for case in (
        gaussian, gaussian_weighted, zero_mean, two_outputs, local, local_parts, local_integrated,
        local_counts, local_classes, poisson, poisson_sampled, negative_binomial, binomial, gamma,
        exponential, student_t, integrated, integrated_bandwidth, fixed, anchor_sets, all_anchors, binary,
        binary_laplace, binary_sampled,
        binary_integrated, one_vs_rest, glgp, glgp_searched,
        glgp_sparse, streamed, dask, updated, features,
    )
}  # fmt: skip
