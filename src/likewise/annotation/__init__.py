"""Tagging by sparse reconstruction."""

from __future__ import annotations

from typing import TYPE_CHECKING

from likewise._doors import doors

if TYPE_CHECKING:
    from likewise.annotation.annotator import SparseAnnotator as SparseAnnotator
    from likewise.annotation.baselines.egssc import EGSSC as EGSSC
    from likewise.annotation.baselines.knn import KNNAnnotator as KNNAnnotator
    from likewise.annotation.baselines.lnp import LNP as LNP
    from likewise.annotation.baselines.lsmp import LSMPLike as LSMPLike
    from likewise.annotation.baselines.ridge import RidgeAnnotator as RidgeAnnotator
    from likewise.annotation.baselines.svm import SVMAnnotator as SVMAnnotator
    from likewise.annotation.linear import LinearAnnotator as LinearAnnotator
    from likewise.annotation.mixed import MixedAnnotator as MixedAnnotator

__getattr__, __dir__, __all__ = doors(__name__)
