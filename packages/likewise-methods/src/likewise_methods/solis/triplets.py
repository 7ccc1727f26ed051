"""Make triplets from class labels or from pairs: int64 arrays (n, 3) of anchor, nearer, farther."""

from __future__ import annotations

from typing import Any

import numpy as np

from likewise_methods.errors import InvalidInput
from likewise_methods.solis.rows import Triplets
from likewise_methods.validation import as_array, check_seed, generator, whole


def triplets_from_labels(labels: Any, n: int, random_state: Any = None) -> Triplets:
    """Draw ``n`` triplets: an anchor, another of its class, and one of another class.

    Anchors are drawn uniformly from the pictures whose class has another member.

    Parameters
    ----------
    labels : array of shape (pictures,)
        One class per picture, numbers or names.  Pictures with a negative label (-1) are only ever
        the farther one.
    n : int
        Number of triplets.
    random_state : int, Generator or None, default=None
        Seed.

    Returns
    -------
    int64 array of shape (n, 3)
        Rows: anchor, nearer, farther.

    See Also
    --------
    triplets_from_pairs : from similar and dissimilar pairs.

    Examples
    --------
    >>> triplets_from_labels([0, 0, 1], 2, random_state=0).tolist()
    [[1, 0, 2], [1, 0, 2]]
    """
    labels = as_array(labels, "labels")
    if labels.ndim != 1 or labels.dtype.kind not in "iuUSb":
        raise InvalidInput(
            f"labels has shape {labels.shape} and type {labels.dtype}; one label per picture"
        )
    n = whole(n, "n", 1)
    rng = generator(random_state)
    distractor = labels < 0 if labels.dtype.kind == "i" else np.zeros(len(labels), bool)
    _, code, sizes = np.unique(labels, return_inverse=True, return_counts=True)
    code = code.reshape(-1)
    usable = np.flatnonzero((sizes[code] > 1) & ~distractor & (sizes[code] < len(labels)))
    if not len(usable):
        raise InvalidInput("no class has two pictures and another class; no triplet can be made")
    # ``order`` sorts by class; ``first`` is where a class starts.
    order = np.argsort(code, kind="stable")
    first = np.concatenate([[0], np.cumsum(sizes)])[:-1]
    place = np.empty(len(labels), np.int64)
    place[order] = np.arange(len(labels))
    anchor = rng.choice(usable, n)
    c = code[anchor]
    # Another member: skip the anchor itself.
    within = rng.integers(0, sizes[c] - 1)
    within += within >= place[anchor] - first[c]
    # A picture of another class: skip the whole class.
    outside = rng.integers(0, len(labels) - sizes[c])
    outside += np.where(outside >= first[c], sizes[c], 0)
    made = np.stack([anchor, order[first[c] + within], order[outside]], axis=1)
    return np.ascontiguousarray(made, np.int64)


def triplets_from_pairs(
    pairs: Any, same: Any, n: int | None = None, random_state: Any = None
) -> Triplets:
    """Return all (a, b, c) with (a, b) similar and (a, c) dissimilar, or ``n`` of them at random.

    Each end of a pair can be the anchor.  A picture paired with itself is an error, and so is a
    pair that is both similar and dissimilar.

    Parameters
    ----------
    pairs : int array of shape (m, 2)
        Rows of pictures.
    same : bool array of shape (m,)
        Whether each pair is similar.
    n : int, optional
        Number of triplets to draw, with replacement; all by default.
    random_state : int, Generator or None, default=None
        Seed.

    Returns
    -------
    int64 array of shape (n, 3)
        Rows: anchor, nearer, farther.

    See Also
    --------
    triplets_from_labels : from classes.

    Examples
    --------
    >>> triplets_from_pairs([[0, 1], [0, 2]], [True, False]).tolist()
    [[0, 1, 2]]
    """
    found = as_array(pairs, "pairs")
    check_seed(random_state)
    if found.ndim != 2 or found.shape[1] != 2 or found.dtype.kind not in "iu":
        raise InvalidInput(f"pairs has shape {found.shape} and type {found.dtype}; (n, 2) integers")
    alike = as_array(same, "same")
    if alike.shape != (len(found),) or alike.dtype.kind != "b":
        raise InvalidInput(
            f"same has shape {alike.shape} and type {alike.dtype}; one bool per pair"
        )
    if len(found) and found.min() < 0:
        raise InvalidInput(f"pairs names row {found.min()}; rows are numbered from 0")
    own = found[found[:, 0] == found[:, 1]]
    if len(own):
        raise InvalidInput(f"pairs has {len(own)} of a picture with itself, first of {own[0, 0]}")
    ordered = np.sort(found, axis=1)
    said = np.unique(np.column_stack([ordered.astype(np.int64), alike]), axis=0)
    twice = np.flatnonzero((said[1:, :2] == said[:-1, :2]).all(axis=1))
    if len(twice):
        a, b = said[twice[0], :2]
        raise InvalidInput(
            f"{len(twice)} of the pairs are said to be alike and not alike, first ({a}, {b}); "
            "decide or drop them"
        )
    both = np.concatenate([found, found[:, ::-1]]).astype(np.int64)
    alike = np.concatenate([alike, alike])
    near, far = (np.unique(both[side], axis=0) for side in (alike, ~alike))
    low = np.searchsorted(far[:, 0], near[:, 0], "left")
    counts = np.searchsorted(far[:, 0], near[:, 0], "right") - low
    total = int(counts.sum())
    if not total:
        raise InvalidInput(
            "no picture is in a similar and in a dissimilar pair; no triplet follows"
        )
    if n is None:
        flat = np.arange(total)
    else:
        flat = generator(random_state).integers(0, total, whole(n, "n", 1))
    ends = np.cumsum(counts)
    which = np.searchsorted(ends, flat, "right")
    other = low[which] + flat - (ends[which] - counts[which])
    return np.column_stack([near[which], far[other, 1]])
