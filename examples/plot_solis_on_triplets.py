"""
SOLIS on triplets: accuracy against zeros
=========================================

Ten thousand words of which fifty matter. Four online learners see 20,000 triplets once; a larger
penalty leaves fewer weights. See :doc:`/methods/solis`.
"""

import matplotlib.pyplot as plt
import numpy as np
import scipy.sparse as sp

from likewise import SOLIS
from likewise_methods.solis import triplets_from_labels

rng = np.random.default_rng(0)
n, words, kinds = 600, 10_000, 6
labels = rng.integers(kinds, size=n)
noise = sp.random_array((n, words), density=0.01, rng=rng, format="lil")
for i, kind in enumerate(labels):
    # Words 0 to 49 tell kinds apart; all others are the same for everybody.
    noise[i, kind * 8 + rng.choice(8, 4, replace=False)] = rng.random(4)
X = sp.csr_array(noise)
X = sp.csr_array(X / np.sqrt((X.multiply(X)).sum(axis=1))[:, None])
train = triplets_from_labels(labels[:400], 20_000, random_state=0)
test = triplets_from_labels(labels[400:], 5_000, random_state=1) + 400

# %%
plt.figure(figsize=(6, 3.2))
for method in ("tg", "da", "afb", "ada"):
    measured = SOLIS(method).fit(X, train)
    points = []
    for share in (0.003, 0.01, 0.03, 0.1, 0.3):
        learner = SOLIS(method, l1=share * measured.scales_["lambda_max"]).fit(X, train)
        touched = learner.touched_
        kept = np.mean(learner.weights_[touched] != 0)
        points.append((kept, learner.score(X, test)))
    kept, right = zip(*points, strict=True)
    plt.semilogx(kept, right, "o-", label=method)
    print(f"{method}: {right[1]:.3f} right with {kept[1]:.1%} of the touched words kept")
plt.xlabel("share of the touched words that keep a weight")
plt.ylabel("held-out triplets right")
plt.legend()
plt.tight_layout()
plt.show()
