"""Several outputs: shared hyperparameters and coregionalisation."""

import numpy as np
import pytest

import flgp
from flgp import FLGPRegressor
from flgp.geometry import Circle
from flgp.process.linked import _Search
from flgp.process.search import search
from flgp.process.sharing import share

SIZE = np.array([1.0, 100.0, 0.01])


@pytest.fixture(scope="module")
def rings():
    """Three functions on a ring in three units; the second is nearly the first and has few labels."""
    rng = np.random.default_rng(0)
    angle = rng.uniform(0, 2 * np.pi, 300)
    first = np.sin(2 * angle) + 0.5 * np.cos(5 * angle)
    f = np.column_stack([first, 0.9 * first + 0.2 * np.sin(3 * angle), np.cos(4 * angle)])
    y = (f + 0.1 * rng.standard_normal(f.shape)) * SIZE
    labelled = np.full_like(y, np.nan)
    for output, rows in enumerate((slice(0, 60), slice(0, 12), slice(20, 50))):
        labelled[rows, output] = y[rows, output]
    return angle[:, None], labelled, f * SIZE


def errors(model, X, f):
    return np.sqrt(np.mean((model.predict(X) - f) ** 2, axis=0)) / SIZE


def fit(X, y, n_eigenpairs=41, **options):
    return FLGPRegressor(geometry=Circle(), n_eigenpairs=n_eigenpairs, random_state=0, **options).fit(X, y)


def test_shared_hyperparameters_are_those_of_the_summed_evidence(rings):
    X, y, _ = rings
    model = fit(X, y, shared=True, residual=None)
    assert np.ptp(model.diffusion_time_) == 0
    spread = np.nanvar(y, axis=0)
    np.testing.assert_allclose(model.noise_variance_ / spread, model.noise_variance_[0] / spread[0])
    theta = np.array([part.theta for part in model.optimizer_result_])
    names = model.optimizer_result_[0].names
    units = np.where(np.array(names) == "diffusion_time", 0.0, 1.0)

    def total(change):
        shifted = theta[0] + np.outer(np.log(spread / spread[0]), units) + change
        return model.log_marginal_likelihood(shifted.ravel())

    best = total(np.zeros(len(names)))
    assert best == pytest.approx(model.log_marginal_likelihood_value_)
    # Flat but for the priors, of which there is one and not one for each output.
    for i in range(len(names)):
        step = 0.3 * np.eye(len(names))[i]
        assert max(total(step), total(-step)) < best + 0.3


def test_units_of_outputs_do_not_matter(rings):
    X, y, _ = rings
    for options in ({"shared": True}, {"coregionalization": 1}):
        one = fit(X, y, residual=None, **options).predict(X)
        other = fit(X, y / SIZE, residual=None, **options).predict(X)
        np.testing.assert_allclose(one / SIZE, other, rtol=0, atol=5e-3)


def test_linked_outputs_learn_from_each_other(rings):
    X, y, f = rings
    alone, linked = fit(X, y, residual=None), fit(X, y, coregionalization=1)
    before, after = errors(alone, X, f), errors(linked, X, f)
    assert after[1] < 0.6 * before[1]
    assert (after < before + 0.05).all()
    R = linked.coregionalization_
    assert R[0, 1] > 0.7
    assert np.abs(R[:2, 2]).max() < 0.5
    assert (
        linked.log_marginal_likelihood_value_
        > fit(X, y, residual=None, shared=True).log_marginal_likelihood()
    )


def test_draws_of_linked_outputs_have_their_covariances(rings):
    X, y, _ = rings
    model = fit(X, y, coregionalization=1)
    points = X[::60]
    prior = model.sample_f(points, 4_000, prior=True) / SIZE[:, None]
    at = np.corrcoef(prior[2])
    np.testing.assert_allclose(at, model.coregionalization_, atol=0.05)
    mean, variance = model.latent_mean_and_variance(points)
    draws = model.sample_f(points, 4_000)
    np.testing.assert_allclose(draws.var(axis=2) / variance, 1.0, atol=0.12)
    np.testing.assert_allclose((draws.mean(axis=2) - mean) / np.sqrt(variance), 0.0, atol=0.08)
    noisy = model.sample_y(points, 4_000)
    added = noisy.var(axis=2) - draws.var(axis=2)
    np.testing.assert_allclose(added / model.noise_variance_, 1.0, atol=0.3)


