"""UCI Car Evaluation: six ordered attributes, four classes.

The values are words, but each attribute has a natural order (low < med < high < vhigh), so the
numbers given to them follow it: larger means more.
"""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np

from benchmarks.readers.files import read_lines
from benchmarks.readers.records import FeatureTable
from likewise.errors import DatasetError

LAYOUT = "car.data with lines buying,maint,doors,persons,lug_boot,safety,class"
CLASSES = ("unacc", "acc", "good", "vgood")
# car.c45-names lists the prices from dear to cheap; here every order goes up.
VALUES = {
    "buying": ("low", "med", "high", "vhigh"),
    "maint": ("low", "med", "high", "vhigh"),
    "doors": ("2", "3", "4", "5more"),
    "persons": ("2", "4", "more"),
    "lug_boot": ("small", "med", "big"),
    "safety": ("low", "med", "high"),
}


def read_uci_car(root: str | os.PathLike[str], *, one_hot: bool = False) -> FeatureTable:
    """Read ``root/car.data`` (or the file itself): six words and a class on each line.

    Parameters
    ----------
    root : path
        The folder, or the file.
    one_hot : bool, default=False
        21 columns of 0 and 1 called ``buying=low`` and so on, in place of ranks.

    Returns
    -------
    FeatureTable
        ``X`` holds the rank of each value in its order from 0 (buying and maint: low, med, high,
        vhigh; doors: 2, 3, 4, 5more; persons: 2, 4, more; lug_boot: small, med, big; safety: low,
        med, high).  ``Y`` numbers the classes unacc, acc, good, vgood.

    See Also
    --------
    likewise_methods.s3ml.S3ML : a metric for such tables.
    """
    path = Path(root)
    path = path / "car.data" if path.is_dir() else path
    if not path.is_file():
        raise DatasetError(f"{path} is not there; expected {LAYOUT}")
    orders = [*VALUES.items(), ("class", CLASSES)]
    ranks = [{value: rank for rank, value in enumerate(values)} for _, values in orders]
    rows = []
    for number, line in read_lines(path):
        fields = [field.strip() for field in line.split(",")]
        if len(fields) != len(orders):
            raise DatasetError(
                f"{path}, line {number}: {len(fields)} fields where {len(orders)} were expected; "
                f"expected {LAYOUT}"
            )
        for field, known, (attribute, values) in zip(fields, ranks, orders, strict=True):
            if field not in known:
                raise DatasetError(
                    f"{path}, line {number}: {attribute} is {field[:30]!r}; "
                    f"one of {', '.join(values)} expected"
                )
        rows.append([known[field] for field, known in zip(fields, ranks, strict=True)])
    if not rows:
        raise DatasetError(f"{path}: is empty; expected {LAYOUT}")
    table = np.array(rows, dtype=np.int64)
    X, names = table[:, :-1], list(VALUES)
    if one_hot:
        columns = zip(X.T, VALUES.values(), strict=True)
        X = np.hstack([np.eye(len(values), dtype=np.int64)[rank] for rank, values in columns])
        names = [f"{attribute}={value}" for attribute, values in VALUES.items() for value in values]
    return FeatureTable("uci-car", X, table[:, -1].copy(), names, CLASSES)
