"""What people said about three things at a time: triplets from CSV, JSON and MATLAB files.

Whatever the file, the result is one (m, 3) array of numbers from 0 whose row (i, j, k) means "j is
closer to i than k is".
"""

from __future__ import annotations

import html
import os
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from benchmarks.readers.files import (
    first_missing,
    need_file,
    need_folder,
    photos_by_name,
    whole_number,
)
from benchmarks.readers.mat5 import read_mat5
from benchmarks.readers.mat73 import read_mat73
from benchmarks.readers.records import Comparisons
from benchmarks.readers.triplets import (
    check_triplets,
    count_objects,
    csv_rows,
    in_range,
    json_rows,
    names_one_twice,
    read_json,
)
from likewise.errors import DatasetError
from likewise_methods.validation import one_of

_LIGHTINGS = {
    "ennis": "havran1_ennis_298x298_LDR",
    "stpeters": "havran1_stpeters_256x256_LDR",
}
_KEYS = {
    "answers": ("answers", "agreement"),
    "diff": ("answers_diff", "agreement_diff"),
    "equal": ("answers_equal", "agreement_equal"),
}


def read_triplets(
    path: str | os.PathLike[str],
    *,
    key: str | None = None,
    first_id: Literal[0, 1] | None = None,
    n_objects: int | None = None,
) -> Comparisons:
    """Read triplets from a ``.csv``, ``.json`` or ``.mat`` file.

    CSV: lines ``a,b,c``, the first may be a heading.  JSON: a list of [a, b, c], or an object that
    holds one.  MATLAB 5: a variable of three columns.  In all of them b is closer to a than c.

    Parameters
    ----------
    path : path
        The file.
    key : str, optional
        Where they are: "answers" by default in JSON, "triplets" in MATLAB.
    first_id : {0, 1}, optional
        Whether objects count from 0 (the default for CSV and JSON) or 1 (the default for MATLAB);
        the result counts from 0.
    n_objects : int, optional
        By default the highest number plus one.

    Returns
    -------
    Comparisons
        What people said.

    See Also
    --------
    likewise_methods.ordinal.OrdinalEmbedding : makes a map of them.
    """
    source = need_file(Path(path), "a .csv, .json or .mat file of triplets")
    suffix = source.suffix.lower()
    if suffix == ".csv":
        raw = csv_rows(source)
    elif suffix == ".json":
        raw = json_rows(read_json(source), key or "answers", 3, source)
    elif suffix == ".mat":
        raw = _mat_rows(source, key or "triplets")
    else:
        raise DatasetError(f"{source}: suffix {suffix!r}; .csv, .json or .mat expected")
    start = (1 if suffix == ".mat" else 0) if first_id is None else first_id
    triplets = check_triplets(raw, source, start, n_objects)
    return Comparisons(source.stem, triplets, count_objects(triplets, n_objects))


def read_zappos(root: str | os.PathLike[str]) -> Comparisons:
    """Read ``deconflicted_triplets.csv`` and ``images/ID.jpg``, ID from 0.

    Parameters
    ----------
    root : path
        The folder.  Without ``images/`` there are no ``paths``; with it, every object must have
        its photo.

    Returns
    -------
    Comparisons
        What people said.

    See Also
    --------
    read_triplets : any list of triplets.
    """
    layout = "deconflicted_triplets.csv and images/ID.jpg"
    base = need_folder(root, layout)
    source = need_file(base / "deconflicted_triplets.csv", layout)
    paths: list[Path] = []
    if (base / "images").is_dir():
        photos = {
            whole_number(stem, str(path), 0): path
            for stem, path in photos_by_name(base / "images").items()
        }
        paths = [photos[i] for i in sorted(photos)]
        gap = first_missing(list(photos))
        if gap is not None:
            raise DatasetError(f"{base / 'images'}: {gap}.jpg is missing; expected {layout}")
    n_objects = len(paths) or None
    triplets = check_triplets(csv_rows(source), source, 0, n_objects)
    return Comparisons(
        "zappos85",
        triplets,
        count_objects(triplets, n_objects),
        paths=paths,
        names=[p.stem for p in paths],
    )


