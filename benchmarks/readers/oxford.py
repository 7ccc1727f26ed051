"""Oxford5K and Paris6K: photos, and four lists for each query.

A picture is a positive if it is in the *good* or the *ok* list; *junk* is left out of the count.
Partial copies are normal, so list entries without a photo are counted and passed over, and a
query keeps its lists even when its own photo is missing.
"""

from __future__ import annotations

import math
import os
from collections.abc import Mapping
from pathlib import Path

from benchmarks.readers.files import files_below, need_file, need_folder, photos_by_name, read_lines
from likewise.errors import DatasetError, ImageError
from likewise_methods.evaluation.datasets import Box, RetrievalQuery, RetrievalSet

LAYOUT = (
    "photos in images/ (or anywhere below) and lists LANDMARK_N_{query,good,ok,junk}.txt "
    "in one folder, such as groundtruth/ or gt_files_170407/"
)
_QUERY = "_query.txt"
_OXFORD_PREFIX = "oxc1_"


def read_oxford(
    root: str | os.PathLike[str],
    *,
    images: str | os.PathLike[str] | None = None,
    lists: str | os.PathLike[str] | None = None,
    name: str | None = None,
    original_longer_side: int = 1024,
) -> RetrievalSet:
    """Read Oxford5K, Paris6K or a part of them.

    Layout: photos in ``root/images`` if there is such a folder, else anywhere below ``root``
    (Paris: ``paris/LANDMARK/NAME.jpg``); lists ``LANDMARK_N_{query,good,ok,junk}.txt`` in the
    one folder below ``root`` that holds them.  A query line is ``NAME x1 y1 x2 y2``, in Oxford with
    the prefix ``oxc1_``.

    A query whose photo is missing keeps the box as written.  The query's own picture stays among
    the positives if the lists put it there: leaving it out of a ranking is the protocol's business.

    Parameters
    ----------
    root : path
        The folder.
    images, lists : path, optional
        Other folders.
    name : str, optional
        Of the data set.
    original_longer_side : int, default=1024
        Boxes are in pixels of the original, whose longer side this is; where the photo here is
        smaller, its box is scaled down with it.

    Returns
    -------
    RetrievalSet
        Pictures and queries.

    See Also
    --------
    read_holidays : groups of one scene.
    """
    base = need_folder(root, LAYOUT)
    photo_folder = base / "images" if (base / "images").is_dir() else base
    photos = photos_by_name(photo_folder if images is None else need_folder(images, LAYOUT))
    if not photos:
        raise DatasetError(f"no photos below {images or photo_folder}; expected {LAYOUT}")
    folder = _list_folder(base) if lists is None else need_folder(lists, LAYOUT)
    names = sorted(p.name.removesuffix(_QUERY) for p in folder.glob("*" + _QUERY))
    if not names:
        raise DatasetError(f"no *{_QUERY} in {folder}; expected {LAYOUT}")

    queries = []
    left_out = 0
    for query in names:
        good, ok, junk = (_names(folder / f"{query}_{kind}.txt") for kind in ("good", "ok", "junk"))
        positives = good | ok
        left_out += len((positives | junk) - photos.keys())
        picture, box = _query_line(folder / (query + _QUERY))
        queries.append(
            RetrievalQuery(
                name=query,
                query=picture,
                positives=frozenset(positives & photos.keys()),
                junk=frozenset((junk - positives) & photos.keys()),
                box=_scale_box(box, picture, photos, original_longer_side),
                group=query.rpartition("_")[0] or query,
                present=picture in photos,
            )
        )
    return RetrievalSet(name or base.name, photos, queries, left_out)


def _list_folder(root: Path) -> Path:
    folders = sorted({p.parent for p in files_below(root) if p.name.endswith(_QUERY)})
    if not folders:
        raise DatasetError(f"no *{_QUERY} anywhere below {root}; expected {LAYOUT}")
    if len(folders) > 1:
        raise DatasetError(
            f"ground-truth lists in {len(folders)} folders ({folders[0]}, {folders[1]} …); "
            "say which with lists="
        )
    return folders[0]


def _names(path: Path) -> set[str]:
    """The photo names of one list; an empty list is fine."""
    names = set()
    for number, line in read_lines(need_file(path, LAYOUT)):
        if len(line.split()) != 1:
            raise DatasetError(f"{path}, line {number}: {line[:60]!r} where one name was expected")
        names.add(line)
    return names


def _query_line(path: Path) -> tuple[str, Box]:
    lines = read_lines(path)
    if len(lines) != 1:
        raise DatasetError(f"{path}: {len(lines)} lines where one query was expected")
    number, line = lines[0]
    wrong = DatasetError(
        f"{path}, line {number}: {line[:80]!r} where 'NAME x1 y1 x2 y2' was expected"
    )
    try:
        name, *corners = line.split()
        x1, y1, x2, y2 = (float(c) for c in corners)
    except ValueError:
        raise wrong from None
    if not (math.isfinite(x1 + y1 + x2 + y2) and 0 <= x1 < x2 and 0 <= y1 < y2):
        raise wrong
    return name.removeprefix(_OXFORD_PREFIX), (x1, y1, x2, y2)


def _scale_box(box: Box, picture: str, photos: Mapping[str, Path], original: int) -> Box:
    if picture not in photos:
        return box
    # Here and not above: only this step looks at a picture, and Pillow is slow to import.
    from likewise.images.decode import probe

    try:
        info = probe(photos[picture])
    except ImageError as error:
        raise DatasetError(f"the query picture cannot be measured: {error}") from error
    scale = min(1.0, max(info.width, info.height) / original)
    x1, y1, x2, y2 = (scale * side for side in box)
    if x1 >= info.width or y1 >= info.height:
        raise DatasetError(
            f"{photos[picture]}: the query box starts at ({x1:.0f}, {y1:.0f}), outside the "
            f"{info.width} x {info.height} photo; is original_longer_side={original} right?"
        )
    # Rounding of the shrunken size can leave a box a pixel too long.
    return x1, y1, min(x2, float(info.width)), min(y2, float(info.height))
