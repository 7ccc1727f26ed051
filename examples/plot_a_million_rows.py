"""
A million rows in the index
===========================

Sparse rows of twenty words each, a hundred thousand at a time up to a million, in an inverted index
on disk. Search is exact. Times are of one run on whatever machine built this page; careful ones are
in :doc:`/results/index`.
"""

import tempfile
import time
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import scipy.sparse as sp

from likewise import InvertedIndex

rng = np.random.default_rng(0)
n, words, each = 100_000, 100_000, 20


def rows(count: int) -> sp.csr_array:
    """Random rows of unit length; frequent words are more frequent."""
    places = np.sort((words * rng.random((count, each)) ** 2).astype(np.int32), axis=1)
    places += np.arange(each, dtype=np.int32)  # no word twice
    values = rng.random((count, each)).astype(np.float32)
    values /= np.linalg.norm(values, axis=1, keepdims=True)
    ends = np.arange(0, count * each + 1, each)
    return sp.csr_array((values.ravel(), places.ravel(), ends), (count, words + each))


# %%
folder = Path(tempfile.mkdtemp())
index = InvertedIndex().build(rows(n), np.arange(n))
queries = rows(20)
index.search(queries[:1], 10)  # compiles
sizes, times = [], []
for step in range(10):
    if step:
        index.add(rows(n), np.arange(step * n, (step + 1) * n))
    start = time.process_time()
    ids, scores = index.search(queries, 10)
    times.append(1000 * (time.process_time() - start) / queries.shape[0])
    sizes.append((step + 1) * n)
print(f"{len(index):,} rows, best scores {scores[0, :3].round(3)}")

# %%
# Opened from disk it answers the same.

index.save(folder / "million.lwx")
again = InvertedIndex.open(folder / "million.lwx")
print("the same answers:", bool((again.search(queries, 10)[0] == ids).all()))

# %%
plt.figure(figsize=(5, 3))
plt.plot(sizes, times, "o-")
plt.xlabel("rows")
plt.ylabel("CPU ms a query")
plt.ylim(0)
plt.tight_layout()
plt.show()
