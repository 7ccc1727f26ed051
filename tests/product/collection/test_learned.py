"""What was learned, as it is shown: words with their places, the curve, the log."""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import pytest

from likewise.collection.collection import Collection
from likewise.errors import InvalidInput
from likewise.images.decode import decode
from likewise.spaces.base import DECODE_SIDE
from tests.product.collection.pictures import small_scenes, write, write_pictures
from tests.product.private import states_of, views_of


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("learned")
    write_pictures(root / "pictures")
    with Collection.create(root / "photos.lw", deep=False) as col:
        col.add(root / "pictures", workers=0)
    return root


@pytest.fixture
def col(built: Path, tmp_path: Path):
    """A copy with a profile over words; the pictures are shared."""
    shutil.copytree(built / "photos.lw", tmp_path / "photos.lw")
    with Collection.open(tmp_path / "photos.lw") as collection:
        collection.profiles.create("mine", "words")
        yield collection


def picture(col: Collection, built: Path, name: str) -> int:
    return col.id_of(built / "pictures" / f"{name}.jpg")


def teach(col: Collection, built: Path) -> list[tuple[int, int, int]]:
    """Three judgements of one liked and one disliked picture each; gives them as triplets.

    Two go against the eye, so that there is much to learn whatever the margin.
    """
    said = [("china-0", "coins-0", "china-1"), ("coffee-0", "coffee-2", "rocket-1"),
            ("chelsea-1", "flower-0", "chelsea-0")]  # fmt: skip
    rows = [tuple(picture(col, built, name) for name in names) for names in said]
    for query, liked, disliked in rows:
        col.judge(query, [liked], [disliked], profile="mine")
    return rows


def test_words_moved_most_with_places_that_hold_them(col: Collection, built: Path) -> None:
    teach(col, built)
    found = col.profiles.report("mine", top=3, examples=2)
    assert (found.space, found.feature, found.start) == ("words", "words", 1.0)
    for words, sign in ((found.gained, 1), (found.lost, -1)):
        moves = [sign * word.change for word in words]
        assert len(moves) == 3
        assert moves == sorted(moves, reverse=True)
        assert min(moves) > 0
        assert all(word.weight == pytest.approx(1 + word.change) for word in words)
    assert found.n_gained >= 3
    assert found.figures.changed == pytest.approx((found.n_gained + found.n_lost) / found.width)
    space = col.spaces["words"]
    quantise = space.assigner().vocabulary.quantise
    index = views_of(col).view("words").index
    n_examples = 0
    for word in (*found.gained, *found.lost):
        assert word.pictures == np.count_nonzero(index.rows(index.ids).toarray()[:, word.word])
        for example in word.examples:
            n_examples += 1
            assert index.rows([example.image]).toarray()[0, word.word] > 0
            pixels = decode(example.path, max_side=DECODE_SIDE).pixels
            height, width = pixels.shape[:2]
            assert example.box is not None
            x, y, w, h = example.box
            centre = ((x + w / 2) * width, (y + h / 2) * height)
            local = space.extract(pixels)
            here = np.abs(local.positions - centre).max(axis=1) < 0.01
            here &= np.abs(local.scales - w * width) < 0.01
            assert word.word in quantise(local.descriptors[here])
    assert n_examples >= 6


def test_curve_is_the_share_right_before_it_was_learned(col: Collection, built: Path) -> None:
    triplets = teach(col, built)
    found = col.profiles.report("mine", examples=0)
    rows = views_of(col).view("words").index.rows
    right = 0
    for n, (point, (query, liked, disliked)) in enumerate(
        zip(found.curve, triplets, strict=True), 1
    ):
        q, a, b = rows([query, liked, disliked]).toarray()
        right += q @ a > q @ b
        assert point.asked == n
        assert point.plain == right / n
    last = found.curve[-1]
    assert (last.learned, last.plain) == (found.figures.agreement, found.figures.agreement_plain)
    # With no weight learned before it, the first is asked with plain weights.
    assert found.curve[0].learned == found.curve[0].plain


