"""Retrieval protocols: queries from a data set, and the score of a search function.

The query picture itself is removed from the ranking.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from likewise_methods.errors import InvalidInput
from likewise_methods.evaluation.datasets import RetrievalQuery, RetrievalSet
from likewise_methods.evaluation.metrics import average_precision, relevance

Search = Callable[[RetrievalQuery], Iterable[str]]


@dataclass(frozen=True)
class RetrievalScores:
    """Average precision of each query, and the means over queries and groups.

    Attributes
    ----------
    average_precisions : mapping of str to float
        Average precision by query.
    by_group : mapping of str to float
        Mean by group.
    skipped : mapping of str to str
        Skipped queries, with the reason.

    See Also
    --------
    evaluate : returns it.
    """

    average_precisions: Mapping[str, float]
    by_group: Mapping[str, float]
    skipped: Mapping[str, str]

    @property
    def mean(self) -> float:
        """The mean over queries (mAP)."""
        return float(np.mean(list(self.average_precisions.values())))

    @property
    def mean_of_groups(self) -> float:
        """The mean over groups."""
        return float(np.mean(list(self.by_group.values())))


def evaluate(
    queries: Sequence[RetrievalQuery],
    search: Search,
    *,
    trapezoid: bool = False,
    keep_query: bool = False,
) -> RetrievalScores:
    """Search for each query and score the ranked list.

    Positives that are not in the list count as not found.  A query whose picture is missing, or
    that has no positives, is skipped and named in the result.

    Parameters
    ----------
    queries : sequence of RetrievalQuery
        The queries.
    search : callable
        ``search(query)`` returns names, best first.
    trapezoid : bool, default=False
        See :func:`average_precision`.
    keep_query : bool, default=False
        Keep the query's own picture in the ranking and the positives, as the official Oxford and
        Paris scores do.

    Returns
    -------
    RetrievalScores
        The scores.

    See Also
    --------
    leave_one_out : makes queries from labels.

    Examples
    --------
    >>> queries = leave_one_out({"a1": "a", "a2": "a", "b1": "b"})
    >>> evaluate(queries, lambda query: ["a1", "b1", "a2"]).average_precisions
    {'a1': 0.5, 'a2': 1.0}
    """
    if not queries:
        raise InvalidInput("there are no queries to evaluate")
    values: dict[str, float] = {}
    groups: dict[str, list[float]] = {}
    skipped: dict[str, str] = {}
    for query in queries:
        if query.name in values or query.name in skipped:
            raise InvalidInput(f"two queries are named {query.name!r}")
        itself = frozenset() if keep_query else frozenset([query.query])
        positives = query.positives - itself
        if not query.present or not positives:
            skipped[query.name] = "its picture is not there" if positives else "no positives"
            continue
        hits = relevance(search(query), positives, query.junk | itself)
        value = average_precision(hits, len(positives), trapezoid=trapezoid)
        values[query.name] = value
        groups.setdefault(query.group, []).append(value)
    if not values:
        name, reason = next(iter(skipped.items()))
        raise InvalidInput(
            f"none of the {len(skipped)} queries can be asked; {name}, for one: {reason}"
        )
    by_group = {group: float(np.mean(v)) for group, v in groups.items()}
    return RetrievalScores(values, by_group, skipped)


def leave_one_out(labels: Mapping[str, Hashable]) -> list[RetrievalQuery]:
    """Make every picture a query; positives are the others of its class.

    Pictures alone in their class are skipped.

    Parameters
    ----------
    labels : mapping of str to class
        Class of each picture, by name.

    Returns
    -------
    list of RetrievalQuery
        One per picture.

    See Also
    --------
    evaluate : runs queries.
    positives_in_turn : for partial copies of Oxford5K.
    """
    members: dict[Hashable, set[str]] = {}
    for name, label in labels.items():
        members.setdefault(label, set()).add(name)
    return [
        RetrievalQuery(
            name=name,
            query=name,
            positives=frozenset(members[label] - {name}),
            group=str(label),
        )
        for name, label in labels.items()
        if len(members[label]) > 1
    ]


def positives_in_turn(data: RetrievalSet, *, at_least: int = 2) -> list[RetrievalQuery]:
    """Make every positive of a landmark a query, for partial copies of Oxford5K.

    Such copies often lack the official query pictures.  All queries of a landmark must have the
    same lists, as in Oxford5K.

    Parameters
    ----------
    data : RetrievalSet
        The copy.
    at_least : int, default=2
        Skip landmarks with fewer positives.

    Returns
    -------
    list of RetrievalQuery
        One per positive.

    See Also
    --------
    evaluate : runs queries.
    leave_one_out : makes queries from labels.
    """
    landmarks: dict[str, RetrievalQuery] = {}
    for query in data.queries:
        known = landmarks.setdefault(query.group, query)
        if known.positives != query.positives:
            raise InvalidInput(
                f"{known.name} and {query.name} of landmark {query.group!r} list different "
                "positives; use the official queries instead"
            )
    return [
        replace(
            landmark,
            name=f"{group}/{name}",
            query=name,
            box=None,
            present=True,
            positives=landmark.positives - {name},
        )
        for group, landmark in landmarks.items()
        if len(landmark.positives) >= max(at_least, 2)
        for name in sorted(landmark.positives)
    ]
