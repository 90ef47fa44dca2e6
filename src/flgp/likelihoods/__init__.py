"""Distributions of the labels given the latent function."""

from __future__ import annotations

from collections.abc import Callable

from ._base import Derivatives, Likelihood, Observations, ParameterDerivatives, Tilted
from .asymmetric_laplace import AsymmetricLaplace
from .bernoulli import Bernoulli
from .beta import Beta
from .binomial import Binomial
from .categorical import Categorical
from .gamma import Exponential, Gamma
from .gaussian import Gaussian
from .heteroscedastic import Heteroscedastic
from .hurdle import HurdleNegativeBinomial, HurdlePoisson
from .negative_binomial import NegativeBinomial
from .noisy_bernoulli import NoisyBernoulli
from .ordinal import Ordinal
from .poisson import Poisson
from .student_t import StudentT
from .tweedie import Tweedie
from .zero_inflated import ZeroInflatedNegativeBinomial, ZeroInflatedPoisson

__all__ = [
    "AsymmetricLaplace",
    "Bernoulli",
    "Beta",
    "Binomial",
    "Categorical",
    "Derivatives",
    "Exponential",
    "Gamma",
    "Gaussian",
    "Heteroscedastic",
    "HurdleNegativeBinomial",
    "HurdlePoisson",
    "Likelihood",
    "NegativeBinomial",
    "NoisyBernoulli",
    "Observations",
    "Ordinal",
    "ParameterDerivatives",
    "Poisson",
    "StudentT",
    "Tilted",
    "Tweedie",
    "ZeroInflatedNegativeBinomial",
    "ZeroInflatedPoisson",
    "get_likelihood",
]

# The distributions of labels: one latent value per label, or one per class.
AnyLikelihood = Likelihood | Categorical

_BY_NAME: dict[str, Callable[[], Likelihood]] = {
    "gaussian": Gaussian,
    "heteroscedastic": Heteroscedastic,
    "bernoulli": Bernoulli,
    "probit": lambda: Bernoulli(link="probit"),
    "binomial": Binomial,
    "poisson": Poisson,
    "negative_binomial": NegativeBinomial,
    "gamma": Gamma,
    "exponential": Exponential,
    "student_t": StudentT,
    "beta": Beta,
    "ordinal": Ordinal,
    "tweedie": Tweedie,
    "zero_inflated_poisson": ZeroInflatedPoisson,
    "zero_inflated_negative_binomial": ZeroInflatedNegativeBinomial,
    "hurdle_poisson": HurdlePoisson,
    "hurdle_negative_binomial": HurdleNegativeBinomial,
    "asymmetric_laplace": AsymmetricLaplace,
}


def get_likelihood(likelihood: str | Likelihood) -> Likelihood:
    """The likelihood of that name, or the instance itself.

    Parameters
    ----------
    likelihood : an instance of `Likelihood`, or one of "gaussian", "heteroscedastic", "student_t",
        "asymmetric_laplace", "poisson", "negative_binomial", "zero_inflated_poisson",
        "zero_inflated_negative_binomial", "hurdle_poisson", "hurdle_negative_binomial", "gamma",
        "exponential", "tweedie", "beta", "binomial", "bernoulli", "probit" and "ordinal"

    Raises
    ------
    ValueError
        For anything else, with the known names.

    Examples
    --------
    >>> from flgp.likelihoods import get_likelihood
    >>> get_likelihood("student_t")
    StudentT(scale=None, degrees_of_freedom=4.0)
    """
    if isinstance(likelihood, Likelihood):
        return likelihood
    if isinstance(likelihood, str) and likelihood in _BY_NAME:
        return _BY_NAME[likelihood]()
    raise ValueError(
        f"Unknown likelihood {likelihood!r}: pass an instance of flgp.likelihoods.Likelihood or one of "
        f"{', '.join(repr(name) for name in _BY_NAME)}."
    )
