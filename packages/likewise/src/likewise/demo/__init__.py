"""The embedded demo on planted views."""

from typing import TYPE_CHECKING

from likewise_methods.lazy_exports import lazy_exports

if TYPE_CHECKING:
    from likewise.demo.demo import DemoHit as DemoHit
    from likewise.demo.demo import DemoQuery as DemoQuery
    from likewise.demo.demo import DemoResult as DemoResult
    from likewise.demo.demo import run as run
    from likewise.demo.lesson import Lesson as Lesson
    from likewise.demo.lesson import teach as teach

__getattr__, __dir__, __all__ = lazy_exports(
    __name__,
    {
        "likewise.demo.demo": ["DemoHit", "DemoQuery", "DemoResult", "run"],
        "likewise.demo.lesson": ["Lesson", "teach"],
    },
)
