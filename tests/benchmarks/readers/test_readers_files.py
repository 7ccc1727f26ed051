"""Finding files: every failure names the file and, in a text, the line."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from benchmarks.readers.files import (
    Catalogue,
    first_missing,
    need_folder,
    photos_by_name,
    read_lines,
    read_text,
    whole_number,
)
from benchmarks.readers.numbers import read_table
from likewise.errors import DatasetError
from tests.benchmarks.readers.test_readers_support import grow, refusal


def test_a_missing_folder_and_a_file_in_its_place_read_differently(tmp_path: Path) -> None:
    grow(tmp_path, {"file": ""})
    assert "gone is not there; expected the layout" in refusal(
        need_folder, tmp_path / "gone", "the layout"
    )
    assert "file is not a folder" in refusal(need_folder, tmp_path / "file", "the layout")


def test_photos_skip_hidden_files_and_notes(tmp_path: Path) -> None:
    names = ["a.jpg", "b/c.PNG", ".a.jpg", "b/._c.png", "notes.txt", "__MACOSX/d.jpg", ".t/e.jpg"]
    grow(tmp_path, dict.fromkeys(names, ""))
    assert set(photos_by_name(tmp_path)) == {"a", "c"}


def test_two_photos_of_one_name_are_refused(tmp_path: Path) -> None:
    grow(tmp_path, {"x/a.jpg": "", "y/a.png": ""})
    message = refusal(photos_by_name, tmp_path)
    assert "two pictures are called a" in message
    assert "a.png" in message


def test_a_catalogue_takes_equal_copies_and_refuses_different_ones(tmp_path: Path) -> None:
    grow(tmp_path, {"x/same": "1", "y/same": "1", "x/other": "1", "y/other": "2"})
    catalogue = Catalogue(tmp_path)
    assert catalogue.need("same", "") == tmp_path / "x" / "same"
    assert "two different files are called other" in refusal(catalogue.find, "other")
    assert "no absent anywhere below" in refusal(catalogue.need, "absent", "a list")


def test_bytes_that_are_no_text_name_the_line(tmp_path: Path) -> None:
    grow(tmp_path, {"list.txt": b"one\ntwo\n\xff\xfe\n"})
    assert "list.txt, line 3: not UTF-8 text" in refusal(read_text, tmp_path / "list.txt")


def test_lines_keep_their_numbers_past_blanks_and_windows_ends(tmp_path: Path) -> None:
    grow(tmp_path, {"list.txt": "\ufeffone\r\n\r\n two \r\n"})
    assert read_lines(tmp_path / "list.txt") == [(1, "one"), (3, "two")]


@pytest.mark.parametrize("text", ["", "-1", "1.0", "x", "11", "٣", "9" * 30])
def test_whole_numbers_are_plain_digits_in_range(text: str) -> None:
    with pytest.raises(DatasetError, match=r"here: .*whole number, 0 to 10"):
        whole_number(text, "here", 0, 10)


def test_first_missing() -> None:
    assert first_missing([2, 0, 1]) is None
    assert first_missing([0, 2]) == 1
    assert first_missing([2, 3], start=1) == 1


def test_a_table_reads_blank_lines_and_comments(tmp_path: Path) -> None:
    grow(tmp_path, {"t": "head\n1 2\n\n3 4 % note\n"})
    table = read_table(tmp_path / "t", skip_lines=1, comment="%")
    np.testing.assert_array_equal(table, [[1, 2], [3, 4]])
    assert table.dtype == np.float32


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        ("1 2\n3 4 5\n", "t, line 2: 3 values where 2 were expected"),
        ("1 2\n3 x\n", "t, line 2: 'x' is not a finite number"),
        ("1 2\n\nnan 2\n", "t, line 3: 'nan' is not a finite number"),
        (b"1 2\n\xff\xfe 1\n", "t, line 2"),
        ("", "holds no rows"),
    ],
)
def test_a_bad_table_names_the_line(tmp_path: Path, content: str | bytes, expected: str) -> None:
    grow(tmp_path, {"t": content})
    assert expected in refusal(read_table, tmp_path / "t")


def test_a_table_of_the_wrong_width_is_refused(tmp_path: Path) -> None:
    grow(tmp_path, {"t": "1 2\n3 4\n"})
    assert "line 1: 2 values where 3" in refusal(read_table, tmp_path / "t", columns=3)
