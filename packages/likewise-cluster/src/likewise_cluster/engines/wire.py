"""Translate filters and vectors for Qdrant's two libraries.

The client of a server and the engine in this process have the same classes, but a few classes and
arguments have other names.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from likewise_cluster.engines import points as pt
from likewise_cluster.engines.points import Condition, Numbers, PointFilter


@dataclass(frozen=True)
class Translator:
    """Translates filters and vectors for one of the libraries."""

    models: Any
    """The module of its classes."""
    range_class: str
    has_id: str
    """The argument of ``HasIdCondition``, and …"""
    has_vector: str
    """… of ``HasVectorCondition``."""
    ids: Callable[[Iterable[int]], Any]
    """The container it takes ids in."""

    def filter(self, passing: PointFilter) -> Any:
        """Translate a filter."""
        return self.models.Filter(
            must=[self._condition(one) for one in passing.all_of],
            must_not=[self._condition(one) for one in passing.none_of],
        )

    def filter_or_none(self, passing: PointFilter) -> Any:
        """Translate a filter; None where all pass, which is searched faster."""
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
        """Translate a row."""
        if isinstance(numbers, pt.SparseNumbers):
            words, values = numbers.words.tolist(), numbers.values.tolist()
            return self.models.SparseVector(indices=words, values=values)
        return numbers.tolist()
