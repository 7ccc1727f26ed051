"""Nearest neighbours behind one protocol: exact, HNSW, IVF and p-stable LSH; the only importer of
faiss."""

from typing import TYPE_CHECKING

from likewise._doors import doors

if TYPE_CHECKING:
    from likewise.neighbours.container import DamagedFile as DamagedFile
    from likewise.neighbours.exact import Exact as Exact
    from likewise.neighbours.hnsw import HNSW as HNSW
    from likewise.neighbours.ivf import IVF as IVF
    from likewise.neighbours.lsh import LSH as LSH
    from likewise.neighbours.lsh import collision_probability as collision_probability
    from likewise.neighbours.lsh import recall as recall
    from likewise.neighbours.protocol import Neighbours as Neighbours
    from likewise.neighbours.protocol import NotBuilt as NotBuilt

__getattr__, __dir__, __all__ = doors(__name__)
