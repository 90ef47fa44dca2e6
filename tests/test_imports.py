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
    ours, theirs = modules_after("import flgp"), modules_after("import sklearn.cluster")
    assert "flgp" in ours
    others = {name.partition(".")[0] for name in ours - theirs} - {"flgp"}
    assert others <= set(sys.stdlib_module_names)
    leaves = {"arrow", "baselines", "cli", "dask", "datasets", "experiments", "neuro", "plotting"}
    assert not {f"flgp.{leaf}" for leaf in leaves} & ours
