"""
Tumours: which rows to have looked at
=====================================

Scikit-learn's 569 breast tumours in 30 columns, of which a doctor has judged four. `suggest` says which ones
to judge next.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_breast_cancer
from sklearn.preprocessing import StandardScaler

from flgp import FLGPClassifier, views

data = load_breast_cancer()
X, truth = StandardScaler().fit_transform(data.data), data.target
start = np.concatenate([np.flatnonzero(truth == c)[:2] for c in (0, 1)])


def curve(strategy):
    """Errors in % as eight rounds of four labels come in, and the model at the end."""
    y = np.full(len(X), -1)
    y[start] = truth[start]
    model, errors = FLGPClassifier(random_state=0).fit(X, y), []
    for _ in range(8):
        rows = model.suggest(X, 4, strategy=strategy, random_state=1)
        model.update(X[rows], truth[rows])
        y[rows] = truth[rows]
        rest = y == -1
        errors.append(100 * np.mean(model.predict(X[rest]) != truth[rest]))
    return errors, model, y


chosen, model, y = curve("auto")
random, _, _ = curve("random")
print(f"errors at 36 labels: {chosen[-1]:.1f} % where suggested, {random[-1]:.1f} % where random")

# %%
# The suggested rows stand for many others: they are spread over the whole cloud first.

place = views.coordinates(model, X, "eigenmap")
figure, axes = plt.subplots(1, 2, figsize=(11, 4.2), layout="constrained")
axes[0].scatter(*place.T, c=model.predict_proba(X)[:, 1], s=12, cmap="coolwarm", vmin=0, vmax=1)
axes[0].scatter(*place[y != -1].T, s=40, facecolors="none", edgecolors="k")
axes[0].set(title="the cloud, and the rows that were judged", xticks=[], yticks=[])
labels = 4 * np.arange(2, 10)
axes[1].plot(labels, chosen, "o-", label="suggested")
axes[1].plot(labels, random, "s--", label="random")
axes[1].set(xlabel="labels", ylabel="errors on the others, %", ylim=(0, None))
axes[1].legend()
