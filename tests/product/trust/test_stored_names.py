"""What people and strangers name: nothing of it commands a terminal or tells where pictures lie."""

from __future__ import annotations

import struct
from pathlib import Path

import numpy as np
import pytest

from likewise.catalog.schema import MIGRATIONS, SCHEMA_DIGEST, digest_of_schema, expected_schema
from likewise.catalog.sums import row_digest
from likewise.cli.output import print_line
from likewise.collection.collection import Collection
from likewise.errors import InvalidInput
from tests.product.cli.process import Likewise
from tests.product.trust.stored_cases import write_small

EVIL = "a\x1b]0;owned\x07\nb\x9b31m\u202egpj.jpg"


@pytest.fixture(scope="module")
def hostile(tmp_path_factory: pytest.TempPathFactory) -> Likewise:
    """A collection whose pictures have names that speak to terminals."""
    root = tmp_path_factory.mktemp("names")
    paths = write_small(root / "pictures", 4)
    paths[0].rename(root / "pictures" / EVIL)
    paths[1].write_bytes(paths[1].read_bytes()[:300])
    paths[1].rename(root / "pictures" / f"broken {EVIL}")
    made = Likewise(root)
    made("add", root / "pictures", "--workers", 1)
    return made


def test_names_do_not_reach_the_terminal(hostile: Likewise) -> None:
    for command in (
        ("search", 2), ("problems",), ("info",), ("duplicates", "--threshold", "0.1"), ("log",),
        ("check", hostile.folder / "pictures"),
    ):  # fmt: skip
        done = hostile(*command)
        said = done.stdout + done.stderr
        assert not set(said) & set("\x1b\x07\x9b\u202e"), command
        assert "\nb" not in said, command
    assert "\\x1b" in hostile("search", 2).stdout


def test_say_is_for_lines(capsys: pytest.CaptureFixture[str]) -> None:
    print_line("one\ntwo\t\x1b[2J\r\x7f")
    assert capsys.readouterr().out == "one\ntwo\t\\x1b[2J\\r\\x7f\n"


def test_pages_do_not_say_where_pictures_lie(hostile: Likewise, tmp_path: Path) -> None:
    hostile("search", 1, "--sheet", tmp_path / "page.html")
    text = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert str(hostile.folder) not in text
    assert "file://" not in text
    assert "picture 02.jpg" in text


# -- vectors from files ----------------------------------------------------------------------


@pytest.mark.parametrize("shape", [(1 << 40, 1 << 20), (1 << 62, 4), (10, 1 << 34)])
def test_a_header_that_promises_too_much_is_told(
    hostile: Likewise, tmp_path: Path, shape: tuple[int, int]
) -> None:
    header = f"{{'descr': '<f4', 'fortran_order': False, 'shape': {shape}, }}".encode()
    header += b" " * (118 - len(header) - 1) + b"\n"
    file = tmp_path / "huge.npy"
    file.write_bytes(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header + bytes(64))
    (tmp_path / "ids").write_text("1\n")
    hostile("space", "add", "mine", "--feature", "own")
    said = hostile.refused("space", "fill", "mine", file, "--ids", tmp_path / "ids")
    # Told before NumPy asks for the memory.
    assert "is not a plain .npy array: it promises" in said
    assert "bug" not in said


def test_rows_that_cannot_be_compared_are_refused(tmp_path: Path) -> None:
    write_small(tmp_path / "pictures", 4)
    with Collection.create(tmp_path / "photos.lw", deep=False) as col:
        col.add(tmp_path / "pictures", workers=1)
        ids = [row.id for row in col.images()]
        col.spaces.add("mine", {"feature": "own"})
        good = np.random.default_rng(0).normal(size=(len(ids), 6))
        for odd, said in ((good * 3e38 / abs(good).max(), "divide it"), (good * 1e-45, "divide it"),
                          (good + 1j, "complex")):  # fmt: skip
            with pytest.raises(InvalidInput, match=said):
                col.spaces.add_vectors("mine", ids, odd)
        # Zeros have no direction, and are no mistake of scale.
        col.spaces.add_vectors("mine", ids, np.vstack([good[:-1] * 1e15, np.zeros(6)]))
        assert col.search(good[0], by="mine")[0].score == pytest.approx(1.0, abs=1e-6)
        with pytest.raises(InvalidInput, match="complex"):
            col.search(good[0] + 1j, by="mine")


# -- the sums themselves ---------------------------------------------------------------------


def test_the_digest_of_the_schema_is_that_of_its_migrations() -> None:
    assert digest_of_schema(expected_schema(MIGRATIONS)) == SCHEMA_DIGEST


def test_rows_of_other_values_have_other_digests() -> None:
    """No two of these may count as one row, whatever their bytes are when written one after
    another."""
    rows = [
        (1, b"ab"), (1, "ab"), (1, b"a"), ("1", b"ab"), (b"1", b"ab"), (b"1a", b"b"), (None, b"ab"),
        (1.0, b"ab"), (1, b"ab", None), ((1), b"ba"), (b"", b"1ab"), (2, b"ab"),
    ]  # fmt: skip
    assert len({row_digest(row) for row in rows}) == len(rows)
    assert row_digest((1, b"x" * 5000)) == row_digest([1, b"x" * 5000])
