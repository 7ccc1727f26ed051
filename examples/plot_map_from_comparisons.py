"""
A map from comparisons
======================

Nobody knows where thirty things lie; people only say which of two is closer to a third, and one
answer in twenty is wrong. See :doc:`/methods/ordinal`.
"""

import matplotlib.pyplot as plt
import numpy as np
from scipy.linalg import orthogonal_procrustes

from likewise import OrdinalEmbedding

rng = np.random.default_rng(0)
angle = np.linspace(0, 2 * np.pi, 30, endpoint=False)
places = np.stack([np.cos(angle), np.sin(2 * angle) / 1.5], axis=1)

asked = np.array([rng.choice(30, 3, replace=False) for _ in range(3000)])
near, far = (np.sum((places[asked[:, 0]] - places[asked[:, i]]) ** 2, axis=1) for i in (1, 2))
wrong = rng.random(len(asked)) < 0.05
answers = np.where(((near < far) ^ wrong)[:, None], asked, asked[:, [0, 2, 1]])

# %%
# More answers, a better map: the share of 1,000 held-out answers that it agrees with.

counts, right = (50, 100, 200, 500, 1000, 2000), []
for count in counts:
    model = OrdinalEmbedding(2, random_state=0).fit(answers[:count], n_objects=30)
    right.append(model.score(answers[2000:]))
print(", ".join(f"{count}: {share:.2f}" for count, share in zip(counts, right, strict=True)))

# %%
# A map has no north: it is turned and scaled onto the truth to be looked at.

found = model.embedding_ - model.embedding_.mean(axis=0)
truth = places - places.mean(axis=0)
turn, scale = orthogonal_procrustes(found, truth)
found = found @ turn * scale / np.sum(found**2)

figure, (left, middle) = plt.subplots(1, 2, figsize=(8, 3.2))
left.semilogx(counts, right, "o-")
left.axhline(0.95, color="0.7", linestyle=":")
left.set_xlabel("answers")
left.set_ylabel("held-out answers right")
middle.scatter(*truth.T, color="0.7", label="truth")
middle.scatter(*found.T, c=angle, cmap="twilight", s=15, label="map")
middle.legend()
middle.set_aspect("equal")
plt.tight_layout()
plt.show()
