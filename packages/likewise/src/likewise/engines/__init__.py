"""Engines that hold rows outside the collection: the interface, and how to open one."""

from typing import TYPE_CHECKING

from likewise_methods.lazy_exports import lazy_exports

if TYPE_CHECKING:
    from likewise.engines.errors import EngineAway as EngineAway
    from likewise.engines.errors import EngineError as EngineError
    from likewise.engines.errors import EngineMissing as EngineMissing
    from likewise.engines.errors import EngineRefused as EngineRefused
    from likewise.engines.errors import EngineWrong as EngineWrong
    from likewise.engines.opening import open_engine as open_engine
    from likewise.engines.protocol import Engine as Engine
    from likewise.engines.protocol import Facts as Facts
    from likewise.engines.protocol import FirstStage as FirstStage
    from likewise.engines.protocol import RowKind as RowKind
    from likewise.engines.protocol import RowStore as RowStore
    from likewise.engines.protocol import Where as Where

__getattr__, __dir__, __all__ = lazy_exports(
    __name__,
    {
        "errors": ["EngineAway", "EngineError", "EngineMissing", "EngineRefused", "EngineWrong"],
        "opening": ["open_engine"],
        "protocol": ["Engine", "Facts", "FirstStage", "RowKind", "RowStore", "Where"],
    },
)