def test_curve_tells_learned_from_plain(col: Collection, built: Path) -> None:
    """The same small correction again and again: plain weights never come to agree."""
    query = picture(col, built, "china-0")
    disliked, liked = (hit.id for hit in col.search(query, k=6, by="words")[-2:])
    q, a, b = views_of(col).view("words").index.rows([query, liked, disliked]).toarray()
    right = 0
    expected = []
    for n in range(1, 9):
        weights = states_of(col).weights("mine", col.spaces["words"])
        right += (q if weights is None else q * weights) @ (a - b) > 0
        expected.append((n, right / n, 0.0))
        col.judge(query, [liked], [disliked], profile="mine")
    curve = col.profiles.report("mine", examples=0).curve
    assert [(point.asked, point.learned, point.plain) for point in curve] == expected
    # Otherwise the two shares could be mixed up unseen.
    assert curve[-1].learned > 0


def test_undo_takes_its_point_and_words_back(col: Collection, built: Path) -> None:
    teach(col, built)
    before = col.profiles.report("mine", examples=1)
    number = col.judge(
        picture(col, built, "coins-1"), [picture(col, built, "coins-2")], profile="mine"
    ).number
    changed = col.profiles.report("mine", examples=1)
    assert changed.curve[:3] == before.curve
    assert changed.curve[-1].judgement == number
    col.undo(profile="mine")
    after = col.profiles.report("mine", examples=1)
    assert (after.curve, after.gained, after.lost) == (before.curve, before.gained, before.lost)
    assert [line.stands for line in after.log] == [True, True, True, False, True]
    assert after.position == before.position + 2


def test_a_query_from_outside_comes_with_its_small_picture(
    col: Collection, built: Path, tmp_path: Path
) -> None:
    outside = write(tmp_path / "outside.jpg", small_scenes()["astronaut"][10:150, 20:180])
    liked = picture(col, built, "astronaut-0")
    number = col.judge(outside, [liked], profile="mine").number
    found = col.profiles.report("mine", examples=0)
    assert set(found.sketches) == {number}
    assert decode(found.sketches[number]).pixels.shape == (140, 160, 3)
    assert found.paths == {liked: col.image(liked).path}


def test_pictures_that_are_gone_give_no_examples(col: Collection, built: Path) -> None:
    teach(col, built)
    whole = col.profiles.report("mine", top=4, examples=3)
    used = {example.path for word in whole.gained for example in word.examples}
    assert used
    hidden = built / "hidden"
    hidden.mkdir()
    try:
        for path in used:
            shutil.move(path, hidden)
        found = col.profiles.report("mine", top=4, examples=3)
        left = {example.path for word in found.gained for example in word.examples}
        assert not left & used
        assert [word.word for word in found.gained] == [word.word for word in whole.gained]
    finally:
        for path in hidden.iterdir():
            shutil.move(path, built / "pictures")
        hidden.rmdir()


def test_profiles_without_words_or_lessons(col: Collection, built: Path) -> None:
    empty = col.profiles.report("mine")
    assert (empty.gained, empty.lost, empty.curve, empty.log) == ((), (), (), ())
    assert empty.position == 0
    col.profiles.create("colours", "holistic")
    number = col.judge(
        picture(col, built, "coins-1"), [picture(col, built, "coins-2")], profile="colours"
    ).number
    found = col.profiles.report("colours")
    assert found.space is None
    assert found.figures.judgements == 1
    assert [line.number for line in found.log] == [number]
    teach(col, built)
    col.profiles.copy("mine", "copy")
    copied = col.profiles.report("copy", examples=0)
    assert copied.parent == ("mine", col.profiles.version("mine").position)
    assert copied.curve == col.profiles.report("mine", examples=0).curve


@pytest.mark.parametrize("options", [{"top": -1}, {"examples": True}, {"top": 2.0}])
def test_refusals(col: Collection, options: dict[str, object]) -> None:
    with pytest.raises(InvalidInput, match="whole number"):
        col.profiles.report("mine", **options)  # type: ignore[arg-type]
