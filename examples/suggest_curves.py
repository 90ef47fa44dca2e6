"""Errors as labels are added where `suggest` says, and at random: two folders of MNIST-like files.

    python examples/suggest_curves.py MNIST=folder Fashion-MNIST=folder --draws 5 --out curves.png

A folder holds the four idx files of MNIST or Fashion-MNIST. 7,000 images, the first 100 principal components,
one label of each class to begin with, ten at a time up to 100, the hyperparameters learned again each time.
"""

import argparse
import warnings

import matplotlib.pyplot as plt
import numpy as np

from flgp import FLGPClassifier
from flgp.datasets import mnist_pca

POINTS, FIRST_SEED, RULES = 7000, 200, ("random", "auto")


def errors(X, y, rule, seed, most=100, step=10):
    """Error on the rows without a label, for each number of labels."""
    rng = np.random.default_rng(seed)
    known = np.array([rng.choice(np.flatnonzero(y == label)) for label in np.unique(y)])
    partly = np.full(len(y), -1)
    partly[known] = y[known]
    model, found = FLGPClassifier(random_state=seed).fit(X, partly), {}
    while True:
        rest = np.setdiff1d(np.arange(len(y)), known)
        found[len(known)] = float(np.mean(model.predict(X)[rest] != y[rest]))
        if len(known) >= most:
            return found
        chosen = rest[model.suggest(X[rest], step, strategy=rule, random_state=seed)]
        model.update(X[chosen], y[chosen])
        known = np.concatenate([known, chosen])


def main(folders, draws, out):
    """Curves of the mean over the draws, printed and drawn, a panel for each folder."""
    _, panels = plt.subplots(1, len(folders), figsize=(4.2 * len(folders), 3.2), squeeze=False)
    for panel, (name, folder) in zip(panels[0], folders.items(), strict=True):
        images = mnist_pca(100, data_dir=folder)
        for rule in RULES:
            runs = []
            for seed in range(FIRST_SEED, FIRST_SEED + draws):
                rows = np.random.default_rng(seed).permutation(len(images.y))[:POINTS]
                runs.append(errors(images.X[rows], images.y[rows], rule, seed))
            labels = list(runs[0])
            mean = 100.0 * np.mean([list(run.values()) for run in runs], axis=0)
            print(
                name,
                rule,
                " ".join(f"{n}: {error:.1f}" for n, error in zip(labels, mean, strict=True)),
                flush=True,
            )
            style = {"color": "tab:red"} if rule == "auto" else {"color": "0.5", "linestyle": "--"}
            panel.plot(labels, mean, marker="o", markersize=3, label=f'"{rule}"', **style)
        panel.set(title=name, xlabel="labels", ylabel="error, %", ylim=(0, None))
        panel.spines[["top", "right"]].set_visible(False)
        panel.legend(frameon=False)
    plt.tight_layout()
    plt.savefig(out, dpi=110)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folders", nargs="+", help="NAME=folder")
    parser.add_argument("--draws", type=int, default=5)
    parser.add_argument("--out", default="curves.png")
    given = parser.parse_args()
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", ".*hold no label", UserWarning)
        main(dict(pair.split("=", 1) for pair in given.folders), given.draws, given.out)
