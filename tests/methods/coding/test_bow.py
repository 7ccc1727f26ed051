"""Bags of words against the formula of SOLIS section 8, written out with dictionaries."""

from __future__ import annotations

import math
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.pipeline import make_pipeline
from sklearn.utils import get_tags

from likewise_methods.coding.bow import BagOfWords, Weighting, count
from likewise_methods.errors import InvalidInput
from likewise_methods.neighbours.container import DamagedFile

N_WORDS = 6
pictures = st.lists(st.lists(st.integers(0, N_WORDS - 1), max_size=12), min_size=1, max_size=8)


def counted(words: list[list[int]]) -> sparse.csr_array:
    return count([np.array(w, int) for w in words], N_WORDS)


def plain(
    database: list[list[int]], words: list[int], weighting: Weighting = "tf-idf"
) -> list[float]:
    """The reference: x_j = (n_j / sum n) log(N / df_j), then unit length."""
    df = Counter(j for picture in database for j in set(picture))
    n = Counter(words)
    x = []
    for j in range(N_WORDS):
        tf = n[j] / len(words) if words else 0.0
        idf = math.log(len(database) / df[j]) if df[j] else 0.0
        x.append(
            {
                "tf": tf,
                "tf-idf": tf * idf,
                "tf-idf2": tf * idf**2,
                "sqrt-tf-idf": math.sqrt(tf) * idf,
            }[weighting]
        )
    norm = math.sqrt(sum(v * v for v in x))
    return [v / norm if norm else 0.0 for v in x]


@settings(max_examples=150, deadline=None)
@given(
    database=pictures,
    queries=pictures,
    weighting=st.sampled_from(["tf-idf", "tf", "tf-idf2", "sqrt-tf-idf"]),
)
def test_rows_follow_the_formula(
    database: list[list[int]], queries: list[list[int]], weighting: Weighting
) -> None:
    made = BagOfWords(weighting).fit(counted(database)).transform(counted(queries))
    expected = [plain(database, words, weighting) for words in queries]
    np.testing.assert_allclose(made.toarray(), expected, atol=1e-6)
    assert made.dtype == np.float32
    assert made.has_sorted_indices
    assert (made.data != 0).all()


@settings(max_examples=60, deadline=None)
@given(kept=pictures, gone=pictures, cut=st.integers(0, 8))
def test_arrivals_and_departures_add_up(
    kept: list[list[int]], gone: list[list[int]], cut: int
) -> None:
    bag = BagOfWords().partial_fit(counted(kept[:cut])) if kept[:cut] else BagOfWords()
    bag.partial_fit(counted(gone))
    if kept[cut:]:
        bag.partial_fit(counted(kept[cut:]))
    bag.forget(counted(gone)).refresh()
    once = BagOfWords().fit(counted(kept))
    np.testing.assert_array_equal(bag.df_, once.df_)
    np.testing.assert_array_equal(bag.idf_, once.idf_)
    assert bag.n_pictures_ == len(kept)


def test_idf_is_frozen_until_refresh() -> None:
    first, later = counted([[0, 1], [1, 2], [3]]), counted([[0], [0, 3], [0, 5]])
    bag = BagOfWords().fit(first)
    before = bag.transform(first).toarray()
    idf = bag.idf_.copy()
    bag.partial_fit(later)
    assert bag.n_pictures_ == 6
    np.testing.assert_array_equal(bag.idf_, idf)
    np.testing.assert_array_equal(bag.transform(first).toarray(), before)
    assert bag.generation_ == 1
    bag.refresh()
    assert bag.generation_ == 2
    both = counted([[0, 1], [1, 2], [3], [0], [0, 3], [0, 5]])
    np.testing.assert_array_equal(bag.idf_, BagOfWords().fit(both).idf_)
    assert (bag.transform(first).toarray() != before).any()


def test_words_never_seen_and_words_everywhere_weigh_nothing() -> None:
    bag = BagOfWords().fit(counted([[0, 1], [0, 2]]))
    made = bag.transform(counted([[0, 0, 5, 4], [0, 1, 5], []]))
    assert made.indptr.tolist() == [0, 0, 1, 1]
    assert made.toarray()[1].tolist() == [0, 1, 0, 0, 0, 0]


def test_input_is_normalised_but_not_changed() -> None:
    messy = sparse.csr_array(
        (np.array([1.0, 2.0, 1.0, 0.0]), np.array([3, 0, 3, 1]), np.array([0, 4])), shape=(1, 6)
    )
    before = messy.data.copy(), messy.indices.copy()
    bag = BagOfWords("tf").fit(messy)
    assert bag.df_.tolist() == [1, 0, 0, 1, 0, 0]
    np.testing.assert_allclose(bag.transform(messy).toarray()[0, [0, 3]], 0.5**0.5, rtol=1e-6)
    np.testing.assert_array_equal(messy.data, before[0])
    np.testing.assert_array_equal(messy.indices, before[1])
    for other in (messy.toarray(), sparse.csc_matrix(messy), sparse.coo_array(messy)):
        np.testing.assert_allclose(bag.transform(other).toarray(), bag.transform(messy).toarray())


