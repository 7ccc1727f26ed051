"""Labelled pictures in folders, one folder a class, for ``likewise evaluate dataset folders``.

The layout is CLASS/picture or PART/CLASS/picture, distinguished by depth.  Rows are sorted by
part, class and name.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace
from itertools import pairwise
from pathlib import Path, PurePath

import numpy as np

from likewise.errors import DatasetError
from likewise_methods.evaluation import LabelledImages

LAYOUT = "CLASS/picture.jpg or PART/CLASS/picture.jpg (PART such as train, test)"

# A single top folder with one of these names is a part; any other is ignored.
_PARTS = frozenset(
    ["train", "training", "test", "testing", "val", "valid", "validation", "query", "database"]
)
PICTURE_SUFFIXES = frozenset(
    [".jpg", ".jpeg", ".png", ".webp", ".gif", ".tif", ".tiff", ".bmp", ".heic", ".heif", ".avif"]
)


def is_picture(name: str) -> bool:
    """Return whether a name has a picture's suffix: data sets also hold lists and notes."""
    return os.path.splitext(name)[1].lower() in PICTURE_SUFFIXES


def is_hidden(name: str) -> bool:
    """Return whether a file is from a file manager or archiver: .DS_Store, __MACOSX."""
    return name.startswith(".") or name == "__MACOSX"


def files_below(root: Path) -> Iterator[Path]:
    """Yield every file below a folder in a fixed order, without hidden ones."""

    def refuse(error: OSError) -> None:
        raise DatasetError(f"{error.filename or root}: cannot be listed ({error.strerror})")

    for folder, subfolders, names in os.walk(root, onerror=refuse):
        subfolders[:] = sorted(name for name in subfolders if not is_hidden(name))
        for name in sorted(names):
            if not is_hidden(name):
                yield Path(folder, name)


def read_folders(
    root: str | os.PathLike[str], *, name: str | None = None, skip: Collection[str] = ()
) -> LabelledImages:
    """Read ``root``/CLASS/picture or ``root``/PART/CLASS/picture.

    Hidden files and files without a picture's suffix are skipped.  A single folder around
    everything (``101_ObjectCategories/``) is ignored.  Classes are numbered by name.

    Parameters
    ----------
    root : path
        A folder.
    name : str, optional
        Of the data set; by default that of ``root``.
    skip : collection of str, optional
        Classes that are skipped (Caltech-101: ``["BACKGROUND_Google"]``), present or not.

    Returns
    -------
    LabelledImages
        Pictures with one class each.

    See Also
    --------
    likewise_lab.evaluation.retrieval.read_task : make queries of them.
    """
    source = Path(root)
    if not source.is_dir():
        raise DatasetError(f"{source} is not there; expected a folder or tar file with {LAYOUT}")
    inside = [p.relative_to(source) for p in files_below(source) if is_picture(p.name)]
    if not inside:
        raise DatasetError(f"no pictures in {source}; expected {LAYOUT}")
    _, data = labelled_files(inside, source, name, skip)
    return replace(data, paths=[source / path for path in data.paths])


def labelled_files(
    inside: Sequence[PurePath], source: Path, name: str | None, skip: Collection[str]
) -> tuple[list[int], LabelledImages]:
    """Sort files by part, class and name; return their order and the labelled pictures."""
    places = _places(inside, source)
    order = sorted((i for i, p in enumerate(places) if p[1] not in skip), key=places.__getitem__)
    if not order:
        raise DatasetError(f"every class of {source} is in skip={sorted(skip)}")
    twice = next((j for i, j in pairwise(order) if places[i] == places[j]), -1)
    if twice >= 0:
        raise DatasetError(f"{source}: {inside[twice]} is there twice")
    classes = sorted({places[i][1] for i in order})
    number = {c: k for k, c in enumerate(classes)}
    parts = [places[i][0] for i in order]
    return order, LabelledImages(
        name=name or source.name.split(".")[0],
        paths=[Path(inside[i]) for i in order],
        labels=np.array([number[places[i][1]] for i in order], dtype=np.int64),
        classes=classes,
        split=parts if any(parts) else (),
    )


def _places(inside: Sequence[PurePath], source: Path) -> list[tuple[str, str, str]]:
    """Return (part, class, file name) of each picture; part is "" where there is none."""
    parts = [path.parts for path in inside]
    start = 0
    while min(len(p) for p in parts) - start >= 3:
        tops = {p[start] for p in parts}
        if len(tops) > 1 or tops <= _PARTS:
            break
        start += 1
    depth = len(parts[0]) - start
    for path, p in zip(inside, parts, strict=True):
        if len(p) - start not in (2, 3):
            raise DatasetError(f"{source}: {path} is not in a class folder; expected {LAYOUT}")
        if len(p) - start != depth:
            raise DatasetError(
                f"{source}: {inside[0]} and {path} lie at different depths; expected {LAYOUT}"
            )
    return [(p[-3] if depth == 3 else "", p[-2], p[-1]) for p in parts]
