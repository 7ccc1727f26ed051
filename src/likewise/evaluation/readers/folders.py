"""One folder a class: Caltech-101, MSRA-MM, CIFAR-10 as pictures; in a folder or in a tar file.

The layout is CLASS/picture or PART/CLASS/picture, told apart by depth alone.  Rows are sorted by
part, class and name, so a tar file and its unpacked copy give the same rows.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Sequence
from itertools import pairwise
from pathlib import Path, PurePath

import numpy as np

from likewise.errors import DatasetError
from likewise.evaluation.datasets import LabelledImages
from likewise.evaluation.readers.archive import Archive, list_pictures
from likewise.evaluation.readers.files import files_below, is_picture

LAYOUT = "CLASS/picture.jpg or PART/CLASS/picture.jpg (PART such as train, test)"

# A lone top folder with one of these names is a part; any other is just wrapping paper.
_PARTS = frozenset(
    ["train", "training", "test", "testing", "val", "valid", "validation", "query", "database"]
)


def read_folders(
    root: str | os.PathLike[str], *, name: str | None = None, skip: Collection[str] = ()
) -> LabelledImages:
    """Read ``root``/CLASS/picture or ``root``/PART/CLASS/picture.

    Hidden files and files without a picture's suffix are passed over.  A single folder around
    everything (``101_ObjectCategories/``) is ignored.  Classes are numbered by name.

    Parameters
    ----------
    root : path
        A folder, or a tar file (plain, .gz, .bz2, .xz), which is read in place; see
        :meth:`LabelledImages.pictures`.
    name : str, optional
        Of the data set; by default that of ``root``.
    skip : collection of str, optional
        Classes that are passed over (Caltech-101: ``["BACKGROUND_Google"]``), present or not.

    Returns
    -------
    LabelledImages
        Pictures with one class each.

    See Also
    --------
    read_corel1k : classes by number.
    """
    source = Path(root)
    if source.is_file():
        members = list_pictures(source)
        inside: list[PurePath] = [member for member, _, _ in members]
    elif source.is_dir():
        members = []
        inside = [p.relative_to(source) for p in files_below(source) if is_picture(p.name)]
    else:
        raise DatasetError(f"{source} is not there; expected a folder or tar file with {LAYOUT}")
    if not inside:
        raise DatasetError(f"no pictures in {source}; expected {LAYOUT}")

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
    archive = None
    if members:
        spans = np.array([members[i][1:] for i in order], dtype=np.int64)
        archive = Archive(source, spans[:, 0].copy(), spans[:, 1].copy())
    return LabelledImages(
        name=name or source.name.split(".")[0],
        paths=[Path(inside[i]) if members else source / inside[i] for i in order],
        labels=np.array([number[places[i][1]] for i in order], dtype=np.int64),
        classes=classes,
        split=parts if any(parts) else (),
        archive=archive,
    )


def _places(inside: Sequence[PurePath], source: Path) -> list[tuple[str, str, str]]:
    """(part, class, file name) of every picture; the part is "" where there is no such level."""
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
