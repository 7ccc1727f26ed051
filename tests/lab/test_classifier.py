"""The classifier: trained from folders, judged on what was held out, saved, asked."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from likewise.collection.collection import Collection
from likewise.errors import CollectionError, InvalidInput
from likewise.images.decode import decode
from likewise_lab.classification import training
from likewise_lab.classification.classifier import Classifier
from likewise_lab.classification.training import _balance, find_labelled, train
from likewise_methods.neighbours.container import DamagedFile
from tests.product.collection.pictures import small_scenes, write

LABELS = ("astronaut", "china", "coins")


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Three labels with eight views each, and two files that are no pictures."""
    root = tmp_path_factory.mktemp("labelled")
    for label in LABELS:
        pixels = small_scenes()[label]
        for i in range(8):
            write(root / label / f"{i}.jpg", pixels[3 * i : 160 + 2 * i, 2 * i :])
    (root / "china" / "broken.jpg").write_bytes(b"\xff\xd8\xff\xe0 no picture")
    (root / "coins" / "notes.txt").write_text("not a picture")
    (root / "empty").mkdir()
    return root


@pytest.fixture(scope="module")
def trained(folders: Path):
    return train(find_labelled(folders), n_words=8, workers=0)


def test_it_is_right_about_what_was_held_out(trained) -> None:
    _, outcome = trained
    assert outcome.labels == LABELS
    assert (outcome.pictures, outcome.held_out) == (24, 6)
    assert outcome.accuracy == 1.0
    assert outcome.by_label == dict.fromkeys(LABELS, (2, 2))
    assert [Path(path).name for path, _ in outcome.skipped] == ["broken.jpg"]


def test_it_names_new_pictures(trained) -> None:
    classifier, _ = trained
    for label in LABELS:
        pixels = np.ascontiguousarray(small_scenes()[label][11:, 7:])
        guesses = classifier.predict(pixels)
        assert guesses[0].label == label
        assert [one.score for one in guesses] == sorted((g.score for g in guesses), reverse=True)
    assert len(classifier.predict(pixels, 2)) == 2
    # A picture without any structure still gets an answer.
    assert len(classifier.predict(np.zeros((40, 40, 3), np.uint8))) == 3


def test_saved_and_opened(trained, folders: Path, tmp_path: Path) -> None:
    classifier, outcome = trained
    classifier.save(tmp_path / "it.lwm")
    again = Classifier.open(tmp_path / "it.lwm")
    picture = decode(folders / "coins" / "3.jpg")
    for now, before in zip(again.predict(picture), classifier.predict(picture), strict=True):
        assert now.label == before.label
        assert now.score == pytest.approx(before.score, abs=1e-5)
    assert again.labels == classifier.labels
    assert again.figures["accuracy"] == outcome.accuracy
    whole = bytearray((tmp_path / "it.lwm").read_bytes())
    whole[-50] ^= 1
    (tmp_path / "it.lwm").write_bytes(whole)
    with pytest.raises(DamagedFile, match="checksum"):
        Classifier.open(tmp_path / "it.lwm")


def test_the_same_seed_gives_the_same_classifier(trained, folders: Path) -> None:
    again, outcome = train(find_labelled(folders), n_words=8, workers=0)
    assert np.array_equal(again.weights, trained[0].weights)
    assert outcome == trained[1]


def test_with_and_without_the_factor_it_is_the_same_machine(
    trained, folders: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(training, "FACTOR_BELOW", 0)
    plain, outcome = train(find_labelled(folders), n_words=8, workers=0)
    assert outcome.accuracy == trained[1].accuracy
    assert np.abs(plain.weights - trained[0].weights).max() < 0.02


def test_two_labels_have_a_machine_each(folders: Path) -> None:
    some = {label: paths for label, paths in find_labelled(folders).items() if label != "china"}
    classifier, outcome = train(some, n_words=4, workers=0)
    assert classifier.weights.shape[0] == 2
    assert outcome.accuracy == 1.0
    assert classifier.predict(decode(some["coins"][0]))[0].label == "coins"


def test_pictures_of_a_collection(folders: Path, tmp_path: Path) -> None:
    with Collection.create(tmp_path / "photos.lw", words={"n_words": 50}, deep=False) as col:
        col.add(folders, workers=0)
    found = find_labelled(tmp_path / "photos.lw")
    assert {label: len(paths) for label, paths in found.items()} == dict.fromkeys(LABELS, 8)
    # The file that cannot be decoded is in the folder, and not in the collection.
    assert len(find_labelled(folders)["china"]) == 9


def test_what_cannot_be_learned_from(folders: Path, tmp_path: Path) -> None:
    with pytest.raises(CollectionError, match="is not there"):
        find_labelled(tmp_path / "nowhere")
    with pytest.raises(InvalidInput, match="no folder with pictures"):
        train(find_labelled(tmp_path))
    own = find_labelled(folders)
    with pytest.raises(InvalidInput, match=r"one folder \('china'\); at least two labels"):
        train({"china": own["china"]})
    with pytest.raises(InvalidInput, match="'coins' has 3 pictures; at least 4 expected"):
        train({"china": own["china"], "coins": own["coins"][:3]})
    with pytest.raises(InvalidInput, match="held_out is 1"):
        train(own, held_out=1)
    with pytest.raises(InvalidInput, match="penalty is 0"):
        train(own, penalty=0)
    broken = str(folders / "china" / "broken.jpg")
    with pytest.raises(InvalidInput, match="'china' has 3 readable pictures"):
        train({"china": [*own["china"][:3], broken], "coins": own["coins"]}, n_words=4, workers=0)


def test_unreadable_held_out_pictures_are_replaced() -> None:
    """One of each label is asked and two are learned from, whatever could be read."""
    y = np.repeat([0, 1, 2], [4, 3, 5])
    aside = np.array([1, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 0], bool)
    made = _balance(y, aside)
    for label in range(3):
        assert made[y == label].sum() >= 1
        assert (~made[y == label]).sum() >= 2
    np.testing.assert_array_equal(made[:4], aside[:4])
