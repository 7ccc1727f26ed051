"""Likewise beyond one machine: PostgreSQL catalogs, Qdrant engines and Dask workers.

The product loads these through the entry points of this package.
"""

from typing import TYPE_CHECKING

from likewise_methods.lazy_exports import lazy_exports

if TYPE_CHECKING:
    from likewise_cluster.dask.cluster import Cluster as Cluster
    from likewise_cluster.engines.sync import EngineSync as EngineSync

__getattr__, __dir__, __all__ = lazy_exports(
    __name__, {"dask.cluster": ["Cluster"], "engines.sync": ["EngineSync"]}
)
