"""One text for the parameters and attributes that all estimators share."""

from __future__ import annotations

from typing import TypeVar

SHARED_PARAMETERS = """n_anchors : int or "auto"
        s, the number of anchors (of each set). "auto": a fifth of the points, at most 16,000, or
        10,000 in each of several sets. More anchors is the way to more accuracy; memory is about n·(3r+p)
        numbers (3r for each set), never n·s.
    n_neighbors : int or "auto"
        r, the anchors that each point is joined to. "auto": 3. Up to 2,000 points, if neither this nor
        `n_anchors` and `n_anchor_sets` is given, a graph with every point an anchor and r = 5 is tried as
        well, and the one with the higher evidence is kept.
    n_eigenpairs : int or "auto"
        M, the eigenpairs of the graph Laplacian kept (of each set of anchors). "auto": 200 in all, or a tenth
        of the labels in each set where that is more, at most 1000 in all and half the anchors. Raised to the
        number of connected parts of the graph.
    anchors : {{"kmeans", "minibatch", "random", "all"}} or array of shape (s, p)
        How anchors are found. "all" makes every point an anchor (the paper's FLGP-X).
    anchor_weights : {{"auto", "counts", "uniform"}}
        n_j: the points nearest to each anchor, or 1. "auto": counts unless anchors are random or all.
    n_anchor_sets : int or "auto"
        Sets of anchors, chosen independently; every point is joined to its r nearest in each. The kernel is
        the mean of the kernels of the sets, so chance in the places of the anchors averages out. "auto": 2 in
        more than 12 columns if `n_anchors` is "auto" too, otherwise 1.
    base_kernel : {{"lae", "se"}}
        Weights between points and anchors: local anchor embedding, or squared exponential.
    bandwidth : float, optional
        ε of the SE weights exp(-d²/4ε²). None: searched by evidence (or by a rule of thumb without labels).
    geometry : object from `flgp.geometry`, optional
        A known geometry: `Graph`, `Mesh`, `Sphere`, `Circle`, `Interval`, `Product`. None: the points lie on
        an unknown manifold, which the parameters above describe; they do nothing for a known one.
    geometry_columns : columns, optional
        The columns of X, by position or name, that say where a row is. None: all that are not groups; of a
        `Graph` the first one.
    scaling : {{"auto", "even"}} or None
        Units of a point cloud's columns. None: as given. "even": on one scale, heavy tails drawn in
        (`scaling_`). "auto": the one with the higher evidence on a sample of the rows, if all hyperparameters
        are learned and nothing (bandwidth, anchors, terms) is given in the columns' units; with labels too
        few to tell, "even" where one of three or more columns has 99 % of the variance.
    kernel : {{"heat", "matern", "auto"}} or SpectralKernel
        Spectral kernel: exp(-tλ), or (1 + tλ/ν)^(-ν); or an object from `flgp.kernels`, or your own. "auto":
        heat, Matérn with ν = 1 or with ν = 2.5, whichever has the highest evidence (`kernel_`).
    nu : float
        ν of the Matérn kernel.
    diffusion_time : float, optional
        t, in graph steps (for a known geometry, in its own units). None: learned.
    amplitude : float, optional
        a², the signal variance. None: learned; 1.0 is the paper's model; 0 leaves the manifold out.
    random_state : int, RandomState or None
        Seed of the anchors.
    n_jobs : int, optional
        Threads. None: all cores this process may use. The result does not depend on it.
    verbose : int
        Above 0: a line for each stage on standard error."""

TERM_PARAMETERS = """linear : {{"auto", "all"}} or columns, optional
        Covariates: a linear term in these columns of X, on one scale, with one learned variance. "all": every
        column that is neither a group nor a node's number. "auto": the columns that nothing else uses. Where
        there are none: the columns of a point cloud, from 20 labels on (three for each class), if the
        amplitude is learned and the hyperparameters are optimised; the evidence decides how much they count,
        and each of them by its relevance. None: no such term.
    linear_steps : int or "auto"
        On a `Graph`: average the covariates of its nodes over this many steps of its walk first. This helps
        where the graph and the covariates are different sources. "auto": 0, 1, 2 or 4 by the evidence, if all
        nodes are among the rows (`linear_steps_`).
    groups : columns, optional
        Categorical columns, each with an effect for every level and a learned variance between levels (random
        effects). A level without labels keeps its prior."""

