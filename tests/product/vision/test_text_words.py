"""Words and pictures: the names of the classes, what a text means, its row, a second look."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from likewise.errors import InvalidInput
from likewise.images.decode import decode
from likewise.vision.deep import network as deep_network
from likewise.vision.deep.recipes import activations
from likewise.vision.text import EmptyText, PictureWords, TextModel, TextQuery, feedback, words
from likewise.vision.text.words import N_CLASSES, classifier, picture_classes
from tests.product.vision.deep_cases import needs_deep
from tests.product.vision.text_cases import needs_model, needs_tokenizers, text_folder


@pytest.fixture(scope="module")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("cache")


@pytest.fixture(scope="module")
def tiny(cache: Path, tmp_path_factory: pytest.TempPathFactory) -> PictureWords:
    """The classes under a model of random weights: quick, and everything but meaning is there."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("LIKEWISE_CACHE", str(cache))
        return PictureWords(TextModel.open(text_folder(tmp_path_factory.mktemp("tiny"))))


@pytest.fixture(scope="module")
def real() -> PictureWords:
    # The user's own cache is used: naming the classes takes some seconds, once.
    return PictureWords(TextModel.open())


# -- the names -----------------------------------------------------------------------------------


def test_there_is_a_name_for_each_class() -> None:
    table = picture_classes()
    assert len(table) == N_CLASSES
    assert len({one.synset for one in table}) == N_CLASSES
    # ILSVRC numbers its classes in the order of their synsets.
    assert [one.synset for one in table] == sorted(one.synset for one in table)
    assert table[0].name == "tench"
    assert table[970].sentence == "alp: any high mountain"
    assert all(one.lemmas[0] and one.definition for one in table)


@needs_deep
def test_names_are_in_the_order_of_the_networks_outputs() -> None:
    """Photographs that scikit-image ships show what the classifier says they show."""
    from skimage import data

    shown = {
        "coffee.png": {"espresso", "cup", "coffee mug"},
        "chelsea.png": {"tabby", "Egyptian cat", "tiger cat"},
    }
    W, b = classifier()
    table = picture_classes()
    for file, expected in shown.items():
        picture = decode(Path(data.__file__).parent / file).pixels
        best = np.argsort(-(W @ activations(picture) + b))[:3]
        assert expected & {table[c].name for c in best}, [table[c].name for c in best]


# -- what a text means ---------------------------------------------------------------------------


@needs_tokenizers
def test_a_question_is_classes_with_weights(tiny: PictureWords) -> None:
    asked = tiny.ask("a snowy mountain")
    assert asked.text == "a snowy mountain"
    assert asked.classes.shape == asked.weights.shape == (words.MAX_CLASSES,)
    assert len(set(asked.classes.tolist())) == words.MAX_CLASSES
    assert (np.diff(asked.weights) <= 0).all()
    assert asked.weights.sum() == pytest.approx(1)
    assert 1 <= len(asked.names) <= 3
    assert 0 < asked.known <= 1
    assert -1 <= asked.near <= 1


@needs_tokenizers
def test_the_rule_is_the_one_of_the_docstring(tiny: PictureWords) -> None:
    asked = tiny.ask("lake")
    s = tiny.E.astype(float) @ tiny.model.embed(["lake"])[0]
    for c, one in enumerate(picture_classes()):
        lemmas = [words.words_of(lemma) for lemma in one.lemmas]
        if ("lake",) in lemmas:
            s[c] += words.LEMMA_BONUS
        elif any(lemma and lemma[-1] == "lake" for lemma in lemmas):
            s[c] += words.LAST_WORD_BONUS
    order = np.argsort(-s, kind="stable")[: words.MAX_CLASSES]
    np.testing.assert_array_equal(asked.classes, order)
    expected = np.exp((s[order] - s[order[0]]) / words.TEMPERATURE)
    np.testing.assert_allclose(asked.weights, expected / expected.sum(), rtol=1e-6)


def test_words_of_the_text_itself_count() -> None:
    table = picture_classes()
    said = words.matches("Goldfish")
    assert {table[c].name for c in np.flatnonzero(said == words.LEMMA_BONUS)} == {"goldfish"}
    hinted = words.matches("elephants")
    named = {table[c].name for c in np.flatnonzero(hinted == words.LAST_WORD_BONUS)}
    assert {"Indian elephant", "African elephant"} <= named
    # Of a long text a word is only a part.
    assert words.matches("a goldfish in a bowl").max() == pytest.approx(words.LEMMA_BONUS / 5)
    assert not words.matches("1234").any()
    assert not words.matches("собака").any()


