"""Metrics learned from pairs or a few labels: S3ML, its plain form S2ML, LRML, and yardsticks."""

from __future__ import annotations

from typing import TYPE_CHECKING

from likewise._doors import doors

if TYPE_CHECKING:
    from likewise.metric.base import Euclidean as Euclidean
    from likewise.metric.base import Mahalanobis as Mahalanobis
    from likewise.metric.fitted import FittedSpace as FittedSpace
    from likewise.metric.lrml import LRML as LRML
    from likewise.metric.s3ml import S3ML as S3ML

__getattr__, __dir__, __all__ = doors(__name__)
