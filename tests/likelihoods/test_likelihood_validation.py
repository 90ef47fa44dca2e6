"""What a likelihood refuses, and what it says."""

from __future__ import annotations

import numpy as np
import pytest
from likelihood_cases import LIKELIHOODS, label, observations

from flgp.likelihoods import (
    AsymmetricLaplace,
    Bernoulli,
    Beta,
    Binomial,
    Categorical,
    Exponential,
    Gamma,
    Gaussian,
    HurdleNegativeBinomial,
    NegativeBinomial,
    Observations,
    Ordinal,
    Poisson,
    StudentT,
    Tweedie,
    ZeroInflatedPoisson,
    get_likelihood,
)
from flgp.rows.errors import in_words


@pytest.mark.parametrize("likelihood", LIKELIHOODS, ids=label)
def test_good_labels_pass(likelihood):
    likelihood.validate(observations(likelihood, weighted=True))


@pytest.mark.parametrize(
    ("likelihood", "y", "known", "message"),
    [
        (Gaussian(), [0, np.nan, 1], {}, "finite.*row 1"),
        (StudentT(), [0, 1, np.inf], {}, "finite.*row 2"),
        (Bernoulli(), [0, 2, -1], {}, "0 or 1.*rows 1, 2.*Code the two classes"),
        (Poisson(), [0, -1, 2.5], {}, "whole numbers.*rows 1, 2.*exposure"),
        (NegativeBinomial(), [0.5, 1, 2], {}, "whole numbers.*row 0"),
        (Gamma(), [0.0, 1, -2], {}, "gamma.*positive.*rows 0, 2"),
        (Exponential(), [1, 1, -2], {}, "exponential.*positive.*row 2"),
        (Binomial(), [3, 1, 0], {"trials": [2, 1, 1]}, "exceed trials.*row 0"),
        (Binomial(), [0.4, 1, 0], {"trials": [2, 1, 1]}, "successes.*row 0.*not proportions"),
        (Binomial(), [1, 1, 0], {"trials": [2, 1.5, 1]}, "trials must be whole.*row 1"),
        (Binomial(), [0, 1, 0], {"trials": [2, 1, 0]}, "trials must be positive.*row 2"),
        (Poisson(), [0, 1, 2], {"exposure": [1, 0, 1]}, "exposure must be positive.*row 1"),
        (Gaussian(), [0, 1, 2], {"noise_scale": [1, 1, -1]}, "noise_scale must be positive.*row 2"),
        (Gaussian(), [0, 1, 2], {"weight": [0, 1, np.nan]}, "sample_weight must be positive.*rows 0, 2"),
        (Gaussian(), [0, 1, 2], {"exposure": [2, 1, 1]}, "gaussian likelihood does not use exposure"),
        (Poisson(), [0, 1, 2], {"trials": [2, 1, 1]}, "poisson likelihood does not use trials"),
        (Beta(), [0.5, 1.0, 0.0], {}, "between 0 and 1, ends excluded.*rows 1, 2.*binomial"),
        (Ordinal(levels=(0, 1, 2)), [0, 3, 1], {}, "one of the levels 0, 1, 2.*row 1.*levels="),
        (Tweedie(), [0, 1.5, -1], {}, "at least 0.*row 2"),
        (ZeroInflatedPoisson(), [0, 1.5, 2], {}, "whole numbers.*row 1.*tweedie"),
        (HurdleNegativeBinomial(), [0, 1, -2], {}, "whole numbers.*row 2"),
        (AsymmetricLaplace(), [0, np.nan, 1], {}, "finite.*row 1"),
        (Categorical(3), [0, 3, 1.5], {}, "from 0 to 2.*rows 1, 2"),
        (Categorical(3), [0, 1, 2], {"weight": [1, 1, -1]}, "sample_weight.*row 2"),
    ],
)
def test_bad_labels_are_named(likelihood, y, known, message):
    with pytest.raises(ValueError, match=message):
        likelihood.validate(Observations.of(y, **known))


