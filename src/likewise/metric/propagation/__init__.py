"""Affinities spread over a kNN graph, and the scatter matrix they give; begin with ``methods``."""

from typing import TYPE_CHECKING

from likewise._doors import doors

if TYPE_CHECKING:
    from likewise.metric.propagation.methods import affinities as affinities
    from likewise.metric.propagation.methods import scatter as scatter
    from likewise.metric.propagation.methods import scatter_and_counts as scatter_and_counts

__getattr__, __dir__, __all__ = doors(__name__)
