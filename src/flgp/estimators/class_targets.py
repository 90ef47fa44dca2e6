"""Classes as latent functions: how many there are, what each is about, and what the labels say about it."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from scipy.special import expit, ndtri

from .._typing import Array
from ..likelihoods import AnyLikelihood, Bernoulli, Categorical, NoisyBernoulli, Observations
from ..process.evidence import Judges, KnownValues, Target
from ..terms import Constant
from .labels import Labels
from .offsets import probit_offsets

if TYPE_CHECKING:
    from .classifier import FLGPClassifier

# Fewest labels, and labels per class, that can tell a line and the distance from a manifold.
_FEWEST, _FEWEST_PER_CLASS = 5, 3
# Log odds of an offset that say: certain.
_LARGEST_LOGIT = 30.0


@dataclass(frozen=True, eq=False)
class ClassScheme:
    """How classes become latent functions."""

    classes: Array  # (C,) sorted
    together: bool  # whether they are learned together, as classes of which exactly one is right

    @classmethod
    def of(cls, model: FLGPClassifier) -> ClassScheme:
        """As the parameters ask; two classes with a given amplitude are the paper's."""
        count = len(model.classes_)
        free = count > 2 or (count == 2 and model.amplitude is None)
        possible = model.multi_class != "one_vs_rest" and model.inference in ("auto", "ep")
        return cls(model.classes_, free and possible)

    @property
    def n_functions(self) -> int:
        """One for each class, or a single one for two."""
        return len(self.classes) if len(self.classes) > 2 else 1

    @property
    def target_names(self) -> list[Hashable]:
        """What each target is about: a class, or None for all of them together."""
        count = len(self.classes)
        if count == 1 or (count > 2 and self.together):
            return [None]
        return (self.classes if count > 2 else self.classes[1:]).tolist()

    @property
    def fewest_labels(self) -> int:
        """Labels from which on several terms are learned: one for each class says nothing of their shares."""
        return max(_FEWEST, _FEWEST_PER_CLASS * len(self.classes))

    def latent_offset(self, offset: Array | None) -> Array | None:
        """Log odds, or log probabilities of several classes, as latents of the probit."""
        count = len(self.classes)
        if offset is None or count < 2 or (count == 2 and not self.together):
            return offset
        if count == 2:
            return np.asarray(ndtri(expit(np.clip(offset, -_LARGEST_LOGIT, _LARGEST_LOGIT))))
        if not self.together:
            raise ValueError(
                "offset with more than two classes needs the coupled model. Use multi_class='auto' and "
                "inference='auto'."
            )
        return probit_offsets(offset)

    def likelihood(self, noise: float) -> AnyLikelihood:
        """Of each target, where this share of the labels is drawn at random."""
        count = len(self.classes)
        if not self.together:
            if noise and count > 1:
                raise ValueError("label_noise needs an amplitude that is learned. Use amplitude=None.")
            return Bernoulli()
        if count > 2:
            return Categorical(count, noise)
        return NoisyBernoulli("probit", noise) if noise else Bernoulli("probit")


def known_values(model: FLGPClassifier) -> dict[Hashable, KnownValues]:
    """The hyperparameters of a fitted model, by what each target is about."""
    return dict(zip(ClassScheme.of(model).target_names, model._known_, strict=True))


def class_targets(
    model: FLGPClassifier,
    labels: Labels,
    known: Mapping[Hashable, KnownValues] | Sequence[KnownValues] | None = None,
) -> list[Target]:
    """A target for each class, or one for all; `known` are values to keep.

    With one class among the labels there is a single function, whose labels are all "yes". Labels that were
    judged count as much as they are trusted; of others a share may be random.
    """
    scheme = ClassScheme.of(model)
    count, names = len(scheme.classes), scheme.target_names
    if known is None:
        known = {}
    elif not isinstance(known, Mapping):
        known = dict(zip(names, known, strict=True))
    noise = model.label_noise_ if labels.trust is None else 0.0
    likelihood = scheme.likelihood(noise)
    model._check_local_suits(likelihood)
    codes, offset = np.searchsorted(scheme.classes, labels.y), labels.offset
    if offset is not None and scheme.n_functions == 1:
        offset = offset[:, 0]
    if scheme.together:
        responses = [codes.astype(float)]
        # There may have been fewer classes before.
        several = isinstance(likelihood, Categorical)
        known = {n: own for n, own in known.items() if isinstance(own.likelihood, Categorical) == several}
    else:
        responses = [(codes == k).astype(float) for k in (range(count) if count > 2 else [count - 1])]
    judges = None
    if labels.trust is not None:
        given = labels.known["weight"]
        judges = Judges(model.label_noise_, np.ones(len(labels)) if given is None else given)
    targets = []
    for y, name in zip(responses, names, strict=True):
        obs = Observations.of(y, weight=labels.weight, offset=offset)
        target = Target(
            np.arange(len(y)),
            obs,
            likelihood,
            constant=_constant(model, scheme, likelihood, obs),
            known=known.get(name),
            exclusive=scheme.together,
            calibrated=scheme.together and _calibrates(model, noise),
            judges=judges,
        )
        targets.append(target)
    return targets


def _calibrates(model: FLGPClassifier, noise: float) -> bool:
    """Whether left-out labels say how sure to be: those of a free model with one posterior.

    Beside another model, or while labels are thought to be wrong, they do not.
    """
    plain = not (model._with_offset_ or noise)
    return bool(model.calibrate) and plain and model._learns_all


def _constant(
    model: FLGPClassifier, scheme: ClassScheme, likelihood: AnyLikelihood, obs: Observations
) -> Constant:
    """The constant of a latent function: a regression on covariates or groups has one."""
    covariates = model._roles_.linear is not None or model.groups is not None
    if model.mean == "zero" or (model.mean == "auto" and not covariates and not scheme.together):
        return Constant()
    mean = 0.0 if isinstance(likelihood, Categorical) else likelihood.constant_beside_offset(obs)
    return Constant(mean, likelihood.latent_scale(obs) ** 2)
