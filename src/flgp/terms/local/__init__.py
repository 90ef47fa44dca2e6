"""The short-range part u(x): a Euclidean Gaussian process by nearest neighbours (Vecchia).

`euclidean` (kernels of the distance) → `neighborhoods` (which points each point conditions on) → `vecchia`
(Σ⁻¹ as a sparse factor); for other likelihoods than the Gaussian, `dissection` and `multifrontal` (the latent
precision of u). `term` has the hyperparameters. Inference is in `flgp.inference` (`joint`, `joint_laplace`),
prediction in `flgp.process` (`kriging`, `local_field`).
"""
