"""
A tag from five clicks
======================

Five pictures get the tag "seven", a few others get other tags, and every other picture is scored by
sparse reconstruction: which tagged pictures is it made of? See :doc:`/methods/siso`.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits

from likewise import SparseAnnotator

X, y = load_digits(return_X_y=True)
names = np.array(["zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine"])
rng = np.random.default_rng(1)

# %%
# Five pictures a tag.

clicked = np.concatenate([rng.choice(np.flatnonzero(y == c), 5, replace=False) for c in range(10)])
rest = np.setdiff1d(np.arange(len(X)), clicked)
model = SparseAnnotator(alpha=0.1).fit(X[clicked], [[name] for name in names[y[clicked]]])

scores = model.predict_scores(X[rest])
best = np.array(model.tags_)[scores.argmax(axis=1)]
print(f"{np.mean(best == names[y[rest]]):.0%} of the first suggestions are right")
print(f"largest relative duality gap {model.gap_.max():.1e}")

# %%
# The pictures with the highest score for "seven", and what one of them is made of.

seven = model.tags_.index("seven")
first = rest[np.argsort(-scores[:, seven])[:10]]
why = model.explain(X[first[0]])[:3]

figure, axes = plt.subplots(2, 10, figsize=(9, 2.4))
for axis in axes.flat:
    axis.axis("off")
for axis, i in zip(axes[0], first, strict=True):
    axis.imshow(X[i].reshape(8, 8), cmap="gray_r")
axes[1, 0].imshow(X[first[0]].reshape(8, 8), cmap="gray_r")
axes[1, 0].set_title("this", fontsize=8)
for axis, (place, coefficient) in zip(axes[1, 1:], why, strict=False):
    axis.imshow(X[clicked[place]].reshape(8, 8), cmap="gray_r")
    axis.set_title(f"{coefficient:+.2f}", fontsize=8)
plt.show()
