"""Stores of rows outside the collection behind one protocol, and which engine an address names."""

from typing import TYPE_CHECKING

from likewise_methods.lazy_exports import lazy_exports

if TYPE_CHECKING:
    from likewise.engines.addresses import Engine as Engine
    from likewise.engines.addresses import open_engine as open_engine
    from likewise.engines.errors import EngineAway as EngineAway
    from likewise.engines.errors import EngineError as EngineError
    from likewise.engines.errors import EngineMissing as EngineMissing
    from likewise.engines.errors import EngineRefused as EngineRefused
    from likewise.engines.errors import EngineWrong as EngineWrong
    from likewise.engines.protocol import Facts as Facts
    from likewise.engines.protocol import RowKind as RowKind
    from likewise.engines.protocol import RowStore as RowStore
    from likewise.engines.protocol import Where as Where
    from likewise.engines.shipping import Shipped as Shipped
    from likewise.engines.shipping import ship as ship

__getattr__, __dir__, __all__ = lazy_exports(
    __name__,
    {
        "addresses": ["Engine", "open_engine"],
        "errors": ["EngineAway", "EngineError", "EngineMissing", "EngineRefused", "EngineWrong"],
        "protocol": ["Facts", "RowKind", "RowStore", "Where"],
        "shipping": ["Shipped", "ship"],
    },
)
