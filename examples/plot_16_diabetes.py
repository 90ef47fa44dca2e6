"""
Diabetes: is the model any good?
================================

Scikit-learn's 442 patients, with half of the outcomes hidden. `evaluate` compares the model with plain
methods on labelled rows that it has not seen; `term_shares_` says what the prediction is made of.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_diabetes

from flgp import FLGPRegressor
from flgp.model_selection import evaluate

data = load_diabetes()
X = data.data / data.data.std(axis=0)
hidden = np.random.default_rng(0).random(len(X)) < 0.5
y = np.where(hidden, np.nan, data.target)
model = FLGPRegressor(random_state=0).fit(X, y)
found = evaluate(model, X, y, prefit=True)
for name, scores in found.scores.items():
    print(f"{name:20s} typical error {scores['rmse']:5.1f}, coverage {scores['coverage']:.0%}")

# %%
# The hidden half decides: left the predictions with their 90 % intervals, right the terms of the model.

mean = model.predict(X[hidden])
low, high = model.predict_interval(X[hidden], 0.9).T
truth = data.target[hidden]
inside = np.mean((low <= truth) & (truth <= high))
print(
    f"hidden half: typical error {np.sqrt(np.mean((mean - truth) ** 2)):.1f}, {inside:.0%} in 90 % intervals"
)

figure, axes = plt.subplots(1, 2, figsize=(11, 4.2), layout="constrained")
order = np.argsort(mean)
axes[0].fill_between(np.arange(len(order)), low[order], high[order], alpha=0.25)
axes[0].plot(mean[order], color="tab:blue")
axes[0].plot(truth[order], ".", color="k", markersize=4)
axes[0].set(xlabel="patients, by prediction", ylabel="progression")
shares = model.term_shares_
axes[1].barh(list(shares), list(shares.values()))
axes[1].set(xlabel="share in the variance of f", title="what varies in the prediction")
