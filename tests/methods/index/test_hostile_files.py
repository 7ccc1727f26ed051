"""Files that were forged, cut short while mapped, or that belong to somebody else."""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from likewise_methods.errors import InvalidInput
from likewise_methods.index import files
from likewise_methods.index.blocks import Block
from likewise_methods.index.hashing import xxh64
from likewise_methods.index.inverted import InvertedIndex
from likewise_methods.index.layout import CODE_BITS, CODE_MASK, HEADER_BYTES, DamagedIndex, places

CUT_SHORT = """
import os, sys
import numpy as np
from likewise_methods.index.layout import DamagedIndex
from likewise_methods.index.inverted import InvertedIndex

folder, when = sys.argv[1:]
index = InvertedIndex.open(folder)
if when == "used":
    index.search(np.eye(3000)[:1], 1)
(name,) = [n for n in os.listdir(folder) if n.endswith(".lwb")]
os.truncate(os.path.join(folder, name), 4096)
for call in (
    lambda: index.search(np.eye(3000)[:1], 1), lambda: index.ids, index.verify,
    lambda: InvertedIndex.union([index, index]),
):
    try:
        call()
    except DamagedIndex as error:
        assert "4096 bytes" in str(error), error
    else:
        sys.exit("nobody noticed")
"""


@pytest.mark.skipif(os.name == "nt", reason="a mapped file cannot be cut short there")
@pytest.mark.parametrize("when", ["fresh", "used"])
def test_a_file_cut_short_after_open_is_an_error(when: str, tmp_path: Path) -> None:
    """In a process of its own: what this guards against kills."""
    InvertedIndex.build(np.eye(3000, dtype=np.float32)).save(tmp_path / "i")
    done = subprocess.run(
        [sys.executable, "-c", CUT_SHORT, str(tmp_path / "i"), when],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr


def test_a_replaced_file_stays_usable(tmp_path: Path) -> None:
    """Saving replaces files, so an index mapped from the old ones goes on."""
    InvertedIndex.build(np.eye(3)).save(tmp_path / "i")
    opened = InvertedIndex.open(tmp_path / "i")
    InvertedIndex.build(np.eye(3) * 2).save(tmp_path / "i")
    assert opened.search(np.eye(3)[:1], 1)[1].tolist() == [[1.0]]
    opened.verify()


def test_offsets_whose_differences_wrap_are_refused(tmp_path: Path) -> None:
    index = InvertedIndex.build(np.ones((8, 3), np.float32))
    (block,) = index._state.blocks
    where, rows_at, _ = places(block.sizes)
    buffer = block.buffer.copy()
    ends = buffer[where["row_ends"][0] :][: 8 * 9].view("<i8")
    for t in range(1, 8):
        # The last differences wrap around int64 to something positive.
        ends[t] = np.uint64((t << 61) & (2**64 - 1)).astype(np.int64)
    assert (np.diff(ends) >= 0).all()
    checksum = int(xxh64(buffer.view("<u4"), HEADER_BYTES // 4, rows_at // 4))
    forged = Block.of_buffer(block.sizes, checksum, buffer, tmp_path, None)
    # Nothing but the check itself: with the fault in place a search would crash.
    with pytest.raises(DamagedIndex, match="out of range"):
        forged.views()


@pytest.mark.parametrize("section", ["codes", "column_words"])
def test_a_picture_twice_in_a_list_or_a_word_twice_in_columns_is_refused(
    section: str, tmp_path: Path
) -> None:
    """A list longer than there are pictures would be read beyond its place."""
    X = np.zeros((400, 4), np.float32)
    X[:40, 0] = 1  # a long list
    X[:, 1:3] = 1  # columns
    X[40:, 3] = 1
    (block,) = InvertedIndex.build(X)._state.blocks
    where, rows_at, _ = places(block.sizes)
    buffer = block.buffer.copy()
    at, kind, length = where[section]
    values = buffer[at : at + length * np.dtype(kind).itemsize].view(kind)
    if section == "codes":
        assert (values[1:40] >> CODE_BITS == 1).all()
        values[20] &= CODE_MASK
    else:
        values[1] = values[0]
    checksum = int(xxh64(buffer.view("<u4"), HEADER_BYTES // 4, rows_at // 4))
    with pytest.raises(DamagedIndex, match="out of range"):
        Block.of_buffer(block.sizes, checksum, buffer, tmp_path, None).views()


def forge(folder: Path, payload: bytes, bits: bytes = b"") -> None:
    """A manifest with a right checksum and any content."""
    tail = payload + bits
    digest = hashlib.blake2b(tail, digest_size=16).digest()
    head = files._HEAD.pack(
        files._MAGIC, files._VERSION, len(payload), files._HEAD.size + len(tail), digest
    )
    (folder / files.MANIFEST).write_bytes(head + tail)


GOOD: dict[str, Any] = {"width": 3, "next_id": 3, "drop": None, "blocks": []}


@pytest.mark.parametrize(
    "change",
    [
        {"width": float("inf")},
        {"width": -1},
        {"width": 2**80},
        {"next_id": -1},
        {"next_id": 2**63 + 1},
        {"drop": -1},
        {"drop": 2**60},
        {"drop": 3},
        {"drop": float("nan")},
        {"blocks": 5},
        {"blocks": [7]},
        {"blocks": [{"file": "..", "header": "", "dead": 0}]},
        {"blocks": [{"file": "a\x00b", "header": "", "dead": 0}]},
        {"blocks": [{"file": "x" * 5000, "header": "", "dead": 0}]},
        {"blocks": [{"file": "0" * 24 + ".lwb", "header": "00", "dead": float("inf")}]},
    ],
)
def test_a_forged_manifest_is_a_damaged_index(change: dict[str, Any], tmp_path: Path) -> None:
    forge(tmp_path, json.dumps(GOOD).encode())
    assert len(InvertedIndex.open(tmp_path)) == 0
    forge(tmp_path, json.dumps(GOOD | change).encode())
    with pytest.raises(DamagedIndex):
        InvertedIndex.open(tmp_path)


@pytest.mark.parametrize("payload", [b"[" * 200_000, b"\xff\xfe", b"9" * 5000, b'{"width": 1}'])
def test_a_manifest_that_is_no_description(payload: bytes, tmp_path: Path) -> None:
    forge(tmp_path, payload)
    with pytest.raises(DamagedIndex):
        InvertedIndex.open(tmp_path)


def test_folders_where_files_should_be(tmp_path: Path) -> None:
    InvertedIndex.build(np.eye(3)).save(tmp_path / "i")
    (block,) = (tmp_path / "i").glob("*.lwb")
    block.unlink()
    block.mkdir()
    with pytest.raises(DamagedIndex, match="folder"):
        InvertedIndex.open(tmp_path / "i")
    (tmp_path / "j" / files.MANIFEST).mkdir(parents=True)
    with pytest.raises(DamagedIndex, match="folder"):
        InvertedIndex.open(tmp_path / "j")


def test_save_sweeps_nothing_but_its_own(tmp_path: Path) -> None:
    folder = tmp_path / "i"
    index = InvertedIndex.build(np.eye(3))
    index.save(folder)
    other = "ab" * 12 + ".lwb.1.new"
    kept = ["letter.new", "notes.lwb", ".DS_Store", other]
    swept = ["cd" * 12 + ".lwb", "cd" * 12 + ".lwb.new", f"manifest.lwx.{os.getpid()}.new"]
    for name in kept + swept:
        (folder / name).touch()
    index.save(folder)
    names = {path.name for path in folder.iterdir()}
    assert names.issuperset(kept)
    assert not names.intersection(swept)
    # What another process left long ago goes as well.
    long_ago = time.time() - 3 * 24 * 3600
    os.utime(folder / other, (long_ago, long_ago))
    index.save(folder)
    assert not (folder / other).exists()


@pytest.mark.parametrize("name", ["letter.new", "notes.lwb"])
def test_a_folder_of_somebody_else_is_refused(name: str, tmp_path: Path) -> None:
    (tmp_path / name).touch()
    with pytest.raises(InvalidInput, match="not an index"):
        InvertedIndex.build(np.eye(3)).save(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == [name]


def test_unfinished_files_carry_the_process(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen = []
    real = os.replace

    def watch(source: Path, target: Path) -> None:
        seen.append(Path(source).name)
        real(source, target)

    monkeypatch.setattr(files.os, "replace", watch)
    InvertedIndex.build(np.eye(3)).save(tmp_path / "i")
    assert len(seen) == 2
    assert all(name.endswith(f".{os.getpid()}.new") for name in seen)


@pytest.mark.parametrize("saves", [5, 1000])
def test_open_looks_again_while_others_save(
    saves: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every look at the blocks comes just too late, five times or for ever."""
    folder = tmp_path / "i"
    InvertedIndex.build(np.eye(3)).save(folder)
    real = files._read_blocks
    looks = 0

    def late(*args: Any) -> Any:
        nonlocal looks
        looks += 1
        if looks <= saves:
            InvertedIndex.build(np.eye(3) * (looks + 1)).save(folder)
        return real(*args)

    monkeypatch.setattr(files, "_read_blocks", late)
    if saves > files._LOOKS:
        with pytest.raises(DamagedIndex):
            InvertedIndex.open(folder)
        assert looks <= files._LOOKS + 1
    else:
        assert InvertedIndex.open(folder).search(np.eye(3)[:1], 1)[1].tolist() == [[saves + 1.0]]
