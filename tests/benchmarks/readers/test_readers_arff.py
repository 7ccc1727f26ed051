"""ARFF: dense and sparse rows, and every way to get them wrong."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from scipy import sparse

from benchmarks.readers.arff import read_arff
from tests.benchmarks.readers.test_readers_support import grow, refusal

HEAD = "% note\n@RELATION r\n\n@attribute a numeric\n@Attribute 'b \\'c' REAL\n@attribute d {0,1}\n"


def write(root: Path, rows: str, head: str = HEAD) -> Path:
    return grow(root, {"t.arff": head + "@DATA\n" + rows}) / "t.arff"


def test_dense(tmp_path: Path) -> None:
    table = read_arff(write(tmp_path, "1,2.5,0\n% remark\n\n-3e2, 0 ,1\n"))
    assert table.names == ["a", "b 'c", "d"]
    np.testing.assert_array_equal(table.values, [[1, 2.5, 0], [-300, 0, 1]])
    assert table.values.dtype == np.float32


def test_sparse(tmp_path: Path) -> None:
    table = read_arff(write(tmp_path, "{0 1, 2 1}\n{}\n{ 1 2.5 }\n{0 0}\n"))
    assert sparse.issparse(table.values)
    assert table.values.nnz == 3
    np.testing.assert_array_equal(
        table.values.toarray(), [[1, 0, 1], [0, 0, 0], [0, 2.5, 0], [0, 0, 0]]
    )


@pytest.mark.parametrize(
    ("rows", "expected"),
    [
        ("1,2,0\n1,2\n", "t.arff, line 9: 2 values where 3 were expected"),
        ("1,?,0\n", "line 8: '?' is not a finite number"),
        ("1,2,7\n", "attribute 'd' holds 7, which is not among its choices"),
        ("{0 1}\n{0 1,2}\n", "line 9: '{0 1,2}' where"),
        ("{0 1}\n0,1,0\n", "line 9: '0,1,0' where"),
        ("{0 1}\n{0 x}\n", "line 9: entry '0 x'"),
        ("{0 1}\n{x 1}\n", "line 9: entry 'x 1'"),
        ("{0 1}\n{3 1}\n", "line 9: entry '3 1'; indices must grow and lie in 0 to 2"),
        ("{0 1}\n{-1 1}\n", "line 9: entry '-1 1'"),
        ("{1 1}\n\n{1 1,1 2}\n", "line 10: entry '1 2'"),
        ("{2 1}\n{1 1,0 2}\n", "line 9: entry '0 2'"),
        ("{0 1}\n{0 inf}\n", "line 9: entry '0 inf'"),
        ("{0 " + "9" * 400 + "}\n", "line 8"),
        ("{" + "9" * 40 + " 1}\n", "too large"),
        ("{2 0.5}\n", "attribute 'd' holds 0.5"),
        ("\n", "no rows after @data"),
    ],
)
def test_bad_rows(tmp_path: Path, rows: str, expected: str) -> None:
    assert expected in refusal(read_arff, write(tmp_path, rows))


@pytest.mark.parametrize(
    ("head", "expected"),
    [
        ("@relation r\n@attribute a string\n", "line 2: attribute 'a' is string"),
        ("@attribute a {red,green}\n", "line 1: attribute 'a' is {red,green}"),
        ("@attribute a\n", "line 1: '@attribute a' is not '@attribute NAME TYPE'"),
        ("hello\n", "line 1: 'hello' where @attribute was expected"),
        ("@attribute a numeric\n@attribute a numeric\n", "'a' is declared twice"),
        ("", "no @attribute before @data"),
    ],
)
def test_bad_heads(tmp_path: Path, head: str, expected: str) -> None:
    assert expected in refusal(read_arff, write(tmp_path, "1\n", head))


def test_a_sparse_choice_must_start_with_zero(tmp_path: Path) -> None:
    path = write(tmp_path, "{0 1}\n", "@attribute a {1,0}\n")
    assert "does not list 0 first" in refusal(read_arff, path)
    np.testing.assert_array_equal(
        read_arff(write(tmp_path, "1\n0\n", "@attribute a {1,0}\n")).values, [[1], [0]]
    )


def test_a_file_cut_before_its_data(tmp_path: Path) -> None:
    grow(tmp_path, {"t.arff": HEAD})
    assert "no @data line" in refusal(read_arff, tmp_path / "t.arff")
    grow(tmp_path, {"t.arff": b"@relation \xff\n"})
    assert "line 1: not UTF-8" in refusal(read_arff, tmp_path / "t.arff")
