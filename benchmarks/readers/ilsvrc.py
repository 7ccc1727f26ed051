"""ILSVRC2010 bags of visual words: one ``.sbow.mat`` file a class for training, one a thousand
pictures for validation and test.

A picture is a list of word numbers 0 to 999, one for each local patch; here it becomes a sparse
row of counts.  Training files say their class in their name; the other parts have a list of class
numbers, which ``meta.mat`` of the development kit ties to those names.
"""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from benchmarks.readers.files import Catalogue, first_missing, need_folder, read_lines, whole_number
from benchmarks.readers.mat5 import read_mat5
from benchmarks.readers.records import FeatureTable
from likewise.errors import DatasetError

LAYOUT = (
    "train/nXXXXXXXX.sbow.mat, val/val.NNNN.sbow.mat with "
    "ILSVRC2010_validation_ground_truth.txt, test/test.NNNN.sbow.mat with "
    "ILSVRC2010_test_ground_truth.txt, and meta.mat, anywhere below"
)
N_WORDS = 1000
_TRAIN = re.compile(r"(n\d{8})\.sbow\.mat")
_TRUTH = {
    "val": "ILSVRC2010_validation_ground_truth.txt",
    "test": "ILSVRC2010_test_ground_truth.txt",
}


def read_ilsvrc2010(
    root: str | os.PathLike[str],
    *,
    parts: Sequence[str] = ("train", "val", "test"),
    name: str = "ilsvrc2010",
) -> FeatureTable:
    """Read the bag-of-words files of ILSVRC2010 that are below ``root``.

    Layout: ``nXXXXXXXX.sbow.mat`` (training, one synset each), ``val.0001.sbow.mat`` … and
    ``test.0001.sbow.mat`` … without a gap, each part with its list of class numbers, one a line.
    With the kit's ``meta.mat`` the classes are its synsets in the kit's order; without it a
    training part alone is classed by synset name and a numbered part alone by number, and both
    together are refused, since nothing would tie them.

    Parameters
    ----------
    root : path
        The folder.
    parts : sequence of str, default=("train", "val", "test")
        Those of them that are present are read.
    name : str, default="ilsvrc2010"
        Of the data set.

    Returns
    -------
    FeatureTable
        ``X`` is CSR float32 counts over 1000 words, ``Y`` the class of each row.

    See Also
    --------
    read_nuswide : other features.
    """
    base = need_folder(root, LAYOUT)
    catalogue = Catalogue(base)
    synsets = _kit_synsets(catalogue)
    rows: list[Any] = []
    ids: list[str] = []
    split: list[str] = []
    class_names: list[str] = []
    for part in parts:
        files = _part_files(catalogue, part)
        if not files:
            continue
        names: list[str] = []
        for key, path in files:
            picture_ids, counts = read_sbow(path)
            rows.append(counts)
            ids += picture_ids
            names += [key] * len(picture_ids)
        if part != "train":
            names = _from_truth(catalogue, part, len(names), synsets)
        class_names += names
        split += [part] * len(names)
    if not rows:
        raise DatasetError(
            f"no .sbow.mat files of {', '.join(parts)} below {base}; expected {LAYOUT}"
        )
    if synsets is None and "train" in split and len(set(split)) > 1:
        raise DatasetError(
            f"no meta.mat below {base}, which ties synset names to class numbers; "
            f"add it, or read one part with parts="
        )
    classes = synsets if synsets is not None else sorted(set(class_names), key=_by_number)
    number = {c: i for i, c in enumerate(classes)}
    strange = next((c for c in class_names if c not in number), None)
    if strange is not None:
        raise DatasetError(f"{base}: synset {strange} is not among those of meta.mat")
    return FeatureTable(
        name=name,
        X=sparse.vstack(rows, format="csr"),
        Y=np.array([number[c] for c in class_names], dtype=np.int64),
        features=[f"word{w}" for w in range(N_WORDS)],
        labels=classes,
        split=split,
        ids=ids,
    )


def read_sbow(path: str | os.PathLike[str]) -> tuple[list[str], Any]:
    """Picture ids and word counts (CSR, 1000 columns) of one ``.sbow.mat`` file.

    The file holds a struct array ``image_sbow`` with the fields ``ID`` and ``sbow``; the latter
    is a struct whose ``word`` lists a number from 0 to 999 for each patch of the picture.
    """
    path = Path(path)
    pictures = read_mat5(path, "image_sbow")["image_sbow"]
    ids: list[str] = []
    words: list[NDArray[np.int64]] = []
    for place, picture in enumerate(_structs(pictures, path, "image_sbow", "ID", "sbow"), 1):
        ids.append(str(picture["ID"]))
        words.append(_words(picture["sbow"], f"{path}, picture {place}"))
    lengths = [len(w) for w in words]
    row = np.repeat(np.arange(len(words)), lengths)
    column = np.concatenate(words) if words else np.zeros(0, dtype=np.int64)
    # Building CSR from coordinates adds up repeated entries, which is exactly counting.
    counts = sparse.coo_matrix(
        (np.ones(len(column), dtype=np.float32), (row, column)), shape=(len(words), N_WORDS)
    ).tocsr()
    return ids, counts


