"""NUS-WIDE and NUS-WIDE-LITE: feature files, one label file a concept, lists of pictures.

The official archives get unpacked in many ways, so files are found by name anywhere below the
root.  Feature files are joined side by side; ``blocks`` keeps the borders and thereby the widths
(the edge histogram EDH has 73 columns in the official files, whatever a paper says).
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from benchmarks.readers.files import (
    Catalogue,
    need_file,
    need_folder,
    read_bytes,
    read_lines,
    whole_number,
)
from benchmarks.readers.numbers import read_table
from benchmarks.readers.records import FeatureTable
from likewise.errors import DatasetError, InvalidInput

BLOCKS = ("CH", "CM55", "CORR", "EDH", "WT", "BoW")


@dataclass(frozen=True)
class _Layout:
    """File names of one edition; braces are filled with part, block and concept."""

    parts: tuple[str, ...]
    block: str
    words: str | None
    labels: str
    pictures: str


_FULL = _Layout(
    ("Train", "Test"),
    "{part}_Normalized_{block}.dat",
    "BoW_{part}_int.dat",
    "Labels_{concept}_{part}.txt",
    "{part}Imagelist.txt",
)
_WHOLE = _Layout(
    ("",), "Normalized_{block}.dat", "BoW_int.dat", "Labels_{concept}.txt", "Imagelist.txt"
)
_LITE = _Layout(
    ("Train", "Test"),
    "Normalized_{block}_Lite_{part}.dat",
    None,
    "Lite_Labels_{concept}_{part}.txt",
    "{part}_imageOutPutFileList.txt",
)


def read_nuswide(
    root: str | os.PathLike[str],
    features: Sequence[str] = ("CM55", "WT", "EDH"),
    *,
    whole: bool = False,
    name: str = "nuswide",
) -> FeatureTable:
    """Read NUS-WIDE in its official files, found anywhere below ``root``.

    Layout: ``ConceptsList/Concepts81.txt``; ``TrainTestLabels/Labels_CONCEPT_Train.txt`` and
    ``…_Test.txt``; ``Low_Level_Features/Train_Normalized_CM55.dat`` and ``Test_…`` for each of
    ``features``; picture names from ``ImageList/TrainImagelist.txt`` where present.

    Parameters
    ----------
    root : path
        The folder.
    features : sequence of str, default=("CM55", "WT", "EDH")
        Of CH, CM55, CORR, EDH, WT and BoW (``BoW_Train_int.dat``); none reads the labels alone
        (``X`` is None).
    whole : bool, default=False
        Read the undivided files instead: ``AllLabels/Labels_CONCEPT.txt``,
        ``Normalized_CM55.dat``, ``Imagelist.txt``.
    name : str, default="nuswide"
        Of the data set.

    Returns
    -------
    FeatureTable
        ``Y`` is CSR uint8, ``X`` float32.

    See Also
    --------
    read_nuswide_lite : the smaller set.
    read_nuswide_labels : labels only.
    """
    return _read_layout(root, _WHOLE if whole else _FULL, features, name)


def read_nuswide_lite(
    root: str | os.PathLike[str],
    features: Sequence[str] = ("CM55", "WT", "EDH"),
    *,
    name: str = "nuswide-lite",
) -> FeatureTable:
    """Read NUS-WIDE-LITE in its official files, found anywhere below ``root``.

    Layout: ``Concepts81.txt``; ``NUS-WIDE-Lite_groundtruth/Lite_Labels_CONCEPT_Train.txt`` and
    ``…_Test.txt``; ``NUS-WIDE-Lite_features/Normalized_CM55_Lite_Train.dat`` and ``…_Test.dat`` for
    each of ``features``; picture names from ``Train_imageOutPutFileList.txt`` where present.

    Parameters
    ----------
    root : path
        The folder.
    features : sequence of str, default=("CM55", "WT", "EDH")
        Of CH, CM55, CORR, EDH and WT; none reads the labels alone.
    name : str, default="nuswide-lite"
        Of the data set.

    Returns
    -------
    FeatureTable
        ``Y`` is CSR uint8, ``X`` float32.

    See Also
    --------
    read_nuswide : the whole set.
    """
    return _read_layout(root, _LITE, features, name)


def _read_layout(
    root: str | os.PathLike[str], layout: _Layout, features: Sequence[str], name: str
) -> FeatureTable:
    files = {block: layout.words if block == "BoW" else layout.block for block in features}
    for block, pattern in files.items():
        if block not in BLOCKS or pattern is None:
            known = ", ".join(BLOCKS if layout.words else BLOCKS[:-1])
            raise InvalidInput(f"feature {block!r} is unknown here; choose among {known}")
    base = need_folder(root, f"the official {name} files")
    catalogue = Catalogue(base)
    concepts = _concepts(catalogue.need("Concepts81.txt", "the concept names, one a line"))

    labels, vectors, split, ids = [], [], [], []
    for part in layout.parts:
        Y = _labels(catalogue, layout, part, concepts)
        count = Y.shape[0]
        columns = []
        for block, pattern in files.items():
            file = str(pattern).format(part=part, block=block)
            path = catalogue.need(file, f"the {block} features, one picture a line")
            columns.append(_same_length(read_table(path), count, path))
        labels.append(Y)
        vectors.append(columns)
        split += [part.lower()] * count if part else []
        listing = catalogue.find(layout.pictures.format(part=part))
        if listing is not None:
            # The lists were made on Windows.
            names = [text.replace("\\", "/") for _, text in read_lines(listing)]
            ids += _same_length(names, count, listing)

    Y = sparse.vstack(labels, format="csr")
    X, blocks = _join_blocks(vectors, list(files), base)
    if ids and len(ids) != Y.shape[0]:
        raise DatasetError(f"{base}: a picture list is there for one part and not for the other")
    return FeatureTable(
        name=name,
        X=X,
        Y=Y,
        features=[f"{b}{i}" for b, s in blocks.items() for i in range(s.stop - s.start)],
        labels=concepts,
        split=split,
        ids=ids,
        blocks=blocks,
    )


def _concepts(path: Path) -> list[str]:
    names = [text for _, text in read_lines(path)]
    if not names or len(set(names)) != len(names):
        raise DatasetError(f"{path}: {len(names)} concepts, {len(set(names))} of them different")
    return names


def _labels(catalogue: Catalogue, layout: _Layout, part: str, concepts: list[str]) -> Any:
    columns: list[NDArray[np.uint8]] = []
    for concept in concepts:
        file = layout.labels.format(concept=concept, part=part)
        path = catalogue.need(file, "0 or 1 for each picture, one a line")
        column = _zero_one(path)
        columns.append(_same_length(column, len(columns[0]) if columns else len(column), path))
    return sparse.csr_matrix(np.stack(columns, axis=1))


def _zero_one(path: Path) -> NDArray[np.uint8]:
    """A column of 0 and 1.  There are 22 million of them, so lines are not looked at singly."""
    content = read_bytes(path)
    digits = content.translate(None, b" \t\r\n")
    values = np.frombuffer(digits, dtype=np.uint8) - np.uint8(ord("0"))
    if not digits or values.max() > 1 or len(content.split()) != len(digits):
        for number, line in enumerate(content.splitlines(), 1):
            if line.strip() not in (b"0", b"1", b""):
                shown = line.decode("ascii", "replace")[:40]
                raise DatasetError(f"{path}, line {number}: {shown!r} where 0 or 1 was expected")
        raise DatasetError(f"{path}: holds no labels")
    return values


def _same_length(values: Any, count: int, path: Path) -> Any:
    if len(values) != count:
        raise DatasetError(f"{path}: {len(values):,} rows where {count:,} were expected")
    return values


def _join_blocks(
    vectors: list[list[NDArray[np.float32]]], names: list[str], base: Path
) -> tuple[NDArray[np.float32] | None, dict[str, slice]]:
    """Blocks side by side, parts one below the other."""
    if not names:
        return None, {}
    widths = [column.shape[1] for column in vectors[0]]
    for part in vectors[1:]:
        for block, width, column in zip(names, widths, part, strict=True):
            if column.shape[1] != width:
                raise DatasetError(
                    f"{base}: {block} has {width} columns in one part and {column.shape[1]} in "
                    "the other"
                )
    ends = np.cumsum([0, *widths]).tolist()
    blocks = {b: slice(ends[i], ends[i + 1]) for i, b in enumerate(names)}
    X = np.empty((sum(len(part[0]) for part in vectors), ends[-1]), dtype=np.float32)
    row = 0
    for part in vectors:
        for block, column in zip(names, part, strict=True):
            X[row : row + len(column), blocks[block]] = column
        row += len(part[0])
    return X, blocks


def read_nuswide_labels(
    root: str | os.PathLike[str], *, labelled_only: bool = False, name: str = "nuswide81"
) -> FeatureTable:
    """Read the labels-only copy of NUS-WIDE: three text files in one folder.

    Layout: ``label_ids.txt`` (number, tab, concept), ``full_image_id.txt`` (one Flickr id a
    picture), ``mul_label_ids.txt`` (picture number, tab, concept numbers separated by blanks; only
    pictures with a concept).

    Parameters
    ----------
    root : path
        The folder.
    labelled_only : bool, default=False
        A row for pictures with a concept only, and not for every picture.
    name : str, default="nuswide81"
        Of the data set.

    Returns
    -------
    FeatureTable
        ``Y`` is CSR uint8 and ``X`` None.

    See Also
    --------
    read_nuswide : features too.
    """
    layout = "label_ids.txt, full_image_id.txt and mul_label_ids.txt"
    base = need_folder(root, layout)
    concepts: list[str] = []
    path = need_file(base / "label_ids.txt", layout)
    for number, line in read_lines(path):
        place, _, concept = line.partition("\t")
        whole_number(place, f"{path}, line {number}", len(concepts), len(concepts))
        concepts.append(concept)
    ids = [text for _, text in read_lines(need_file(base / "full_image_id.txt", layout))]

    path = need_file(base / "mul_label_ids.txt", layout)
    row_lengths = np.zeros(len(ids) + 1, dtype=np.int64)
    columns: list[int] = []
    known = {str(i): i for i in range(len(concepts))}
    previous = -1
    for number, line in read_lines(path):
        place, _, rest = line.partition("\t")
        row = whole_number(place, f"{path}, line {number}", previous + 1, len(ids) - 1)
        try:
            numbers = sorted({known[text] for text in rest.split()})
        except KeyError as error:
            raise DatasetError(
                f"{path}, line {number}: concept {error.args[0][:20]!r} where 0 to "
                f"{len(concepts) - 1} was expected"
            ) from None
        if not numbers:
            raise DatasetError(f"{path}, line {number}: picture {row} without a concept")
        columns += numbers
        row_lengths[row + 1] = len(numbers)
        previous = row
    Y = sparse.csr_matrix(
        (np.ones(len(columns), dtype=np.uint8), columns, np.cumsum(row_lengths)),
        shape=(len(ids), len(concepts)),
    )
    if labelled_only:
        rows = np.flatnonzero(row_lengths[1:])
        Y, ids = Y[rows], [ids[r] for r in rows.tolist()]
    return FeatureTable(name, None, Y, labels=concepts, ids=ids)
