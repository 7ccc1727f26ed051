"""The three sets of human comparisons."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.io import savemat

from benchmarks.readers.comparisons import read_material_appearance, read_music_aset400, read_zappos
from likewise.errors import InvalidInput
from tests.benchmarks.readers.test_readers_support import development, grow, refusal

ENNIS = "data/havran1_ennis_298x298_LDR"


@pytest.mark.data
def test_zappos85() -> None:
    data = read_zappos(development("zappos85-triplets"))
    assert len(data) == 283_770
    assert data.n_objects == len(data.paths) == 85
    assert data.triplets[0].tolist() == [28, 62, 7]
    assert data.paths[28].name == "28.jpg"
    assert len(np.unique(data.triplets)) == 85


def test_zappos_needs_a_photo_for_every_object(tmp_path: Path) -> None:
    grow(tmp_path, {"deconflicted_triplets.csv": "0,1,2\n", "images/0.jpg": "", "images/2.jpg": ""})
    assert "1.jpg is missing" in refusal(read_zappos, tmp_path)
    (tmp_path / "images/2.jpg").rename(tmp_path / "images/1.jpg")
    assert "row 1: (0, 1, 2); ids end at 1" in refusal(read_zappos, tmp_path)
    grow(tmp_path, {"images/2.jpg": ""})
    assert [path.name for path in read_zappos(tmp_path).paths] == ["0.jpg", "1.jpg", "2.jpg"]
    (tmp_path / "deconflicted_triplets.csv").unlink()
    assert "deconflicted_triplets.csv is not there" in refusal(read_zappos, tmp_path)


@pytest.mark.slow
@pytest.mark.data
@pytest.mark.parametrize(
    ("which", "train", "test"),
    [("answers", 22_801, 3_000), ("diff", 21_406, 2_738), ("equal", 1_395, 262)],
)
def test_material_appearance(which: Any, train: int, test: int) -> None:
    data = read_material_appearance(development("material-appearance"), which=which)
    split = np.asarray(data.split)
    assert ((split == "train").sum(), (split == "test").sum()) == (train, test)
    assert data.votes is not None
    assert len(data.votes) == len(data) == train + test
    if which == "answers":
        assert data.votes[split == "train"].sum() == 92_892
        assert data.votes[split == "test"].sum() == 11_800
    if which == "equal":
        assert (data.votes[:, 0] == data.votes[:, 1]).all()
    assert data.n_objects == len(data.names) == 100
    # The order of file names with suffix, in which a hyphen comes before a dot.
    assert data.names.index("chrome-steel") == data.names.index("chrome") - 1
    other = read_material_appearance(development("material-appearance"), lighting="stpeters")
    assert list(other.names) == list(data.names)


def materials(root: Path, **change: Any) -> Path:
    content = {"answers": [[0, 1, 2]], "agreement": [[3, 1]], **change}
    files: dict[str, str | bytes] = {
        f"data/answers_processed_{part}.json": json.dumps(content) for part in ("train", "test")
    }
    return grow(root, files)


def test_material_votes_must_fit(tmp_path: Path) -> None:
    assert read_material_appearance(materials(tmp_path)).paths == []
    for votes in ([[3, 1], [2, 2]], [[3, -1]]):
        message = refusal(read_material_appearance, materials(tmp_path, agreement=votes))
        assert "agreement must hold two counts for each of the 1 rows" in message
    assert "has no 'answers_diff'" in refusal(read_material_appearance, tmp_path, which="diff")
    grow(materials(tmp_path), {f"{ENNIS}/a.jpg": "", f"{ENNIS}/b.jpg": ""})
    assert "ids end at 1" in refusal(read_material_appearance, tmp_path)
    (tmp_path / "data/answers_processed_test.json").unlink()
    grow(tmp_path, {f"{ENNIS}/c.jpg": ""})
    assert "answers_processed_test.json is not there" in refusal(read_material_appearance, tmp_path)


def test_material_options_are_checked(tmp_path: Path) -> None:
    options: list[dict[str, Any]] = [{"which": "ties"}, {"lighting": "moon"}]
    for option in options:
        with pytest.raises(InvalidInput, match="expected"):
            read_material_appearance(materials(tmp_path), **option)


@pytest.mark.data
def test_music_aset400() -> None:
    data = read_music_aset400(development("music-aset400"))
    # 9,107 rows in the file, of which 17 compare an artist with himself.
    assert len(data) == 9_090
    assert data.extra["left_out"].shape == (17, 3)
    assert data.n_objects == 412
    assert len(np.unique(data.triplets)) == 400
    assert data.extra["labels"].shape == (412, 58)
    assert len(data.extra["genres"]) == 58
    assert "r&b" in data.extra["genres"]
    assert data.extra["labels"].max() == 1
    i, j, k = data.triplets.T
    assert ((i != j) & (i != k) & (j != k)).all()


def test_music_without_labels_needs_no_h5py(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "h5py", None)
    savemat(tmp_path / "music_triplets.mat", {"triplets": np.array([[1, 2, 5], [3, 3, 1]])})
    data = read_music_aset400(tmp_path, labels=False)
    assert data.triplets.tolist() == [[0, 1, 4]]
    assert data.extra["left_out"].tolist() == [[2, 2, 0]]
    assert data.n_objects == 5
    assert "music_labels.mat is not there" in refusal(read_music_aset400, tmp_path)
    grow(tmp_path, {"music_labels.mat": ""})
    assert "pip install 'likewise[datasets]'" in refusal(read_music_aset400, tmp_path)
