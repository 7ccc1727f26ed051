"""Networks of the user's own: copied into the collection by their hash, with a card beside them.

The copy is the file as it was given, so that its hash is the one its makers know it by.  It is
named in the catalog like every file of a collection: backups carry it, ``verify`` checks it, and
it goes when no space names it any more.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from likewise._durable import write_whole
from likewise.collection.errors import DamagedCollection
from likewise.collection.plain import absolute
from likewise.collection.spaces.recipes import onnx_model
from likewise.collection.store.store import SpaceRow
from likewise.features.deep.card import Card, builtin_card, model_card, wrong_with
from likewise.features.deep.onnx_model import hash_of, open_content, read_model

FOLDER = "models"


def adopt(
    root: Path, name: str, recipe: Mapping[str, Any]
) -> tuple[dict[str, Any], dict[str, str]]:
    """The recipe as it is stored and the files of its generation; the model has run once.

    The recipe gets the hash and the width in the place of the path, and whether the layer is an
    inner one.  What runs is what was hashed: the bytes are read once.
    """
    source = str(absolute(recipe["path"]))
    content = read_model(source)
    sha256 = hash_of(content)
    model = onnx_model({**recipe, "sha256": sha256}, source)
    outputs = open_content(content, Path(source).name, None, sha256).outputs
    layer, inner = model.layer or outputs[0], model.layer not in (None, *outputs)
    if model.layer is not None:
        open_content(content, Path(source).name, model.layer, sha256)
    width = model.width()
    files = {
        "model": f"{FOLDER}/{sha256[:20]}.onnx",
        "card": f"{FOLDER}/{name}-{sha256[:20]}.json",
    }
    card = model_card(model, Path(source).name, sha256, layer, recipe["licence"])
    (root / FOLDER).mkdir(exist_ok=True)
    write_whole(root / files["model"], content)
    write_whole(root / files["card"], (json.dumps(card, indent=2) + "\n").encode())
    stored = {key: value for key, value in recipe.items() if key != "path"}
    known = {"model": Path(source).name, "sha256": sha256, "width": width, "inner": inner}
    return {**stored, **known}, files


def card_of(root: Path, space: SpaceRow) -> Card | None:
    """What made the vectors of a space; None for spaces without a network."""
    feature = space.recipe["feature"]
    if feature == "onnx":
        try:
            found: Card = json.loads((root / space.files["card"]).read_text(encoding="utf-8"))
        except (OSError, ValueError, KeyError, RecursionError) as error:
            raise DamagedCollection(f"the card of space {space.name!r}: {error}") from error
        if (wrong := wrong_with(found, space.recipe["sha256"])) is not None:
            raise DamagedCollection(f"the card of space {space.name!r} is damaged: {wrong}")
        return found
    if feature in ("deep", "deep-dense"):
        return builtin_card()
    return builtin_card(cells=space.recipe["size"]) if feature == "deep-words" else None


def check_model(root: Path, space: SpaceRow) -> None:
    """Refuse a model of the collection that is not the file it was."""
    if space.recipe["feature"] != "onnx":
        return
    if "model" not in space.files:
        raise DamagedCollection(f"the model of space {space.name!r} is not named; drop the space")
    card_of(root, space)
    if hash_of(read_model(root / space.files["model"])) != space.recipe["sha256"]:
        raise DamagedCollection(
            f"{space.files['model']} is damaged; restore it from a backup, or drop space "
            f"{space.name!r}"
        )