RESIDUAL_PARAMETERS = """residual : {{"auto", "local"}} or None
        The local term u, a Gaussian process of the Euclidean distance. None: no such term, and predictions in
        O(r). Gaussian labels: by nearest neighbours (Vecchia), searched on at most 2,000 labels; "local":
        always, "auto": if the evidence asks for it and the rows can be held. Other likelihoods: "auto" puts
        it through at most 300 labelled points of a point cloud, from 20 labels on, if the amplitude is
        learned and the hyperparameters are optimised; "local" uses neighbours and Laplace's method.
    n_residual_neighbors : int or "auto"
        k, labelled points that each one conditions on; predictions use twice as many. "auto": all of up
        to 1,000 Gaussian labels (exact), 60 up to 2,000 labels, otherwise 30.
    residual_kernel : str
        Smoothness of u: "squared_exponential", "matern12", "matern32", "matern52", "rational_quadratic" (all
        scales at once), or "auto": one of the last four, by evidence.
    residual_columns : sequence of columns, or mapping from columns to factors, optional
        Where u measures distances: some columns of X (by position or name), or columns times factors, such as
        the size of a voxel along each axis. None: the columns of the geometry, as they are (on a sphere,
        distances through it)."""

POSTERIOR_PARAMETERS = """hyperparameters : {{"optimize", "integrate", "fixed"}}
        t, a² and the likelihood's own parameters (for SE weights also the bandwidth) at their most probable
        values, integrated out by a small quadrature around those, or all given.
    time_prior : {{"graph", "paper", "flat"}} or Prior
        Prior of t: the R package's (uniform in log t above two graph steps), the paper's, uniform in log t,
        or one of `flgp.priors`.
    intrinsic_dimension : float, optional
        d of the paper's prior. None: `estimate_intrinsic_dimension`.
    n_chains, n_draws, n_warmup : int
        Markov chains of inference="gibbs", draws kept of each, and steps before the first of them."""

GEOMETRY_ATTRIBUTES = """anchors_ : array of shape (s, p)
        Of a point cloud, in the columns' units.
    scaling_ : EvenColumns or None
        What the geometry's columns go through: centre, unit of asinh (0: none) and factor of each. None: they
        are used as given.
    geometry_, basis_
        The fitted geometry, and its eigenfunctions.
    eigenvalues_ : array of shape (M,)
        λ_i of the graph Laplacian.
    bandwidth_ : float or None
        ε; None for local anchor embedding.
    n_graph_components_ : int
        Connected parts of the graph."""

SHARED_ATTRIBUTES = """{geometry_attributes}
    term_shares_ : dict
        The share of each term in the variance of f over the fitted points.
    linear_steps_ : int
        Steps of a graph's walk over which the covariates are averaged.
    feature_relevance_ : array of shape (p,)
        Share of each column in the squared gradient of the linear and local terms, columns in units of their
        standard deviations. Only where these terms were learned.
    kernel_ : SpectralKernel
        The kernel on the geometry.
    diffusion_time_, amplitude_ : float, or array with one entry for each latent function
    transduction_ : array
        Predictions for the fitted rows (those of X, then of X_unlabeled). Not there when the rows were too
        many to hold or are on a cluster: `predict` reads them again. Of up to a million rows or so the model
        keeps the neighbours as well, until it is pickled: answers about the very array that was fitted need
        no search.
    log_marginal_likelihood_value_ : float
    optimizer_result_ : OptimizeResult, or list of them
        Names, theta (logarithms), gradient, bounds and which of them were reached.
    hyperparameter_posterior_ : HyperparameterPosterior, or list of them
        With hyperparameters="integrate": nodes, weights, mean, sd, quantiles, `table()` and `plot()`.
    chains_ : Chains, or list of them
        With inference="gibbs": draws, R-hat, effective sample sizes, `to_arviz()`."""

_TEXTS = {
    "{shared}": SHARED_PARAMETERS,
    "{terms}": TERM_PARAMETERS,
    "{residual}": RESIDUAL_PARAMETERS,
    "{posterior}": POSTERIOR_PARAMETERS,
    "{attributes}": SHARED_ATTRIBUTES,
    "{geometry_attributes}": GEOMETRY_ATTRIBUTES,
}

C = TypeVar("C", bound=type)


def documented(cls: C) -> C:
    """Put the shared texts into a class's docstring."""
    if cls.__doc__ is not None:  # python -OO strips docstrings
        text = cls.__doc__
        for name, shared in _TEXTS.items():
            text = text.replace(name, shared)
        cls.__doc__ = text.replace("{{", "{").replace("}}", "}")
    return cls
