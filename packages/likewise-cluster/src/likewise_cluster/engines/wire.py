"""Our words as Qdrant's two libraries take them: filters and vectors.

The client of a server and the engine in this process have the same classes; a few of them, and of
their arguments, have other names.  Those are said once (:class:`Translator`), and the rest is one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from likewise_cluster.engines import points as pt
from likewise_cluster.engines.points import Condition, Numbers, PointFilter


@dataclass(frozen=True)
class Translator:
    """What one library calls otherwise than the other."""

    models: Any
    """The module of its classes."""
    range_class: str
    has_id: str
    """The argument of ``HasIdCondition``, and …"""
    has_vector: str
    """… of ``HasVectorCondition``."""
    ids: Callable[[Iterable[int]], Any]
    """What it takes ids as."""

    def filter(self, passing: PointFilter) -> Any:
        """Conditions on pictures."""
        return self.models.Filter(
            must=[self._condition(one) for one in passing.all_of],
            must_not=[self._condition(one) for one in passing.none_of],
        )

    def filter_or_none(self, passing: PointFilter) -> Any:
        """The same; None where all pass, which is searched faster."""
        return None if passing == PointFilter() else self.filter(passing)

    def _condition(self, one: Condition) -> Any:
        m = self.models
        match one:
            case pt.FieldIs(field, value):
                return m.FieldCondition(key=field, match=m.MatchValue(value=value))
            case pt.FieldIn(field, values):
                return m.FieldCondition(key=field, match=m.MatchAny(any=list(values)))
            case pt.FieldRange(field, low, high):
                between = getattr(m, self.range_class)(gte=low, lt=high)
                return m.FieldCondition(key=field, range=between)
            case pt.IdIn(ids):
                return m.HasIdCondition(**{self.has_id: self.ids(ids)})
            case pt.HasVector(vector):
                return m.HasVectorCondition(**{self.has_vector: vector})

    def vector(self, numbers: Numbers) -> Any:
        """A row."""
        if isinstance(numbers, pt.SparseNumbers):
            words, values = numbers.words.tolist(), numbers.values.tolist()
            return self.models.SparseVector(indices=words, values=values)
        return numbers.tolist()
