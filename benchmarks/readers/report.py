"""A survey of a data root: what every reader makes of what is there.

One line of the table below is one data set: the folder it is kept in, the function that reads it,
and how to say its size.  Readers are imported only when their folder exists.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any, Literal

from benchmarks.readers.records import CaptionedImages, Comparisons, FeatureTable
from likewise.errors import DatasetError
from likewise_methods.evaluation.datasets import LabelledImages, RetrievalSet

Record = CaptionedImages | LabelledImages | RetrievalSet | FeatureTable | Comparisons

# Folder -> module and function below evaluation.readers.
READERS = {
    "caltech101": ("folders", "read_folders"),
    "cifar10.tar.gz": ("folders", "read_folders"),
    "corel1k": ("corel", "read_corel1k"),
    "corel5k-mulan": ("mulan", "read_mulan"),
    "flickr8k": ("flickr8k", "read_flickr8k"),
    "holidays": ("holidays", "read_holidays"),
    "ilsvrc2010": ("ilsvrc", "read_ilsvrc2010"),
    "material-appearance": ("comparisons", "read_material_appearance"),
    "msra-mm": ("folders", "read_folders"),
    "music-aset400": ("comparisons", "read_music_aset400"),
    "nuswide": ("nuswide", "read_nuswide"),
    "nuswide-lite": ("nuswide", "read_nuswide_lite"),
    "nuswide81-labels": ("nuswide", "read_nuswide_labels"),
    "oxford1k": ("oxford", "read_oxford"),
    "oxford5k": ("oxford", "read_oxford"),
    "paris6k": ("oxford", "read_oxford"),
    "scene-mulan": ("mulan", "read_mulan"),
    "uci-car": ("uci", "read_uci_car"),
    "zappos85-triplets": ("comparisons", "read_zappos"),
}


@dataclass(frozen=True)
class Row:
    """One data set of the survey; ``text`` is its size, or the reason why it was refused."""

    folder: str
    reader: str
    state: Literal["read", "absent", "refused"]
    text: str
    seconds: float = 0.0


def survey(root: str | os.PathLike[str]) -> list[Row]:
    """Read every data set kept below ``root`` under its usual folder name.

    A folder that is not there gives a row "absent", one that cannot be read a row "refused" with
    the reason; ``seconds`` is CPU time without imports.

    Parameters
    ----------
    root : path
        The folder of all data sets.

    Returns
    -------
    list of Row
        One a data set.

    See Also
    --------
    benchmarks.readers.records.data_root : where it is looked for.
    """
    base = Path(root)
    if not base.is_dir():
        raise DatasetError(f"{base} is not a folder; the folder that holds the data sets expected")
    return [_row(base / folder, *reader) for folder, reader in READERS.items()]


def _row(path: Path, module: str, function: str) -> Row:
    if not path.exists():
        return Row(path.name, function, "absent", "not there")
    read: Callable[[Path], Record] = getattr(
        import_module(f"benchmarks.readers.{module}"), function
    )
    start = time.process_time()
    try:
        record = read(path)
    except DatasetError as error:
        return Row(path.name, function, "refused", str(error), time.process_time() - start)
    return Row(path.name, function, "read", describe(record), time.process_time() - start)


def describe(record: Record) -> str:
    """The size of a data set in a few words."""
    if isinstance(record, LabelledImages):
        text = f"{len(record):,} pictures in {len(record.classes)} classes"
        return text + _parts(record.split)
    if isinstance(record, CaptionedImages):
        captions = sum(map(len, record.captions))
        return f"{len(record):,} pictures, {captions:,} captions" + _parts(record.split)
    if isinstance(record, RetrievalSet):
        present = sum(query.present for query in record.queries)
        text = f"{len(record):,} pictures, {len(record.queries)} queries ({present} present)"
        if record.left_out:
            text += f", {record.left_out:,} list entries without a picture"
        return text
    if isinstance(record, Comparisons):
        text = f"{len(record):,} triplets over {record.n_objects} objects"
        if "genres" in record.extra:
            text += f", {len(record.extra['genres'])} genres"
        if len(record.extra.get("left_out", ())):
            text += f", {len(record.extra['left_out'])} rows left out"
        return text + _parts(record.split)
    text = f"{len(record):,} rows"
    if record.X is not None:
        text += f", {record.X.shape[1]:,} features"
    if record.Y.ndim == 1:
        text += f", {len(record.labels)} classes"
    else:
        labelled = int((_row_sums(record.Y) > 0).sum())
        text += f", {record.Y.shape[1]} labels ({labelled:,} rows with one or more)"
    return text + _parts(record.split)


def _row_sums(Y: Any) -> Any:
    # Without a wider type the sums of uint8 would be fine too, but only by luck of the data.
    return Y.sum(axis=1, dtype="int64")


def _parts(split: Any) -> str:
    counts: dict[str, int] = {}
    for part in split:
        counts[part] = counts.get(part, 0) + 1
    return ": " + ", ".join(f"{n:,} {part}" for part, n in counts.items()) if counts else ""