def read_material_appearance(
    root: str | os.PathLike[str],
    *,
    which: Literal["answers", "diff", "equal"] = "answers",
    lighting: Literal["ennis", "stpeters"] = "ennis",
) -> Comparisons:
    """Read ``data/answers_processed_{train,test}.json`` and the pictures of one lighting.

    Objects are the pictures of ``data/havran1_ennis_298x298_LDR`` (or ``…stpeters_256x256_LDR``)
    in the order of their file names; without that folder there are no paths.

    Parameters
    ----------
    root : path
        The folder.
    which : {"answers", "diff", "equal"}, default="answers"
        All answers, those with a majority or the ties; their ``votes`` are (for, against).
    lighting : {"ennis", "stpeters"}, default="ennis"
        Of the pictures.

    Returns
    -------
    Comparisons
        What people said.

    See Also
    --------
    read_triplets : any list of triplets.
    """
    layout = "data/answers_processed_{train,test}.json"
    one_of(which, "which", _KEYS)
    one_of(lighting, "lighting", _LIGHTINGS)
    base = need_folder(root, layout)
    base = base / "data" if (base / "data").is_dir() else base
    folder = base / _LIGHTINGS[lighting]
    photos = list(photos_by_name(folder).items()) if folder.is_dir() else []
    # By file name with its suffix, as the authors' code sorts: chrome-steel.jpg, then chrome.jpg.
    photos.sort(key=lambda photo: photo[1].name)
    n_objects = len(photos) or None
    answer_key, vote_key = _KEYS[which]
    triplets, votes, split = [], [], []
    for part in ("train", "test"):
        source = need_file(base / f"answers_processed_{part}.json", layout)
        content = read_json(source)
        rows = check_triplets(json_rows(content, answer_key, 3, source), source, 0, n_objects)
        counts = json_rows(content, vote_key, 2, source)
        if len(counts) != len(rows) or (counts < 0).any():
            raise DatasetError(
                f"{source}: {vote_key} must hold two counts for each of the {len(rows)} rows of "
                f"{answer_key}; it holds {len(counts)} rows"
            )
        triplets.append(rows)
        votes.append(counts)
        split += [part] * len(rows)
    joined = np.vstack(triplets)
    return Comparisons(
        "material-appearance",
        joined,
        count_objects(joined, n_objects),
        split=split,
        votes=np.vstack(votes),
        names=[name for name, _ in photos],
        paths=[path for _, path in photos],
    )


def read_music_aset400(root: str | os.PathLike[str], *, labels: bool = True) -> Comparisons:
    """Read ``music_triplets.mat`` (MATLAB 5, ids from 1) and ``music_labels.mat`` (MATLAB 7.3).

    The file has 17 rows that name an artist twice ("222 is closer to 222 than 10 is"), which say
    nothing or nothing possible; they are left out and kept in ``extra["left_out"]``, counted from
    0 like the rest.

    Parameters
    ----------
    root : path
        The folder.
    labels : bool, default=True
        Read ``extra["genres"]``, the genre names, and ``extra["labels"]``, an (artists, genres)
        array of 0 and 1.  That needs h5py (``pip install 'likewise[datasets]'``); without, the
        number of artists is the highest id that occurs.

    Returns
    -------
    Comparisons
        What people said.

    See Also
    --------
    read_triplets : any list of triplets.
    """
    layout = "music_triplets.mat and music_labels.mat"
    base = need_folder(root, layout)
    source = need_file(base / "music_triplets.mat", layout)
    extra: dict[str, Any] = {}
    n_objects = None
    if labels:
        path = need_file(base / "music_labels.mat", layout + ", or labels=False")
        matrix, genres = read_mat73(path, "label_matrix", "lablist")
        if matrix.ndim != 2 or matrix.shape[1] != len(genres) or not np.isin(matrix, (0, 1)).all():
            raise DatasetError(
                f"{path}: label_matrix is {matrix.shape} for {len(genres)} genres; "
                "a column of 0 and 1 for each was expected"
            )
        # The names were scraped from web pages: r&amp;b.
        extra = {"genres": [html.unescape(g) for g in genres], "labels": matrix.astype(np.uint8)}
        n_objects = len(matrix)
    rows = in_range(_mat_rows(source, "triplets"), source, 1, n_objects)
    repeated = names_one_twice(rows)
    extra["left_out"] = rows[repeated]
    return Comparisons(
        "music-aset400", rows[~repeated], count_objects(rows, n_objects), extra=extra
    )


def _mat_rows(path: Path, variable: str) -> NDArray[Any]:
    value = read_mat5(path, variable)[variable]
    if not isinstance(value, np.ndarray):
        raise DatasetError(f"{path}: {variable} is no matrix of numbers")
    return value
