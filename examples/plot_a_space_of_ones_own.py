"""
A space of one's own
====================

Vectors from any model become a space: here rows of digits, reduced and stretched by how neighbours
differ, without a label. Compared are plain cosine, PCA, and
:class:`likewise_methods.s3ml.FittedSpace`. See :doc:`/methods/staying`.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits
from sklearn.decomposition import PCA

from likewise import FittedSpace
from likewise_methods.evaluation import average_precision

X, y = load_digits(return_X_y=True)


def precision(rows: np.ndarray) -> np.ndarray:
    """Average precision of 300 queries, by cosine."""
    rows = rows / np.linalg.norm(rows, axis=1, keepdims=True)
    found = []
    for query in range(300):
        scores = rows @ rows[query]
        scores[query] = -np.inf
        ranked = np.argsort(-scores, kind="stable")[:-1]
        found.append(average_precision(y[ranked] == y[query]))
    return np.array(found)


# %%
spaces = {
    "cosine": X,
    "PCA, 32 columns": PCA(32, random_state=0).fit_transform(X),
    "fitted, 32 columns": FittedSpace(32).fit_transform(X),
}
found = {name: precision(rows) for name, rows in spaces.items()}
for name, one in found.items():
    print(f"{name}: mAP {one.mean():.3f}")

# %%
plt.figure(figsize=(6, 3))
plt.boxplot(list(found.values()), tick_labels=list(found), showmeans=True)
plt.ylabel("average precision of a query")
plt.tight_layout()
plt.show()