@needs_tokenizers
@pytest.mark.parametrize("text", ["", " \n", "\x00", "…"])
def test_an_empty_text_is_a_typed_error(tiny: PictureWords, text: str) -> None:
    with pytest.raises(EmptyText):
        tiny.ask(text)
    with pytest.raises(EmptyText):
        tiny.similar("a dog", ["a lake", text])


@needs_tokenizers
@pytest.mark.parametrize(
    "text",
    ["x" * 10_000, "snow " * 5_000, "🐶", "كلب على الشاطئ", "\u202edog",
     "'; DROP TABLE pictures; --", 'NEAR("a" "b")* OR -col:', "雪山", "a\x00dog", "half \ud800"],
)  # fmt: skip
def test_whatever_is_typed_has_an_answer(tiny: PictureWords, text: str) -> None:
    asked = tiny.ask(text)
    assert np.isfinite(asked.weights).all()
    assert asked.names


@needs_model
def test_meaning_finds_classes(real: PictureWords) -> None:
    assert real.ask("snowy mountains").names[0] == "alp"
    assert real.ask("bus").names[0] == "school bus"
    table = picture_classes()
    found = {
        table[c].name for c in real.ask("a musical instrument with keys and bellows").classes[:3]
    }
    assert "accordion" in found
    near = real.similar("garden", ["yard", "car", "gardening"])
    assert near[2] > near[0] > near[1]
    assert real.similar("garden", []).shape == (0,)
    # Answers not to be trusted say so.
    assert real.ask("x" * 300).known == 0
    assert real.ask("снежные горы").known == 0
    assert real.ask("снежные горы").unsure
    assert not real.ask("snowy mountains").unsure


# -- the row -------------------------------------------------------------------------------------


def rows(n: int, seed: int = 0) -> np.ndarray:
    """Rows like activations: not negative, with a mean, of unit length."""
    rng = np.random.default_rng(seed)
    made = np.maximum(rng.standard_normal((n, 40)) @ rng.standard_normal((40, 1280)) + 2, 0)
    return (made / np.linalg.norm(made, axis=1, keepdims=True)).astype(np.float32)


@needs_tokenizers
def test_the_row_ranks_as_the_standardised_logits_do(tiny: PictureWords) -> None:
    X = rows(200)
    asked = tiny.ask("a dog")
    row = tiny.row(asked, X.mean(axis=0), np.cov(X.T))
    assert row.shape == (1280,)
    assert row.dtype == np.float32
    assert np.linalg.norm(row) == pytest.approx(1, abs=1e-6)
    logits = X.astype(float) @ tiny.W.T.astype(float) + tiny.b
    z = (logits - logits.mean(axis=0)) / logits.std(axis=0)
    score = z[:, asked.classes] @ asked.weights
    assert np.corrcoef(X @ row, score)[0, 1] > 1 - 1e-5
    by_deviation = tiny.row(asked, X.mean(axis=0), tiny.deviations(X))
    np.testing.assert_allclose(by_deviation, row, atol=1e-5)


@needs_tokenizers
def test_a_collection_of_copies_has_an_answer_too(tiny: PictureWords) -> None:
    X = np.repeat(rows(1), 5, axis=0)
    row = tiny.row(tiny.ask("a dog"), X.mean(axis=0), np.zeros((1280, 1280)))
    assert np.linalg.norm(row) == pytest.approx(1, abs=1e-6)


@needs_tokenizers
def test_wrong_moments_are_refused(tiny: PictureWords) -> None:
    asked = tiny.ask("a dog")
    with pytest.raises(InvalidInput, match=r"mean has shape \(3,\)"):
        tiny.row(asked, np.zeros(3), np.ones(1000))
    with pytest.raises(InvalidInput, match="covariance has shape"):
        tiny.row(asked, np.zeros(1280), np.ones((3, 3)))
    with pytest.raises(InvalidInput, match="NaN"):
        tiny.row(asked, np.zeros(1280), np.full(1000, np.nan))


# -- what is kept --------------------------------------------------------------------------------


