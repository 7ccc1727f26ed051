"""Visual words: approximate k-means over a sample of local descriptors, from 100 to a million.

``fit`` draws a uniform sample in one pass (``reservoir``) and clusters it (``kmeans``).
``quantise`` finds the nearest word of each descriptor: it compares all words below 2,000, those of
the nearest cells up to 10,000 (``word_cells``), and walks an HNSW graph above.
"""

from __future__ import annotations

import importlib.metadata
from collections.abc import Iterable
from pathlib import Path
from typing import ClassVar, Literal, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from likewise_methods.coding.kmeans import approximate_kmeans
from likewise_methods.coding.progress import Report, reporter
from likewise_methods.coding.reservoir import Reservoir
from likewise_methods.coding.word_cells import WordCells
from likewise_methods.errors import InvalidInput
from likewise_methods.estimators import Estimator, check_is_fitted
from likewise_methods.neighbours.container import DamagedFile, open_arrays, save_arrays
from likewise_methods.neighbours.exact import Exact
from likewise_methods.neighbours.hnsw import HNSW
from likewise_methods.neighbours.protocol import rows
from likewise_methods.validation import generator, number, one_of, whole

Floats = NDArray[np.float32]
Words = NDArray[np.int32]
Descriptors = ArrayLike | Iterable[ArrayLike]
Assignment = Literal["auto", "exact", "cells", "hnsw"]

# At 10,000 words cells are three times as fast as comparing all; 0.5 % of words differ.
_AUTO_CELLS = 2_000
# At 100,000 words the graph is five times as fast; 2 % of words differ.
_AUTO_HNSW = 10_000
_ROWS_AT_ONCE = 65_536
_LIBRARIES = ("faiss-cpu", "numba", "numpy")
_TINY = float(np.finfo(np.float32).tiny)


