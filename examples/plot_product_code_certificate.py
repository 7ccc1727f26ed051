"""
An exact product code and its certificate
=========================================

A vector is coded over all 4,096 products of 64 and 64 words. APSC solves each half by itself and
gives both one mass; the exact solver marches both paths until their thresholds add up. The duality
gap says how far a code is from the optimum, at most. See :doc:`/methods/psc`.
"""

import matplotlib.pyplot as plt
import numpy as np

from likewise import ProductSparseCoder

rng = np.random.default_rng(0)
X = np.abs(rng.standard_normal((2000, 32)))
# The halves are not alike: that is where the approximation is worst.
X[:, :16] *= rng.choice([0.2, 1.0, 3.0], size=(2000, 1))
X /= np.linalg.norm(X, axis=1, keepdims=True)

exact = ProductSparseCoder(64, method="exact", random_state=0, n_iter=5).fit(X)
books = exact.codebooks_
others = {
    "APSC": ProductSparseCoder(64, codebooks=books, method="approximate"),
    "APSC, best mass": ProductSparseCoder(
        64, codebooks=books, method="approximate", mass="optimal"
    ),
    "IPSC": ProductSparseCoder(64, codebooks=books, method="iterative"),
}

# %%
# The gap of the exact code is rounding; the others are above the optimum by what is shown.

best = exact.objective(X)
print(f"exact: largest duality gap {exact.gap(X).max():.1e}")
above = {name: coder.objective(X) / best - 1 for name, coder in others.items()}
for name, share in above.items():
    print(f"{name}: {share.mean():.2%} above the optimum, {share.max():.1%} at most")

# %%
plt.figure(figsize=(6, 3))
for name, share in above.items():
    plt.plot(np.sort(100 * share), np.linspace(0, 1, len(share)), label=name)
plt.xlabel("% above the optimum")
plt.ylabel("share of vectors")
plt.legend()
plt.tight_layout()
plt.show()
