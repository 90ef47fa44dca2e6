"""What "auto" means."""

from __future__ import annotations


def auto_anchors(n: int) -> int:
    """Number of anchors for n points.

    Accuracy grows with s rather than with n, and so does cost: at most 16,000. An anchor with fewer than
    about five points is hardly joined to the others, so a fifth of the points where that is less.
    """
    return max(1, min(n // 5, 16_000) if n >= 250 else min(n, 50))


def auto_eigenpairs(n_anchors: int, n_labeled: int) -> int:
    """Number of eigenpairs: 200, or more where many labels can tell more apart, up to half the anchors."""
    return int(min(max(200, n_labeled // 10), 1000, max(n_anchors // 2, 1)))
