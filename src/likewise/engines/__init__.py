"""Stores of rows behind one protocol: the embedded index, and Qdrant in a process or at a server;
the only importer of Qdrant."""

from typing import TYPE_CHECKING

from likewise._doors import doors

if TYPE_CHECKING:
    from likewise.engines.addresses import Engine as Engine
    from likewise.engines.addresses import open_engine as open_engine
    from likewise.engines.embedded import EmbeddedRows as EmbeddedRows
    from likewise.engines.errors import EngineAway as EngineAway
    from likewise.engines.errors import EngineError as EngineError
    from likewise.engines.errors import EngineMissing as EngineMissing
    from likewise.engines.errors import EngineRefused as EngineRefused
    from likewise.engines.errors import EngineWrong as EngineWrong
    from likewise.engines.protocol import Facts as Facts
    from likewise.engines.protocol import RowKind as RowKind
    from likewise.engines.protocol import RowStore as RowStore
    from likewise.engines.protocol import Where as Where
    from likewise.engines.qdrant import QdrantRows as QdrantRows
    from likewise.engines.reranking import rerank as rerank
    from likewise.engines.shipping import Shipped as Shipped
    from likewise.engines.shipping import ship as ship

__getattr__, __dir__, __all__ = doors(__name__)
