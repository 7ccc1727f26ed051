"""Nearest neighbours: exact, HNSW, IVF and LSH behind one protocol."""

from typing import TYPE_CHECKING

from likewise_methods.lazy_exports import lazy_exports

if TYPE_CHECKING:
    from likewise_methods.neighbours.compact import CompactFlat as CompactFlat
    from likewise_methods.neighbours.container import DamagedFile as DamagedFile
    from likewise_methods.neighbours.container import Streamed as Streamed
    from likewise_methods.neighbours.container import map_arrays as map_arrays
    from likewise_methods.neighbours.container import open_arrays as open_arrays
    from likewise_methods.neighbours.container import pack_arrays as pack_arrays
    from likewise_methods.neighbours.container import release as release
    from likewise_methods.neighbours.container import save_arrays as save_arrays
    from likewise_methods.neighbours.container import unpack_arrays as unpack_arrays
    from likewise_methods.neighbours.exact import Exact as Exact
    from likewise_methods.neighbours.hnsw import HNSW as HNSW
    from likewise_methods.neighbours.ivf import IVF as IVF
    from likewise_methods.neighbours.lsh import LSH as LSH
    from likewise_methods.neighbours.lsh import collision_probability as collision_probability
    from likewise_methods.neighbours.lsh import recall as recall
    from likewise_methods.neighbours.protocol import Metric as Metric
    from likewise_methods.neighbours.protocol import Neighbours as Neighbours
    from likewise_methods.neighbours.protocol import NotBuilt as NotBuilt
    from likewise_methods.neighbours.protocol import rows as rows
    from likewise_methods.neighbours.scores import Flat as Flat
    from likewise_methods.neighbours.scores import row_scores as row_scores
    from likewise_methods.neighbours.scores import unit_length as unit_length

__getattr__, __dir__, __all__ = lazy_exports(
    __name__,
    {
        "compact": ["CompactFlat"],
        "container": [
            "DamagedFile",
            "Streamed",
            "map_arrays",
            "open_arrays",
            "pack_arrays",
            "release",
            "save_arrays",
            "unpack_arrays",
        ],
        "exact": ["Exact"],
        "hnsw": ["HNSW"],
        "ivf": ["IVF"],
        "lsh": ["LSH", "collision_probability", "recall"],
        "protocol": ["Metric", "Neighbours", "NotBuilt", "rows"],
        "scores": ["Flat", "row_scores", "unit_length"],
    },
)
