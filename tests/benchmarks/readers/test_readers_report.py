"""The survey: one row a data set, and no exception whatever lies in a folder."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from benchmarks.readers.records import data_root
from benchmarks.readers.report import READERS, survey
from tests.benchmarks.readers.test_readers_support import grow, refusal


@pytest.mark.slow
@pytest.mark.data
def test_every_development_data_set_is_read() -> None:
    root = data_root()
    if root is None:
        pytest.skip("no development data (LIKEWISE_DATA)")
    rows = {row.folder: row for row in survey(root)}
    assert list(rows) == list(READERS)
    kept = {path.name for path in root.iterdir()}
    assert kept <= rows.keys()
    assert {row.folder for row in rows.values() if row.state == "read"} == kept
    texts = {
        "caltech101": "2,560 pictures in 64 classes",
        "cifar10.tar.gz": "60,000 pictures in 10 classes: 10,000 test, 50,000 train",
        "uci-car": "1,728 rows, 6 features, 4 classes",
        "music-aset400": "9,090 triplets over 412 objects, 58 genres, 17 rows left out",
        "oxford1k": "1,008 pictures, 55 queries (10 present)",
        "nuswide81-labels": "269,648 rows, 81 labels (209,347 rows with one or more)",
    }
    for folder in texts.keys() & kept:
        assert rows[folder].text.startswith(texts[folder])
        assert rows[folder].seconds > 0


def test_absent_and_refused(tmp_path: Path) -> None:
    (tmp_path / "paris6k").mkdir()
    grow(tmp_path, {"uci-car/car.data": "nonsense\n", "holidays/jpg/100000.jpg": ""})
    rows = {row.folder: row for row in survey(tmp_path)}
    assert rows["uci-car"].state == "refused"
    assert "car.data, line 1" in rows["uci-car"].text
    assert rows["paris6k"].state == "refused"
    assert rows["holidays"].text == "1 pictures, 1 queries (1 present)"
    assert {
        row.state for name, row in rows.items() if name not in ("uci-car", "paris6k", "holidays")
    } == {"absent"}


def test_every_folder_empty_is_refused_in_words(tmp_path: Path) -> None:
    for folder in READERS:
        (tmp_path / folder).mkdir()
    assert {row.state for row in survey(tmp_path)} == {"refused"}
    assert all(row.text for row in survey(tmp_path))


def test_a_root_that_is_none(tmp_path: Path) -> None:
    assert "is not a folder" in refusal(survey, tmp_path / "gone")


def test_the_records_and_the_survey_import_nothing_heavy() -> None:
    code = (
        "import sys, benchmarks.readers.report;"
        "print([m for m in ('scipy', 'h5py', 'PIL', 'tarfile') if m in sys.modules])"
    )
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ran.stdout.strip() == "[]"
