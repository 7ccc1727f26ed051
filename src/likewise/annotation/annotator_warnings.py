"""What an annotator warns of: queries without a code, and codes that are not finished."""

from __future__ import annotations

import sys
import warnings
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning

from likewise.solvers.lassos.engine import Codes

_OURS = {__file__, str(Path(__file__).with_name("annotator.py"))}


def warn_of_zeros(empty: NDArray[np.int64]) -> None:
    """``empty``: numbers of the queries that are all zeros."""
    if len(empty):
        _warn(
            f"query {int(empty[0])} is all zeros ({len(empty)} such queries): no code, "
            "scores of zero",
            UserWarning,
        )


def warn_unfinished(codes: Codes, tol: float) -> None:
    """Of codes whose end was not reached."""
    if not codes.converged.all():
        worst = float(np.nanmax(codes.gap[~codes.converged], initial=0.0))
        _warn(
            f"{int((~codes.converged).sum())} queries did not reach tol={tol:g} "
            f"(largest gap {worst:.2g}); see gap_",
            ConvergenceWarning,
        )


def _warn(message: str, category: type[Warning]) -> None:
    """A warning that names the first line outside the annotator, whichever method was called."""
    level, frame = 1, sys._getframe()
    while frame.f_back is not None and frame.f_code.co_filename in _OURS:
        level, frame = level + 1, frame.f_back
    warnings.warn(message, category, stacklevel=level)
