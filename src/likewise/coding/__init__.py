"""Coding: descriptors to visual words, words to sparse vectors."""

from typing import TYPE_CHECKING

from likewise._doors import doors

if TYPE_CHECKING:
    from likewise.coding.bow import BagOfWords as BagOfWords
    from likewise.coding.bow import count as count
    from likewise.coding.vocabulary import Vocabulary as Vocabulary

__getattr__, __dir__, __all__ = doors(__name__)
