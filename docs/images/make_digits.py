"""Draws digits.png of the README: scikit-learn's digits with 100 labels, beside plain methods.

Run it in this folder: python make_digits.py
"""

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits
from sklearn.linear_model import LogisticRegression
from sklearn.manifold import TSNE
from sklearn.neighbors import KNeighborsClassifier

from flgp import FLGPClassifier, HeatKernelFeatures

N_LABELS, N_DRAWS = 100, 3


def main() -> None:
    data = load_digits()
    X, truth = data.data / 16.0, data.target
    errors: dict[str, list[float]] = {"1-NN": [], "logistic\nregression": [], "flgp": []}
    for draw in range(N_DRAWS):
        rows = np.random.default_rng(draw).permutation(len(X))[:N_LABELS]
        rest = np.setdiff1d(np.arange(len(X)), rows)
        y = np.full(len(X), -1)
        y[rows] = truth[rows]
        model = FLGPClassifier(random_state=0).fit(X, y)
        plain = [KNeighborsClassifier(1), LogisticRegression(max_iter=2000)]
        found = [*(other.fit(X[rows], truth[rows]) for other in plain), model]
        for name, fitted in zip(errors, found, strict=True):
            errors[name].append(100 * np.mean(fitted.predict(X[rest]) != truth[rest]))
    figure, axes = plt.subplots(1, 2, figsize=(10, 3.6), width_ratios=(1.7, 1), layout="constrained")
    # Ten clusters do not fit into two eigenfunctions: t-SNE lays thirty of them out in the plane.
    features = HeatKernelFeatures(n_eigenpairs=30, random_state=0).fit_transform(X)
    place = TSNE(perplexity=40, random_state=0).fit_transform(features)
    shown = model.predict(X)
    axes[0].scatter(*place.T, c=shown, s=9, cmap="tab10", linewidths=0)
    axes[0].scatter(*place[rows].T, s=24, facecolors="none", edgecolors="k", linewidths=0.7)
    for digit in range(10):
        axes[0].text(*np.median(place[shown == digit], axis=0), str(digit), fontsize=15, weight="bold")
    axes[0].set(title="1,797 handwritten digits, 100 labelled (rings)", xticks=[], yticks=[])
    means = [np.mean(values) for values in errors.values()]
    bars = axes[1].bar(list(errors), means, color=["0.7", "0.7", "#0072b2"])
    axes[1].bar_label(bars, fmt="%.1f %%")
    axes[1].set(title=f"errors on the others, mean of {N_DRAWS} draws", yticks=[])
    axes[1].spines[["top", "right", "left"]].set_visible(False)
    figure.savefig("digits.png", dpi=110)


if __name__ == "__main__":
    main()
