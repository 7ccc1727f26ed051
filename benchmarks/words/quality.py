"""Are the right pictures found?  P@20 and mAP of typed phrases, before and after likes."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from benchmarks.words import phrases
from benchmarks.words.data import CHOSEN_ON, FRESH, Asker, Floats, NamedSet, typed
from likewise.vision.text import feedback
from likewise.vision.text.words import (
    MAX_CLASSES,
    TEMPERATURE,
    PictureWords,
    TextQuery,
    matches,
    picture_classes,
    words_of,
)

K = 20
LIKES = (1, 3, 10)
TAGGED = 5
"""Pictures of each class that bear its name, for the column of tags only."""

Row = dict[str, object]
Order = NDArray[np.int64]
Measures = tuple[float, float]


def ordered(scores: Floats) -> Order:
    return np.argsort(-scores, kind="stable")


def measures(order: Order | Sequence[int], right: NDArray[np.bool_]) -> Measures:
    """P@20 and average precision; pictures that are not in the order were not found."""
    hits = right[np.asarray(order, np.int64)]
    precision = np.cumsum(hits) / np.arange(1, len(hits) + 1)
    return float(hits[:K].sum() / K), float(precision[hits].sum() / right.sum())


def shown(text: Floats, pictures: NamedSet) -> list[int]:
    """The list that is shown: the second look, with the text's own in every fourth place."""
    better = feedback.second_look(text, pictures.looks)
    return feedback.interleave_rankings(ordered(better).tolist(), ordered(text).tolist())


def after_likes(text: Floats, pictures: NamedSet, right: NDArray[np.bool_], n: int) -> list[int]:
    """The list after the first ``n`` right ones of the twenty shown were liked; they stay first."""
    first = shown(text, pictures)
    liked = [one for one in first[:K] if right[one]][:n]
    if not liked:
        return first
    rest = ordered(feedback.liked_look(text, pictures.looks, liked)).tolist()
    return [*liked, *(one for one in rest if one not in set(liked))]


def by_class_name(asker: Asker, text: str) -> Order:
    """The plain classifier: probabilities of the classes of that very name; none: nothing found."""
    words, said = asker.words, words_of(text)
    named = [
        c
        for c, one in enumerate(picture_classes())
        if any(words_of(lemma) == said for lemma in one.lemmas)
    ]
    if not named:
        return np.zeros(0, np.int64)
    # Activations are kept at unit length; 16 is about what they have.
    logits = 16 * asker.pictures.rows @ words.W.T + words.b
    shares = np.exp(logits - logits.max(axis=1, keepdims=True))
    return ordered(shares[:, named].sum(axis=1) / shares.sum(axis=1))


def by_tags(pictures: NamedSet, text: str, rng: np.random.Generator) -> list[int]:
    """Tags only: five pictures of each class bear its name, which must be in the text."""
    found: list[int] = []
    said = set(words_of(text))
    for c, name in enumerate(pictures.classes):
        tagged = rng.choice(np.flatnonzero(pictures.labels == c), TAGGED, replace=False)
        if set(words_of(phrases.spelt(name))) <= said:
            found += tagged.tolist()
    return found


def quality_rows(words: PictureWords, pictures: NamedSet) -> list[Row]:
    asker = Asker(words, pictures)
    made: list[Row] = []
    for kind, texts in typed(pictures).items():
        rng = np.random.default_rng(0)
        found: dict[str, list[Measures]] = {}
        any_right = 0
        for c, text in texts.items():
            right = pictures.labels == c
            scores = asker(words.ask(text))
            lists: dict[str, Order | list[int]] = {
                "tags only": by_tags(pictures, text, rng),
                "class names": by_class_name(asker, text),
                "text": ordered(scores),
                "second look": ordered(feedback.second_look(scores, pictures.looks)),
                "shown": shown(scores, pictures),
            }
            any_right += bool(right[lists["shown"][:K]].any())
            for n in LIKES:
                lists[f"{n} liked"] = after_likes(scores, pictures, right, n)
            for name, order in lists.items():
                found.setdefault(name, []).append(measures(order, right))
        row: Row = {"set": pictures.name, "typed": kind, "phrases": len(texts)}
        row["chosen on"] = "yes" if (pictures.name, kind) in CHOSEN_ON else ""
        row["chance"] = f"{1 / len(pictures.classes):.2f}"
        for name, values in found.items():
            p, ap = np.mean(values, axis=0)
            row[name] = f"{p:.2f} / {ap:.2f}"
        row["one right in 20"] = f"{any_right}/{len(texts)}"
        made.append(row)
    return made


