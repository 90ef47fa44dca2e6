"""Priors: slopes by finite differences, densities against their formulas."""

import numpy as np
import pytest

from flgp.priors import (
    Flat,
    GraphTime,
    HalfNormal,
    InverseGamma,
    LogNormal,
    PaperTime,
    time_prior,
)

PRIORS = [
    Flat(),
    LogNormal(2.0, 0.7),
    HalfNormal(3.0),
    InverseGamma(0.1, 1e-3),
    GraphTime(),
    GraphTime(p=0.01),
    PaperTime(1.0, 0.01),
    PaperTime(2.5, 1e-4, power=2.0),
]


@pytest.mark.parametrize("prior", PRIORS, ids=repr)
def test_slopes_are_finite_differences(prior):
    for x in (0.5, 2.0, 4.0):
        up, down = prior(x + 1e-5)[0], prior(x - 1e-5)[0]
        slope = prior(x)[1]
        assert (up - down) / 2e-5 == pytest.approx(slope, rel=1e-5, abs=1e-6 * abs(up))


def test_the_papers_density_on_manifold_time_with_its_jacobian():
    d, slowest, power = 2.0, 0.02, 1.5
    prior = PaperTime(d, slowest, power)
    t = np.array([10.0, 20.0, 40.0])
    tau = slowest * t
    density = tau**-power * np.exp(-(tau ** (-d / 2)) * np.log(1 / tau) ** (1 + d / 2)) * t  # dt = t dlog t
    got = np.exp([prior(np.log(value))[0] for value in t])
    np.testing.assert_allclose(got / got[0], density / density[0], rtol=1e-10)
    assert prior.upper == pytest.approx(50.0)


def test_the_papers_prior_does_not_overflow_far_away():
    prior = PaperTime(10.0, 1e-8)
    for x in (-30.0, 0.0, 30.0):
        assert np.isfinite(prior(x)).all()


def test_choices_by_name():
    eigenvalues = np.array([0.0, 0.0, 0.1, 0.5])
    assert time_prior("graph", eigenvalues, None) == GraphTime()
    assert time_prior("flat", eigenvalues, None) == Flat()
    assert time_prior("paper", eigenvalues, 2.0) == PaperTime(2.0, 0.1)
    assert time_prior("paper", np.zeros(3), 2.0) == Flat()
    own = LogNormal(10.0, 1.0)
    assert time_prior(own, eigenvalues, None) is own
