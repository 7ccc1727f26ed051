"""``deep`` and ``deep-dense``: what a small network sees, from one forward pass.

``deep`` keeps the strongest activations (sparse, no vocabulary, no idf, one generation for ever),
``deep-dense`` all of them.
"""

from __future__ import annotations

from typing import Any

from likewise.collection.spaces.base import Pixels, Recipe, Space
from likewise.errors import InvalidInput
from likewise.features.deep.card import builtin_card
from likewise.features.deep.errors import INSTALL
from likewise.features.deep.network import MODEL, is_installed, network
from likewise.features.deep.recipes import KEEP, N_DEEP, DeepDense, DeepSparse, activations

_PASS = "deep forward pass"


class NetworkSpace(Space):
    """A space made by the network that comes with the extra ``deep``."""

    @classmethod
    def check_recipe(cls, recipe: Recipe) -> None:
        if recipe["model"] != MODEL:
            raise InvalidInput(
                f"model is {recipe['model']!r}; {MODEL!r} expected (or feature onnx)"
            )

    def is_available(self) -> bool:
        return is_installed()

    def how_to_get(self) -> str:
        return f"run likewise add again with the extra deep installed ({INSTALL})"

    def load(self) -> None:
        network()


class DeepSpace(NetworkSpace):
    """The strongest activations, as a sparse row."""

    feature = "deep"
    defaults = {"model": MODEL, "keep": KEEP}
    least = {"keep": 1}
    vector_type = "sparse"
    default_rank = 1

    @classmethod
    def check_recipe(cls, recipe: Recipe) -> None:
        super().check_recipe(recipe)
        DeepSparse(recipe["keep"])

    def fixed_width(self) -> int:
        return int(N_DEEP)

    def describe(self, picture: Pixels, shared: dict[str, Any]) -> Any:
        return DeepSparse(self.recipe["keep"]).extract(picture, _pass(picture, shared))

    def card(self) -> dict[str, Any]:
        return builtin_card()


class DeepDenseSpace(NetworkSpace):
    """All activations."""

    feature = "deep-dense"
    defaults = {"model": MODEL}
    fusion_rank = 0
    model_rank = 0
    tag_rank = 0

    def fixed_width(self) -> int:
        return int(N_DEEP)

    def describe(self, picture: Pixels, shared: dict[str, Any]) -> Any:
        return DeepDense().extract(picture, _pass(picture, shared))

    def card(self) -> dict[str, Any]:
        return builtin_card()


def _pass(picture: Pixels, shared: dict[str, Any]) -> Any:
    """The activations of a picture, made once for all spaces of this network."""
    if _PASS not in shared:
        shared[_PASS] = activations(picture)
    return shared[_PASS]
