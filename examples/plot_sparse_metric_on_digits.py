"""
A sparse metric on digits
=========================

Three labels a class and all other rows give a Mahalanobis metric with exact zeros. The stronger the
penalty, the fewer features interact. See :doc:`/methods/s3ml`.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits
from sklearn.neighbors import KNeighborsClassifier

from likewise import S3ML

X, y = load_digits(return_X_y=True)
X = X[:, X.std(axis=0) > 0] / 16
rng = np.random.default_rng(0)
chosen = np.concatenate([rng.choice(np.flatnonzero(y == c), 3, replace=False) for c in range(10)])
labels = np.full(len(X), -1)
labels[chosen] = y[chosen]
rest = np.setdiff1d(np.arange(len(X)), chosen)


def error(rows: np.ndarray) -> float:
    """1-NN error with the labelled rows as prototypes."""
    model = KNeighborsClassifier(1).fit(rows[chosen], y[chosen])
    return 1 - model.score(rows[rest], y[rest])


# %%
plain = error(X)
found = {l1: S3ML(l1=l1).fit(X, labels) for l1 in (0.003, 0.03, 0.3)}
for l1, model in found.items():
    print(
        f"l1 {l1}: error {error(model.transform(X)):.3f} (plain {plain:.3f}), "
        f"{model.sparsity_:.0%} zeros, gap {model.gap_:.1e}"
    )

# %%
# Where the metric is not zero.

figure, axes = plt.subplots(1, 3, figsize=(8, 2.9))
for axis, (l1, model) in zip(axes, found.items(), strict=True):
    axis.spy(model.metric_ != 0, markersize=1)
    axis.set_title(f"l1 = {l1}: {model.sparsity_:.0%} zeros", fontsize=9)
    axis.set_xticks([])
    axis.set_yticks([])
plt.tight_layout()
plt.show()
