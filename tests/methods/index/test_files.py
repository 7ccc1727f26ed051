"""A damaged index is a typed error or the right answer, never a crash; saving is all or nothing."""

from __future__ import annotations

import mmap
import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from likewise_methods.errors import InvalidInput
from likewise_methods.index import files
from likewise_methods.index.blocks import Block
from likewise_methods.index.hashing import xxh64
from likewise_methods.index.inverted import InvertedIndex
from likewise_methods.index.layout import HEADER_BYTES, DamagedIndex, places
from tests.methods.index.reference import random_rows

STEP = 1 if "LIKEWISE_TRUST_ROUNDS" in os.environ else 7
"""Every seventh byte, and with it every bit; ``make trust`` takes them all."""
Q = np.array([[1.0, 0, 2, 0, 1, 1], [0, 1, 0, 0, 0, 0], [0, -1, 0, 3, 0, 0]])


def small_index(monkeypatch: pytest.MonkeyPatch) -> InvertedIndex:
    """Two blocks, a dead picture, a dropped word, a column: every section is there."""
    for where in ("blocks", "inverted"):
        monkeypatch.setattr(f"likewise_methods.index.{where}.BLOCK_PICTURES", 40)
    monkeypatch.setattr("likewise_methods.index.building._COLUMN_POSTINGS", 12)
    rng = np.random.default_rng(4)
    index = InvertedIndex.build(random_rows(rng, 43, 6, tame=True))
    index.compact([1, 1, 1, 0, 1, 1])
    index.remove([7])
    return index


def answers(index: InvertedIndex) -> list[Any]:
    return [index.search(Q, k)[0].tolist() for k in (1, 2, 5)] + [index.scores(Q).tolist()]


