"""The vocabulary as an estimator: conventions, streams, assignment, files."""

from __future__ import annotations

import hashlib
import pickle
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

from likewise_methods.coding.vocabulary import Vocabulary
from likewise_methods.errors import InvalidInput
from likewise_methods.neighbours.container import DamagedFile
from likewise_methods.neighbours.hnsw import HNSW


def descriptors(n: int = 2000, seed: int = 0, width: int = 16) -> NDArray[np.float32]:
    rng = np.random.default_rng(seed)
    centres = np.random.default_rng(5).random((80, width)) ** 3
    X = centres[rng.integers(80, size=n)] + 0.1 * rng.random((n, width))
    return np.asarray(X / np.linalg.norm(X, axis=1, keepdims=True), np.float32)


@pytest.fixture(scope="module")
def fitted() -> Vocabulary:
    return Vocabulary(100, random_state=0).fit(descriptors())


def test_init_stores_and_fit_learns() -> None:
    made = Vocabulary(n_words="many", sample=-1)  # type: ignore[arg-type]
    assert made.get_params()["n_words"] == "many"
    copy = clone(Vocabulary(50, n_iter=3, random_state=4))
    assert copy.get_params() == Vocabulary(50, n_iter=3, random_state=4).get_params()
    X = descriptors(300)
    assert copy.fit(X) is copy
    assert {name for name in vars(copy) if name.endswith("_") and name[0] != "_"} == {
        "history_",
        "distortion_",
        "n_seen_",
        "n_features_in_",
    }
    assert copy.words_.shape == (50, 16)
    assert copy.n_features_in_ == 16
    assert copy.n_seen_ == 300
    assert len(copy.history_) == 5
    assert copy.distortion_ == copy.history_[-1]


def test_quantise_gives_the_nearest_word(fitted: Vocabulary) -> None:
    X = descriptors(200, seed=1)
    words = fitted.quantise(X)
    distances = ((X[:, None].astype(float) - fitted.words_[None]) ** 2).sum(-1)
    assert words.dtype == np.int32
    assert words.tolist() == distances.argmin(1).tolist()
    assert fitted.distortion(X) == pytest.approx(distances.min(1).mean(), rel=1e-4)
    assert fitted.quantise(X[:0]).shape == (0,)


def test_soft_shares_are_gaussian(fitted: Vocabulary) -> None:
    X = descriptors(50, seed=2)
    ids, shares = fitted.quantise_soft(X, 4, sigma=0.3)
    assert ids[:, 0].tolist() == fitted.quantise(X).tolist()
    distances = ((X[:, None].astype(float) - fitted.words_[ids]) ** 2).sum(-1)
    expected = np.exp(-distances / (2 * 0.3**2))
    expected /= expected.sum(1, keepdims=True)
    np.testing.assert_allclose(shares, expected, atol=1e-4)
    _, default = fitted.quantise_soft(X, 3)
    np.testing.assert_allclose(default.sum(1), 1, rtol=1e-5)
    assert (np.diff(default, axis=1) <= 0).all()
    far = fitted.quantise_soft(1000 * X, 2, sigma=1e-3)[1]
    assert np.isfinite(far).all()
    with pytest.raises(InvalidInput, match="n_nearest is 101; there are 100 words"):
        fitted.quantise_soft(X, 101)
    with pytest.raises(InvalidInput, match="sigma"):
        fitted.quantise_soft(X, 2, sigma=0.0)
    with pytest.raises(InvalidInput, match="give sigma"):
        Vocabulary.from_words(X).quantise_soft(X, 2)


def test_a_stream_is_read_once_and_cut_as_it_likes() -> None:
    X = descriptors(3000)
    reads = 0

    def stream(size: int) -> Iterator[NDArray[np.float32]]:
        nonlocal reads
        for a in range(0, len(X), size):
            reads += 1
            yield X[a : a + size]

    made = [
        Vocabulary(60, sample=1000, n_iter=4, random_state=3).fit(s).words_
        for s in (X, stream(100), stream(777), [X[:0], X[:5], X[5:]])
    ]
    assert reads == 30 + 4
    for words in made[1:]:
        np.testing.assert_array_equal(words, made[0])


@pytest.mark.slow
def test_same_seed_same_bits_also_in_another_process(fitted: Vocabulary) -> None:
    again = Vocabulary(100, random_state=0).fit(descriptors())
    np.testing.assert_array_equal(again.words_, fitted.words_)
    generator = Vocabulary(100, random_state=np.random.default_rng(0)).fit(descriptors())
    np.testing.assert_array_equal(generator.words_, fitted.words_)
    code = (
        "import hashlib; from tests.methods.coding.test_vocabulary import Vocabulary, descriptors;"
        "v = Vocabulary(100, random_state=0).fit(descriptors());"
        "print(hashlib.sha256(v.words_.tobytes()).hexdigest())"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        check=True,
        timeout=120,
        cwd=Path(__file__).parents[3],
    )
    assert done.stdout.strip() == hashlib.sha256(fitted.words_.tobytes()).hexdigest()


@pytest.mark.slow
def test_kernels_come_from_the_cache_in_a_second_process(fitted: Vocabulary) -> None:
    code = (
        "from tests.methods.coding.test_vocabulary import Vocabulary, descriptors;"
        "from likewise_methods.coding import _kmeans_kernels as k;"
        "Vocabulary(100, random_state=0).fit(descriptors());"
        "print(sum(sum(f.stats.cache_misses.values()) for f in (k.group, k.reassign, k.means)))"
    )
    outcome = [
        subprocess.run(
            [sys.executable, "-c", code],
            capture_output=True,
            text=True,
            check=True,
            timeout=120,
            cwd=Path(__file__).parents[3],
        ).stdout.strip()
        for _ in range(2)
    ]
    assert outcome[1] == "0"


