"""One folder a class: Caltech-101, MSRA-MM, CIFAR-10 as pictures; in a folder or in a tar file.

Rows are sorted by part, class and name, so a tar file and its unpacked copy give the same rows.
"""

from __future__ import annotations

import os
from collections.abc import Collection
from dataclasses import replace
from pathlib import Path

import numpy as np

from benchmarks.readers.archive import Archive, list_pictures
from likewise.errors import DatasetError
from likewise_lab.evaluation.folders import LAYOUT, labelled_files
from likewise_lab.evaluation.folders import read_folders as read_unpacked
from likewise_methods.evaluation import LabelledImages


def read_folders(
    root: str | os.PathLike[str], *, name: str | None = None, skip: Collection[str] = ()
) -> LabelledImages:
    """Read ``root``/CLASS/picture or ``root``/PART/CLASS/picture.

    Hidden files and files without a picture's suffix are skipped.  A single folder around
    everything (``101_ObjectCategories/``) is ignored.  Classes are numbered by name.

    Parameters
    ----------
    root : path
        A folder, or a tar file (plain, .gz, .bz2, .xz), which is read in place; see
        :meth:`LabelledImages.pictures`.
    name : str, optional
        Of the data set; by default that of ``root``.
    skip : collection of str, optional
        Classes to skip (Caltech-101: ``["BACKGROUND_Google"]``), present or not.

    Returns
    -------
    LabelledImages
        Pictures with one class each.

    See Also
    --------
    read_corel1k : classes by number.
    """
    source = Path(root)
    if not source.is_file():
        return read_unpacked(source, name=name, skip=skip)
    members = list_pictures(source)
    if not members:
        raise DatasetError(f"no pictures in {source}; expected {LAYOUT}")
    order, data = labelled_files([member for member, _, _ in members], source, name, skip)
    spans = np.array([members[i][1:] for i in order], dtype=np.int64)
    return replace(data, archive=Archive(source, spans[:, 0].copy(), spans[:, 1].copy()))
