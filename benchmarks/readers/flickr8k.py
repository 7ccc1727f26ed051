"""Flickr8k: photographs with five captions each (Hodosh, Young and Hockenmaier 2013)."""

from __future__ import annotations

import csv
import os
from pathlib import Path

from benchmarks.readers.files import need_file, need_folder
from benchmarks.readers.records import CaptionedImages
from likewise.errors import DatasetError

LAYOUT = "images/NAME and captions.tsv with the columns image, split, number, caption"
COLUMNS = ("image", "split", "number", "caption")


def read_flickr8k(root: str | os.PathLike[str]) -> CaptionedImages:
    """Read ``root``/captions.tsv and the pictures it names in ``root``/images.

    Parameters
    ----------
    root : path
        The folder of the data set.

    Returns
    -------
    CaptionedImages
        Pictures in the order of the file, each with its captions.

    See Also
    --------
    read_folders : pictures with one class each.
    """
    folder = need_folder(root, LAYOUT)
    lists = need_file(folder / "captions.tsv", LAYOUT)
    captions: dict[str, list[str]] = {}
    split: dict[str, str] = {}
    try:
        with lists.open(encoding="utf-8", newline="") as lines:
            rows = csv.reader(lines, delimiter="\t", quoting=csv.QUOTE_NONE)
            if tuple(next(rows, ())) != COLUMNS:
                raise DatasetError(f"{lists}: the first line is not {', '.join(COLUMNS)}")
            for number, row in enumerate(rows, 2):
                if len(row) != len(COLUMNS):
                    raise DatasetError(f"{lists}, line {number}: {len(row)} columns; 4 expected")
                name, part, _, caption = row
                if Path(name).name != name:
                    raise DatasetError(f"{lists}, line {number}: {name!r} is not a file name")
                captions.setdefault(name, []).append(caption)
                split.setdefault(name, part)
    except UnicodeDecodeError as error:
        raise DatasetError(f"{lists} is not UTF-8 text: {error.reason}") from error
    if not captions:
        raise DatasetError(f"{lists} names no picture; expected {LAYOUT}")
    paths = [folder / "images" / name for name in captions]
    missing = next((path for path in paths if not path.is_file()), None)
    if missing is not None:
        raise DatasetError(f"{missing} is not there; expected {LAYOUT}")
    return CaptionedImages("flickr8k", paths, list(captions.values()), list(split.values()))
