"""``onnx``: a network of the user's own, copied into the collection under its hash, with a card.

The copy is byte for byte the given file, so its hash is the published one.  The catalog names it
like every file: backups contain it, ``verify`` checks it, and it is deleted when no space names it
any more.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

from likewise.catalog.filters import absolute
from likewise.catalog.segments import FORMATS, RowFormat
from likewise.errors import DamagedCollection, InvalidInput
from likewise.spaces.base import Pixels, Recipe, Space
from likewise.spaces.own import check_format
from likewise.vision.deep.libraries import (
    INSTALL,
    ChangedModel,
    broken_among,
    import_library,
    is_there,
)
from likewise.vision.deep.onnx_model import (
    OnnxModel,
    card_problem,
    hash_of,
    model_card,
    open_content,
    read_model,
)
from likewise.vision.deep.recipes import KEEP, strongest
from likewise.vision.deep.runtime import Card, Preparation, three_numbers
from likewise_methods.durable_files import private_folder, write_whole
from likewise_methods.validation import number

FOLDER = "models"


class OnnxSpace(Space):
    """Vectors that an ONNX network computes."""

    feature = "onnx"
    defaults = {
        "path": None,
        "kind": "dense",
        "size": 224,
        "scale": 255.0,
        "mean": 0.0,
        "std": 1.0,
        "layer": None,
        "pool": "mean",
        "keep": KEEP,
        "licence": "not stated",
    }
    least = {"keep": 1, "size": 16}

    @classmethod
    def check_recipe(cls, recipe: Recipe) -> None:
        check_format(recipe["kind"])
        if not isinstance(recipe["path"], str) or not recipe["path"]:
            raise InvalidInput(f"path is {recipe['path']!r}; the path of an .onnx file expected")
        if not isinstance(recipe["licence"], str):
            raise InvalidInput(f"licence is {recipe['licence']!r}; text expected")
        open_network(recipe, recipe["path"])

    @classmethod
    def format_of(cls, recipe: Recipe) -> RowFormat:
        return FORMATS[recipe["kind"]]

    def is_available(self) -> bool:
        return all(map(is_there, self._libraries()))

    def _libraries(self) -> tuple[str, ...]:
        # A layer inside the graph is made an output of it, which takes onnx.
        inner = self.recipe.get("inner", self.recipe.get("layer") is not None)
        return ("onnxruntime", "onnx") if inner else ("onnxruntime",)

    def how_to_get(self) -> str:
        wrong = "; ".join(map(str, broken_among(self._libraries())))
        return f"run likewise add again once the network runs here ({wrong or INSTALL})"

    def load(self) -> None:
        for name in self._libraries():
            import_library(name)
        for text in self.verify() if self.generation else ():
            raise DamagedCollection(text)

    def fixed_width(self) -> int:
        return int(self.recipe["width"])

    has_trial = True

    def try_out(self) -> None:
        """Run the network once in a worker: a graph may loop for ever or take all memory."""
        open_network(self.recipe, str(absolute(self.recipe["path"]))).width()

    def adopt_files(self) -> tuple[dict[str, Any], dict[str, str]]:
        """Return the recipe with hash and width in place of the path; the network has run once.

        The bytes are read once, so exactly the hashed network runs.
        """
        recipe = self.recipe
        source = absolute(recipe["path"])
        content = read_model(source)
        sha256 = hash_of(content)
        network = open_network({**recipe, "sha256": sha256}, str(source))
        outputs = open_content(content, source.name, None, sha256).outputs
        layer, inner = network.layer or outputs[0], network.layer not in (None, *outputs)
        if network.layer is not None:
            open_content(content, source.name, network.layer, sha256)
        width = network.width()
        files = {
            "model": f"{FOLDER}/{sha256[:20]}.onnx",
            "card": f"{FOLDER}/{self.name}-{sha256[:20]}.json",
        }
        card = model_card(network, source.name, sha256, layer, recipe["licence"])
        private_folder(self.root / FOLDER)
        write_whole(self.root / files["model"], content)
        write_whole(self.root / files["card"], (json.dumps(card, indent=2) + "\n").encode())
        stored = {key: value for key, value in recipe.items() if key != "path"}
        known = {"model": source.name, "sha256": sha256, "width": width, "inner": inner}
        return {**stored, **known}, files

    def describe(self, picture: Pixels, shared: dict[str, Any]) -> Any:
        try:
            network = open_network(self.recipe, str(self.root / self.files["model"]))
            values = network.activations(picture)
        except ChangedModel as error:
            raise DamagedCollection(
                f"{error}; restore it from a backup, or drop space {self.name!r}"
            ) from error
        if self.row_format.is_sparse:
            return strongest(values, self.recipe["keep"])
        return values

    def card(self) -> Card:
        try:
            found: Card = json.loads((self.root / self.files["card"]).read_text(encoding="utf-8"))
        except (OSError, ValueError, KeyError, RecursionError) as error:
            raise DamagedCollection(f"the card of space {self.name!r}: {error}") from error
        if (wrong := card_problem(found, self.recipe["sha256"])) is not None:
            raise DamagedCollection(f"the card of space {self.name!r} is damaged: {wrong}")
        return found

    def verify(self) -> Iterable[str]:
        if "model" not in self.files:
            yield f"the model of space {self.name!r} is not named; drop the space"
            return
        self.card()
        if hash_of(read_model(self.root / self.files["model"])) != self.recipe["sha256"]:
            yield (
                f"{self.files['model']} is damaged; restore it from a backup, or drop space "
                f"{self.name!r}"
            )


def open_network(recipe: Recipe, path: str) -> OnnxModel:
    """Open the user's network of a recipe from ``path``."""
    mean, std = three_numbers(recipe["mean"], "mean"), three_numbers(recipe["std"], "std")
    preparation = Preparation(recipe["size"], number(recipe["scale"], "scale"), mean, std)
    return OnnxModel(path, preparation, recipe["layer"], recipe["pool"], recipe.get("sha256"))
