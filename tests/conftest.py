"""Shared data: the R package's numbers, and small point clouds."""

from __future__ import annotations

import gzip
import json
import signal
import struct
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


MNIST_FILES = tuple(
    f"{half}-{kind}-ubyte" for half in ("train", "t10k") for kind in ("images-idx3", "labels-idx1")
)


def as_idx(array, kind=0x08):
    """The bytes of an idx file."""
    array = np.asarray(array, dtype=np.uint8)
    return bytes([0, 0, kind, array.ndim]) + struct.pack(f">{array.ndim}I", *array.shape) + array.tobytes()


def save_mnist(folder, images, labels, n_train):
    """Images (n, 28, 28) and labels as the four files of MNIST, the labels zipped."""
    folder.mkdir(parents=True, exist_ok=True)
    parts = (images[:n_train], labels[:n_train], images[n_train:], labels[n_train:])
    for name, part in zip(MNIST_FILES, map(as_idx, parts), strict=True):
        if "labels" in name:
            (folder / f"{name}.gz").write_bytes(gzip.compress(part))
        else:
            (folder / name).write_bytes(part)


def run_command(*arguments):
    """Exit code of `flgp` with these arguments."""
    from flgp.cli import main

    with pytest.raises(SystemExit) as ended:
        main([str(argument) for argument in arguments])
    return ended.value.code or 0


@pytest.fixture
def circle():
    return ring(600)
