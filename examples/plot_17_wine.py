"""
Wine: one label of each kind
============================

178 wines of three growers in 13 columns of very different units, and one label for each grower. As given, the
column with the largest unit, proline, is all that the graph sees. Labels are too few to compare scales, but
a column with 99 % of all variance is reason enough for one scale: that is the default here.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_wine

from flgp import FLGPClassifier, views

data = load_wine()
X, truth = data.data, data.target
first = [int(np.flatnonzero(truth == grower)[10]) for grower in range(3)]
y = np.full(len(truth), -1)
y[first] = truth[first]
rest = y == -1

figure, axes = plt.subplots(1, 2, figsize=(11, 4.2), layout="constrained")
for axis, (name, scaling) in zip(axes, {"as given": None, "by default": "auto"}.items(), strict=True):
    model = FLGPClassifier(scaling=scaling, random_state=0).fit(X, y)
    wrong = 100 * np.mean(model.predict(X[rest]) != truth[rest])
    print(f"{name}: {wrong:.0f} % of the other 175 wines wrong")
    place = views.coordinates(model, X, "eigenmap")
    axis.scatter(*place.T, c=model.predict(X), s=20, cmap="viridis")
    axis.scatter(*place[first].T, s=90, facecolors="none", edgecolors="k", linewidths=1.5)
    axis.set(title=f"{name}: {wrong:.0f} % wrong", xticks=[], yticks=[])
