"""Find pictures by typed words: a sentence model compares a text with the classes of the pictures'
network, and the network's activations say which pictures show those classes.

After Norouzi et al. 2014 ("convex combination of semantic embeddings"), with class names spelt out;
(1) to (4) are the formulas of docs/methods/words.md.
(1) E_c is the vector of class c, "lemmas: definition", and e that of the text; s_c = E_c . e, plus
a little if the text contains a lemma of c, or a lemma's last word (the "elephant" of "African
elephant"), by the share of the text that it makes up.
(2) w_c ~ exp((s_c - max s) / T) over the N classes of largest s, summing to 1.
(3) A picture's score is sum_c w_c (l_c - m_c) / d_c: logits l = W a + b of its activations a, with
their mean m and deviation d over the collection, so that a class that is strong in every picture
counts for nothing.

(3) is linear in a: but for a constant it is a . sum_c (w_c / d_c) W_c, which is (4).  So a text is
a row over the activations like a picture's own, and any search by dense rows works with it.

``classes.tsv`` has a line for each of the 1,000 classes of ILSVRC 2012, in the order of the
network's outputs: the WordNet synset, its lemmas and its definition (WordNet 3.0's, under its
licence; THIRD_PARTY.md).  The weights of the network have the classifier's W and b.
"""

from __future__ import annotations

import contextlib
import hashlib
import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from importlib import resources
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from likewise.errors import InvalidInput
from likewise.vision.deep.graph import N_CHANNELS
from likewise.vision.deep.libraries import DamagedWeights
from likewise.vision.deep.network import SHA256, cache_folder, check_weights, weights_path
from likewise.vision.deep.weights import read_tensors
from likewise.vision.text.model import TextModel
from likewise.vision.text.tokens import tidy
from likewise_methods.neighbours import DamagedFile, open_arrays, save_arrays

N_CLASSES = 1_000
MAX_CLASSES = 20
TEMPERATURE = 0.08
LEMMA_BONUS, LAST_WORD_BONUS = 0.1, 0.05
"""What a lemma, and the last word of one, add to the cosine if they are the whole text.

All four were chosen on 42 phrases; on phrases written afterwards they are worth a point
(docs/results/words.md)."""
UNSURE = 0.35
"""Nine of 208 English phrases are farther from every class, 23 of 30 in three other languages."""
N_NAMED = 3
"""The most classes that are named to a person."""
_KIND = "picture words"
_BUILT = 1

Floats = NDArray[np.float32]


class PictureClass(NamedTuple):
    """A class of the network."""

    synset: str
    lemmas: tuple[str, ...]
    definition: str

    @property
    def name(self) -> str:
        """The first lemma."""
        return self.lemmas[0]

    @property
    def sentence(self) -> str:
        """The text that a sentence model embeds."""
        return f"{', '.join(self.lemmas)}: {self.definition}"


@lru_cache(maxsize=1)
def picture_classes() -> tuple[PictureClass, ...]:
    """Return all classes, in the order of the network's outputs."""
    read = (line.split("\t") for line in _table().decode().splitlines())
    return tuple(
        PictureClass(synset, tuple(lemmas.split(", ")), definition)
        for synset, lemmas, definition in read
    )


def _table() -> bytes:
    return resources.files("likewise.vision.text").joinpath("classes.tsv").read_bytes()


def classifier() -> tuple[Floats, Floats]:
    """Return W (1000, 1280) and b (1000), the last layer of the pictures' network."""
    path = weights_path()
    check_weights(path)
    tensors = read_tensors(path)
    W, b = tensors.get("_fc.weight"), tensors.get("_fc.bias")
    if W is None or b is None or W.shape != (N_CLASSES, N_CHANNELS) or b.shape != (N_CLASSES,):
        raise DamagedWeights(f"{path} has no classifier of {N_CLASSES:,} classes")
    return np.asarray(W, np.float32), np.asarray(b, np.float32)


@dataclass(frozen=True, eq=False)
class TextQuery:
    """The classes that a text means, strongest first, with weights.

    Attributes
    ----------
    text : str
        The text.
    classes : int64 array
        Numbers of classes.
    weights : float64 array
        The weight of each; they sum to 1.
    names : list of str
        Lemmas of the strongest, for people.
    known : float
        The share of the text's words that the model was taught.
    near : float
        The cosine of the text and the class nearest to it.

    See Also
    --------
    PictureWords : makes it.
    """

    text: str
    classes: NDArray[np.int64]
    weights: NDArray[np.float64]
    names: list[str]
    known: float
    near: float

    @property
    def unsure(self) -> bool:
        """Whether the text is far from all classes, so that results are not to be trusted."""
        return self.near < UNSURE


