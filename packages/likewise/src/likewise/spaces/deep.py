"""``deep`` and ``deep-dense``: two spaces from one forward pass of a small network.

``deep`` keeps the strongest activations (sparse, no vocabulary, no idf, a single generation);
``deep-dense`` keeps all of them.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from likewise.errors import InvalidInput
from likewise.spaces.base import Pixels, Recipe, Space, TextRow, Words
from likewise.vision.deep.network import MODEL, builtin_card, is_installed, network, what_it_needs
from likewise.vision.deep.recipes import (
    KEEP,
    N_DEEP,
    DeepDense,
    DeepSparse,
    activation_map,
    activations,
)

if TYPE_CHECKING:
    from likewise.vision.text.words import TextQuery

_PASS = "deep forward pass"


class NetworkSpace(Space):
    """A space made by the network that comes with the extra ``deep``."""

    # Twice the network's input size: the reduction still averages pixels, and a JPEG of twelve
    # megapixels is decoded at an eighth of its size.
    decode_side, decode_slack = 448, 1.5

    @classmethod
    def check_recipe(cls, recipe: Recipe) -> None:
        if recipe["model"] != MODEL:
            raise InvalidInput(
                f"model is {recipe['model']!r}; {MODEL!r} expected (or feature onnx)"
            )

    def is_available(self) -> bool:
        return is_installed()

    def how_to_get(self) -> str:
        return f"run likewise add again once the network runs here ({what_it_needs()})"

    def load(self) -> None:
        network()


class DeepSpace(NetworkSpace):
    """The strongest activations, as a sparse row."""

    feature = "deep"
    defaults = {"model": MODEL, "keep": KEEP}
    least = {"keep": 1}
    vector_type = "sparse"
    default_rank = 1
    splits_rows = True

    @classmethod
    def check_recipe(cls, recipe: Recipe) -> None:
        super().check_recipe(recipe)
        DeepSparse(recipe["keep"])

    def fixed_width(self) -> int:
        return int(N_DEEP)

    def describe(self, picture: Pixels, shared: dict[str, Any]) -> Any:
        return DeepSparse(self.recipe["keep"]).extract(picture, _pass(picture, shared))

    def split_row(self, picture: Pixels) -> NDArray[np.float64]:
        return DeepSparse(self.recipe["keep"]).split(activation_map(picture))

    def card(self) -> dict[str, Any]:
        return builtin_card()


class DeepDenseSpace(NetworkSpace):
    """All activations."""

    feature = "deep-dense"
    defaults = {"model": MODEL}
    splits_rows = True
    fusion_rank = 0
    model_rank = 0
    tag_rank = 0
    text_rank = 1
    # Of 120 photographs a strong JPEG, a crop of 5 % and the mirrored picture score above this in
    # 95 of 100 cases; of 1,000 different ones seven pairs do.
    duplicates_rank = 0
    duplicates_from = 0.92

    def fixed_width(self) -> int:
        return int(N_DEEP)

    def describe(self, picture: Pixels, shared: dict[str, Any]) -> Any:
        return DeepDense().extract(picture, _pass(picture, shared))

    def split_row(self, picture: Pixels) -> NDArray[np.float64]:
        return DeepDense().split(activation_map(picture))

    def card(self) -> dict[str, Any]:
        return builtin_card()

    def can_read_text(self, words: Words) -> bool:
        return words() is not None

    def text_state(self, words: Words, rows: NDArray[np.float32]) -> Any:
        found = words()
        return rows.mean(axis=0), found.deviations(rows)

    def read_text(
        self, words: Words, text: str, state: Any, struck: frozenset[str]
    ) -> TextRow | None:
        found = words()
        try:
            query = found.ask(text)
        except InvalidInput:
            return None
        # The model was not trained on this script, so its answer is noise.  A rare word
        # ("espresso") is also cut into small tokens, but its row is near its meaning.
        if query.known == 0 and query.unsure:
            return None
        if struck:
            query = _without_classes(query, struck)
            if not len(query.classes):
                return None
        mean, deviations = state
        return TextRow(found.row(query, mean, deviations), tuple(query.names), query.unsure)


def _pass(picture: Pixels, shared: dict[str, Any]) -> Any:
    """Return the activations of a picture, computed once for all spaces of this network."""
    if _PASS not in shared:
        shared[_PASS] = activations(picture)
    return shared[_PASS]


def _without_classes(query: TextQuery, struck: frozenset[str]) -> TextQuery:
    """Return a text without the classes that were excluded."""
    from likewise.vision.text.words import N_NAMED, picture_classes

    table = picture_classes()
    names = [table[one].name for one in query.classes]
    kept = np.flatnonzero([name not in struck for name in names])
    weights = query.weights[kept]
    strong = [names[at] for at, w in zip(kept, weights, strict=True) if w >= weights[0] / 5]
    return replace(
        query,
        classes=query.classes[kept],
        weights=weights / (weights.sum() or 1.0),
        names=list(dict.fromkeys(strong))[:N_NAMED],
    )
