"""A new, empty collection on disk: whole, or not there at all."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from likewise._durable import private_folder, rename_whole
from likewise.collection.errors import CollectionError
from likewise.collection.ingest.new_space import first_recipes, put_first_spaces
from likewise.collection.store.locations import is_collection
from likewise.collection.store.store import FILE, Store


def is_vacant(root: Path) -> bool:
    """Whether a collection may be made there: what a killed creation left does not count."""
    if not root.exists():
        return True
    return root.is_dir() and all(p.name.startswith(f"{FILE}.part") for p in root.iterdir())


def create_collection(
    root: Path, words: Mapping[str, Any] | None, deep: bool | None, all_spaces: bool
) -> None:
    """The directory and the catalog of an empty collection."""
    recipes = first_recipes(words, deep, all_spaces)
    if root.exists() and not root.is_dir():
        raise CollectionError(f"{root} is a file; choose another name")
    if not is_vacant(root):
        what = "a collection" if is_collection(root) else "not empty"
        raise CollectionError(f"{root} is {what} already; open it, or choose another name")
    private_folder(root)
    # Made whole under another name: a collection half created must not look like one.
    part = root / f"{FILE}.part"
    for leftover in root.glob(f"{FILE}.part*"):
        leftover.unlink()
    store = Store.create(part, {"made_by": "likewise"})
    put_first_spaces(store, recipes)
    store.fold_journal()
    store.close()
    rename_whole(part, root / FILE)
