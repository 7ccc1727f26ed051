"""The words of a coder, given or learned by ``fit``, and the search for the nearest of them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from likewise_methods.coding.reservoir import Reservoir
from likewise_methods.coding.vocabulary import Vocabulary
from likewise_methods.errors import InvalidInput
from likewise_methods.estimators import not_fitted
from likewise_methods.neighbours.exact import Exact
from likewise_methods.neighbours.protocol import rows
from likewise_methods.validation import whole

Floats = NDArray[np.float32]
Descriptors = ArrayLike | Iterable[ArrayLike]

ROWS_AT_ONCE = 8_192
"""Descriptors coded at a time: memory does not grow with their number."""


def learned_words(
    X: Descriptors, n_words: int, *, n_iter: int, random_state: Any, n_threads: int
) -> Floats:
    """Learn words by k-means over a sample of descriptors (an array, or an iterable of arrays)."""
    vocabulary = Vocabulary(
        n_words, n_iter=n_iter, random_state=random_state, n_threads=n_threads, assignment="exact"
    )
    return vocabulary.fit(X).words_


class WordSearch:
    """Base class of VQ, LLC and VLAD: words, and the nearest words of descriptors."""

    n_words: int
    codebook: Any
    n_threads: int
    codebook_: Floats

    def words(self) -> Floats:
        """The codebook, one word per row."""
        return self._words_and_index()[0]

    def nearest(self, X: ArrayLike, n: int) -> tuple[Floats, NDArray[np.int64], Floats]:
        """Return validated descriptors, their ``n`` nearest words, and squared distances."""
        words, index = self._words_and_index()
        checked = rows(X, "X", words.shape[1])
        ids, distances = index.search(checked, n)
        return checked, ids, distances

    def _fit_words(self, X: Descriptors, n_iter: int, random_state: Any) -> None:
        if self.codebook is not None:
            self.codebook_ = self._check_codebook()
        else:
            n_words = whole(self.n_words, "n_words")
            self.codebook_ = learned_words(
                X, n_words, n_iter=n_iter, random_state=random_state, n_threads=self.n_threads
            )
        self.n_features_in_ = self.codebook_.shape[1]
        self._words_and_index()

    def _check_codebook(self) -> Floats:
        words = rows(self.codebook, "codebook")
        if len(words) == 0:
            raise InvalidInput("codebook has 0 words; at least 1 expected")
        return words

    def _words_and_index(self) -> tuple[Floats, Exact]:
        source = self.codebook if self.codebook is not None else getattr(self, "codebook_", None)
        if source is None:
            raise not_fitted(
                f"this {type(self).__name__} has no words yet: call fit, or give it a codebook"
            )
        kept: tuple[Any, Floats, Exact] | None = getattr(self, "_kept", None)
        if kept is None or kept[0] is not source:
            words = self._check_codebook() if self.codebook is not None else self.codebook_
            index = Exact("l2", n_threads=whole(self.n_threads, "n_threads")).build(words)
            kept = self._kept = (source, words, index)
        return kept[1], kept[2]

    def __getstate__(self) -> dict[str, Any]:
        # The search structure is built again when needed.
        state: dict[str, Any] = super().__getstate__()  # type: ignore[assignment]
        return {key: value for key, value in state.items() if key != "_kept"}


def in_batches(X: ArrayLike, size: int = ROWS_AT_ONCE) -> Iterator[Any]:
    """Yield consecutive rows of an array, ``size`` at a time."""
    n = X.shape[0] if hasattr(X, "shape") else len(X)  # type: ignore[arg-type]
    for a in range(0, n, size):
        yield X[a : a + size]  # type: ignore[index]


def pictures_of(pictures: Any) -> Iterator[Any]:
    """Yield the pictures given to ``transform``; a matrix of descriptors is one picture."""
    dimensions = len(pictures.shape) if hasattr(pictures, "shape") else None
    if dimensions == 2:
        yield pictures
        return
    if dimensions not in (None, 3) or not isinstance(pictures, Iterable):
        raise InvalidInput(
            f"pictures is {type(pictures).__name__}; one array of descriptors a picture expected, "
            "in a list"
        )
    yield from pictures


def batches_of(picture: Any, size: int = ROWS_AT_ONCE) -> Iterator[Any]:
    """Yield the batches of a picture: parts of an array, or the arrays of an iterable."""
    if hasattr(picture, "shape") or isinstance(picture, list | tuple):
        whole = picture if hasattr(picture, "shape") else np.asarray(picture, np.float32)
        if len(whole.shape) != 2:
            raise InvalidInput(
                f"a picture has {len(whole.shape)} dimensions; 2 expected (descriptors, columns)"
            )
        yield from in_batches(whole, size)
        return
    if not isinstance(picture, Iterable):
        raise InvalidInput(f"a picture is {type(picture).__name__}; rows of descriptors expected")
    for batch in picture:
        yield from in_batches(batch, size)


def sampled_rows(X: Descriptors, size: int, rng: np.random.Generator) -> Floats:
    """Return a uniform sample of at most ``size`` rows of an array or a stream of arrays."""
    stream: Any = in_batches(X) if hasattr(X, "shape") else X  # type: ignore[arg-type]
    if isinstance(X, list | tuple) and len(X) and np.ndim(X[0]) == 1:
        stream = [X]
    if not isinstance(stream, Iterable):
        raise InvalidInput(f"X is {type(X).__name__}; an array or an iterable of arrays expected")
    reservoir, width = Reservoir(size, rng), None
    for batch in stream:
        checked = rows(batch, "X", width)
        width = checked.shape[1]
        reservoir.add(checked)
    return reservoir.rows