def test_gradient_of_the_joint_search(rings):
    X, y, _ = rings
    model = fit(X, y, shared=True, residual=None, n_eigenpairs=15)
    evidences = [function.evidence for function in model._relearned()]
    whole = share(evidences)
    best = search(whole)
    features = [e.target.with_constant(e.terms.features(_labelled(model))[e.target.rows]) for e in evidences]
    joint = _Search(whole, evidences, features, best, 2)
    x = joint.start(best) + 0.1 * np.random.default_rng(1).standard_normal(len(joint.bounds))
    _, gradient, _ = joint.evaluate(x)
    for i, step in enumerate(1e-5 * np.eye(len(x))):
        slope = (joint.evaluate(x + step)[0] - joint.evaluate(x - step)[0]) / 2e-5
        assert gradient[i] == pytest.approx(slope, abs=1e-4)


def _labelled(model):
    from flgp.estimators._fitting import _labeled_inputs
    from flgp.estimators.composition import Composition

    return _labeled_inputs(model, model.geometry_, model._labels_, Composition.of(model))


def test_shared_local_term_and_integration(rings):
    X, y, f = rings
    local = fit(X, y, shared=True, residual="local")
    assert len(set(local.residual_kernel_)) == 1
    assert np.ptp(local.residual_length_scale_) == 0
    integrated = fit(X, y, shared=True, residual=None, hyperparameters="integrate")
    optimized = fit(X, y, shared=True, residual=None)
    tables = integrated.hyperparameter_posterior_
    np.testing.assert_allclose(tables[0].weights, tables[1].weights)
    for model in (local, integrated, optimized):
        assert (errors(model, X, f)[[0, 2]] < 0.2).all()


def test_models_with_several_outputs_are_stored(rings, tmp_path):
    X, y, _ = rings
    for i, options in enumerate(({"shared": True}, {"coregionalization": 2})):
        model = fit(X, y, residual=None, **options)
        flgp.save(model, tmp_path / f"{i}.flgp")
        again = flgp.load(tmp_path / f"{i}.flgp")
        np.testing.assert_array_equal(again.predict(X), model.predict(X))
        np.testing.assert_array_equal(again.sample_f(X, 3), model.sample_f(X, 3))
    np.testing.assert_array_equal(again.coregionalization_, model.coregionalization_)


def test_updates_keep_or_relearn_what_outputs_share(rings):
    X, y, _ = rings
    model = fit(X, y, shared=True, residual=None)
    t = model.diffusion_time_.copy()
    model.update(X[[200]], np.array([[0.1, np.nan, np.nan]]), relearn=False)
    np.testing.assert_array_equal(model.diffusion_time_, t)
    linked = fit(X, y, coregionalization=1).update(X[[200]], np.array([[0.1, np.nan, np.nan]]))
    assert linked.coregionalization_.shape == (3, 3)
    with pytest.raises(ValueError, match="relearn=True"):
        linked.update(X[[200]], np.array([[0.1, np.nan, np.nan]]), relearn=False)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"coregionalization": 0}, "at least 1"),
        ({"coregionalization": 4}, "lower rank"),
        ({"coregionalization": 1, "likelihood": "student_t"}, "shared=True"),
        ({"coregionalization": 1, "residual": "local"}, "residual=None"),
        ({"coregionalization": 1, "hyperparameters": "integrate"}, "optimize"),
        ({"shared": "yes"}, "True or False"),
    ],
)
def test_what_does_not_go_together_is_named(rings, options, message):
    X, y, _ = rings
    with pytest.raises(ValueError, match=message):
        fit(X, y, **options)


def test_theta_of_linked_outputs_is_refused(rings):
    X, y, _ = rings
    model = fit(X, y, coregionalization=1)
    assert model.log_marginal_likelihood() == model.log_marginal_likelihood_value_
    with pytest.raises(ValueError, match="learned values only"):
        model.log_marginal_likelihood(eval_gradient=True)
