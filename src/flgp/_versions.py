"""The versions that results depend on."""

from __future__ import annotations

import platform
from importlib.metadata import version

LIBRARIES = ("numpy", "scipy", "scikit-learn")


def versions() -> dict[str, str]:
    """Those of flgp, Python and the libraries that it computes with."""
    from . import __version__

    libraries = {name: version(name) for name in LIBRARIES}
    return {"flgp": __version__, "python": platform.python_version(), **libraries}
