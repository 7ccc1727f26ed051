"""The command line: parse arguments, call the library, print results."""

from typing import TYPE_CHECKING

from likewise_methods.lazy_exports import lazy_exports

if TYPE_CHECKING:
    from likewise.cli.entry import main as main

__getattr__, __dir__, __all__ = lazy_exports(
    __name__,
    {
        "likewise.cli.entry": ["main"],
    },
)
