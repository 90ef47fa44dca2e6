"""The values of "auto"."""

from __future__ import annotations

from .neighbors import MAX_TREE_COLUMNS

# Below this a fifth of the points would be too few anchors.
_FEW_POINTS = 250


def auto_anchors(n: int, n_sets: int = 1) -> int:
    """Number of anchors in each set for n points.

    Accuracy grows with s rather than with n, and so does cost: at most 16,000, or 10,000 in each of several
    sets. An anchor with fewer than about five points is hardly joined to the others, so there are at most
    n / 5 anchors.
    """
    most = 16_000 if n_sets == 1 else 10_000
    return max(1, min(n // 5, most) if n >= _FEW_POINTS else min(n, 50))


def auto_anchor_sets(n: int, n_columns: int) -> int:
    """Number of sets of anchors for n points.

    In many columns it is largely chance which anchors end up near a point. Two sets halve the variance of
    this: on MNIST and digits they beat one set of twice the size. In few columns they gain little.
    """
    return 2 if n >= _FEW_POINTS and n_columns > MAX_TREE_COLUMNS else 1


def auto_eigenpairs(n_anchors: int, n_labeled: int, n_sets: int = 1) -> int:
    """Number of eigenpairs in each set, for `n_anchors` in total.

    200 in total, or more if there are many labels, up to half the anchors; but two if there are, because the
    first is constant.
    """
    own = n_anchors // n_sets
    return int(min(max(200 // n_sets, n_labeled // 10), 1000 // n_sets, max(own // 2, min(own, 2))))
