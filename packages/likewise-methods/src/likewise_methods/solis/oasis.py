"""OASIS (Chechik et al. 2010): passive-aggressive learning of a bilinear similarity.

docs/methods/solis.md, (17).
"""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from likewise_methods.solis.margin_kernels import new_work
from likewise_methods.solis.rival_kernels import oasis_diagonal, oasis_full
from likewise_methods.solis.rivals import OnlineRival
from likewise_methods.solis.rows import Floats, Triplets
from likewise_methods.sparse_rows import Rows
from likewise_methods.validation import number


class OASIS(OnlineRival):
    """Learn a similarity; each triplet below the margin causes a step of at most ``C``.

    ``w += min(C, loss/|z|^2) z`` from w = 1 (``form="diagonal"``), or with a full matrix
    (``form="full"``) ``W += min(C, loss/|V|^2) V``, V = x (x+ - x-)', from the identity.
    ``sample_weight`` multiplies C.

    Parameters
    ----------
    C : float, default=0.1
        The longest step; above 0.
    form : {"diagonal", "full"}, default="diagonal"
        One weight per word, or a matrix (up to 10,000 words).
    margin : float, default=1.0
        Margin of the hinge; above 0.

    Attributes
    ----------
    weights_ : array of shape (words,)
        The weights; only of the diagonal form.
    matrix_ : array of shape (words, words)
        The matrix, or the weights as a diagonal one.
    sparsity_, changed_ : float
        Shares of weights that are zero, and that differ from the start.
    n_rounds_, n_losses_ : int
        Triplets learnt from, and those that caused an update.

    See Also
    --------
    SOLIS : sparse weights from the same triplets.
    LEGO : learns a metric.

    References
    ----------
    Chechik et al., 2010.

    docs/methods/solis.md, (17).

    Examples
    --------
    >>> X = np.array([[1.0, 1, 0], [1, 0, 1], [0, 1, 1]])
    >>> OASIS(C=1.0).fit(X, [[0, 1, 2], [1, 0, 2]]).weights_.tolist()
    [1.75, 0.5, 0.75]
    """

    kind: ClassVar[str] = "OASIS learner"

    def __init__(self, C: float = 0.1, *, form: str = "diagonal", margin: float = 1.0) -> None:
        self.C = C
        self.form = form
        self.margin = margin

    def _check_parameters(self) -> dict[str, Any]:
        return {"C": number(self.C, "C", above=0), "margin": number(self.margin, "margin", above=0)}

    def _measure(self, rows: Rows, triplets: Triplets, given: dict[str, Any]) -> None:
        self.scales_ = {"C": given["C"]}

    def _learn(self, rows: Rows, triplets: Triplets, sample_weight: Floats) -> None:
        C, margin = self._begun_with["C"], self._begun_with["margin"]
        state, counters = self._state, self._counters
        if self._is_full():
            longest = 2 * int(np.diff(rows.ends).max(initial=0)) + 1
            words, d = np.zeros(longest, np.int64), np.zeros(longest)
            oasis_full(rows, triplets, sample_weight, state, counters, C, margin, words, d)
        else:
            work = new_work(rows, len(triplets))
            oasis_diagonal(rows, triplets, sample_weight, state, counters, C, margin, work)
