"""Corel-1k with its split of queries: the number of a file says its class.

900 database photos, 90 a class, and 100 queries, 10 a class, both numbered class after class.
``labels.csv``, where present, names the classes and must agree with the numbers.
"""

from __future__ import annotations

import csv
import os
from pathlib import Path

import numpy as np

from benchmarks.readers.files import (
    first_missing,
    need_folder,
    photos_by_name,
    read_text,
    whole_number,
)
from likewise.errors import DatasetError
from likewise_methods.evaluation.datasets import LabelledImages

LAYOUT = "images/0.jpg … 899.jpg and queries/0.jpg … 99.jpg"
N_CLASSES = 10
_FOLDERS = {"database": ("images", 90), "query": ("queries", 10)}
_COLUMNS = ["path", "split", "class_id", "class_name"]


def read_corel1k(root: str | os.PathLike[str], *, name: str = "corel1k") -> LabelledImages:
    """Read ``images/N.jpg`` (class N // 90), ``queries/N.jpg`` (class N // 10), ``labels.csv``.

    Parts are "database" and "query".  Without ``labels.csv`` the classes are called "0" to "9".

    Parameters
    ----------
    root : path
        The folder.
    name : str, default="corel1k"
        Of the data set.

    Returns
    -------
    LabelledImages
        Pictures with one class each.

    See Also
    --------
    read_folders : one folder a class.
    """
    base = need_folder(root, LAYOUT)
    paths: list[Path] = []
    labels: list[int] = []
    split: list[str] = []
    for part, (folder, per_class) in _FOLDERS.items():
        numbered = _numbered_photos(need_folder(base / folder, LAYOUT), N_CLASSES * per_class)
        paths += numbered
        labels += [i // per_class for i in range(len(numbered))]
        split += [part] * len(numbered)
    listing = base / "labels.csv"
    classes = [str(c) for c in range(N_CLASSES)]
    if listing.is_file():
        rows = zip(paths, split, labels, strict=True)
        truth = {path.relative_to(base).as_posix(): (part, label) for path, part, label in rows}
        classes = _class_names(listing, truth)
    return LabelledImages(name, paths, np.array(labels, dtype=np.int64), classes, split)


def _numbered_photos(folder: Path, count: int) -> list[Path]:
    """The photos 0 … count - 1 in the order of their numbers."""
    photos = {
        whole_number(stem, str(path), 0, count - 1): path
        for stem, path in photos_by_name(folder).items()
    }
    if len(photos) != count:
        gap = first_missing(list(photos))
        missing = len(photos) if gap is None else gap
        raise DatasetError(
            f"{folder} has {len(photos)} photos where {count} were expected: "
            f"{missing}.jpg is missing; expected {LAYOUT}"
        )
    return [photos[i] for i in range(count)]


def _class_names(listing: Path, truth: dict[str, tuple[str, int]]) -> list[str]:
    """Class names from the list, after checking that it agrees with the numbers."""
    try:
        rows = list(csv.reader(read_text(listing).splitlines()))
    except csv.Error as error:
        raise DatasetError(f"{listing}: not a CSV file ({error})") from error
    if not rows or rows[0] != _COLUMNS:
        raise DatasetError(f"{listing}, line 1: expected the heading {','.join(_COLUMNS)}")
    names: dict[int, str] = {}
    for number, row in enumerate(rows[1:], 2):
        if not row:
            continue
        where = f"{listing}, line {number}"
        if len(row) != len(_COLUMNS):
            raise DatasetError(f"{where}: {len(row)} fields where {len(_COLUMNS)} were expected")
        path, part, class_id, class_name = row
        label = whole_number(class_id, where, 0, N_CLASSES - 1)
        if truth.get(path) != (part, label):
            raise DatasetError(
                f"{where}: {path} as {part}, class {label}; by its number it is {truth.get(path)}"
            )
        if names.setdefault(label, class_name) != class_name:
            raise DatasetError(f"{where}: class {label} is {names[label]} and {class_name}")
    if len(names) != N_CLASSES:
        raise DatasetError(f"{listing}: names {len(names)} classes where {N_CLASSES} were expected")
    return [names[c] for c in range(N_CLASSES)]
