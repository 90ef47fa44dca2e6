import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import Ridge
from sklearn.pipeline import make_pipeline

from conftest import ring
from flgp import HeatKernelFeatures


@pytest.mark.parametrize("base_kernel", ["lae", "se"])
def test_inner_products_are_the_prior_kernel(base_kernel):
    X = ring(300)[0]
    model = HeatKernelFeatures(n_anchors=50, n_eigenpairs=20, base_kernel=base_kernel, random_state=0).fit(X)
    new = np.concatenate([ring(30, seed=3)[0], [[4.0, 4.0]]])
    features = model.transform(new)
    kernel = model.covariance(new)
    np.testing.assert_allclose((features @ features.T)[:-1, :-1], kernel[:-1, :-1], rtol=1e-10, atol=1e-12)
    np.testing.assert_allclose(features[-1], 0.0, atol=1e-6)


def test_names_and_frames():
    X = pd.DataFrame(ring(200)[0], columns=["a", "b"])
    model = HeatKernelFeatures(n_anchors=30, n_eigenpairs=5, random_state=0).set_output(transform="pandas")
    frame = model.fit_transform(X)
    assert list(frame.columns) == [f"heatkernelfeatures{i}" for i in range(5)]
    assert list(model.get_feature_names_out()) == list(frame.columns)


def test_before_a_linear_model():
    X, angle = ring(800)
    model = make_pipeline(HeatKernelFeatures(n_anchors=100, random_state=0), Ridge(1e-3))
    model.fit(X[:400], np.sin(4 * angle[:400]))
    assert model.score(X[400:], np.sin(4 * angle[400:])) > 0.95


def test_given_values_are_kept():
    X = ring(200)[0]
    model = HeatKernelFeatures(
        n_anchors=30, base_kernel="se", bandwidth=0.2, diffusion_time=50.0, amplitude=2.0, random_state=0
    ).fit(X)
    assert (model.bandwidth_, model.diffusion_time_, model.amplitude_) == (0.2, 50.0, 2.0)