@needs_tokenizers
def test_the_words_are_kept_and_damage_costs_only_time(
    tiny: PictureWords, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LIKEWISE_CACHE", str(cache))
    (kept,) = (cache / "models").glob("words-*.arrays")
    embedded = []
    embed = TextModel.embed
    monkeypatch.setattr(
        TextModel, "embed", lambda self, texts: embedded.append(len(texts)) or embed(self, texts)
    )
    again = PictureWords(tiny.model)
    assert embedded == []
    for name in ("E", "W", "b"):
        np.testing.assert_array_equal(getattr(again, name), getattr(tiny, name))
    content = bytearray(kept.read_bytes())
    content[len(content) // 2] ^= 255
    kept.write_bytes(content)
    third = PictureWords(tiny.model)
    assert embedded == [N_CLASSES]
    np.testing.assert_array_equal(third.E, tiny.E)


@needs_tokenizers
def test_a_cache_that_cannot_be_written_is_no_reason_to_fail(
    tiny: PictureWords, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").write_text("in the way of the folder")
    monkeypatch.setenv("LIKEWISE_CACHE", str(tmp_path / "file"))
    np.testing.assert_array_equal(PictureWords(tiny.model).E, tiny.E)


@needs_tokenizers
def test_the_classifier_of_other_weights_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from likewise.vision.deep.libraries import DamagedWeights

    other = tmp_path / "other.pth"
    other.write_bytes(deep_network.weights_path().read_bytes()[:-1])
    monkeypatch.setattr(words, "weights_path", lambda: other)
    with pytest.raises(DamagedWeights, match="damaged or another version"):
        classifier()


# -- a second look -------------------------------------------------------------------------------


def groups(n: int = 60) -> tuple[np.ndarray, np.ndarray]:
    """Three groups of rows, far apart."""
    labels = np.arange(3 * n) % 3
    made = np.eye(3, 8)[labels] + 0.15 * np.random.default_rng(2).standard_normal((3 * n, 8))
    return made / np.linalg.norm(made, axis=1, keepdims=True), labels


def test_a_second_look_finds_what_the_text_missed() -> None:
    X, labels = groups()
    rng = np.random.default_rng(3)
    text = 1.2 * (labels == 1) + rng.standard_normal(len(labels))

    def right(scores: np.ndarray) -> float:
        return float((labels[np.argsort(-scores)[:40]] == 1).mean())

    assert right(feedback.second_look(text, X)) > 0.95 > right(text)
    liked = np.flatnonzero(labels == 2)[:2].tolist()
    again = feedback.liked_look(text, X, liked)
    assert (labels[np.argsort(-again)[:40]] == 2).all()


def test_the_text_keeps_its_share_and_fades_with_likes() -> None:
    text, looks = np.array([3.0, 0.0, 0.0]), np.array([0.0, 0.0, 1.0])
    standard = np.array([2.0, -1.0, -1.0]) / np.sqrt(2)
    np.testing.assert_allclose(feedback.standardise(text), standard)
    fused = feedback.fuse(text, looks)
    np.testing.assert_allclose(fused, 0.2 * standard + 0.8 * standard[::-1])
    assert feedback.text_share(3) == pytest.approx(0.05)
    np.testing.assert_array_equal(feedback.standardise([2.0, 2.0]), [0, 0])


def test_shapes_that_do_not_fit_are_refused() -> None:
    with pytest.raises(InvalidInput, match="at least one row"):
        feedback.mean_row(np.zeros((0, 3)))
    with pytest.raises(InvalidInput, match="text has shape"):
        feedback.second_look(np.zeros(3), np.zeros((4, 2)))
    assert feedback.second_look(np.zeros(0), np.zeros((0, 2))).shape == (0,)
    assert feedback.second_look(np.ones(1), np.ones((1, 2))).shape == (1,)


def test_every_fourth_picture_is_the_texts_own() -> None:
    shown = feedback.interleave_rankings(list(range(30)), list(range(29, -1, -1)))
    assert shown[:8] == [0, 1, 2, 29, 3, 4, 5, 28]
    assert sorted(shown) == list(range(30))
    assert feedback.interleave_rankings([], [4, 5]) == [4, 5]
    assert feedback.interleave_rankings([1, 2], []) == [1, 2]
    assert feedback.interleave_rankings([], []) == []


@needs_tokenizers
def test_a_query_can_be_made_by_hand(tiny: PictureWords) -> None:
    """The row is linear: one class alone is that class's own direction."""
    alone = TextQuery("", np.array([5]), np.array([1.0]), [], 1.0, 1.0)
    row = tiny.row(alone, np.zeros(1280), np.ones(1000))
    np.testing.assert_allclose(row, tiny.W[5] / np.linalg.norm(tiny.W[5]), atol=1e-6)
