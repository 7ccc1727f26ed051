"""Propagation of pairs over a neighbour graph."""

from typing import TYPE_CHECKING

from likewise_methods.lazy_exports import lazy_exports

if TYPE_CHECKING:
    from likewise_methods.s3ml.propagation.methods import affinities as affinities
    from likewise_methods.s3ml.propagation.methods import scatter as scatter
    from likewise_methods.s3ml.propagation.methods import scatter_and_counts as scatter_and_counts

__getattr__, __dir__, __all__ = lazy_exports(
    __name__,
    {
        "methods": ["affinities", "scatter", "scatter_and_counts"],
    },
)
