"""Mulan: the XML says which columns are labels, wherever they stand."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from scipy import sparse

from benchmarks.readers.mulan import read_label_names, read_mulan
from likewise.errors import InvalidInput
from tests.benchmarks.readers.test_readers_support import development, grow, refusal

XML = """<?xml version="1.0" encoding="utf-8"?>
<labels xmlns="http://mulan.sourceforge.net/labels">
<label name="sea"><label name="beach &amp; sand"></label></label>
</labels>"""
HEAD = """@relation r
@attribute "beach & sand" {0,1}
@attribute f1 numeric
@attribute sea {0,1}
@attribute f2 numeric
@data
"""
DENSE = {
    "s.xml": XML,
    "s-train.arff": HEAD + "1,2,0,3\n0,4,1,5\n",
    "s-test.arff": HEAD + "1,6,1,7\n",
}


@pytest.mark.data
def test_corel5k() -> None:
    data = read_mulan(development("corel5k-mulan"))
    assert (len(data.part("train")), len(data.part("test"))) == (4500, 500)
    assert sparse.issparse(data.X)
    assert sparse.issparse(data.Y)
    assert data.X.shape == (5000, 499)
    assert data.Y.shape == (5000, 374)
    assert round(data.X.sum() / 5000, 1) == 8.3
    assert round(data.Y.sum(dtype=int) / 5000, 1) == 3.5
    occurs = {p: set(np.flatnonzero(data.Y[data.part(p)].sum(axis=0))) for p in ("train", "test")}
    assert len(occurs["test"]) == 263
    assert len(occurs["test"] & occurs["train"]) == 260


@pytest.mark.data
def test_corel5k_dense_and_sparse_agree() -> None:
    dense = read_mulan(development("corel5k-mulan"), form="dense")
    full = read_mulan(development("corel5k-mulan"))
    test = full.part("test")
    # The dense training file is not part of the copy.
    assert list(dense.split) == ["test"] * 500
    np.testing.assert_array_equal(dense.X, full.X[test].toarray())
    np.testing.assert_array_equal(dense.Y, full.Y[test].toarray())


@pytest.mark.data
def test_scene() -> None:
    data = read_mulan(development("scene-mulan"))
    assert (len(data.part("train")), len(data.part("test"))) == (1211, 1196)
    assert data.X.shape == (2407, 294)
    assert list(data.labels) == ["Beach", "Sunset", "FallFoliage", "Field", "Mountain", "Urban"]
    assert round(data.Y.sum() / 2407, 2) == 1.07
    assert data.X.dtype == np.float32


def test_labels_anywhere_in_the_order_of_the_xml(tmp_path: Path) -> None:
    data = read_mulan(grow(tmp_path, dict(DENSE)), name="small")
    assert data.name == "small"
    assert list(data.labels) == ["sea", "beach & sand"]
    assert list(data.features) == ["f1", "f2"]
    assert data.X.tolist() == [[2, 3], [4, 5], [6, 7]]
    assert data.Y.tolist() == [[0, 1], [1, 0], [1, 1]]
    assert data.Y.dtype == np.uint8
    assert list(data.split) == ["train", "train", "test"]


def test_one_sparse_part_makes_all_sparse_and_is_preferred(tmp_path: Path) -> None:
    grow(tmp_path, {**DENSE, "s-test-sparse.arff": HEAD + "{0 1,1 6,2 1,3 8}\n"})
    data = read_mulan(tmp_path)
    assert sparse.issparse(data.X)
    assert data.X.toarray().tolist() == [[2, 3], [4, 5], [6, 8]]
    assert read_mulan(tmp_path, form="dense").X.tolist() == [[2, 3], [4, 5], [6, 7]]
    assert list(read_mulan(tmp_path, form="sparse").split) == ["test"]


def test_a_whole_file_has_no_parts(tmp_path: Path) -> None:
    data = read_mulan(grow(tmp_path, {"s.xml": XML, "s.arff": HEAD + "1,2,0,3\n"}))
    assert list(data.split) == []
    assert len(data) == 1


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        ({"t.xml": XML}, "2 .xml files"),
        ({"s-test.arff": HEAD.replace("f2", "f3") + "1,6,1,7\n"}, "the same attributes"),
        ({"s.xml": XML.replace("sea", "lake")}, "label 'lake' is not an attribute"),
        ({"s.xml": XML.replace("sea", "f1")}, "other than 0 and 1"),
        ({"s-test.arff": HEAD + "1,x,1,7\n"}, "s-test.arff, line 7: 'x'"),
    ],
)
def test_parts_that_do_not_fit(tmp_path: Path, change: dict[str, str], expected: str) -> None:
    assert expected in refusal(read_mulan, grow(tmp_path, {**DENSE, **change}))


def test_missing_files(tmp_path: Path) -> None:
    assert "0 .xml files" in refusal(read_mulan, tmp_path)
    message = refusal(read_mulan, grow(tmp_path, {"s.xml": XML}))
    assert "no ARFF files called s" in message
    assert "NAME-train.arff" in message
    grow(tmp_path, dict(DENSE))
    assert "no sparse ARFF files" in refusal(read_mulan, tmp_path, form="sparse")
    with pytest.raises(InvalidInput, match="form='other'"):
        read_mulan(tmp_path, form="other")  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("xml", "expected"),
    [
        ('<!DOCTYPE labels [<!ENTITY a "b">]><labels><label name="&a;"/></labels>', "DTD"),
        ("<!DOCTYPE labels SYSTEM 'file:///etc/passwd'><labels/>", "DTD"),
        ("<labels><label name='a'></labels>", "line 1: not well-formed"),
        ("<labels>\n<label/></labels>", "line 2: a <label> without a name"),
        ("<labels></labels>", "expected <labels>"),
        ("<other><label name='a'/></other>", "expected <labels>"),
        ("<labels><label name='a'/><label name='a'/></labels>", "label 'a' is there twice"),
        ("", "not well-formed"),
        (b"\xff\xfe\x00", "labels.xml"),
        ("<?xml version='1.0' encoding='no-such'?><labels/>", "labels.xml"),
    ],
)
def test_bad_label_files(tmp_path: Path, xml: str | bytes, expected: str) -> None:
    path = grow(tmp_path, {"labels.xml": xml}) / "labels.xml"
    assert expected in refusal(read_label_names, path)
