"""The short-range part u(x): a Euclidean Gaussian process by nearest neighbours (Vecchia).

`euclidean` (kernels of the distance) → `neighborhoods` (which points each point conditions on) → `vecchia`
(Σ⁻¹ as a sparse factor); where y is not Gaussian, `dissection` and `multifrontal` (the latent precision of u).
`term` has the hyperparameters. Its inference is in `flgp.inference` (`joint`, `joint_laplace`), its prediction
in `flgp.process` (`kriging`, `local_field`).
"""
