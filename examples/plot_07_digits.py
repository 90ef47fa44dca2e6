"""
Digits: doubt and calibration
=============================

Scikit-learn's 1,797 handwritten digits, a hundred of them labelled: ten classes, each with a function of
its own.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits
from sklearn.decomposition import PCA

from flgp import FLGPClassifier, plotting

X, truth = load_digits(return_X_y=True)
labelled = np.random.default_rng(0).choice(len(X), 100, replace=False)
rest = np.setdiff1d(np.arange(len(X)), labelled)
y = np.full(len(X), -1)
y[labelled] = truth[labelled]
model = FLGPClassifier(random_state=0).fit(X, y)
error = np.mean(model.predict(X[rest]) != truth[rest])

# %%
# Left the predictions on the first two principal components, the less certain the smaller; labelled
# digits are ringed. Right: of the predictions made with 80 % confidence, how many were right?

p = model.predict_proba(X)
place = PCA(2).fit_transform(X)
figure, axes = plt.subplots(1, 2, figsize=(11, 4.6), layout="constrained")
axes[0].scatter(*place.T, c=p.argmax(axis=1), s=18 * p.max(axis=1) ** 2, cmap="tab10", linewidths=0)
axes[0].scatter(*place[labelled].T, s=26, facecolors="none", edgecolors="k", linewidths=0.8)
for digit in range(10):
    axes[0].text(*np.median(place[truth == digit], axis=0), str(digit), fontsize=18, weight="bold")
axes[0].set(title=f"{100 * error:.1f} % of the others wrong", xticks=[], yticks=[])
plotting.plot_calibration(model, X[rest], truth[rest], ax=axes[1])

# %%
# The least certain digits, with the two classes that the model hesitates between.

unsure = rest[np.argsort(p[rest].max(axis=1))[:8]]
figure, axes = plt.subplots(1, 8, figsize=(11, 1.7), layout="constrained")
for axis, row in zip(axes, unsure, strict=True):
    first, second = np.argsort(p[row])[::-1][:2]
    axis.imshow(X[row].reshape(8, 8), cmap="gray_r")
    axis.set_title(f"{first} or {second}?", fontsize=10)
    axis.set_axis_off()
