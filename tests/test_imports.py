"""What `import flgp` brings in."""

from __future__ import annotations

import subprocess
import sys


def modules_after(statement):
    code = f"{statement}\nimport sys\nprint(*sys.modules)"
    return set(subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout.split())


def test_little_is_imported_beyond_scikit_learn():
    """The time of `import flgp` is that of scikit-learn plus our own small modules.

    scikit-learn itself looks for some optional packages (pandas, and what pandas needs).
    """
    ours = modules_after("from flgp import FLGPClassifier, FLGPRegressor, HeatKernelFeatures")
    theirs = modules_after("import sklearn.cluster")
    assert "flgp" in ours
    others = {name.partition(".")[0] for name in ours - theirs} - {"flgp"}
    assert others <= set(sys.stdlib_module_names)
    leaves = {"arrow", "baselines", "cli", "dask", "datasets", "experiments", "neuro", "plotting"}
    assert not {f"flgp.{leaf}" for leaf in leaves} & ours


def test_nothing_is_imported_before_it_is_used():
    """The command line must be ready for Ctrl-C before a second of imports starts."""
    assert not {"numpy", "scipy", "sklearn"} & modules_after("import flgp")
    assert not {"numpy", "scipy", "sklearn"} & modules_after("import flgp.__main__")


def test_packages_are_attributes():
    code = (
        "import flgp; print(type(flgp.geometry.Sphere()).__name__, flgp.FLGPRegressor.__name__, *dir(flgp))"
    )
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout.split()
    assert out[:2] == ["Sphere", "FLGPRegressor"]
    assert {"load", "save", "kernels"} <= set(out)
