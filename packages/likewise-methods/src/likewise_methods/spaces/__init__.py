"""The space fitted to a collection, and the metric that judgements teach."""

from typing import TYPE_CHECKING

from likewise_methods.lazy_exports import lazy_exports

if TYPE_CHECKING:
    from likewise_methods.spaces.fitted import GROWTH as GROWTH
    from likewise_methods.spaces.fitted import NEW as NEW
    from likewise_methods.spaces.fitted import FittedSpace as FittedSpace
    from likewise_methods.spaces.local_metric import Agreement as Agreement
    from likewise_methods.spaces.local_metric import Lesson as Lesson
    from likewise_methods.spaces.local_metric import LocalMetric as LocalMetric

__getattr__, __dir__, __all__ = lazy_exports(
    __name__,
    {
        "fitted": ["FittedSpace", "GROWTH", "NEW"],
        "local_metric": ["Agreement", "Lesson", "LocalMetric"],
    },
)