class Vocabulary(Estimator):
    """Visual words: approximate k-means over a sample of local descriptors.

    Parameters
    ----------
    n_words : int, default=10000
        Number of words.
    sample : int, optional
        Descriptors for training; by default 40 per word up to 4 million, and at least 8 per word.
    n_iter : int, default=20
        Rounds of k-means.
    n_near : int, default=32
        Words to compare a descriptor with in a round (see ``kmeans``).
    assignment : {"auto", "exact", "cells", "hnsw"}, default="auto"
        How ``quantise`` finds words: compare all, those of the nearest cells, or walk a graph.
        "auto" is exact below 2,000 words, cells up to 10,000, a graph above.
    random_state : int, Generator or None, default=None
        Seed.  The same seed, thread count, libraries and kind of processor give the same bits,
        whatever the batches.
    n_threads : int, default=1
        Threads for training and assignment.
    progress : bool or callable, default=False
        True prints to stderr, or a function of (round, rounds, mean squared error).

    Attributes
    ----------
    words_ : array of shape (n_words, columns)
        A copy of the words.
    distortion_ : float
        Mean squared distance of the training sample to its words of the last round.
    history_ : list of float
        The same at the start, after each round, and at the end (``distortion_``).
    n_seen_, n_features_in_ : int
        Number of descriptors given to ``fit``, and their width.

    See Also
    --------
    BagOfWords : computes rows from word numbers.
    VQ : has a small codebook, and codes as rows.

    References
    ----------
    Soft assignment: Philbin et al., 2008.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> centres = np.array([[0.0, 0.0], [9.0, 0.0], [0.0, 9.0]])
    >>> X = np.repeat(centres, 50, axis=0) + rng.normal(size=(150, 2))
    >>> vocabulary = Vocabulary(n_words=3, random_state=0).fit(X)
    >>> len(set(vocabulary.quantise(centres).tolist()))
    3
    """

    kind: ClassVar[str] = "vocabulary"
    _SAVED: ClassVar[tuple[str, ...]] = ("n_words", "sample", "n_iter", "n_near", "assignment")
    _LEARNT: ClassVar[tuple[str, ...]] = ("distortion_", "history_", "n_seen_", "n_features_in_")
    _cells: WordCells | None = None

    def __init__(
        self,
        n_words: int = 10_000,
        *,
        sample: int | None = None,
        n_iter: int = 20,
        n_near: int = 32,
        assignment: Assignment = "auto",
        random_state: int | np.random.Generator | None = None,
        n_threads: int = 1,
        progress: bool | Report = False,
    ) -> None:
        self.n_words = n_words
        self.sample = sample
        self.n_iter = n_iter
        self.n_near = n_near
        self.assignment = assignment
        self.random_state = random_state
        self.n_threads = n_threads
        self.progress = progress

    def fit(self, X: Descriptors, y: object = None) -> Self:
        """Learn words from descriptors, read once.

        Parameters
        ----------
        X : array of shape (n, columns), or iterable of such arrays
            Descriptors.  A list of lists of numbers counts as one array.
        y : object, optional
            Ignored.

        Returns
        -------
        self
        """
        n_words = whole(self.n_words, "n_words")
        n_iter, n_near = whole(self.n_iter, "n_iter", 0), whole(self.n_near, "n_near")
        n_threads = whole(self.n_threads, "n_threads")
        size = max(min(40 * n_words, 4_000_000), 8 * n_words)
        if self.sample is not None:
            size = whole(self.sample, "sample", n_words)
        way = self._way(n_words)
        rng = generator(self.random_state)
        sample, n_seen = _sample_rows(X, size, rng)
        if len(sample) < n_words:
            raise InvalidInput(
                f"{len(sample)} descriptors for {n_words} words; at least one a word expected"
            )
        words, history = approximate_kmeans(
            sample,
            n_words,
            n_iter=n_iter,
            n_near=n_near,
            rng=rng,
            n_threads=n_threads,
            report=reporter(self.progress, "visual words", "error"),
        )
        del sample
        self.history_ = history
        self.distortion_ = history[-1]
        self.n_seen_ = n_seen
        return self._take(words, way)

    @classmethod
    def from_words(
        cls,
        words: ArrayLike,
        *,
        assignment: Assignment = "auto",
        n_threads: int = 1,
    ) -> Self:
        """Create a vocabulary from given words; its ``distortion_`` is NaN."""
        checked = rows(words, "words")
        made = cls(n_words=len(checked), assignment=assignment, n_threads=n_threads)
        whole(len(checked), "number of words")
        whole(n_threads, "n_threads")
        made.history_, made.distortion_, made.n_seen_ = [], float("nan"), 0
        return made._take(checked, made._way(len(checked)))

    def _take(self, words: Floats, way: str) -> Self:
        # The index has the only copy of many words (half a gigabyte at a million).
        index: Exact | HNSW = Exact("l2", n_threads=self.n_threads)
        if way == "hnsw":
            index = HNSW("l2", links=16, ef_build=64, ef_search=32, n_threads=self.n_threads)
        self._index = index.build(words)
        self._cells = WordCells.build(words) if way == "cells" else None
        self.n_features_in_ = words.shape[1]
        return self

    def _way(self, n_words: int) -> str:
        one_of(self.assignment, "assignment", ("auto", "exact", "cells", "hnsw"))
        if self.assignment != "auto":
            return self.assignment
        if n_words > _AUTO_HNSW:
            return "hnsw"
        return "cells" if n_words >= _AUTO_CELLS else "exact"

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "_index")

    @property
    def words_(self) -> Floats:
        """The words, one per row."""
        check_is_fitted(self)
        return self._index.vectors()

    def quantise(self, X: ArrayLike) -> Words:
        """Return the number of the nearest word of each descriptor.

        Parameters
        ----------
        X : array of shape (n, columns)
            Descriptors.

        Returns
        -------
        int array of shape (n,)
        """
        return self._nearest(X, 1)[0][:, 0]

    def quantise_soft(
        self, X: ArrayLike, n_nearest: int = 5, *, sigma: float | None = None
    ) -> tuple[Words, Floats]:
        """Return the ``n_nearest`` words of each descriptor, nearest first, and their shares.

        Shares are ``exp(-d^2 / (2 sigma^2))`` scaled to sum 1 (Philbin et al. 2008).

        Parameters
        ----------
        X : array of shape (n, columns)
            Descriptors.
        n_nearest : int, default=5
            Words per descriptor.
        sigma : float, optional
            By default the root of ``distortion_``.

        Returns
        -------
        words : int array of shape (n, n_nearest)
            Word numbers.
        shares : float32 array of shape (n, n_nearest)
            Their shares.
        """
        check_is_fitted(self)
        if whole(n_nearest, "n_nearest") > len(self._index):
            raise InvalidInput(f"n_nearest is {n_nearest}; there are {len(self._index)} words")
        root = sigma is None
        spread = float(np.sqrt(self.distortion_)) if root else number(sigma, "sigma", above=0)
        if not spread >= 0:
            raise InvalidInput("this vocabulary has no distortion_; give sigma")
        ids, distances = self._nearest(X, n_nearest)
        # Relative to the nearest, so that the largest share does not underflow.
        excess = distances - distances[:, :1]
        with np.errstate(over="ignore"):
            shares = np.exp(-excess / max(2 * spread**2, _TINY))
        # A word that HNSW did not find has number 0 and share 0.
        return np.maximum(ids, 0), (shares / shares.sum(axis=1, keepdims=True)).astype(np.float32)

    def distortion(self, X: ArrayLike) -> float:
        """Return the mean squared distance of descriptors to their words."""
        distances = self._nearest(X, 1)[1]
        if not len(distances):
            raise InvalidInput("X has 0 rows; their mean distance is not defined")
        return float(distances.mean(dtype=np.float64))

    def _nearest(self, X: ArrayLike, n: int) -> tuple[Words, Floats]:
        check_is_fitted(self)
        checked = rows(X, "X", self.n_features_in_)
        ids = np.empty((len(checked), n), np.int32)
        distances = np.empty((len(checked), n), np.float32)
        if n == 1 and self._cells is not None:
            ids[:, 0], distances[:, 0] = self._cells.nearest(checked)
            return ids, distances
        for a in range(0, len(checked), _ROWS_AT_ONCE):
            here = slice(a, a + _ROWS_AT_ONCE)
            ids[here], distances[here] = self._index.search(checked[here], n)
        return ids, distances

    def save(self, path: str | Path) -> None:
        """Write words and search structure to one checksummed file."""
        check_is_fitted(self)
        index, arrays = self._index._pack()
        if self._cells is not None:
            arrays = {**arrays, **self._cells.pack()}
        seed = self.random_state if isinstance(self.random_state, int | np.integer) else None
        meta = {
            "exact": isinstance(self._index, Exact),
            "index": index,
            "parameters": {name: getattr(self, name) for name in self._SAVED},
            "learnt": {name: getattr(self, name) for name in self._LEARNT},
            "random_state": seed,
            "made_with": {n: importlib.metadata.version(n) for n in _LIBRARIES},
        }
        save_arrays(path, self.kind, meta, arrays)

    @classmethod
    def open(cls, path: str | Path, *, n_threads: int = 1) -> Self:
        """Open a saved file; raise ``DamagedFile`` if it was altered."""
        whole(n_threads, "n_threads")
        meta, arrays = open_arrays(path, cls.kind)
        try:
            made = cls(**meta["parameters"], random_state=meta["random_state"], n_threads=n_threads)
            for name in cls._LEARNT:
                setattr(made, name, meta["learnt"][name])
            index = (Exact if meta["exact"] else HNSW)("l2", n_threads=n_threads)
            index._unpack(meta["index"], arrays)
            if index.width != made.n_features_in_ or len(index) != made.n_words:
                raise ValueError(f"{len(index)} words of width {index.width}")
            if WordCells.are_in(arrays):
                made._cells = WordCells.unpack(index.vectors(), arrays)
        except (KeyError, TypeError, ValueError, RuntimeError) as error:
            raise DamagedFile(f"{path}: not a usable vocabulary ({error})") from error
        made._index = index
        return made


def _sample_rows(X: Descriptors, size: int, rng: np.random.Generator) -> tuple[Floats, int]:
    """Sample at most ``size`` rows of an array or a stream of arrays; also return their number."""
    reservoir = Reservoir(size, rng)
    if hasattr(X, "shape") or hasattr(X, "__array__"):
        checked = rows(X, "X")  # type: ignore[arg-type]
        if len(checked) <= size:
            return checked, len(checked)
        for a in range(0, len(checked), _ROWS_AT_ONCE):
            reservoir.add(checked[a : a + _ROWS_AT_ONCE])
        return reservoir.rows, reservoir.n_seen
    if isinstance(X, list | tuple) and len(X) and np.ndim(X[0]) == 1:
        return _sample_rows(rows(X, "X"), size, rng)
    if not isinstance(X, Iterable):
        raise InvalidInput(f"X is {type(X).__name__}; an array or an iterable of arrays expected")
    width: int | None = None
    for turn, batch in enumerate(X):
        checked = rows(batch, f"batch {turn} of X", width)
        width = checked.shape[1]
        reservoir.add(checked)
    return reservoir.rows, reservoir.n_seen
