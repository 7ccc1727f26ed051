"""The command line: parse, call, render.  No numerics here."""

from typing import TYPE_CHECKING

from likewise._doors import doors

if TYPE_CHECKING:
    from likewise.cli.entry import main as main

__getattr__, __dir__, __all__ = doors(__name__)