@pytest.mark.slow
def test_bytes_and_lengths(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    index = small_index(monkeypatch)
    expected = answers(index)
    folder = tmp_path / "index.lwx"
    index.save(folder)
    assert answers(InvertedIndex.open(folder)) == expected
    refused = right = 0
    for path in sorted(folder.iterdir()):
        good = path.read_bytes()
        damaged = [
            good[:i] + bytes([good[i] ^ (1 << (i % 8))]) + good[i + 1 :]
            for i in range(0, len(good), STEP)
        ] + [good[:i] for i in range(0, len(good), STEP)]
        for bad in [*damaged, good + b"\x00"]:
            path.write_bytes(bad)
            try:
                assert answers(InvertedIndex.open(folder)) == expected
                right += 1
            except DamagedIndex as error:
                assert "; restore it" in str(error)  # noqa: PT017
                refused += 1
        path.write_bytes(good)
    assert answers(InvertedIndex.open(folder)) == expected
    # Only padding may be damaged unnoticed.
    assert refused > 20 * right


@pytest.mark.slow
def test_wrong_offsets_with_right_checksums_never_reach_a_kernel(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A forger who recomputes checksums gets an error or some answer, but no crash."""
    index = small_index(monkeypatch)
    block = index._state.blocks[0]
    where, rows_at, _ = places(block.sizes)
    rng = np.random.default_rng(0)
    refused = 0
    for at in range(HEADER_BYTES, len(block.buffer), STEP):
        buffer = block.buffer.copy()
        buffer[at] ^= rng.integers(1, 256)
        views = Block.of_buffer(block.sizes, 0, buffer, tmp_path, None)._content.views
        ends = views.row_ends
        if where["rows"][0] <= at:
            sums = buffer[where["row_sums"][0] :][: 8 * len(views.row_sums)].view("<u8")
            for g in range(len(sums)):
                last = min(8 * (g + 1), len(ends) - 1)
                sums[g] = xxh64(views.rows, 2 * ends[8 * g], 2 * ends[last])
        checksum = int(xxh64(buffer.view("<u4"), HEADER_BYTES // 4, rows_at // 4))
        forged = InvertedIndex()
        forged._state = index._state._replace(
            blocks=(Block.of_buffer(block.sizes, checksum, buffer, tmp_path, None),)
        )
        try:
            forged.search(Q, 2)
            forged.scores(Q)
            forged.compact()
        except DamagedIndex:
            refused += 1
    assert refused > 300 // STEP


def test_verify_finds_what_no_search_has_touched(tmp_path: Path) -> None:
    index = InvertedIndex.build(np.eye(500, dtype=np.float32))
    index.save(tmp_path / "i")
    (path,) = (tmp_path / "i").glob("*.lwb")
    data = bytearray(path.read_bytes())
    data[-100] ^= 1
    path.write_bytes(bytes(data))
    opened = InvertedIndex.open(tmp_path / "i")
    assert opened.search(np.eye(500)[:1], 1)[0].tolist() == [[0]]
    with pytest.raises(
        DamagedIndex, match=r"\.lwb: the checksum of its rows.*build the index again"
    ):
        opened.verify()
    with pytest.raises(DamagedIndex):
        opened.compact()


def test_a_missing_index_says_so(tmp_path: Path) -> None:
    with pytest.raises(DamagedIndex, match="no such folder"):
        InvertedIndex.open(tmp_path / "nowhere")
    (tmp_path / "empty").mkdir()
    with pytest.raises(DamagedIndex, match=r"manifest\.lwx: there is no such file"):
        InvertedIndex.open(tmp_path / "empty")
    (tmp_path / "empty" / "holiday.jpg").touch()
    with pytest.raises(InvalidInput, match="not an index"):
        InvertedIndex.build(np.eye(2)).save(tmp_path / "empty")


def test_a_second_save_writes_only_what_is_new(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for where in ("blocks", "inverted"):
        monkeypatch.setattr(f"likewise_methods.index.{where}.BLOCK_PICTURES", 40)
    InvertedIndex.build(np.ones((40, 3))).save(tmp_path / "i")
    before = {p.name: p.stat().st_mtime_ns for p in (tmp_path / "i").glob("*.lwb")}
    index = InvertedIndex.open(tmp_path / "i")
    index.add(np.ones((2, 3)))
    index.remove([3])
    index.save(tmp_path / "i")
    after = {p.name: p.stat().st_mtime_ns for p in (tmp_path / "i").glob("*.lwb")}
    assert before.items() < after.items()
    assert len(InvertedIndex.open(tmp_path / "i")) == 41
    index.merge()
    index.compact()
    index.save(tmp_path / "i")
    assert len(list((tmp_path / "i").iterdir())) == 1 + index.stats().blocks


@pytest.mark.parametrize("fails", ["fsync", "replace"])
def test_a_failing_disk_leaves_the_old_index(
    fails: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "i"
    InvertedIndex.build(np.eye(3)).save(folder)
    old = answers_of_eye(folder)
    index = InvertedIndex.build(np.eye(3) * 2)
    for survive in range(10):
        calls = 0
        real = getattr(os, fails)

        def broken(*args: Any, limit: int = survive, real: Any = real) -> Any:
            nonlocal calls
            calls += 1
            if calls > limit:
                raise OSError(28, "No space left on device")
            return real(*args)

        with monkeypatch.context() as patch:
            patch.setattr(files.os, fails, broken)
            try:
                index.save(folder)
            except OSError:
                assert answers_of_eye(folder) in (old, [[2.0]])
            else:
                break
    assert answers_of_eye(folder) == [[2.0]]


def answers_of_eye(folder: Path) -> list[list[float]]:
    index = InvertedIndex.open(folder)
    index.verify()
    scores: list[list[float]] = index.search(np.eye(3)[:1], 1)[1].tolist()
    return scores


def test_opening_reads_little(tmp_path: Path) -> None:
    index = InvertedIndex.build(np.eye(2_000, dtype=np.float32))
    index.save(tmp_path / "i")
    opened = InvertedIndex.open(tmp_path / "i")
    assert not any(block._content.sound for block in opened._state.blocks)
    opened.search(np.eye(2_000)[:1], 1)
    assert opened._state.blocks[0].checked.sum() <= 2


def test_xxh64_is_the_standard_one() -> None:
    """Vectors of the reference implementation (seed 0)."""
    assert int(xxh64(np.zeros(0, np.uint32), 0, 0)) == 0xEF46DB3751D8E999
    text = np.frombuffer(b"Nobody inspects the spammish repetition ", np.uint32)
    expected = {
        1: 0x265FAA35D7AFEC64,
        3: 0xA45D439F3F93E297,
        7: 0x224C07E39D831376,
        8: 0x96F5BFCBFE7F0D1A,
        9: 0xFDE2562A393270B7,
        10: 0x43D11B06188CB953,
    }
    for n, digest in expected.items():
        assert int(xxh64(text, 0, n)) == digest


def test_rows_let_go_are_read_again(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    X = random_rows(rng, 900, 40, tame=True)
    index = InvertedIndex.build(X)
    index.save(tmp_path / "index.lwx")
    opened = InvertedIndex.open(tmp_path / "index.lwx")
    expected = [part.tolist() for part in index.search(X[:5], 7)]
    (block,) = opened._state.blocks
    # The rows have whole pages of their own, so that there is something to let go.
    assert places(block.sizes)[2] - places(block.sizes)[1] > 3 * mmap.PAGESIZE
    for let_go in (opened.verify, block.release_rows, opened.compact):
        assert [part.tolist() for part in opened.search(X[:5], 7)] == expected
        let_go()
        assert [part.tolist() for part in opened.search(X[:5], 7)] == expected


def test_advice_that_the_system_refuses_is_no_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    X = random_rows(np.random.default_rng(0), 900, 40, tame=True)
    InvertedIndex.build(X).save(tmp_path / "index.lwx")
    # 9,999 is no advice that any system knows.
    monkeypatch.setattr(mmap, "MADV_RANDOM", 9_999, raising=False)
    InvertedIndex.open(tmp_path / "index.lwx").verify()
    monkeypatch.delattr(mmap, "MADV_RANDOM")
    InvertedIndex.open(tmp_path / "index.lwx").verify()
