"""
The lasso race against scikit-learn
===================================

Forty queries over 2,000 columns, for smaller and smaller penalties. All queries share each scan of
the columns, and every answer is certified. scikit-learn's coordinate descent stops at a gap of 1e-4
of the squared length of the query, which is looser, or after 2,000 rounds. Times are of one run on
whatever machine built this page: read the shape, not the figures; careful ones are in
:doc:`/results/siso-speed`.
"""

import time
import warnings

import matplotlib.pyplot as plt
import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import Lasso

from likewise_methods.siso import lasso

rng = np.random.default_rng(0)
A = rng.standard_normal((2000, 80))
A /= np.linalg.norm(A, axis=1, keepdims=True)
Y = A[:40] + A[40:80] + 0.3 * rng.standard_normal((40, 80))
Y /= np.linalg.norm(Y, axis=1, keepdims=True)
_ = lasso(A, Y[:1], alpha=0.5)  # compiles

# %%
alphas = (0.5, 0.2, 0.1, 0.05)
ours, theirs, gaps = [], [], []
for alpha in alphas:
    start = time.process_time()
    codes = lasso(A, Y, alpha=alpha, tol=1e-4)
    ours.append((time.process_time() - start) / len(Y))
    gaps.append(codes.gap.max())
    start = time.process_time()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        for y, gamma in zip(Y, codes.gamma, strict=True):
            Lasso(gamma / len(y), fit_intercept=False, tol=1e-4, max_iter=2000).fit(A.T, y)
    theirs.append((time.process_time() - start) / len(Y))
    print(f"alpha {alpha}: largest relative gap of ours {gaps[-1]:.1e}")

# %%
plt.figure(figsize=(5, 3))
plt.loglog(alphas, 1000 * np.array(theirs), "s--", label="scikit-learn, one by one")
plt.loglog(alphas, 1000 * np.array(ours), "o-", label="likewise_methods.siso.lasso")
plt.gca().invert_xaxis()
plt.xticks(alphas, alphas)
plt.tick_params(axis="x", which="minor", labelbottom=False)
plt.xlabel("alpha")
plt.ylabel("CPU ms a query")
plt.legend()
plt.tight_layout()
plt.show()
