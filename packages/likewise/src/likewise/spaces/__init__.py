"""Kinds of space: what describes, stores, compares and explains pictures."""

from typing import TYPE_CHECKING

from likewise_methods.lazy_exports import lazy_exports

if TYPE_CHECKING:
    from likewise.spaces.base import LearnedGeneration as LearnedGeneration
    from likewise.spaces.base import Places as Places
    from likewise.spaces.base import Space as Space
    from likewise.spaces.base import Survey as Survey

__getattr__, __dir__, __all__ = lazy_exports(
    __name__,
    {
        "likewise.spaces.base": ["LearnedGeneration", "Places", "Space", "Survey"],
    },
)
