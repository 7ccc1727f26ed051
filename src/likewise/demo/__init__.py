"""The embedded demo: planted views or a folder, searched, judged a little, and shown."""

from typing import TYPE_CHECKING

from likewise._doors import doors

if TYPE_CHECKING:
    from likewise.demo.demo import DemoHit as DemoHit
    from likewise.demo.demo import DemoQuery as DemoQuery
    from likewise.demo.demo import DemoResult as DemoResult
    from likewise.demo.demo import run as run
    from likewise.demo.lesson import Lesson as Lesson
    from likewise.demo.lesson import teach as teach

__getattr__, __dir__, __all__ = doors(__name__)
