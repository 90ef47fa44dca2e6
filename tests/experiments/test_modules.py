"""Every module of the experiments can be imported without the software that it compares with."""

from __future__ import annotations

import pkgutil
import subprocess
import sys

import pytest

from flgp import experiments

MODULES = [name for _, name, _ in pkgutil.walk_packages(experiments.__path__, "flgp.experiments.")]
PEERS = "graphlearning gpboost torch gpytorch dask distributed nibabel nilearn arviz typer"


def test_modules_need_no_peers():
    pytest.importorskip("matplotlib")  # for the figures
    assert len(MODULES) > 40
    # scikit-learn imports some of them where they are installed: what counts is what the modules add.
    code = (
        "import importlib, sys, flgp, sklearn.semi_supervised; before = set(sys.modules)\n"
        f"for name in {MODULES!r}: importlib.import_module(name)\n"
        f"print(*(set('{PEERS}'.split()) & (set(sys.modules) - before)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == []
