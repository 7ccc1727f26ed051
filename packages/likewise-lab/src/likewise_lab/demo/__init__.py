"""The demo on planted views or on a folder of pictures."""

from typing import TYPE_CHECKING

from likewise_methods.lazy_exports import lazy_exports

if TYPE_CHECKING:
    from likewise_lab.demo.demo import DemoHit as DemoHit
    from likewise_lab.demo.demo import DemoQuery as DemoQuery
    from likewise_lab.demo.demo import DemoResult as DemoResult
    from likewise_lab.demo.demo import run as run
    from likewise_lab.demo.lesson import Lesson as Lesson
    from likewise_lab.demo.lesson import teach as teach

__getattr__, __dir__, __all__ = lazy_exports(
    __name__,
    {
        "likewise_lab.demo.demo": ["DemoHit", "DemoQuery", "DemoResult", "run"],
        "likewise_lab.demo.lesson": ["Lesson", "teach"],
    },
)
