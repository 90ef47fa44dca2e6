import numpy as np
import pytest
from sklearn.gaussian_process.kernels import RBF, Matern, RationalQuadratic

from flgp.terms.local.euclidean import KERNEL_NAMES, LocalModel

SKLEARN = {
    "squared_exponential": lambda scale: RBF(scale),
    "matern12": lambda scale: Matern(scale, nu=0.5),
    "matern32": lambda scale: Matern(scale, nu=1.5),
    "matern52": lambda scale: Matern(scale, nu=2.5),
    "rational_quadratic": lambda scale: RationalQuadratic(scale, alpha=0.3),
}


@pytest.mark.parametrize("kernel", KERNEL_NAMES)
def test_covariance_is_that_of_scikit_learn(kernel):
    r = np.linspace(0, 4, 30)
    ours = LocalModel(kernel, 0.7, 2.5, 0.1, 0.3).covariance(r)
    np.testing.assert_allclose(
        ours, 2.5 * SKLEARN[kernel](0.7)(r[:, None], np.zeros((1, 1)))[:, 0], rtol=1e-12
    )


@pytest.mark.parametrize("kernel", KERNEL_NAMES)
def test_slope_is_the_derivative_in_log_length_scale(kernel):
    r, h = np.linspace(0, 4, 30), 1e-6
    at = {s: LocalModel(kernel, 0.7 * np.exp(s * h), 2.5, 0.1) for s in (-1, 0, 1)}
    numeric = (at[1].covariance(r) - at[-1].covariance(r)) / (2 * h)
    np.testing.assert_allclose(at[0].slope(r, at[0].covariance(r)), numeric, atol=1e-8)


def test_shape_slope_is_the_derivative_in_log_shape():
    r, h = np.linspace(0, 4, 30), 1e-6
    at = {s: LocalModel("rational_quadratic", 0.7, 2.5, 0.1, 0.4 * np.exp(s * h)) for s in (-1, 0, 1)}
    numeric = (at[1].covariance(r) - at[-1].covariance(r)) / (2 * h)
    np.testing.assert_allclose(at[0].slopes(r, at[0].covariance(r))[1], numeric, atol=1e-8)


@pytest.mark.parametrize("kernel", KERNEL_NAMES)
def test_far_apart_is_exactly_uncorrelated(kernel):
    far = np.array([1e100])
    local = LocalModel(kernel, 1e-3, 2.0, 0.1)
    assert local.covariance(far) == 0
    assert local.slope(far, local.covariance(far)) == 0


def test_bad_parameters_are_named():
    with pytest.raises(ValueError, match=r"unknown residual kernel 'cubic'.*matern32"):
        LocalModel("cubic", 1.0, 1.0, 1.0)
    for values in ((0.0, 1.0, 1.0), (1.0, -1.0, 1.0), (1.0, 1.0, -1e-3), (np.nan, 1.0, 1.0)):
        with pytest.raises(ValueError, match="must be positive"):
            LocalModel("matern12", *values)
