"""Flickr8k's reader, on files small enough to check by hand."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks.readers import read_flickr8k
from likewise.errors import DatasetError

HEAD = "image\tsplit\tnumber\tcaption\n"


def written(root: Path, text: str, *pictures: str) -> Path:
    (root / "images").mkdir()
    for name in pictures:
        (root / "images" / name).write_bytes(b"")
    (root / "captions.tsv").write_text(text)
    return root


def test_pictures_come_with_their_captions(tmp_path: Path) -> None:
    lines = ("a.webp\ttrain\t0\tA dog .", 'a.webp\ttrain\t1\tA "big" dog .', "b.webp\tdev\t0\tSea")
    text = HEAD + "\n".join(lines)
    data = read_flickr8k(written(tmp_path, text, "a.webp", "b.webp"))
    assert [path.name for path in data.paths] == ["a.webp", "b.webp"]
    assert data.captions == [["A dog .", 'A "big" dog .'], ["Sea"]]
    assert data.split == ["train", "dev"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "the first line is not"),
        (HEAD, "names no picture"),
        (HEAD + "a.webp\ttrain\t0\n", "line 2: 3 columns; 4 expected"),
        (HEAD + "../a.webp\ttrain\t0\tA dog\n", "is not a file name"),
        (HEAD + "c.webp\ttrain\t0\tA dog\n", "c.webp is not there"),
    ],
)
def test_what_is_wrong_is_said(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(DatasetError, match=message):
        read_flickr8k(written(tmp_path, text, "a.webp"))


def test_bytes_that_are_no_text(tmp_path: Path) -> None:
    written(tmp_path, HEAD)
    (tmp_path / "captions.tsv").write_bytes(HEAD.encode() + b"\xff\xfe\n")
    with pytest.raises(DatasetError, match="is not UTF-8 text"):
        read_flickr8k(tmp_path)