def test_soft_counts_add_shares() -> None:
    ids = np.array([[0, 1], [1, 5]])
    made = count(ids, N_WORDS, np.array([[0.75, 0.25], [1.0, 0.0]]))
    assert made.toarray().tolist() == [[0.75, 1.25, 0, 0, 0, 0]]
    assert made.nnz == 2
    assert count([], N_WORDS).shape == (0, N_WORDS)
    assert count(np.array([], int), N_WORDS).nnz == 0


@pytest.mark.parametrize(
    ("words", "shares", "match"),
    [
        (np.array([6]), None, "run from 6 to 6; 0 to 5 expected"),
        (np.array([-1, 2]), None, "run from -1 to 2"),
        (np.array([0.5]), None, "integers expected"),
        ([np.array(3)], None, "0 dimensions"),
        (np.array([1]), np.array([1.0, 2.0]), r"shape \(2,\); \(1,\) expected"),
        (np.array([1]), np.array([-1.0]), "is -1.0; a finite number from 0"),
        (np.array([1]), np.array([np.nan]), "finite"),
        ([np.array([1])], [], "shares of 0 pictures; 1 expected"),
    ],
)
def test_count_refuses(words: Any, shares: Any, match: str) -> None:
    with pytest.raises(InvalidInput, match=match):
        count(words, N_WORDS, shares)


def test_refusals() -> None:
    counts = counted([[0, 1], [2]])
    with pytest.raises(NotFittedError):
        BagOfWords().transform(counts)
    with pytest.raises(NotFittedError):
        BagOfWords().refresh()
    # Counted but never weighed.
    with pytest.raises(NotFittedError):
        BagOfWords().partial_fit(counts).transform(counts)
    bag = BagOfWords().fit(counts)
    with pytest.raises(InvalidInput, match="counts has 3 columns; 6 expected"):
        bag.transform(np.ones((1, 3)))
    with pytest.raises(InvalidInput, match="negative value: -1"):
        bag.transform(-np.ones((1, 6)))
    with pytest.raises(InvalidInput, match="non-finite"):
        bag.partial_fit(np.full((1, 6), np.nan))
    with pytest.raises(InvalidInput, match="never counted"):
        bag.forget(counted([[4]]))
    with pytest.raises(InvalidInput, match="never counted"):
        bag.forget(counted([[], [], []]))
    with pytest.raises(InvalidInput, match="weighting is 'bm25'"):
        BagOfWords("bm25").fit(counts)  # type: ignore[arg-type]
    with pytest.raises(InvalidInput, match="not a matrix"):
        bag.transform([["a"]])
    assert bag.df_.tolist() == [1, 1, 1, 0, 0, 0]
    assert clone(BagOfWords("tf")).weighting == "tf"


def test_save_and_open(tmp_path: Path) -> None:
    counts = counted([[0, 1], [2, 2, 1], [5]])
    bag = BagOfWords("sqrt-tf-idf").fit(counts).partial_fit(counted([[3], [3]]))
    path = tmp_path / "bag"
    bag.save(path)
    opened = BagOfWords.open(path)
    np.testing.assert_array_equal(
        opened.transform(counts).toarray(), bag.transform(counts).toarray()
    )
    assert (opened.n_pictures_, opened.generation_, opened.weighting) == (5, 1, "sqrt-tf-idf")
    opened.forget(counted([[3]])).refresh()
    assert opened.df_.tolist() == [1, 2, 1, 1, 0, 1]
    BagOfWords().partial_fit(counts).save(tmp_path / "unweighed")
    assert not hasattr(BagOfWords.open(tmp_path / "unweighed"), "idf_")
    good = path.read_bytes()
    for at in range(0, len(good), 3):
        for bad in (good[:at], good[:at] + bytes([good[at] ^ 1]) + good[at + 1 :]):
            path.write_bytes(bad)
            with pytest.raises(DamagedFile):
                BagOfWords.open(path)


def test_words_beyond_int32_keep_their_numbers() -> None:
    far = 2**31 + 5
    counts = count([np.array([far, 1, far])], n_words=2**32)
    assert counts.indices.tolist() == [1, far]
    assert counts.data.tolist() == [1, 2]


def test_it_is_a_transformer_like_others() -> None:
    bag = BagOfWords()
    assert not hasattr(bag, "n_features_in_")
    counts = np.eye(4)
    bag.partial_fit(counts)
    assert bag.n_features_in_ == 4
    made = make_pipeline(BagOfWords()).fit_transform(counts)
    assert (made != BagOfWords().fit_transform(counts)).nnz == 0
    assert get_tags(bag).transformer_tags is not None
