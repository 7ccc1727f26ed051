"""InvertedIndex: exact top-k search over sparse vectors with weights given per search.

The index is a tuple of immutable blocks (see ``layout``).  Writers replace the tuple, so searches
need no lock and can run in any number of threads.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from likewise_methods.errors import InvalidInput
from likewise_methods.index import files
from likewise_methods.index.blocks import Block, cut_blocks, join
from likewise_methods.index.layout import BLOCK_ENTRIES, BLOCK_PICTURES, Array
from likewise_methods.index.rows import id_vector, picture_rows, query_rows, weight_vector
from likewise_methods.index.scoring import Scratch, new_plan, new_scratch
from likewise_methods.index.searching import score_block, search_blocks
from likewise_methods.index.table import Table, make_table
from likewise_methods.lazy_imports import sparse
from likewise_methods.validation import whole


class IndexStats(NamedTuple):
    """Counts and bytes: ``list_bytes`` of postings and directory, ``row_bytes`` of rows."""

    pictures: int
    blocks: int
    postings: int
    entries: int
    list_bytes: int
    row_bytes: int


class InvertedIndex:
    """Exact top-k search over sparse vectors, with weights given per search.

    The score of a picture is the sum of ``query * weight * value`` over its words, computed in
    float64 in ascending order of words and rounded once to float32.  The ranking is total: a
    picture that shares no weighted word scores 0 and is ranked as such, and ties go to the
    smaller id.

    See Also
    --------
    likewise_methods.coding.BagOfWords : computes rows.
    likewise_methods.solis.SOLIS : learns weights.
    likewise_methods.neighbours.Exact : searches dense rows.

    References
    ----------
    Weights of words: docs/methods/solis.md, (1).

    Examples
    --------
    >>> import numpy as np
    >>> from likewise_methods.index.inverted import InvertedIndex
    >>> index = InvertedIndex.build(np.array([[1.0, 0.0, 2.0], [0.0, 3.0, 0.0]]), ids=[7, 9])
    >>> ids, scores = index.search(np.array([[1.0, 0.0, 1.0]]), k=3)
    >>> ids.tolist(), scores.tolist()
    ([[7, 9, -1]], [[3.0, 0.0, -inf]])
    >>> ids, scores = index.search(np.array([[1.0, 1.0, 1.0]]), k=1, weights=[1.0, 1.0, 0.0])
    >>> ids.tolist(), scores.tolist()
    ([[9]], [[3.0]])
    """

    def __init__(self) -> None:
        self._state = files.State((), 0, 0, None)
        self._lock = threading.RLock()
        self._scratches: list[Scratch] = []
        self._table: Table | None = None

    @classmethod
    def build(cls, X: Any, ids: Any = None) -> InvertedIndex:
        """Build an index of the rows of X.

        Parameters
        ----------
        X : array or sparse matrix of shape (n, words)
            One row per picture.
        ids : sequence of n ints, optional
            0, 1, 2 and so on by default.

        Returns
        -------
        InvertedIndex
        """
        index = cls()
        index.add(X, ids)
        return index

    @classmethod
    def open(cls, path: str | Path) -> InvertedIndex:
        """Open a saved index; each block is checked at its first use, all by `verify`."""
        index = cls()
        index._state = files.open_folder(Path(path))
        return index

    @classmethod
    def union(cls, indexes: Sequence[InvertedIndex]) -> InvertedIndex:
        """Return one index over the pictures of several, whose ids must differ, without copying.

        Changes of the union do not affect its parts.
        """
        states = [index._state for index in indexes if len(index._state.blocks)]
        _refuse_shared(states)
        made = cls()
        blocks = tuple(block for state in states for block in state.blocks)
        made._state = files.State(
            blocks,
            max((state.width for state in states), default=0),
            max((state.next_id for state in states), default=0),
            None,
        )
        return made

    def save(self, path: str | Path) -> None:
        """Write the index to the folder ``path``; a crash leaves the old index."""
        with self._lock:
            files.save(Path(path), self._state)

    def verify(self) -> None:
        """Check every byte of every block; raise DamagedIndex if one is wrong."""
        for block in self._state.blocks:
            block.verify()

    # -- contents ---------------------------------------------------------------------------

    def __len__(self) -> int:
        return sum(block.living for block in self._state.blocks)

    @property
    def width(self) -> int:
        """Number of words: the columns of the widest X so far."""
        return self._state.width

    @property
    def ids(self) -> Array:
        """Ids of all pictures, ascending; the order of the columns of `scores`."""
        return np.sort(_living_ids(self._state.blocks))

    def contains(self, ids: Any) -> Array:
        """Return whether each id is in the index."""
        names = id_vector(ids, None)
        found = np.zeros(len(names), bool)
        for block in self._state.blocks:
            found |= block.find(names) >= 0
        return found

    def rows(self, ids: Any) -> sparse.csr_array:
        """Return the rows (float32) of these ids, in their order."""
        names = id_vector(ids, None)
        blocks = self._state.blocks
        found: list[tuple[Array, Array]] = []
        places = [block.find(names) for block in blocks]
        for i, name in enumerate(names):
            here = next((b for b, place in enumerate(places) if place[i] >= 0), None)
            if here is None:
                raise InvalidInput(f"id {name} is not in the index")
            found.append(blocks[here].row_at(int(places[here][i])))
        ends = np.cumsum([0, *(len(words) for words, _ in found)])
        words = np.concatenate([np.zeros(0, np.uint32), *(w for w, _ in found)])
        values = np.concatenate([np.zeros(0, np.float32), *(v for _, v in found)])
        shape = (len(names), self._state.width)
        return sparse.csr_array((values, words.astype(np.int64), ends), shape=shape)

    def stats(self) -> IndexStats:
        blocks = self._state.blocks
        return IndexStats(
            pictures=sum(b.living for b in blocks),
            blocks=len(blocks),
            postings=sum(b.sizes.postings for b in blocks),
            entries=sum(b.sizes.entries for b in blocks),
            list_bytes=sum(b.list_bytes() for b in blocks),
            row_bytes=sum(b.row_bytes() for b in blocks),
        )

    def frequencies(self) -> Array:
        """Return the number of pictures with each word, int64; 0 for dropped words."""
        total = np.zeros(self._state.width, np.int64)
        for block in self._state.blocks:
            words, counts = block.word_counts()
            total[words] += counts
        return total

    # -- changes ----------------------------------------------------------------------------

    def add(self, X: Any, ids: Any = None) -> None:
        """Add the rows of X under new ids.

        Parameters
        ----------
        X : array or sparse matrix of shape (n, words)
            One row per picture; may be wider than earlier ones.
        ids : sequence of n ints, optional
            By default ascending from one above the largest id ever used.
        """
        rows = picture_rows(X)
        n = len(rows.ends) - 1
        with self._lock:
            state = self._state
            if ids is None:
                if state.next_id + n > 1 << 63:
                    raise InvalidInput(
                        f"{n} rows from id {state.next_id} on need ids beyond int64; give their ids"
                    )
                names = np.arange(state.next_id, state.next_id + n, dtype=np.int64)
            else:
                names = id_vector(ids, n)
            _refuse_known(state.blocks, names)
            width = max(state.width, rows.width)
            fresh = cut_blocks(rows, names, width, state.drop)
            next_id = max(state.next_id, int(names.max(initial=-1)) + 1)
            state = state._replace(width=width, next_id=next_id)
            self._state = state._replace(blocks=_tidy([*state.blocks, *fresh], state))

    def remove(self, ids: Any) -> None:
        """Remove pictures; `compact` or `merge` removes their postings.

        Parameters
        ----------
        ids : sequence of int
            Pictures in the index.
        """
        names = np.unique(id_vector(ids, None))
        with self._lock:
            found = np.zeros(len(names), bool)
            blocks = []
            for block in self._state.blocks:
                position = block.find(names)
                here = position >= 0
                found |= here
                if here.any():
                    block = block.without(position[here])
                if block.living:
                    blocks.append(block)
            if not found.all():
                raise InvalidInput(
                    f"id {names[~found][0]} is not in the index; nothing was removed"
                )
            self._state = self._state._replace(blocks=tuple(blocks))

    def compact(self, weights: Any = None) -> None:
        """Drop the postings of removed pictures and of words whose weight is zero.

        Rows are kept.  A search with a weight for a dropped word scans the rows, which is correct
        but slow, until `compact` is called with the new weights.  Words dropped stay dropped for
        pictures added later.

        Parameters
        ----------
        weights : array of shape (words,), optional
            Without weights every word gets its postings back.
        """
        with self._lock:
            state = self._state
            drop = None if weights is None else weight_vector(weights, state.width) == 0
            blocks = tuple(join([b], state.width, drop) for b in state.blocks)
            self._state = state._replace(blocks=blocks, drop=drop)

    def merge(self, *others: InvertedIndex) -> None:
        """Add the pictures of other indexes, and join small blocks into full ones."""
        with self._lock:
            state = self._state
            blocks = list(state.blocks)
            width, next_id = state.width, state.next_id
            for other in others:
                _refuse_known(blocks, _living_ids(other._state.blocks))
                blocks.extend(other._state.blocks)
                width = max(width, other._state.width)
                next_id = max(next_id, other._state.next_id)
            state = state._replace(width=width, next_id=next_id)
            self._state = state._replace(blocks=_pack(blocks, state))

    # -- search -----------------------------------------------------------------------------

    def search(self, Q: Any, k: int, weights: Any = None) -> tuple[Array, Array]:
        """Return the k best pictures of every query.

        Parameters
        ----------
        Q : array or sparse matrix of shape (queries, words)
            Queries.
        k : int
            Number of pictures.
        weights : array of shape (words,), optional
            One per column of Q, any sign; they multiply the queries.  Only weights of words in Q
            are used and checked to be finite.

        Returns
        -------
        ids : int64 array of shape (queries, k)
            Best first; -1 if there are fewer pictures than k.
        scores : float32 array of shape (queries, k)
            Their scores; -inf for id -1.
        """
        rows = query_rows(Q, weights)
        k = whole(k, "k")
        table = self._current_table()
        n = len(rows.ends) - 1
        best = min(k, table.living)
        scores = np.empty((n, best), np.float32)
        ids = np.empty((n, best), np.int64)
        if best and n:
            scratch = self._take_scratch()
            plan = new_plan(int(np.diff(rows.ends).max()))
            damaged = search_blocks(
                table.numbers, table.norms, rows.ends, rows.words, rows.values, plan, scratch,
                scores, ids,
            )  # fmt: skip
            if damaged >= 0:
                raise table.blocks[damaged].damaged_rows()
            self._scratches.append(scratch)
        if best < k:
            gap = ((0, 0), (0, int(k) - best))
            scores = np.pad(scores, gap, constant_values=-np.inf)
            ids = np.pad(ids, gap, constant_values=-1)
        return ids, scores

    def scores(self, Q: Any, weights: Any = None) -> Array:
        """Return the score of every picture for every query.

        Parameters
        ----------
        Q : array or sparse matrix of shape (queries, words)
            Queries.
        weights : array of shape (words,), optional
            As for ``search``.

        Returns
        -------
        float32 array of shape (queries, pictures)
            Columns are in the order of `ids` (ascending).
        """
        rows = query_rows(Q, weights)
        blocks = self._state.blocks
        n = len(rows.ends) - 1
        names = _living_ids(blocks)
        column = np.empty(len(names), np.int64)
        column[np.argsort(names)] = np.arange(len(names))
        out = np.zeros((n, len(names)), np.float32)
        plan = new_plan(int(np.diff(rows.ends).max(initial=0)))
        scratch = self._take_scratch()
        done = 0
        for block in blocks:
            part = np.zeros((n, block.sizes.pictures), np.float32)
            if not score_block(
                block.views(), block.checked, rows.ends, rows.words, rows.values, plan, scratch,
                part,
            ):  # fmt: skip
                raise block.damaged_rows()
            out[:, column[done : done + block.living]] = part[:, block.dead == 0]
            done += block.living
        self._scratches.append(scratch)
        return out

    def _current_table(self) -> Table:
        """Return the table of blocks for a search, after checking the length of each file."""
        blocks = self._state.blocks
        table = self._table
        if table is None or table.of is not blocks:
            self._table = table = make_table(blocks)
        else:
            for block in blocks:
                block.views()
        return table

    def _take_scratch(self) -> Scratch:
        """Return working memory that no other thread uses."""
        try:
            return self._scratches.pop()
        except IndexError:
            return new_scratch()


def _living_ids(blocks: Iterable[Block]) -> Array:
    return np.concatenate([np.zeros(0, np.int64), *(block.living_ids() for block in blocks)])


def _refuse_known(blocks: Iterable[Block], names: Array) -> None:
    for block in blocks:
        known = block.find(names) >= 0
        if known.any():
            raise InvalidInput(
                f"id {names[known][0]} is already in the index; remove it first, or use another id"
            )


def _refuse_shared(states: list[files.State]) -> None:
    """Raise InvalidInput if two of these share a picture.

    Only blocks with overlapping ranges of ids are read; the smaller one's ids are looked up in the
    larger.
    """
    blocks = [(s, *b.id_range(), b) for s, state in enumerate(states) for b in state.blocks]
    blocks.sort(key=lambda item: item[1])
    for i, (s, _, last, block) in enumerate(blocks):
        for other, first, _, its_block in blocks[i + 1 :]:
            if first > last:
                break
            if other == s:
                continue
            small, large = sorted((block, its_block), key=lambda b: b.sizes.pictures)
            names = small.living_ids()
            both = names[large.find(names) >= 0]
            if len(both):
                raise InvalidInput(
                    f"id {both[0]} is in more than one of the indexes; a union needs distinct ids"
                )


def _fits(blocks: list[Block]) -> bool:
    return (
        sum(b.living for b in blocks) <= BLOCK_PICTURES
        and sum(b.sizes.entries for b in blocks) <= BLOCK_ENTRIES
    )


def _tidy(blocks: list[Block], state: files.State) -> tuple[Block, ...]:
    """Join the newest blocks while the one before is not much larger: at most log2(n) blocks."""
    group = [blocks.pop()] if blocks else []
    while blocks and blocks[-1].living <= 2 * sum(b.living for b in group):
        if not _fits([blocks[-1], *group]):
            break
        group.insert(0, blocks.pop())
    if len(group) > 1:
        group = [join(group, state.width, state.drop)]
    return (*blocks, *group)


def _pack(blocks: list[Block], state: files.State) -> tuple[Block, ...]:
    """Fill blocks in order; full ones are not changed."""
    out: list[Block] = []
    group: list[Block] = []

    def close() -> None:
        if len(group) == 1 and not group[0].has_dead:
            out.append(group[0])
        elif group:
            out.append(join(group, state.width, state.drop))
        group.clear()

    for block in blocks:
        if not _fits([*group, block]):
            close()
        group.append(block)
    close()
    return tuple(out)
