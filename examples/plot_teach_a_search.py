"""
Teach a search what you mean
============================

Digits as rows, and a person who cares about the kind of digit. A page of twenty answers is judged:
which are alike, which are not. What that teaches is asked about *other* queries, whose pictures
nobody judged. See :doc:`/methods/staying`.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits

from likewise import FittedSpace, LocalMetric
from likewise_methods.evaluation import average_precision

X, y = load_digits(return_X_y=True)
rng = np.random.default_rng(0)
order = rng.permutation(len(X))
judged, kept_aside = order[:900], order[900:]

# %%
# A space fitted to the rows, without labels, and a metric that is empty so far.

space = FittedSpace(32).fit(X)
Z = space.transform(X)
metric = LocalMetric(Z.shape[1], space.scale_)


def mean_precision() -> float:
    """mAP of 150 queries nobody judged, among pictures nobody judged."""
    found = []
    for query in kept_aside[:150]:
        others = kept_aside[kept_aside != query]
        ranked = others[np.argsort(-(Z[others] @ metric.ask(Z[query])), kind="stable")]
        found.append(average_precision(y[ranked] == y[query]))
    return float(np.mean(found))


# %%
# Judge one page after another; each is the twenty best of the judged half.

pages, precision = [0], [mean_precision()]
for page, query in enumerate(judged[:120], start=1):
    others = judged[judged != query]
    shown = others[np.argsort(-(Z[others] @ Z[query]), kind="stable")[:20]]
    right = y[shown] == y[query]
    metric.add(page, Z[query], Z[shown[right]], Z[shown[~right]])
    if page in (5, 15, 30, 60, 120):
        pages.append(page)
        precision.append(mean_precision())

told = metric.agreement()
print(f"mAP {precision[0]:.3f} before, {precision[-1]:.3f} after {pages[-1]} pages")
print(f"judgements told by others: {told.learned:.3f}, without learning {told.plain:.3f}")

# %%
plt.figure(figsize=(5, 3))
plt.plot(pages, precision, "o-")
plt.xlabel("pages judged")
plt.ylabel("mAP of other queries")
plt.tight_layout()
plt.show()
