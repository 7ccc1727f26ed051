"""The door of sparse inverse covariance: what may come in."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from likewise_methods.errors import InvalidInput
from likewise_methods.s3ml.solver.blocks import BlockScan, is_sparse
from likewise_methods.s3ml.solver.engines import METHODS
from likewise_methods.validation import number, one_of, truth, whole

MAX_ITER = 2000
# Covariances computed in float32 or by blocks are symmetric to about this share; beyond it, S is
# something else.
ASYMMETRY = 1e-6


@dataclass(frozen=True)
class Settings:
    """Checked options of one call."""

    l1: float
    penalise_diagonal: bool
    tol: float
    method: str
    smoothing: float
    max_iter: int

    @property
    def on_diagonal(self) -> float:
        return self.l1 if self.penalise_diagonal else 0.0


def as_matrix(S: Any, name: str = "S") -> Any:
    """S as a float64 array in C order, or as CSR."""
    if not is_sparse(S):
        S = np.asarray(S)
    if S.dtype.kind not in "fiub":
        raise InvalidInput(f"{name} has type {S.dtype}; a matrix of real numbers expected")
    if is_sparse(S):
        found: Any = sp.csr_array(S, dtype=np.float64)
        found.sum_duplicates()
    else:
        found = np.ascontiguousarray(S, dtype=np.float64)
    if found.ndim != 2 or found.shape[0] != found.shape[1]:
        raise InvalidInput(f"{name} has shape {found.shape}; a square matrix expected")
    if found.shape[0] == 0:
        raise InvalidInput(f"{name} has no rows; at least 1 expected")
    return found


def as_start(start: Any, shape: tuple[int, int]) -> Any:
    """A precision to begin with."""
    found = as_matrix(start, "start")
    if found.shape != shape:
        raise InvalidInput(f"start has shape {found.shape}; {shape} expected, as S has")
    if not np.isfinite(found.data if is_sparse(found) else found).all():
        raise InvalidInput("start holds NaN or infinity; leave it out or give a finite one")
    return found


def check_scanned(S: Any, scanned: BlockScan) -> None:
    """Refuse what is no symmetric finite matrix."""
    if not scanned.finite:
        values = S.tocoo() if is_sparse(S) else None
        if values is not None:
            bad = int(np.flatnonzero(~np.isfinite(values.data))[0])
            row, column = int(values.row[bad]), int(values.col[bad])
        else:
            row = next(i for i in range(len(S)) if not np.isfinite(S[i]).all())
            column = int(np.flatnonzero(~np.isfinite(S[row]))[0])
        raise InvalidInput(
            f"S[{row}, {column}] is not finite; drop or fill in the samples it came from"
        )
    if scanned.asymmetry > ASYMMETRY * scanned.largest:
        raise InvalidInput(
            f"S is not symmetric: entries differ from their mirror images by up to "
            f"{scanned.asymmetry:g}; give (S + S.T) / 2 if that is what is meant"
        )


def as_settings(
    l1: Any, penalise_diagonal: Any, tol: Any, method: Any, smoothing: Any, max_iter: Any
) -> Settings:
    """All options checked."""
    truth(penalise_diagonal, "penalise_diagonal")
    one_of(method, "method", tuple(METHODS))
    smooth = number(smoothing, "smoothing", least=0)
    if smooth > 0.0:
        engine = METHODS[method].smoothed
        if engine is None:
            raise InvalidInput(
                f'smoothing is for method "alm": "{method}" solves the exact problem'
            )
        method = engine
    most = MAX_ITER if max_iter is None else whole(max_iter, "max_iter")
    return Settings(
        number(l1, "l1", least=0), bool(penalise_diagonal), number(tol, "tol", above=0), method,
        smooth, most,
    )  # fmt: skip
