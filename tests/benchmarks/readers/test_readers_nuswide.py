"""NUS-WIDE, full, LITE and labels only: official file names, whatever the folders."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from scipy import sparse

from benchmarks.readers.nuswide import read_nuswide, read_nuswide_labels, read_nuswide_lite
from likewise.errors import InvalidInput
from tests.benchmarks.readers.test_readers_support import development, grow, refusal

LOW = "NUS_WID_Low_Level_Features/Low_Level_Features"
TRUTH = "Groundtruth/TrainTestLabels"
FULL = {
    "ConceptsList/Concepts81.txt": "airport\nsky \n",
    f"{TRUTH}/Labels_airport_Train.txt": "0\n1\n0\n",
    f"{TRUTH}/Labels_airport_Test.txt": "1\r\n0\r\n",
    f"{TRUTH}/Labels_sky_Train.txt": "1\n1\n0\n",
    f"{TRUTH}/Labels_sky_Test.txt": "0\n0\n",
    f"{LOW}/Train_Normalized_CM55.dat": "1 2 3 \n4 5 6 \n7 8 9 \n",
    f"{LOW}/Test_Normalized_CM55.dat": "-1 0 0.5\n1 1 1\n",
    f"{LOW}/Train_Normalized_EDH.dat": "10 20\n30 40\n50 60\n",
    f"{LOW}/Test_Normalized_EDH.dat": "70 80\n90 0\n",
    f"{LOW}/BoW_Train_int.dat": "1 0 2\n0 0 1\n5 5 5\n",
    f"{LOW}/BoW_Test_int.dat": "0 0 0\n1 1 1\n",
    "ImageList/TrainImagelist.txt": "actor\\1.jpg\nactor\\2.jpg\nsky\\3.jpg\n",
    "ImageList/TestImagelist.txt": "actor\\4.jpg\nsky\\5.jpg\n",
    "Groundtruth/AllLabels/Labels_airport.txt": "0\n1\n0\n1\n0\n",
    "Groundtruth/AllLabels/Labels_sky.txt": "1\n1\n0\n0\n0\n",
    f"{LOW}/Normalized_CM55.dat": "1 1 1\n" * 5,
}
LITE = {
    "NUS-WIDE-Lite/Concepts81.txt": "airport\nsky\n",
    "NUS-WIDE-Lite/NUS-WIDE-Lite_groundtruth/Lite_Labels_airport_Train.txt": "0\n1\n",
    "NUS-WIDE-Lite/NUS-WIDE-Lite_groundtruth/Lite_Labels_airport_Test.txt": "1\n",
    "NUS-WIDE-Lite/NUS-WIDE-Lite_groundtruth/Lite_Labels_sky_Train.txt": "1\n1\n",
    "NUS-WIDE-Lite/NUS-WIDE-Lite_groundtruth/Lite_Labels_sky_Test.txt": "0\n",
    "NUS-WIDE-Lite/NUS-WIDE-Lite_features/Normalized_WT_Lite_Train.dat": "1 2\n3 4\n",
    "NUS-WIDE-Lite/NUS-WIDE-Lite_features/Normalized_WT_Lite_Test.dat": "5 6\n",
    "NUS-WIDE-Lite/image list/Train_imageOutPutFileList.txt": "a\\1.jpg\na\\2.jpg\n",
    "NUS-WIDE-Lite/image list/Test_imageOutPutFileList.txt": "b\\3.jpg\n",
}
SMALL = {
    "label_ids.txt": "0\ttower\n1\tsky\n2\telk\n",
    "full_image_id.txt": "11\n12\n13\n14\n",
    "mul_label_ids.txt": "0\t1\n2\t2 0\n",
}


def test_full(tmp_path: Path) -> None:
    data = read_nuswide(grow(tmp_path, dict(FULL)), ("CM55", "EDH"))
    assert list(data.labels) == ["airport", "sky"]
    assert list(data.split) == ["train"] * 3 + ["test"] * 2
    assert data.X.tolist()[0] == [1, 2, 3, 10, 20]
    assert data.X.tolist()[3] == [-1, 0, 0.5, 70, 80]
    assert data.X.dtype == np.float32
    assert data.blocks == {"CM55": slice(0, 3), "EDH": slice(3, 5)}
    assert data.X[:, data.blocks["EDH"]].tolist()[1] == [30, 40]
    assert list(data.features) == ["CM550", "CM551", "CM552", "EDH0", "EDH1"]
    assert sparse.issparse(data.Y)
    assert data.Y.toarray().tolist() == [[0, 1], [1, 1], [0, 0], [1, 0], [0, 0]]
    assert data.ids[2] == "sky/3.jpg"


def test_labels_alone_whole_files_and_bags_of_words(tmp_path: Path) -> None:
    grow(tmp_path, dict(FULL))
    labels = read_nuswide(tmp_path, ())
    assert labels.X is None
    assert len(labels) == 5
    assert read_nuswide(tmp_path, ["BoW"]).X.tolist()[2] == [5, 5, 5]
    whole = read_nuswide(tmp_path, ["CM55"], whole=True)
    assert list(whole.split) == []
    assert whole.X.shape == (5, 3)
    assert (whole.Y != labels.Y).nnz == 0


def test_picture_lists_are_optional_but_all_or_none(tmp_path: Path) -> None:
    grow(tmp_path, dict(FULL))
    (tmp_path / "ImageList" / "TestImagelist.txt").unlink()
    assert "a picture list is there for one part" in refusal(read_nuswide, tmp_path, ())
    (tmp_path / "ImageList" / "TrainImagelist.txt").unlink()
    assert list(read_nuswide(tmp_path, ()).ids) == []


def test_lite(tmp_path: Path) -> None:
    data = read_nuswide_lite(grow(tmp_path, dict(LITE)), ["WT"])
    assert data.X.tolist() == [[1, 2], [3, 4], [5, 6]]
    assert data.Y.toarray().tolist() == [[0, 1], [1, 1], [1, 0]]
    assert list(data.split) == ["train", "train", "test"]
    assert list(data.ids) == ["a/1.jpg", "a/2.jpg", "b/3.jpg"]
    with pytest.raises(InvalidInput, match="feature 'BoW' is unknown here; choose among CH"):
        read_nuswide_lite(tmp_path, ["BoW"])


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        ({f"{TRUTH}/Labels_sky_Train.txt": "1\n1\n"}, "Labels_sky_Train.txt: 2 rows where 3"),
        ({f"{TRUTH}/Labels_sky_Train.txt": "1\n2\n0\n"}, "line 2: '2' where 0 or 1"),
        ({f"{TRUTH}/Labels_sky_Train.txt": "1\n11\n"}, "line 2: '11' where 0 or 1"),
        ({f"{TRUTH}/Labels_sky_Train.txt": b"1\n\xff\n0\n"}, "Labels_sky_Train.txt, line 2"),
        ({f"{TRUTH}/Labels_sky_Train.txt": ""}, "holds no labels"),
        ({f"{LOW}/Train_Normalized_EDH.dat": "1 2\n3 4\n"}, "EDH.dat: 2 rows where 3"),
        ({f"{LOW}/Train_Normalized_EDH.dat": "1 2\n3 4\n5\n"}, "EDH.dat, line 3: 1 values where 2"),
        ({f"{LOW}/Train_Normalized_EDH.dat": "1\n3\n5\n"}, "EDH has 1 columns in one part and 2"),
        ({"ConceptsList/Concepts81.txt": "sky\nsky\n"}, "2 concepts, 1 of them different"),
        ({"ConceptsList/Concepts81.txt": "sky\nelk\n"}, "no Labels_elk_Train.txt anywhere below"),
        ({"ImageList/TestImagelist.txt": "a\n"}, "TestImagelist.txt: 1 rows where 2"),
        ({"copy/Test_Normalized_EDH.dat": "1 2\n3 4\n"}, "two different files are called"),
    ],
)
def test_what_does_not_fit(tmp_path: Path, change: dict[str, str | bytes], expected: str) -> None:
    grow(tmp_path, {**FULL, **change})
    assert expected in refusal(read_nuswide, tmp_path, ("CM55", "EDH"))


def test_missing_parts_and_unknown_features(tmp_path: Path) -> None:
    assert "no Concepts81.txt anywhere below" in refusal(read_nuswide, tmp_path)
    grow(tmp_path, dict(FULL))
    assert "no Train_Normalized_WT.dat" in refusal(read_nuswide, tmp_path)
    with pytest.raises(InvalidInput, match="feature 'SIFT' is unknown"):
        read_nuswide(tmp_path, ["SIFT"])


@pytest.mark.data
def test_nuswide81_labels() -> None:
    data = read_nuswide_labels(development("nuswide81-labels"))
    assert data.Y.shape == (269_648, 81)
    assert data.Y.dtype == np.uint8
    counts = np.asarray(data.Y.sum(axis=1, dtype=int)).ravel()
    assert (counts > 0).sum() == 209_347
    assert counts.max() == 13
    assert round(counts[counts > 0].mean(), 2) == 2.41
    sky = list(data.labels).index("sky")
    assert data.Y[:, [sky]].sum(dtype=int) == 74_190
    labelled = read_nuswide_labels(development("nuswide81-labels"), labelled_only=True)
    assert labelled.Y.shape == (209_347, 81)
    assert len(labelled.ids) == 209_347


def test_labels_only(tmp_path: Path) -> None:
    data = read_nuswide_labels(grow(tmp_path, dict(SMALL)))
    assert data.X is None
    assert data.Y.toarray().tolist() == [[0, 1, 0], [0, 0, 0], [1, 0, 1], [0, 0, 0]]
    assert list(read_nuswide_labels(tmp_path, labelled_only=True).ids) == ["11", "13"]


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        ({"label_ids.txt": "0\ttower\n2\tsky\n"}, "label_ids.txt, line 2: '2'"),
        ({"mul_label_ids.txt": "0\t1\n4\t1\n"}, "mul_label_ids.txt, line 2: '4'"),
        ({"mul_label_ids.txt": "2\t1\n2\t1\n"}, "mul_label_ids.txt, line 2: '2'"),
        ({"mul_label_ids.txt": "0\t3\n"}, "line 1: concept '3' where 0 to 2"),
        ({"mul_label_ids.txt": "0\n"}, "line 1: picture 0 without a concept"),
    ],
)
def test_bad_label_lines(tmp_path: Path, change: dict[str, str], expected: str) -> None:
    assert expected in refusal(read_nuswide_labels, grow(tmp_path, {**SMALL, **change}))
    (tmp_path / "full_image_id.txt").unlink()
    assert "full_image_id.txt is not there" in refusal(
        read_nuswide_labels, grow(tmp_path, {"label_ids.txt": "0\tsky\n"})
    )
