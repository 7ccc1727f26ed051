"""INRIA Holidays: the file number says everything.

Pictures of one scene share their number up to the last two digits; the one that ends in 00 is
the query and the others are its positives.
"""

from __future__ import annotations

import os

from benchmarks.readers.files import need_folder, photos_by_name
from likewise.errors import DatasetError
from likewise_methods.evaluation.datasets import RetrievalQuery, RetrievalSet

LAYOUT = "jpg/NNNNNN.jpg (INRIA Holidays: six digits, queries end in 00)"


def read_holidays(root: str | os.PathLike[str], *, name: str = "holidays") -> RetrievalSet:
    """Read ``root/jpg/NNNNNN.jpg``, or the same files right below ``root``.

    A group whose query picture is missing is kept with ``present=False``.  The query is not
    among its own positives; a group of one has none.

    Parameters
    ----------
    root : path
        The folder.
    name : str, default="holidays"
        Of the data set.

    Returns
    -------
    RetrievalSet
        Pictures and queries.

    See Also
    --------
    read_oxford : landmarks with lists.
    """
    base = need_folder(root, LAYOUT)
    photos = photos_by_name(base / "jpg" if (base / "jpg").is_dir() else base)
    if not photos:
        raise DatasetError(f"no pictures below {base}; expected {LAYOUT}")
    groups: dict[str, set[str]] = {}
    for stem, path in photos.items():
        if not (len(stem) == 6 and stem.isascii() and stem.isdigit()):
            raise DatasetError(f"{path}: the name is not six digits; expected {LAYOUT}")
        groups.setdefault(stem[:4] + "00", set()).add(stem)
    queries = [
        RetrievalQuery(
            name=query,
            query=query,
            positives=frozenset(members - {query}),
            group=query,
            present=query in members,
        )
        for query, members in sorted(groups.items())
    ]
    return RetrievalSet(name, photos, queries)
