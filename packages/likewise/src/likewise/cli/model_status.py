"""``likewise models``: which networks are here, what is missing, and the command that brings it."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from typing import Any

from likewise.cli.finding import find_collection, is_collection
from likewise.cli.options import DEFAULT, Json, Where, open_collection
from likewise.cli.output import echo_json, echo_table, say
from likewise.errors import LikewiseError


def models(collection: Where = DEFAULT, json_: Json = False) -> None:
    """Show which networks are installed, what is missing, and how to get it.

    The pictures' network describes pictures, the text model understands typed words; an image-text
    network of your own (space add NAME --clip FOLDER) does both in its space.
    """
    found = [_pictures_network(), _text_model(), *_own_networks(collection)]
    if json_:
        echo_json(found)
        return
    echo_table(
        ("model", "for", "here", "missing"),
        [(one["model"], one["for"], "yes" if one["available"] else "no",
          ", ".join(one["missing"])) for one in found],
    )  # fmt: skip
    for one in found:
        if not one["available"] and one["command"]:
            say(f"Get the {one['model']}: {one['command']}")


def _pictures_network() -> dict[str, Any]:
    from likewise.vision.deep.errors import INSTALL
    from likewise.vision.deep.libraries import broken_among
    from likewise.vision.deep.network import MODEL, NEEDS, can_run, what_it_needs

    here = can_run()
    wrong = [str(error) for error in broken_among(NEEDS)]
    lacks = not here and what_it_needs().endswith(INSTALL)
    return {
        "model": "pictures' network", "for": "looks of pictures", "name": MODEL, "available": here,
        "missing": [*wrong, *(["onnxruntime or its weights"] if lacks else [])],
        "command": INSTALL if lacks else None,
    }  # fmt: skip


def _text_model() -> dict[str, Any]:
    from likewise.vision.deep.errors import DeepMissing
    from likewise.vision.deep.libraries import import_library
    from likewise.vision.text.status import LIBRARIES, text_model_status

    for name in LIBRARIES:
        with suppress(DeepMissing):  # the status tells it
            import_library(name)
    status = text_model_status()
    return {
        "model": "text model", "for": "typed words",
        "name": None if status.where is None else str(status.where),
        "available": status.available, "missing": list(status.missing), "command": status.command,
    }  # fmt: skip


def _own_networks(collection: Path | None) -> list[dict[str, Any]]:
    """Image-text networks that a collection has spaces of; none where there is no collection."""
    nothing = {
        "model": "image-text network", "for": "both, where you have one", "name": None,
        "available": False, "missing": ["a folder of one"],
        "command": "likewise space add NAME --clip FOLDER",
    }  # fmt: skip
    try:
        if not is_collection(find_collection(collection).path):
            return [nothing]
    except LikewiseError:
        return [nothing]
    with open_collection(collection) as col:
        found = [
            {
                "model": "image-text network", "for": f"both, in space {name}", "name": name,
                "available": one.is_available(),
                "missing": [] if one.is_available() else [one.how_to_get()], "command": None,
            }
            for name, one in col.spaces.items()
            if one.has_own_text
        ]  # fmt: skip
    return found or [nothing]