class PictureWords:
    """The classes of the pictures' network, embedded by a text model and cached on disk.

    Parameters
    ----------
    model : TextModel
        Embeds texts and classes.

    See Also
    --------
    TextQuery : what a text means.

    References
    ----------
    M. Norouzi et al.: Zero-shot learning by convex combination of semantic embeddings, 2014.

    docs/methods/words.md, (1) to (4).
    """

    def __init__(self, model: TextModel) -> None:
        self.model = model
        self.E, self.W, self.b = _class_arrays(model, cache_folder())

    def ask(self, text: str) -> TextQuery:
        """Find the classes a text means; raise ``EmptyText`` if it has no words.

        Parameters
        ----------
        text : str
            The text.

        Returns
        -------
        TextQuery
        """
        (e,), (known,) = self.model.embed_known([text])
        cosines = self.E.astype(np.float64) @ e
        s = cosines + matches(text)
        classes = np.argsort(-s, kind="stable")[:MAX_CLASSES]
        weights = np.exp((s[classes] - s[classes[0]]) / TEMPERATURE)
        weights /= weights.sum()
        named, near = _named(classes, weights), float(cosines.max())
        return TextQuery(text, classes, weights, named, float(known), near)

    def row(self, query: TextQuery, mean: Any, covariance: Any) -> Floats:
        """Return the query as one row of unit length over the activations.

        Parameters
        ----------
        query : TextQuery
            The result of :meth:`ask`.
        mean : array of shape (1280,)
            The mean of the collection's rows.  It adds the same to every picture's score, so only
            its shape is checked.
        covariance : array of shape (1280, 1280) or (1000,)
            Their covariance, or the deviation of each class's logit (:meth:`deviations`).

        Returns
        -------
        float32 array of shape (1280,)
        """
        if np.shape(mean) != (N_CHANNELS,):
            raise InvalidInput(f"mean has shape {np.shape(mean)}; ({N_CHANNELS},) expected")
        spread = np.asarray(covariance, np.float64)
        if spread.shape == (N_CHANNELS, N_CHANNELS):
            W = self.W[query.classes].astype(np.float64)
            d = np.sqrt(np.maximum(np.einsum("ij,jk,ik->i", W, spread, W, optimize=True), 0))
        elif spread.shape == (N_CLASSES,):
            d = spread[query.classes]
        else:
            raise InvalidInput(
                f"covariance has shape {spread.shape}; ({N_CHANNELS}, {N_CHANNELS}) or the "
                f"deviations of ({N_CLASSES},) logits expected"
            )
        if not np.isfinite(d).all():
            raise InvalidInput("covariance has NaN or infinite values")
        # One picture, or copies of one, have no deviation: all classes then count the same.
        d = np.where(d > 1e-9, d, d.max(initial=0.0) or 1.0)
        made = (query.weights / d) @ self.W[query.classes].astype(np.float64)
        return np.asarray(made / (np.linalg.norm(made) or 1.0), np.float32)

    def deviations(self, rows: Any) -> NDArray[np.float64]:
        """Return the deviation of each class's logit over rows of activations, (1000,)."""
        logits = np.asarray(rows, np.float32) @ self.W.T
        return np.asarray(logits.std(axis=0, dtype=np.float64))

    def similar(self, text: str, names: Sequence[str]) -> NDArray[np.float64]:
        """Return the cosine of the text and each name (of a tag, say)."""
        if not len(names):
            return np.zeros(0)
        rows = self.model.embed([text, *names]).astype(np.float64)
        return np.asarray(rows[1:] @ rows[0])


def matches(text: str) -> NDArray[np.float64]:
    """Return what the words of the text add to the cosine of each class."""
    words = words_of(tidy(text))
    made = np.zeros(N_CLASSES)
    if not words:
        return made
    whole, present = f" {' '.join(words)} ", set(words)
    for c, lemmas in enumerate(_lemmas()):
        for lemma in lemmas:
            if lemma[-1] not in present:
                continue
            there = f" {' '.join(lemma)} " in whole
            more = LEMMA_BONUS * len(lemma) if there else LAST_WORD_BONUS
            made[c] = max(made[c], more / len(words))
    return made


@lru_cache(maxsize=1)
def _lemmas() -> tuple[tuple[tuple[str, ...], ...], ...]:
    read = ((words_of(lemma) for lemma in one.lemmas) for one in picture_classes())
    return tuple(tuple(lemma for lemma in lemmas if lemma) for lemmas in read)


def words_of(text: str) -> tuple[str, ...]:
    """Return the words of a text in lower case, without the s of most plurals.

    >>> words_of("Two Grizzly Bears, on grass")
    ('two', 'grizzly', 'bear', 'on', 'grass')
    """
    found = re.findall(r"[^\W\d_]+", text.lower())
    return tuple(
        word[:-1] if len(word) > 3 and word.endswith("s") and not word.endswith("ss") else word
        for word in found
    )


def _named(classes: NDArray[np.int64], weights: NDArray[np.float64]) -> list[str]:
    """Return the names of the strongest classes, each once, without those of small weight."""
    table = picture_classes()
    strong = [table[c].name for c, w in zip(classes, weights, strict=True) if w >= weights[0] / 5]
    return list(dict.fromkeys(strong))[:N_NAMED]


def _class_arrays(model: TextModel, cache: Path) -> tuple[Floats, Floats, Floats]:
    """Return E, W and b, from a sound cache or computed now."""
    table = hashlib.sha256(_table()).hexdigest()
    key = hashlib.sha256(f"{model.digest}{SHA256}{table}".encode()).hexdigest()
    path = cache / f"words-{key[:16]}-{_BUILT}.arrays"
    with contextlib.suppress(OSError, DamagedFile):
        _, arrays = open_arrays(path, _KIND)
        if {"E", "W", "b"} <= arrays.keys() and arrays["E"].shape == (N_CLASSES, model.width):
            return arrays["E"], arrays["W"], arrays["b"]
    E = model.embed([one.sentence for one in picture_classes()])
    W, b = classifier()
    with contextlib.suppress(OSError):
        path.parent.mkdir(parents=True, exist_ok=True)
        save_arrays(path, _KIND, {}, {"E": E, "W": W, "b": b})
    return E, W, b
