"""The numbers of the models do not change unless somebody means them to."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from frozen_models import CASES
from make_frozen import platform

HERE = Path(__file__).parent
NUMBERS = np.load(HERE / "numbers.npz")
# Other versions or another CPU round otherwise, and a search over hyperparameters stops elsewhere.
SAME_PLATFORM = json.loads((HERE / "platform.json").read_text()) == platform()
TOLERANCE = 1e-10 if SAME_PLATFORM else 2e-3
# Draws depend on the signs and order of eigenvectors, and draws of y are whole numbers.
DRAWN = ("draws", "samples", "classes")


@pytest.mark.filterwarnings("ignore:The chains have not converged")
@pytest.mark.parametrize("name", CASES)
def test_numbers(name):
    found = CASES[name]()
    for key, value in found.items():
        if not SAME_PLATFORM and (key in DRAWN or name.endswith("sampled")):
            continue
        expected = NUMBERS[f"{name}.{key}"]
        assert np.shape(value) == expected.shape
        np.testing.assert_allclose(
            value, expected, rtol=TOLERANCE, atol=TOLERANCE * (np.abs(expected).max() + 1e-300), err_msg=key
        )
