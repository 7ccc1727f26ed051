"""How a ranking is asked for and scored: which pictures are queries, what is taken out, the mean.

A protocol turns a data set into :class:`~likewise_methods.evaluation.datasets.RetrievalQuery`
records; :func:`evaluate` asks a search function for each and scores what came back.  The query
picture itself never counts, neither as a hit nor as a place.
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
    """Average precision of each query, and their means: over queries and by group.

    Attributes
    ----------
    average_precisions : mapping of str to float
        By query.
    by_group : mapping of str to float
        Means by group.
    skipped : mapping of str to str
        Queries that could not be asked, with the reason.

    See Also
    --------
    evaluate : gives it.
    """

    average_precisions: Mapping[str, float]
    by_group: Mapping[str, float]
    skipped: Mapping[str, str]

    @property
    def mean(self) -> float:
        """mAP: the mean over queries."""
        return float(np.mean(list(self.average_precisions.values())))

    @property
    def mean_of_groups(self) -> float:
        """The mean over groups, so that a landmark with many queries weighs no more."""
        return float(np.mean(list(self.by_group.values())))


def evaluate(
    queries: Sequence[RetrievalQuery],
    search: Search,
    *,
    trapezoid: bool = False,
    keep_query: bool = False,
) -> RetrievalScores:
    """Ask ``search`` for a ranked list of picture names for each query and score it.

    Positives that do not appear in the list count as never found.  Partial copies of data sets
    are common, so a query whose picture is not present, or that has no positive left, is skipped
    and named in the result.

    Parameters
    ----------
    queries : sequence of RetrievalQuery
        The questions.
    search : callable
        ``search(query)`` gives names, best first.
    trapezoid : bool, default=False
        As for :func:`average_precision`.
    keep_query : bool, default=False
        Leave the query's own picture in the ranking and among the positives, as the official Oxford
        and Paris scores do.

    Returns
    -------
    RetrievalScores
        Average precision of each query, and the means.

    See Also
    --------
    leave_one_out : queries from labels.

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
    """Every picture a query in turn; positives are the others of its class.

    Pictures alone in their class cannot be queries and are passed over.

    Parameters
    ----------
    labels : mapping of str to class
        The class of each picture by name.

    Returns
    -------
    list of RetrievalQuery
        One a picture.

    See Also
    --------
    evaluate : asks them.
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
    """For partial copies of Oxford5K: every positive of a landmark is a query in turn.

    The official query pictures are often missing from such a copy, but the lists of good and ok
    pictures are not.  A landmark's lists must agree between its queries, as Oxford's do.

    Parameters
    ----------
    data : RetrievalSet
        The copy.
    at_least : int, default=2
        Landmarks with fewer positives present are left out.

    Returns
    -------
    list of RetrievalQuery
        One a positive.

    See Also
    --------
    evaluate : asks them.
    leave_one_out : queries from labels.
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
