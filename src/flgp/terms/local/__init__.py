"""The short-range part u(x): a Euclidean Gaussian process by nearest neighbours, joint with the manifold's.

`euclidean` (kernels of the distance) → `neighborhoods` (who conditions on whom) → `vecchia` (Σ⁻¹ as a sparse
factor) → `joint` (evidence and posterior of y = Φβ + u + noise) → `kriging`, `covariance` (prediction).
Where y is not Gaussian: `dissection`, `multifrontal` (the latent precision of u) → `laplace` for `joint`.
"""