def test_rows_are_those_of_the_users_data():
    obs = Observations.of([0, -1, 3, -2], row=[4, 8, 15, 16])
    with pytest.raises(ValueError, match="rows 8, 16"):
        Poisson().validate(obs)
    with pytest.raises(ValueError, match="row 16"):
        Poisson().validate(obs.take([0, 2, 3]))


def test_many_rows_are_summarised():
    assert in_words(np.ones(9, dtype=bool)) == "rows 0, 1, 2, 3, 4 and 4 more"
    assert in_words(np.array([False, True])) == "row 1"


@pytest.mark.parametrize("value", [0.0, -1.0, np.nan, np.inf])
def test_bad_parameters(value):
    for make in (
        lambda: Gaussian(noise_variance=value),
        lambda: NegativeBinomial(dispersion=value),
        lambda: Gamma(shape=value),
        lambda: StudentT(scale=value),
        lambda: StudentT(degrees_of_freedom=value),
        lambda: Beta(precision=value),
        lambda: Tweedie(dispersion=value),
        lambda: ZeroInflatedPoisson(zero_odds=value),
        lambda: HurdleNegativeBinomial(dispersion=value),
        lambda: AsymmetricLaplace(scale=value),
        lambda: Ordinal(levels=(0, 1, 2), gaps=(value,)),
    ):
        with pytest.raises(ValueError, match="must be positive"):
            make()


def test_other_mistakes():
    with pytest.raises(ValueError, match="'logit' or 'probit'"):
        Bernoulli(link="cauchit")
    for make, message in (
        (lambda: Tweedie(power=2.0), "between 1 and 2.*'gamma'"),
        (lambda: AsymmetricLaplace(quantile=1.0), "between 0 and 1"),
        (lambda: Ordinal(levels=(2, 1)), "ascending whole numbers"),
        (lambda: Ordinal(gaps=(1.0,)), "two fewer"),
        (lambda: Ordinal().for_labels(Observations.of([1.0, 1.0])), "the same.*levels="),
        (lambda: Ordinal().for_labels(Observations.of([1.0, 2.5])), "whole numbers.*row 1"),
        (lambda: Ordinal().for_labels(Observations.of(np.arange(90.0))), "at most 30.*'gaussian'"),
        (lambda: Ordinal(levels=(0, 1, 2)).cut_points, "needs values for levels and gaps"),
    ):
        with pytest.raises(ValueError, match=message):
            make()
    with pytest.raises(AttributeError, match="gap_9"):
        getattr(Ordinal(levels=(0, 1, 2)), "gap_9")  # noqa: B009
    with pytest.raises(ValueError, match="n_classes"):
        Categorical(1)
    with pytest.raises(ValueError, match="needs a value for noise_variance"):
        Gaussian().log_density(Observations.of([0.0]), np.zeros(1))
    with pytest.raises(TypeError, match="exposures"):
        Observations.of([1.0], exposures=[1.0])


def test_likelihood_by_name():
    names = [
        "gaussian",
        "heteroscedastic",
        "bernoulli",
        "probit",
        "binomial",
        "poisson",
        "negative_binomial",
        "gamma",
        "exponential",
        "student_t",
        "beta",
        "ordinal",
        "tweedie",
        "zero_inflated_poisson",
        "zero_inflated_negative_binomial",
        "hurdle_poisson",
        "hurdle_negative_binomial",
        "asymmetric_laplace",
    ]
    for name in names:
        likelihood = get_likelihood(name)
        assert likelihood.name == {"probit": "bernoulli"}.get(name, name)
    assert get_likelihood("probit") == Bernoulli(link="probit")
    own = Poisson()
    assert get_likelihood(own) is own
    for wrong in ("poison", 3, Poisson):
        with pytest.raises(ValueError, match="Unknown likelihood") as error:
            get_likelihood(wrong)
        assert all(repr(name) in str(error.value) for name in names)
