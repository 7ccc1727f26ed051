"""p-stable locality-sensitive hashing for l2 (Datar et al. 2004), compiled, with multi-probe.

``h(v) = floor((a.v + b) / w)`` with ``a ~ N(0, I)`` and ``b ~ U[0, w)``; B hashes make the key of a
table, and there are K independent tables (docs/methods/siso.md, (10)).  A table is a sorted array
of (key, id); candidates are scored exactly.  Rows near in l2 collide, so metric "ip" needs rows of
unit length, where ``a.q = 1 - |a - q|^2 / 2``.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import ndtr

from likewise_methods.errors import InvalidInput
from likewise_methods.neighbours import _lsh_kernels as kernels
from likewise_methods.neighbours.protocol import Found, Metric, StoredIndex, best_first, rows
from likewise_methods.validation import number, whole

_MOST_ROWS = 2**31 - 1


def collision_probability(distance: ArrayLike, width: float) -> NDArray[np.float64]:
    """Return the probability that one hash of this width is equal for two points at a distance.

    ``p(c) = 1 - 2 Phi(-t) - 2 / (sqrt(2 pi) t) (1 - exp(-t^2 / 2))`` with ``t = w / c``.

    Parameters
    ----------
    distance : array
        Distances c, 0 or more.
    width : float
        Width w of a hash.

    Returns
    -------
    array
        Probabilities, of the shape of ``distance``.

    See Also
    --------
    recall : the probability for all tables.
    LSH : the index.

    References
    ----------
    Datar et al., 2004.

    docs/methods/siso.md, (11).

    Examples
    --------
    >>> collision_probability([0.0, 1.0], width=1.0).round(4).tolist()
    [1.0, 0.3687]
    """
    c = np.asarray(distance, np.float64)
    with np.errstate(divide="ignore", over="ignore"):
        t = np.asarray(width / c)
    t = np.where(c == 0, 1.0, t)
    p = 1 - 2 * ndtr(-t) - 2 / (np.sqrt(2 * np.pi) * t) * -np.expm1(-(t**2) / 2)
    return np.where(c == 0, 1.0, p)


def recall(distance: ArrayLike, width: float, n_hashes: int, n_tables: int) -> NDArray[np.float64]:
    """Return the probability that a point at a distance is a candidate, without multi-probe.

    ``1 - (1 - p(c)^B)^K``, from :func:`collision_probability`.

    Parameters
    ----------
    distance : array
        Distances c, 0 or more.
    width : float
        Width of a hash.
    n_hashes : int
        Hashes per table, B.
    n_tables : int
        Number of tables, K.

    Returns
    -------
    array
        Probabilities, of the shape of ``distance``.

    See Also
    --------
    LSH : the index.

    References
    ----------
    docs/methods/siso.md, (12).

    Examples
    --------
    >>> recall([0.1, 0.7], width=1.0, n_hashes=8, n_tables=20).round(2).tolist()
    [1.0, 0.06]
    """
    p = collision_probability(distance, width)
    return np.asarray(1 - (1 - p**n_hashes) ** n_tables)


class LSH(StoredIndex):
    """Approximate neighbours from K tables of B p-stable hashes of width w.

    A search looks up the key in every table, then the likeliest neighbouring keys.  Candidates are
    scored exactly.

    Parameters
    ----------
    metric : {"l2", "ip"}, default="l2"
        Squared Euclidean distance, where lower is better, or inner product of unit rows, where
        higher is.
    hash_width : float, default=1.0
        w; above 0.
    n_hashes : int, default=8
        Hashes per table, B.
    n_tables : int, default=20
        Number of tables, K.
    n_probes : int, default=8
        Further keys to look up per table and query, each with one hash changed by +-1, the nearest
        cell borders first (at most 2 B).
    max_candidates : int, optional
        Stop after so many candidates.
    random_state : int, default=0
        Seed of the hashes.
    n_threads : int, default=1
        Threads.

    See Also
    --------
    recall : the expected recall of these parameters.
    HNSW : usually better.
    likewise_methods.siso.SparseAnnotator : uses it to find columns.

    References
    ----------
    Datar et al., 2004; multi-probe: Lv et al., 2007.

    docs/methods/siso.md, (9) to (12).

    Examples
    --------
    >>> X = np.eye(4, dtype=np.float32)
    >>> index = LSH(metric="ip", n_tables=4, n_hashes=2, random_state=0).build(X)
    >>> index.search(X[2:3], k=1)[0].tolist()
    [[2]]
    """

    kind: ClassVar[str] = "neighbours.lsh"
    _SHAPE: ClassVar[tuple[str, ...]] = ("metric", "hash_width", "n_hashes", "n_tables")
    _WAYS: ClassVar[tuple[str, ...]] = ("n_probes", "max_candidates", "random_state")

    def __init__(
        self,
        metric: Metric = "l2",
        *,
        hash_width: float = 1.0,
        n_hashes: int = 8,
        n_tables: int = 20,
        n_probes: int = 8,
        max_candidates: int | None = None,
        random_state: int = 0,
        n_threads: int = 1,
    ) -> None:
        self.metric = metric
        self.hash_width = hash_width
        self.n_hashes = n_hashes
        self.n_tables = n_tables
        self.n_probes = n_probes
        self.max_candidates = max_candidates
        self.random_state = random_state
        self.n_threads = n_threads

    def __len__(self) -> int:
        return 0 if self._width is None else len(self._X)

    def build(self, X: ArrayLike) -> Self:
        """Replace the content by the rows of ``X``, with new hashes.

        Parameters
        ----------
        X : array of shape (n, columns)
            Rows, converted to float32.

        Returns
        -------
        self
        """
        self._common()
        X = rows(X, "X")
        n_tables = whole(self.n_tables, "n_tables")
        hashes = n_tables * whole(self.n_hashes, "n_hashes")
        number(self.hash_width, "hash_width", above=0)
        rng = np.random.default_rng(whole(self.random_state, "random_state", 0))
        # In units of w, so that a hash is the floor of a projection.
        with np.errstate(over="ignore"):
            scaled = rng.standard_normal((hashes, X.shape[1])) / self.hash_width
            directions = scaled.astype(np.float32)
            # Cell numbers must fit into int64, also one step further.
            longest = np.linalg.norm(X.astype(np.float64), axis=1).max(initial=1.0)
            farthest = np.linalg.norm(scaled, axis=1).max(initial=0.0) * longest
        if not farthest < 2.0**62:
            raise InvalidInput(
                f"hash_width is {self.hash_width!r}, too small for rows of length {longest:.3g}: "
                "cell numbers overflow; use the distance at which rows should collide"
            )
        self._directions = directions
        self._shifts = rng.random(hashes).astype(np.float32)
        self._width = X.shape[1]
        self._X = np.empty((0, X.shape[1]), np.float32)
        self._keys = np.empty((n_tables, 0), np.uint64)
        self._ids = np.empty((n_tables, 0), np.int32)
        return self._hold(X)

    def add(self, X: ArrayLike) -> Self:
        """Add rows.

        Parameters
        ----------
        X : array of shape (n, columns)
            Rows.

        Returns
        -------
        self
        """
        return self._hold(rows(X, "X", self._check_built("add")))

    def _hold(self, X: NDArray[np.float32]) -> Self:
        n = len(self._X)
        if n + len(X) > _MOST_ROWS:
            raise InvalidInput(f"{n + len(X)} rows; at most {_MOST_ROWS} fit an LSH index")
        keys = np.empty((len(self._keys), len(X)), np.uint64)
        self._share(
            len(X),
            lambda a, z: kernels.row_keys(
                X[a:z], self._directions, self._shifts, self.n_hashes, keys[:, a:z]
            ),
        )
        ids = np.arange(n, n + len(X), dtype=np.int32)
        all_keys = np.empty((len(keys), n + len(X)), np.uint64)
        all_ids = np.empty(all_keys.shape, np.int32)
        for t, fresh in enumerate(keys):
            joined = np.concatenate([self._keys[t], fresh])
            order = np.argsort(joined, kind="stable")
            all_keys[t] = joined[order]
            all_ids[t] = np.concatenate([self._ids[t], ids])[order]
        self._keys, self._ids = all_keys, all_ids
        # Copy, because the caller may change its array later.
        self._X = np.concatenate([self._X, X])
        return self

    def search(self, Q: ArrayLike, k: int) -> Found:
        """The best candidates of every query with their exact values, best first.

        Parameters
        ----------
        Q : array of shape (q, columns)
            Queries.
        k : int
            Rows wanted.

        Returns
        -------
        ids : int array of shape (q, k)
            Row numbers, -1 where fewer were found.
        values : float32 array of shape (q, k)
            Squared distances or inner products.
        """
        Q = rows(Q, "Q", self._check_built("search"))
        k = whole(k, "k")
        probes = min(whole(self.n_probes, "n_probes", 0), 2 * self.n_hashes)
        cap = len(self) if self.max_candidates is None else self.max_candidates
        cap = min(whole(cap, "max_candidates", 0), len(self))
        ids = np.full((len(Q), k), -1, np.int64)
        values = np.full((len(Q), k), np.inf, np.float32)
        self._share(
            len(Q),
            lambda a, z: kernels.search_rows(
                Q[a:z],
                self._X,
                self._directions,
                self._shifts,
                self._keys,
                self._ids,
                np.array([self.n_hashes, probes, cap, self.metric == "l2"], np.int64),
                ids[a:z],
                values[a:z],
            ),
        )
        if self.metric == "ip":
            values = -values
        return best_first(ids, values, self.metric)

    def _share(self, n: int, work: Callable[[int, int], None]) -> None:
        """``work(start, stop)`` over n rows, shared by this object's threads."""
        cuts = np.linspace(0, n, self.n_threads + 1).astype(int)
        parts = [(int(a), int(z)) for a, z in pairwise(cuts) if z > a]
        if len(parts) < 2:
            for a, z in parts:
                work(a, z)
            return
        with ThreadPoolExecutor(len(parts)) as pool:
            list(pool.map(lambda part: work(*part), parts))

    def _pack(self) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
        meta = {name: getattr(self, name) for name in (*self._SHAPE, *self._WAYS)}
        names = ("_X", "_directions", "_shifts", "_keys", "_ids")
        return meta, {name: getattr(self, name) for name in names}

    def _unpack(self, meta: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> None:
        for name in (*self._SHAPE, *self._WAYS):
            setattr(self, name, meta[name])
        X, tables = arrays["_X"], whole(self.n_tables, "n_tables")
        hashes = tables * whole(self.n_hashes, "n_hashes")
        n, width = X.shape
        shapes = {
            "_X": ((n, width), np.float32),
            "_directions": ((hashes, width), np.float32),
            "_shifts": ((hashes,), np.float32),
            "_keys": ((tables, n), np.uint64),
            "_ids": ((tables, n), np.int32),
        }
        for name, (shape, dtype) in shapes.items():
            if arrays[name].shape != shape or arrays[name].dtype != dtype:
                raise ValueError(f"array {name} is {arrays[name].dtype}{arrays[name].shape}")
            setattr(self, name, arrays[name])
        if n and (self._ids.min() < 0 or self._ids.max() >= n):
            raise ValueError("a table names a row that is not there")
        self._width = width
