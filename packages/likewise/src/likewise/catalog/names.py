"""Names of files that a catalog brings: plain ones, below the folder of the collection."""

from __future__ import annotations

from collections.abc import Mapping

from likewise.errors import DamagedCollection


def plain_name(name: str) -> str:
    """A relative name of folders and a file, or a refusal: a catalog may come from anybody.

    >>> plain_name("words/look-1.lwf")
    'words/look-1.lwf'
    """
    parts = name.split("/") if isinstance(name, str) else []
    if len(parts) < 2 or any(
        part in ("", ".", "..") or ":" in part or "\\" in part or not part.isprintable()
        for part in parts
    ):
        raise DamagedCollection(
            f"the catalog names a file {name!r}; a plain name below the collection expected"
        )
    return name


def check_names(files: Mapping[str, str]) -> Mapping[str, str]:
    """Files of a generation or a model: those with a slash lie below the collection."""
    if not isinstance(files, Mapping) or not all(isinstance(one, str) for one in files.values()):
        raise DamagedCollection(f"the catalog names files {files!r}; names expected")
    for name in files.values():
        if "/" in name or "\\" in name or name in (".", ".."):
            plain_name(name)
    return files
