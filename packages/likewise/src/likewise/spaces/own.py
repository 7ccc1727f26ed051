"""``own``: vectors from the user, given for pictures of the collection by their ids."""

from __future__ import annotations

from typing import Any

from likewise.catalog.segments import FORMATS, RowFormat
from likewise.errors import CollectionError, InvalidInput
from likewise.spaces.base import Pixels, Recipe, Space

METRICS = ("cosine", "ip", "l2")


class OwnSpace(Space):
    """Vectors given by the user, which Likewise stores and compares but cannot make."""

    feature = "own"
    defaults = {"metric": "cosine", "kind": "dense"}
    describes_pictures = False

    @classmethod
    def check_recipe(cls, recipe: Recipe) -> None:
        check_format(recipe["kind"])
        if recipe["metric"] not in METRICS:
            raise InvalidInput(
                f"metric {recipe['metric']!r} is not known; one of {METRICS} expected"
            )

    @classmethod
    def format_of(cls, recipe: Recipe) -> RowFormat:
        return FORMATS[recipe["kind"]]

    def how_to_get(self) -> str:
        return f"give it one: likewise admin spaces fill {self.name}"

    def describe(self, picture: Pixels, shared: dict[str, Any]) -> Any:
        raise CollectionError(
            f"space {self.name!r} holds your own vectors; search it by id or by vector"
        )


def check_format(kind: Any) -> None:
    """Refuse a ``kind`` of vector other than dense and sparse."""
    if not isinstance(kind, str) or kind not in FORMATS:
        raise InvalidInput(f"kind is {kind!r}; dense or sparse expected")
