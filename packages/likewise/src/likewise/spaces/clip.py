"""``clip``: an image-text network of the user's own (CLIP, SigLIP …).

The visual tower describes pictures and the textual tower describes typed text, in the same space.
The folder is copied into the collection; the hash of its content is its name.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterable
from functools import lru_cache
from typing import Any

from likewise.catalog.filters import absolute
from likewise.errors import DamagedCollection, InvalidInput
from likewise.spaces.base import Pixels, Recipe, Space, TextRow, Words
from likewise.vision.deep.libraries import UnusableModel, broken_among, is_there
from likewise.vision.text.towers import FILES, ImageTextModel
from likewise_methods.durable_files import private_folder, write_whole

FOLDER = "models"
NEEDS = ("onnxruntime", "tokenizers")


class ClipSpace(Space):
    """Vectors of pictures and of typed text by an image-text network."""

    feature = "clip"
    defaults = {"path": None, "licence": "not stated"}
    text_rank = 0
    has_own_text = True

    @classmethod
    def check_recipe(cls, recipe: Recipe) -> None:
        if not isinstance(recipe["path"], str) or not recipe["path"]:
            raise InvalidInput(f"path is {recipe['path']!r}; the folder of a network expected")
        if not isinstance(recipe["licence"], str):
            raise InvalidInput(f"licence is {recipe['licence']!r}; text expected")
        ImageTextModel.open(absolute(recipe["path"]))

    def is_available(self) -> bool:
        return all(map(is_there, NEEDS))

    def how_to_get(self) -> str:
        if wrong := "; ".join(map(str, broken_among(NEEDS))):
            return f"run likewise add again once the network runs here ({wrong})"
        return f"run likewise add again with these installed: pip install {' '.join(NEEDS)}"

    def load(self) -> None:
        if self.generation:
            self._towers()

    def fixed_width(self) -> int:
        return int(self.recipe["width"])

    def adopt_files(self) -> tuple[dict[str, Any], dict[str, str]]:
        """Return the recipe with digest and width in place of the path, and copy the towers."""
        source = absolute(self.recipe["path"])
        model = ImageTextModel.open(source)
        name = f"{FOLDER}/{model.digest[:20]}-towers"
        for file in FILES:
            target = self.root / name / file
            private_folder(target.parent.parent)
            private_folder(target.parent)
            write_whole(target, (source / file).read_bytes())
        if ImageTextModel.open(self.root / name).digest != model.digest:
            shutil.rmtree(self.root / name, ignore_errors=True)
            raise UnusableModel(f"{source} changed while it was copied; try again")
        stored = {key: value for key, value in self.recipe.items() if key != "path"}
        known = {"model": source.name, "digest": model.digest, "width": model.width}
        return {**stored, **known}, {"towers": name}

    def describe(self, picture: Pixels, shared: dict[str, Any]) -> Any:
        return self._towers().embed_picture(picture)

    def can_read_text(self, words: Words) -> bool:
        return self.is_available()

    def read_text(
        self, words: Words, text: str, state: Any, struck: frozenset[str]
    ) -> TextRow | None:
        try:
            return TextRow(self._towers().embed_text([text])[0], (text,))
        except InvalidInput:
            return None  # the tokenizer finds no token

    def card(self) -> dict[str, Any]:
        keys = ("model", "digest", "width", "licence")
        return {"space": self.name, "kind": "image-text network"} | {
            key: self.recipe[key] for key in keys
        }

    def verify(self) -> Iterable[str]:
        if "towers" not in self.files:
            yield f"the network of space {self.name!r} is not named; drop the space"
            return
        try:
            digest = ImageTextModel.open(self.root / self.files["towers"]).digest
        except UnusableModel as error:
            digest = str(error)
        if digest != self.recipe["digest"]:
            yield (
                f"{self.files['towers']} is damaged; restore it from a backup, or drop space "
                f"{self.name!r}"
            )

    def _towers(self) -> ImageTextModel:
        try:
            found = _open(str(self.root / self.files["towers"]))
        except UnusableModel as error:
            raise DamagedCollection(
                f"{error}; restore it from a backup, or drop space {self.name!r}"
            ) from error
        if found.digest != self.recipe["digest"]:
            raise DamagedCollection(
                f"{self.files['towers']} is another network than the one of space {self.name!r}; "
                "restore it from a backup, or drop the space"
            )
        return found


@lru_cache(maxsize=2)
def _open(folder: str) -> ImageTextModel:
    """Open the towers and keep them: files of a collection are never overwritten."""
    return ImageTextModel.open(folder)
