"""Shared data: the R package's numbers, and small point clouds."""

from __future__ import annotations

import json
import signal
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

FIXTURES = Path(__file__).parent / "fixtures"

# A shell starts what runs in its background with Ctrl-C ignored; tests of interrupts need it to arrive.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(scope="session")
def oracle():
    """Every fixture file by its stem, and the scalars."""
    tables = {path.stem: np.loadtxt(path, delimiter=",", ndmin=1) for path in FIXTURES.glob("*.csv")}
    return SimpleNamespace(**tables, scalars=json.loads((FIXTURES / "scalars.json").read_text()))


@pytest.fixture
def rng():
    return np.random.default_rng(0)


def ring(n, seed=0, radius=1.0, noise=0.0):
    """Points on a circle."""
    generator = np.random.default_rng(seed)
    angle = generator.uniform(0, 2 * np.pi, n)
    points = radius * np.column_stack([np.cos(angle), np.sin(angle)])
    return points + noise * generator.standard_normal(points.shape), angle


@pytest.fixture
def circle():
    return ring(600)
