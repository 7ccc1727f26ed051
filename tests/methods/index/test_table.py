"""One call over all blocks: the table of addresses follows every change of the index."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from likewise_methods.index.inverted import InvertedIndex


def _rows(n, seed):
    rng = np.random.default_rng(seed)
    return sp.random_array((n, 60), density=0.2, rng=rng, format="csr", dtype=np.float32)


def _judge(index, query, k):
    """The k best by the scores of all pictures, ties to the smaller id."""
    scores = index.scores(query)[0]
    order = np.lexsort((index.ids, -scores))[:k]
    return index.ids[order].tolist(), scores[order].tolist()


def _agrees(index, query):
    ids, scores = index.search(query, 7)
    assert (ids[0].tolist(), scores[0].tolist()) == _judge(index, query, 7)


def test_the_table_follows_every_change(tmp_path):
    query = _rows(1, 9)
    index = InvertedIndex.build(_rows(700, 0))
    _agrees(index, query)
    best = index.search(query, 3)[0][0]
    index.remove(best)
    assert not np.isin(best, index.search(query, 7)[0]).any()
    _agrees(index, query)
    index.add(_rows(90, 1))
    _agrees(index, query)
    index.compact()
    _agrees(index, query)
    index.save(tmp_path / "saved")
    opened = InvertedIndex.open(tmp_path / "saved")
    other = InvertedIndex.build(_rows(200, 2), np.arange(10_000, 10_200))
    _agrees(InvertedIndex.union([opened, other]), query)


def test_a_table_is_made_once_for_the_same_blocks():
    index, query = InvertedIndex.build(_rows(300, 3)), _rows(1, 4)
    index.search(query, 2)
    first = index._table
    index.search(query, 2)
    assert index._table is first
    index.remove([5])
    index.search(query, 2)
    assert index._table is not first


def test_an_index_without_pictures_has_an_empty_table():
    ids, scores = InvertedIndex().search(_rows(2, 5), 3)
    assert ids.tolist() == [[-1] * 3] * 2
    assert np.isneginf(scores).all()
