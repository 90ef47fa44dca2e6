"""The short-range part of f in the estimators: options, learning, fields."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields
from typing import Any

import numpy as np

from .._typing import Array
from ..feature_map import Rows
from ..graph import NeighborBlock
from ..inference.hyper import fit_at
from ..inference.latent import LatentField
from ..inference.learning import Head, Learned
from ..likelihoods import Categorical, Gaussian
from ..residual.columns import Columns, choose_columns
from ..residual.field import JointField
from ..residual.inference import JointInference, JointLaplace, ResidualOptions, residual_inference
from ..residual.kriging import JointPosterior, PredictedParts
from ..residual.learning import KERNEL_CHOICES, joint_evidence, learn_residual
from ..residual.likelihood import LENGTH_SCALE, VARIANCE
from ._base import scalar_or_array
from ._labels import Labels
from ._validation import check_choice, check_count

RESIDUALS = ("local", "auto")
# With fewer labels than this there is nothing to tell two ranges apart by.
_FEWEST = 20
# A prediction solves one system where the evidence solves m of them sixty times, so it can afford more.
_PREDICTION_NEIGHBORS = 2


class LocalResidual:
    """The residual's share of an estimator: options, learned values and parts of predictions."""

    residual: str | None = None
    n_residual_neighbors: int = 30
    residual_kernel: str = "auto"
    residual_columns: Any = None
    hyperparameters: str
    inference: str
    _residual_choices: tuple[str, ...] = RESIDUALS

    def _check_residual(self) -> None:
        if self.residual is not None:
            check_choice("residual", self.residual, self._residual_choices)
        check_count("n_residual_neighbors", self.n_residual_neighbors)
        check_choice("residual_kernel", self.residual_kernel, KERNEL_CHOICES)
        if self.residual == "local" and self.hyperparameters == "fixed":
            raise ValueError(
                "residual='local' has hyperparameters that are learned, but hyperparameters='fixed'. "
                "Use residual=None, or hyperparameters='optimize'."
            )

    def _check_residual_suits(self, likelihood: Any) -> None:
        """Refuse what Laplace's method with a latent u does not do."""
        if self.residual != "local" or isinstance(likelihood, Gaussian):
            return
        if isinstance(likelihood, Categorical):
            raise ValueError(
                "residual='local' needs one latent function at a time, but multi_class='softmax' couples "
                "them. Use multi_class='one_vs_rest', or residual=None."
            )
        if self.inference not in ("auto", "laplace"):
            raise ValueError(
                f"residual='local' with the {likelihood.name} likelihood is fitted by Laplace's method, but "
                f"inference={self.inference!r}. Use inference='auto' or 'laplace', or residual=None."
            )

    def _columns_of_residual(self: Any) -> Columns:
        """Where u lives, once it is known which columns X has."""
        names = getattr(self, "feature_names_in_", None)
        return choose_columns(self.residual_columns, self.n_features_in_, names)

    def _refined(self: Any, learned: Learned, neighbors: NeighborBlock, labels: Labels) -> list[Head]:
        """The heads with a residual, where it is required or the evidence asks for it."""
        heads = learned.heads
        # A file that is small enough is as good as memory: joblib hands arrays on as such files.
        wanted = self.residual == "auto" and labels.local and self.hyperparameters != "fixed"
        if self.residual == "local" or wanted:
            options = ResidualOptions(
                self.residual_kernel,
                int(self.n_residual_neighbors),
                self.residual == "local",
                self._columns_of_residual(),
                self._n_threads,
            )
            features = learned.feature_map.features(learned.feature_map.rows_of(neighbors))
            X = labels.points
            heads = [_with_residual(h, features[h.task.rows], X[h.task.rows], options) for h in heads]
        values = [head.fit.values for head in heads]
        kernels = [getattr(head.fit.likelihood, "residual_kernel", None) for head in heads]
        self.residual_kernel_ = kernels[0] if len(kernels) == 1 else kernels
        self.residual_length_scale_ = scalar_or_array([part.get(LENGTH_SCALE, np.nan) for part in values])
        self.residual_variance_ = scalar_or_array([part.get(VARIANCE, 0.0) for part in values])
        return heads

    def _predicted_parts(self: Any, X: Any) -> PredictedParts:
        """Moments of both parts of f at the rows of X."""

        def columns(rows: Rows) -> tuple[Array, ...]:
            parts = [mixed_parts(mixture, rows) for mixture in self._mixtures_]
            joined = parts[0] if self._n_outputs_ == 0 else PredictedParts.stack(parts, axis=1)
            return tuple(getattr(joined, field.name) for field in fields(joined))

        return PredictedParts(*self._map_blocks(X, columns))


def _with_residual(head: Head, features: Array, X: Array, options: ResidualOptions) -> Head:
    if not options.required and (not isinstance(head.task.likelihood, Gaussian) or len(X) < _FEWEST):
        return head
    if head.task.kept is not None:
        return _kept_residual(head, features, X, options)
    return learn_residual(head, features, X, options) or head


def _kept_residual(head: Head, features: Array, X: Array, options: ResidualOptions) -> Head:
    """With the residual that an earlier fit had, at the values it had there."""
    kept = head.task.kept
    kernel = getattr(kept.likelihood, "residual_kernel", None) if kept is not None else None
    if kept is None or kernel is None:
        return head
    evidence = joint_evidence(head, residual_inference(head, features, X, options), kernel)
    return Head(head.task, evidence, fit_at(evidence, evidence.space.theta(kept.values), None))


def joint_field(manifold: LatentField, head: Head, inference: JointInference | JointLaplace) -> JointField:
    """The field of a head with residual, from that of its heat-kernel part."""
    posterior, local = head.fit.evaluation.posterior, head.fit.likelihood.local
    count = _PREDICTION_NEIGHBORS * inference.n_neighbors
    if isinstance(inference, JointLaplace):
        joint = JointPosterior.of_latent(inference.sites, posterior, local, count)
    else:
        data = inference.data
        joint = JointPosterior.of(
            inference.points, data.features, data.y, data.noise_scale, posterior, local, count
        )
    return JointField(manifold, joint, inference.columns)


def mixed_parts(mixture: Sequence[Any], rows: Rows) -> PredictedParts:
    """Moments of both parts of f under a mixture of components; without residual the local part is 0."""
    weights = np.array([part.weight for part in mixture])
    each = [_parts(part.field, rows) for part in mixture]
    if len(each) == 1:
        return each[0]

    def stacked(name: str) -> Array:
        return np.stack([getattr(parts, name) for parts in each])

    h, u = stacked("manifold_mean"), stacked("local_mean")
    far_h, far_u = h - weights @ h, u - weights @ u
    return PredictedParts(
        weights @ h,
        weights @ (stacked("manifold_variance") + far_h**2),
        weights @ u,
        weights @ (stacked("local_variance") + far_u**2),
        weights @ (stacked("covariance") + far_h * far_u),
        weights @ (stacked("variance") + (far_h + far_u) ** 2),
    )


def _parts(field: LatentField | JointField, rows: Rows) -> PredictedParts:
    if isinstance(field, JointField):
        return field.parts(rows)
    mean, variance = field.means(rows), field.variances(rows)
    nothing = np.zeros_like(mean)
    return PredictedParts(mean, variance, nothing, nothing, nothing, variance)