@pytest.mark.parametrize("assignment", ["exact", "hnsw"])
def test_save_and_open(assignment: Any, tmp_path: Path) -> None:
    X = descriptors()
    made = Vocabulary(100, assignment=assignment, random_state=0, n_iter=5).fit(X)
    made.save(tmp_path / "words")
    opened = Vocabulary.open(tmp_path / "words", n_threads=2)
    assert opened.n_threads == 2
    for other in (opened, pickle.loads(pickle.dumps(made))):  # noqa: S301 - our own bytes
        np.testing.assert_array_equal(other.words_, made.words_)
        np.testing.assert_array_equal(other.quantise(X), made.quantise(X))
        assert other.distortion_ == made.distortion_
        assert other.history_ == made.history_
    assert opened.get_params() == {**made.get_params(), "n_threads": 2}
    assert isinstance(made._index, HNSW) == (assignment == "hnsw")
    good = (tmp_path / "words").read_bytes()
    rng = np.random.default_rng(1)
    for at in rng.integers(len(good), size=60):
        for bad in (good[:at], good[:at] + bytes([good[at] ^ 4]) + good[at + 1 :]):
            (tmp_path / "bad").write_bytes(bad)
            with pytest.raises(DamagedFile):
                Vocabulary.open(tmp_path / "bad")


def test_hnsw_assignment_is_near_the_exact_one(fitted: Vocabulary) -> None:
    X = descriptors(1000, seed=3)
    walked = Vocabulary.from_words(fitted.words_, assignment="hnsw")
    assert (walked.quantise(X) == fitted.quantise(X)).mean() > 0.97
    assert walked.distortion(X) <= 1.01 * fitted.distortion(X)


def test_progress_is_shown(capsys: pytest.CaptureFixture[str]) -> None:
    seen: list[tuple[int, int, float]] = []
    made = Vocabulary(20, n_iter=3, random_state=0, progress=lambda *step: seen.append(step))
    made.fit(descriptors(200))
    assert [step[:2] for step in seen] == [(1, 3), (2, 3), (3, 3)]
    assert [step[2] for step in seen] == made.history_[1:-1]
    Vocabulary(20, n_iter=2, random_state=0, progress=True).fit(descriptors(200))
    captured = capsys.readouterr()
    assert "visual words" in captured.err
    assert captured.out == ""


@pytest.mark.parametrize(
    ("ways", "match"),
    [
        ({"n_words": 0}, "n_words is 0"),
        ({"n_words": 2.5}, "n_words is 2.5"),
        ({"n_words": 10, "sample": 9}, "sample is 9"),
        ({"n_words": 10, "n_iter": -1}, "n_iter is -1"),
        ({"n_words": 10, "n_near": 0}, "n_near is 0"),
        ({"n_words": 10, "n_threads": 0}, "n_threads is 0"),
        ({"n_words": 10, "assignment": "magic"}, "assignment is 'magic'"),
        ({"n_words": 10, "random_state": "x"}, "random_state is 'x'"),
        ({"n_words": 301}, "300 descriptors for 301 words"),
    ],
)
def test_parameters_are_checked_by_fit(ways: dict[str, Any], match: str) -> None:
    with pytest.raises(InvalidInput, match=match):
        Vocabulary(**ways).fit(descriptors(300))


def test_bad_descriptors_are_refused(fitted: Vocabulary) -> None:
    X = descriptors(50)
    bad = X.copy()
    bad[7, 3] = np.nan
    small = Vocabulary(5, random_state=0)
    with pytest.raises(InvalidInput, match=r"X has NaN.* in row 7"):
        small.fit(bad)
    with pytest.raises(InvalidInput, match=r"batch 1 of X has NaN.* in row 7"):
        small.fit([X, bad])
    with pytest.raises(InvalidInput, match="batch 1 of X has 3 columns; 16 expected"):
        small.fit([X, X[:, :3]])
    with pytest.raises(InvalidInput, match="0 descriptors for 5 words"):
        small.fit([])
    with pytest.raises(InvalidInput, match="0 descriptors for 5 words"):
        small.fit(X[:0])
    for nonsense in (3, X[0], [1.0, 2.0]):
        with pytest.raises(InvalidInput):
            small.fit(nonsense)
    assert not hasattr(small, "n_features_in_")
    with pytest.raises(NotFittedError):
        small.quantise(X)
    with pytest.raises(InvalidInput, match="X has 3 columns; 16 expected"):
        fitted.quantise(X[:, :3])
    with pytest.raises(InvalidInput, match="X has NaN"):
        fitted.quantise(bad)
    with pytest.raises(InvalidInput, match="0 rows"):
        fitted.distortion(X[:0])


def test_plain_lists_of_numbers_are_one_array() -> None:
    X = descriptors(200)
    lists = Vocabulary(10, n_iter=2, random_state=0).fit(X.tolist())
    array = Vocabulary(10, n_iter=2, random_state=0).fit(X)
    np.testing.assert_array_equal(lists.words_, array.words_)
    assert lists.n_seen_ == 200
    with pytest.raises(InvalidInput):
        Vocabulary(2).fit([[1.0, 2.0], [3.0]])
