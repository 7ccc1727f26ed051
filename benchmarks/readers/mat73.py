"""MATLAB version 7.3 files, which are HDF5, through the optional h5py.

Only plain values leave this file.  h5py raises almost anything on damaged bytes, so here, and only
here, every exception is turned into a :class:`~likewise.errors.DatasetError`.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from likewise.errors import DatasetError


def read_mat73(path: Path, matrix: str, strings: str) -> tuple[NDArray[Any], list[str]]:
    """A numeric matrix and a cell array of strings from a version 7.3 file.

    The matrix comes as MATLAB shows it: HDF5 stores it column by column, hence the transpose.
    """
    try:
        import h5py
    except ImportError:
        raise DatasetError(
            f"{path} is a MATLAB 7.3 file, which needs h5py: pip install 'likewise[datasets]'"
        ) from None
    if not path.is_file():
        raise DatasetError(f"{path} is not there")
    try:
        with h5py.File(path, "r") as file:
            values = np.asarray(file[matrix][()]).T
            cells = np.asarray(file[strings][()]).ravel()
            texts = ["".join(map(chr, np.asarray(file[cell][()]).ravel())) for cell in cells]
    except Exception as error:
        raise DatasetError(
            f"{path}: no readable MATLAB 7.3 file with {matrix} and {strings} ({_short(error)})"
        ) from error
    return values, texts


def _short(error: Exception) -> str:
    text = str(error).strip().splitlines()
    return f"{type(error).__name__}: {text[0][:100]}" if text else type(error).__name__