def elsewhere_rows(words: PictureWords, pictures: NamedSet) -> list[Row]:
    """The loose phrases in other languages and as emoji."""
    asker = Asker(words, pictures)
    number = {name: i for i, name in enumerate(pictures.classes)}
    made: list[Row] = []
    for language, texts in {"English": phrases.COREL_LOOSE, **phrases.COREL_ELSEWHERE}.items():
        lists, known = [], []
        for name, text in texts.items():
            right = pictures.labels == number[name]
            query = words.ask(text)
            scores = asker(query)
            lists.append(
                (*measures(ordered(scores), right), *measures(shown(scores, pictures), right))
            )
            known.append((query.known, query.near, query.unsure))
        p, ap, p_shown, ap_shown = np.mean(lists, axis=0)
        made.append(
            {
                "typed in": language,
                "words known": f"{np.mean(known, axis=0)[0]:.2f}",
                "cosine": f"{np.mean(known, axis=0)[1]:.2f}",
                "said to be unsure": f"{sum(unsure for *_, unsure in known)}/{len(known)}",
                "text": f"{p:.2f} / {ap:.2f}",
                "shown": f"{p_shown:.2f} / {ap_shown:.2f}",
            }
        )
    return made


# -- what was tried --------------------------------------------------------------------------------


def variant(
    words: PictureWords,
    E: NDArray[np.float32],
    n_asked: int = MAX_CLASSES,
    temperature: float = TEMPERATURE,
    said: bool = True,
) -> Callable[[str], TextQuery]:
    """The rule with other constants, or other vectors of the classes."""

    def ask(text: str) -> TextQuery:
        s = E.astype(np.float64) @ words.model.embed([text])[0]
        if said:
            s = s + matches(text)
        classes = np.argsort(-s, kind="stable")[:n_asked]
        weights = np.exp((s[classes] - s[classes[0]]) / temperature)
        return TextQuery(text, classes, weights / weights.sum(), [], 1.0, 1.0)

    return ask


def choice_rows(words: PictureWords, all_sets: Sequence[NamedSet]) -> list[Row]:
    """Each choice changed alone: on the phrases it was made on, and on all others."""
    table = picture_classes()
    photo = words.model.embed([f"a photo of a {one.name}" for one in table])
    lemmas = words.model.embed([", ".join(one.lemmas) for one in table])
    E = words.E
    tried: dict[str, tuple[Callable[[str], TextQuery], str]] = {
        "as it is": (words.ask, "shown"),
        "the probe's rule: T 0.05, names not counted": (
            variant(words, E, temperature=0.05, said=False),
            "shown",
        ),
        "... and the first 5 as query": (
            variant(words, E, temperature=0.05, said=False),
            "first 5",
        ),
        "names not counted": (variant(words, E, said=False), "shown"),
        "T 0.05": (variant(words, E, temperature=0.05), "shown"),
        "T 0.12": (variant(words, E, temperature=0.12), "shown"),
        "10 classes": (variant(words, E, 10), "shown"),
        "40 classes": (variant(words, E, 40), "shown"),
        "'a photo of a NAME'": (variant(words, photo), "shown"),
        "lemmas without definition": (variant(words, lemmas), "shown"),
        "second look, not interleaved": (words.ask, "second look"),
    }
    made: list[Row] = []
    askers = [(Asker(words, pictures), pictures) for pictures in all_sets]
    for name, (ask, list_kind) in tried.items():
        tables: dict[str, list[NDArray[np.float64]]] = {"chosen on": [], "others": [], FRESH: []}
        for asker, pictures in askers:
            for kind, texts in typed(pictures).items():
                values = [
                    _one(asker, pictures, ask(text), list_kind, pictures.labels == c)
                    for c, text in texts.items()
                ]
                chosen = "chosen on" if (pictures.name, kind) in CHOSEN_ON else "others"
                tables[FRESH if kind == FRESH else chosen].append(np.mean(values, axis=0))
        row: Row = {"variant": name}
        for title, means in tables.items():
            if means:
                mean = np.mean(means, axis=0)
                row[f"{title}: text"] = f"{mean[0]:.3f} / {mean[1]:.3f}"
                row[f"{title}: pictures"] = f"{mean[2]:.3f} / {mean[3]:.3f}"
                row[f"{title}: 3 liked"] = f"{mean[4]:.3f} / {mean[5]:.3f}"
        made.append(row)
    return made


def _one(
    asker: Asker, pictures: NamedSet, query: TextQuery, list_kind: str, right: NDArray[np.bool_]
) -> list[float]:
    text = asker(query)
    looks = pictures.looks
    if list_kind == "shown":
        first = shown(text, pictures)
    elif list_kind == "second look":
        first = ordered(feedback.second_look(text, looks)).tolist()
    else:
        first = ordered(looks @ feedback.mean_row(looks[ordered(text)[:5]])).tolist()
    liked = [one for one in first[:K] if right[one]][:3]
    after = first
    if liked:
        rest = ordered(feedback.liked_look(text, looks, liked)).tolist()
        after = [*liked, *(one for one in rest if one not in set(liked))]
    return [*measures(ordered(text), right), *measures(first, right), *measures(after, right)]
