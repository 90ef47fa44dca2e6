"""Embeddings as X: the recipe of examples/learned_features.py at small size, and one of scikit-learn."""

import runpy
from pathlib import Path

import numpy as np
import pytest
from sklearn.datasets import load_digits
from sklearn.neural_network import MLPRegressor

from flgp import FLGPClassifier

RECIPE = Path(__file__).parents[1] / "examples" / "learned_features.py"


@pytest.fixture(scope="module")
def digits():
    return load_digits(return_X_y=True)


def error(X, y, per_class, seeds=(0, 1)):
    found = []
    for seed in seeds:
        rng = np.random.default_rng(seed)
        rows = np.concatenate(
            [rng.choice(np.flatnonzero(y == k), per_class, replace=False) for k in range(10)]
        )
        labels = np.full(len(y), -1)
        labels[rows] = y[rows]
        found.append(np.mean(FLGPClassifier(random_state=0).fit(X, labels).predict(X) != y))
    return float(np.mean(found))


@pytest.mark.filterwarnings("ignore:.*connected part")
def test_a_contrastive_embedding_brings_classes_together(digits):
    torch = pytest.importorskip("torch", reason="PyTorch is not installed: pip install torch")
    torch.set_num_threads(1)
    recipe = runpy.run_path(str(RECIPE))
    X, y = digits
    images = np.kron(X.reshape(-1, 8, 8), np.ones((3, 3)))  # 24 × 24
    images = 255 / 16 * np.pad(images, ((0, 0), (2, 2), (2, 2)))
    before = recipe["embed"](recipe["Encoder"]().eval(), images)
    after = recipe["embed"](recipe["train"](images, epochs=6, batch=128), images)
    assert after.shape == (1797, 96)
    np.testing.assert_allclose(np.linalg.norm(after, axis=1), 1.0, atol=1e-6)
    # What was drawn in different ways has come together: far pairs of a class are nearer, relative to others.
    assert separation(after, y) > 1.3 * separation(before, y)
    assert error(after, y, 10) < 0.08


def separation(X, y):
    """Mean squared distance between classes over that within them."""
    similarity = X @ X.T
    same = np.equal.outer(y, y)
    return float((1 - similarity[~same].mean()) / (1 - similarity[same].mean()))


@pytest.mark.filterwarnings("ignore:.*connected part")
def test_the_middle_of_an_autoencoder_is_an_embedding(digits):
    X, y = digits[0] / 16, digits[1]
    network = MLPRegressor(
        hidden_layer_sizes=(64, 16, 64), max_iter=60, tol=0, random_state=0, n_iter_no_change=100
    )
    with pytest.warns(UserWarning, match="Maximum iterations"):
        network.fit(X, X)
    hidden = X
    for weights, shift in zip(network.coefs_[:2], network.intercepts_[:2], strict=True):
        hidden = np.maximum(hidden @ weights + shift, 0.0)
    assert hidden.shape == (1797, 16)
    assert error(hidden, y, 10) < 0.08