def _words(sbow: Any, where: str) -> NDArray[np.int64]:
    if not (isinstance(sbow, list) and len(sbow) == 1 and "word" in sbow[0]):
        raise DatasetError(f"{where}: sbow is not one struct with a field word")
    words = sbow[0]["word"]
    if not isinstance(words, np.ndarray):
        raise DatasetError(f"{where}: word holds no numbers")
    words = words.ravel()
    if words.size == 0:
        return np.zeros(0, dtype=np.int64)
    bad = np.flatnonzero(~((words >= 0) & (words < N_WORDS) & (words == np.rint(words))))
    if len(bad):
        raise DatasetError(
            f"{where}: word {words[bad[0]]} where 0 to {N_WORDS - 1} was expected (words count "
            "from 0)"
        )
    return words.astype(np.int64)


def _part_files(catalogue: Catalogue, part: str) -> list[tuple[str, Path]]:
    """(key, file) in order: the key is the synset for train, the file's number otherwise."""
    if part == "train":
        keys = {m[1]: n for n in catalogue if (m := _TRAIN.fullmatch(n))}
    elif part in _TRUTH:
        numbered = re.compile(part + r"\.(\d+)\.sbow\.mat")
        keys = {m[1]: n for n in catalogue if (m := numbered.fullmatch(n))}
        gap = first_missing([int(k) for k in keys], start=1)
        if gap is not None:
            raise DatasetError(
                f"{part}.{gap:04d}.sbow.mat is missing below {catalogue.root}; the class list "
                "goes by position, so the files must have no gap"
            )
    else:
        raise DatasetError(f"part {part!r}; train, val or test expected")
    return [(key, catalogue.need(keys[key], LAYOUT)) for key in sorted(keys)]


def _from_truth(
    catalogue: Catalogue, part: str, count: int, synsets: list[str] | None
) -> list[str]:
    """The class of each picture of a numbered part: synset name if known, else its number."""
    path = catalogue.need(_TRUTH[part], f"the class numbers of the {part} pictures, one a line")
    lines = read_lines(path)
    if len(lines) < count:
        raise DatasetError(f"{path}: {len(lines)} classes for {count} {part} pictures")
    limit = 1000 if synsets is None else len(synsets)
    numbers = [whole_number(text, f"{path}, line {n}", 1, limit) for n, text in lines[:count]]
    return [str(n) if synsets is None else synsets[n - 1] for n in numbers]


def _kit_synsets(catalogue: Catalogue) -> list[str] | None:
    """The synset names of meta.mat by class number; synsets with children are no classes."""
    path = catalogue.find("meta.mat")
    if path is None:
        return None
    synsets = read_mat5(path, "synsets")["synsets"]
    by_number: dict[int, str] = {}
    for synset in _structs(synsets, path, "synsets", "ILSVRC2010_ID", "WNID"):
        if _number(synset.get("num_children", 0), path) == 0:
            by_number[_number(synset["ILSVRC2010_ID"], path)] = str(synset["WNID"])
    gap = first_missing(list(by_number), start=1)
    if gap is not None:
        raise DatasetError(f"{path}: no synset without children has ILSVRC2010_ID {gap}")
    return [by_number[n] for n in sorted(by_number)]


def _structs(value: Any, path: Path, name: str, *fields: str) -> list[dict[str, Any]]:
    if not (isinstance(value, list) and all(isinstance(v, dict) for v in value)):
        raise DatasetError(f"{path}: {name} is not a struct array")
    if any(field not in v for v in value for field in fields):
        raise DatasetError(f"{path}: {name} lacks one of the fields {', '.join(fields)}")
    return value


def _number(value: Any, path: Path) -> int:
    """A whole number that MATLAB keeps as a 1 x 1 matrix."""
    single = np.asarray(value).ravel().tolist()
    if len(single) != 1 or not isinstance(single[0], int | float) or single[0] != int(single[0]):
        raise DatasetError(f"{path}: {str(single)[:40]} where a whole number was expected")
    return int(single[0])


def _by_number(name: str) -> tuple[int, str]:
    return (int(name) if name.isdigit() else 0, name)
