"""Tables of numbers in text files, read by NumPy's C parser.

The fast parser says little about what it refuses, so the slow walk that names the line is taken
only after a refusal: good files are read at full speed and bad ones are explained.
"""

from __future__ import annotations

import math
import warnings
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from likewise.errors import DatasetError


def read_table(
    path: Path,
    *,
    delimiter: str | None = None,
    skip_lines: int = 0,
    comment: str | None = None,
    dtype: type[np.floating[Any]] = np.float32,
    columns: int | None = None,
) -> NDArray[Any]:
    """A (rows, columns) array of finite numbers; blank and comment lines are skipped.

    ``columns`` is the expected width where it is known; otherwise the first row sets it.
    """
    try:
        with (
            path.open(encoding="utf-8-sig", errors="replace") as file,
            warnings.catch_warnings(),
        ):
            # An empty table is answered below, by name, instead of by NumPy's warning.
            warnings.simplefilter("ignore", UserWarning)
            # NumPy skips empty lines but stumbles over lines of blanks.
            lines = (line for line in file if line.strip() or line == "\n")
            table: NDArray[Any] = np.loadtxt(
                lines, dtype, comments=comment, delimiter=delimiter, skiprows=skip_lines, ndmin=2
            )
    except OSError as error:
        raise DatasetError(f"{path}: cannot be read ({error.strerror})") from error
    except ValueError as error:
        raise _explain(path, delimiter, skip_lines, comment, columns, str(error)) from None
    if table.size == 0:
        raise DatasetError(f"{path}: holds no rows of numbers")
    if (columns is not None and table.shape[1] != columns) or not np.isfinite(table).all():
        raise _explain(path, delimiter, skip_lines, comment, columns, "not a table of numbers")
    return table


def _explain(
    path: Path,
    delimiter: str | None,
    skip_lines: int,
    comment: str | None,
    columns: int | None,
    reason: str,
) -> DatasetError:
    """What is wrong with the first line that is wrong."""
    with path.open(encoding="utf-8-sig", errors="replace") as file:
        for number, line in enumerate(islice(file, skip_lines, None), skip_lines + 1):
            text = line.split(comment)[0].strip() if comment else line.strip()
            if not text:
                continue
            fields = text.split(delimiter)
            columns = len(fields) if columns is None else columns
            if len(fields) != columns:
                return DatasetError(
                    f"{path}, line {number}: {len(fields)} values where {columns} were expected"
                )
            for field in fields:
                if not _finite(field):
                    return DatasetError(
                        f"{path}, line {number}: {field.strip()[:40]!r} is not a finite number"
                    )
    return DatasetError(f"{path}: {reason}")


def _finite(text: str) -> bool:
    try:
        return math.isfinite(float(text))
    except ValueError:
        return False
