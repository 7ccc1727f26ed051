"""Pictures by typed words: a sentence model says which of the things that the pictures' network
knows a text means, and the network's activations say which pictures show them.

After Norouzi et al. 2014 ("convex combination of semantic embeddings"), with class names spelt out;
the numbers are those of docs/methods/words.md, (1) to (4).
(1) E_c: the vector of class c, "lemmas: definition"; e: that of the text; s_c = E_c . e, and a
little more where the text itself has a lemma of c in it, or a lemma's last word (the "elephant" of
"African elephant"), by the share of the text that it makes up.
(2) w_c ~ exp((s_c - max s) / T) over the N classes of largest s, summing to 1.
(3) A picture's score is sum_c w_c (l_c - m_c) / d_c: logits l = W a + b of its activations a, with
the mean m and the deviation d that they have over the collection, so that a class which is loud
for everything here says nothing.

(3) is linear in a: but for a constant it is a . sum_c (w_c / d_c) W_c, which is (4).  So a text is
a row over the activations like a picture's own, and whatever finds pictures by dense rows finds
them by words; nothing new is stored for it.
"""

from __future__ import annotations

import contextlib
import hashlib
import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from likewise.errors import InvalidInput
from likewise.vision.deep.graph import N_CHANNELS
from likewise.vision.deep.network import SHA256, cache_folder
from likewise.vision.text.classes import N_CLASSES, classifier, picture_classes, table_digest
from likewise.vision.text.model import TextModel
from likewise.vision.text.tokens import tidy
from likewise_methods.neighbours import DamagedFile, open_arrays, save_arrays

N_ASKED = 20
TEMPERATURE = 0.08
SAID, HINTED = 0.1, 0.05
"""What a lemma, and the last word of one, add to the cosine where they are the whole text.

All four were chosen on 42 phrases; on phrases that were written afterwards they are worth a point
(docs/results/words.md)."""
UNSURE = 0.35
"""Nine of 208 English phrases are farther from every class, 23 of 30 in three other languages."""
N_NAMED = 3
"""Classes that are named to a person, at most."""
_KIND = "picture words"
_BUILT = 1

Floats = NDArray[np.float32]


@dataclass(frozen=True, eq=False)
class TextQuery:
    """What a text means to the pictures' network: classes, strongest first, with weights.

    Attributes
    ----------
    text : str
        What was typed.
    classes : int64 array
        Numbers of classes.
    weights : float64 array
        What each counts.
    names : list of str
        Lemmas of the strongest, for people.
    known : float
        The share of the text's words that the model was taught.
    near : float
        The cosine of the text and the class nearest to it.

    See Also
    --------
    PictureWords : gives it.
    """

    text: str
    classes: NDArray[np.int64]
    weights: NDArray[np.float64]
    names: list[str]
    known: float
    near: float

    @property
    def unsure(self) -> bool:
        """Whether the text is far from all that the network knows, as in a language that the model
        was not taught: what is found then is not to be trusted."""
        return self.near < UNSURE


class PictureWords:
    """The words of the pictures' network under a text model; made once and kept on disk.

    Parameters
    ----------
    model : TextModel
        Knows which words mean the like.

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
        self.E, self.W, self.b = _kept(model, cache_folder())

    def ask(self, text: str) -> TextQuery:
        """The classes a text means; ``EmptyText`` where it has no words.

        Parameters
        ----------
        text : str
            What was typed.

        Returns
        -------
        TextQuery
        """
        (e,), (known,) = self.model.embed_known([text])
        cosines = self.E.astype(np.float64) @ e
        s = cosines + matches(text)
        classes = np.argsort(-s, kind="stable")[:N_ASKED]
        weights = np.exp((s[classes] - s[classes[0]]) / TEMPERATURE)
        weights /= weights.sum()
        named, near = _named(classes, weights), float(cosines.max())
        return TextQuery(text, classes, weights, named, float(known), near)

    def row(self, query: TextQuery, mean: Any, covariance: Any) -> Floats:
        """The query as one row of unit length over the activations.

        Parameters
        ----------
        query : TextQuery
            What :meth:`ask` gave.
        mean : array of shape (1280,)
            That of the collection's rows; what it gives is the same for every picture, so that it
            is only checked.
        covariance : array of shape (1280, 1280) or (1000,)
            That of the rows, or already the deviation of each class's logit over them: see
            :meth:`deviations`.

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
        # A collection of one picture, or of copies, has no deviation: all classes count alike.
        d = np.where(d > 1e-9, d, d.max(initial=0.0) or 1.0)
        made = (query.weights / d) @ self.W[query.classes].astype(np.float64)
        return np.asarray(made / (np.linalg.norm(made) or 1.0), np.float32)

    def deviations(self, rows: Any) -> NDArray[np.float64]:
        """How much each class's logit differs over rows of activations, (1000,)."""
        logits = np.asarray(rows, np.float32) @ self.W.T
        return np.asarray(logits.std(axis=0, dtype=np.float64))

    def similar(self, text: str, names: Sequence[str]) -> NDArray[np.float64]:
        """How near in meaning each name (of a tag, say) is to the text: cosines."""
        if not len(names):
            return np.zeros(0)
        rows = self.model.embed([text, *names]).astype(np.float64)
        return np.asarray(rows[1:] @ rows[0])


def matches(text: str) -> NDArray[np.float64]:
    """What the very words of the text add to each class."""
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
            more = SAID * len(lemma) if there else HINTED
            made[c] = max(made[c], more / len(words))
    return made


@lru_cache(maxsize=1)
def _lemmas() -> tuple[tuple[tuple[str, ...], ...], ...]:
    read = ((words_of(lemma) for lemma in one.lemmas) for one in picture_classes())
    return tuple(tuple(lemma for lemma in lemmas if lemma) for lemmas in read)


def words_of(text: str) -> tuple[str, ...]:
    """Words in small letters, without the s of most plurals.

    >>> words_of("Two Grizzly Bears, on grass")
    ('two', 'grizzly', 'bear', 'on', 'grass')
    """
    found = re.findall(r"[^\W\d_]+", text.lower())
    return tuple(
        word[:-1] if len(word) > 3 and word.endswith("s") and not word.endswith("ss") else word
        for word in found
    )


def _named(classes: NDArray[np.int64], weights: NDArray[np.float64]) -> list[str]:
    """Names of the strongest classes, each once; those that hardly count are left out."""
    table = picture_classes()
    strong = [table[c].name for c, w in zip(classes, weights, strict=True) if w >= weights[0] / 5]
    return list(dict.fromkeys(strong))[:N_NAMED]


def _kept(model: TextModel, cache: Path) -> tuple[Floats, Floats, Floats]:
    """E, W and b: from the cache if they are there and sound, else made."""
    key = hashlib.sha256("".join([model.digest, SHA256, table_digest()]).encode()).hexdigest()
    path = cache / f"words-{key[:16]}-{_BUILT}.arrays"
    with contextlib.suppress(OSError, DamagedFile):
        _, arrays = open_arrays(path, _KIND)
        E, W, b = (arrays.get(name) for name in ("E", "W", "b"))
        if (
            E is not None
            and W is not None
            and b is not None
            and E.shape == (N_CLASSES, model.width)
        ):
            return E, W, b
    E = model.embed([one.sentence for one in picture_classes()])
    W, b = classifier()
    with contextlib.suppress(OSError):
        path.parent.mkdir(parents=True, exist_ok=True)
        save_arrays(path, _KIND, {}, {"E": E, "W": W, "b": b})
    return E, W, b
