"""Teach a concept by yes and no: a learner, and the questions worth asking."""

from typing import TYPE_CHECKING

from likewise_methods.lazy_exports import lazy_exports

if TYPE_CHECKING:
    from likewise_methods.concepts.graph import NeighbourGraph as NeighbourGraph
    from likewise_methods.concepts.learner import ConceptLearner as ConceptLearner
    from likewise_methods.concepts.questions import Question as Question

__getattr__, __dir__, __all__ = lazy_exports(
    __name__,
    {
        "graph": ["NeighbourGraph"],
        "learner": ["ConceptLearner"],
        "questions": ["Question"],
    },
)
