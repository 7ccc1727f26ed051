"""A Qdrant server that answers what cannot be: it is named, and nothing hangs or is believed."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from likewise.engines.errors import EngineRefused, EngineWrong
from likewise.engines.protocol import RowKind
from likewise_cluster.engines.qdrant import QdrantEngine, QdrantRows
from tests.cluster.engines.test_contract import SPARSE, facts_for, sparse_rows

client = pytest.importorskip("qdrant_client", reason="qdrant-client is not installed")

DENSE = RowKind(is_sparse=False, width=8)
N = 40
PATIENCE = 60
"""Requests after which whoever asks would go on for ever."""


class Liar:
    """A client of a real engine whose answers go through ``lie`` once there is one."""

    def __init__(self) -> None:
        self.real = client.QdrantClient(":memory:")
        self._client = self.real._client
        self.lie: Callable[[str, Any], Any] | None = None
        self.asked = 0

    def __getattr__(self, name: str) -> Any:
        call = getattr(self.real, name)

        def ask(*values: Any, **named: Any) -> Any:
            self.asked += 1
            assert self.asked < PATIENCE, "it is asked without an end"
            found = call(*values, **named)
            return found if self.lie is None else self.lie(name, found)

        return ask


def store_of(kind: RowKind) -> tuple[Liar, QdrantRows]:
    from likewise_cluster.engines.server import ServerPoints

    liar = Liar()
    store = QdrantEngine(ServerPoints(liar, "photos", "qdrant://there/photos")).store(
        "space-1", kind
    )
    rng = np.random.default_rng(0)
    dense = rng.normal(size=(N, DENSE.width)).astype(np.float32)
    rows = sparse_rows(rng, N) if kind.is_sparse else dense
    store.put(np.arange(N), rows, facts_for(N))
    liar.asked = 0
    return liar, store


def changed(one: Any, **fields: Any) -> SimpleNamespace:
    held = {"id": one.id, "vector": one.vector, "payload": one.payload}
    return SimpleNamespace(**held | {"score": getattr(one, "score", 0.0)} | fields)


def of_query(change: Callable[[Any], SimpleNamespace]) -> Callable[[str, Any], Any]:
    """A lie about every picture that is found."""

    def lie(name: str, found: Any) -> Any:
        if name != "query_points":
            return found
        return SimpleNamespace(points=[change(one) for one in found.points])

    return lie


def sparse(words: list[Any], values: list[float]) -> dict[str, Any]:
    return {"space-1": SimpleNamespace(indices=words, values=values)}


@pytest.mark.parametrize(
    ("kind", "change"),
    [
        (SPARSE, lambda one: changed(one, id="8a7e2f00-0000-4000-8000-000000000000")),
        (SPARSE, lambda one: changed(one, id=-1)),
        (SPARSE, lambda one: changed(one, id=2**64)),
        (SPARSE, lambda one: changed(one, id=7)),
        (SPARSE, lambda one: changed(one, score=float("nan"))),
        (DENSE, lambda one: changed(one, score=float("inf"))),
        (DENSE, lambda one: changed(one, score=None)),
        (SPARSE, lambda one: changed(one, vector=None)),
        (SPARSE, lambda one: changed(one, vector=[1.0, 2.0])),
        (SPARSE, lambda one: changed(one, vector=sparse([SPARSE.width], [1.0]))),
        (SPARSE, lambda one: changed(one, vector=sparse([-1], [1.0]))),
        (SPARSE, lambda one: changed(one, vector=sparse([1, 2], [1.0]))),
        (SPARSE, lambda one: changed(one, vector=sparse([1, 1], [1.0, 2.0]))),
        (SPARSE, lambda one: changed(one, vector=sparse([1], [float("nan")]))),
        (SPARSE, lambda one: changed(one, vector={"space-1": [0.5] * 4})),
        (DENSE, lambda one: changed(one, vector={"space-1": [0.5] * (DENSE.width + 1)})),
        (DENSE, lambda one: changed(one, vector={"space-1": [[0.5], [0.5, 1.0]]})),
        (DENSE, lambda one: changed(one, vector={"space-1": [float("nan")] * DENSE.width})),
        (DENSE, lambda one: changed(one, vector=sparse([1], [1.0]))),
    ],
)
def test_pictures_that_cannot_be(kind: RowKind, change: Callable[[Any], SimpleNamespace]) -> None:
    liar, store = store_of(kind)
    row = store.rows([3])[1]
    liar.lie = of_query(change)
    with pytest.raises(EngineWrong, match="qdrant://there/photos answered what cannot be"):
        store.search(row, 5)


def test_pages_that_do_not_go_on() -> None:
    """The first page again and again: a list of all pictures would never end."""
    liar, store = store_of(SPARSE)
    (first,) = store.listed()
    assert len(first) == N
    page, _ = liar.real.scroll("photos", limit=N, with_payload=True)

    def lie(name: str, found: Any) -> Any:
        return (page, None) if name == "scroll" else found

    liar.lie = lie
    with pytest.raises(EngineWrong, match="picture 0 where those from 40 on"):
        list(store.listed())
    with pytest.raises(EngineWrong, match="picture 0 where those from 40 on"):
        store.search(sparse_rows(np.random.default_rng(1), 1), N + 5)


@pytest.mark.parametrize("payload", [{"tags": 5}, {"tags": [5]}, {"folders": "a"}, {"date": 3}])
def test_facts_that_are_none(payload: dict[str, Any]) -> None:
    liar, store = store_of(SPARSE)

    def lie(name: str, found: Any) -> Any:
        return ([changed(found[0][0], payload=payload)], None) if name == "scroll" else found

    liar.lie = lie
    with pytest.raises(EngineWrong):
        list(store.listed())


@pytest.mark.parametrize("held", [{}, {"?": float("nan")}, {"?": "x"}, {"?": -1.0}, None])
def test_a_reach_that_is_none(held: dict[str, Any] | None) -> None:
    """What certifies a ranking comes from the server too."""
    liar, store = store_of(SPARSE)
    field = store._reach_field
    payload = held and {field if key == "?" else key: value for key, value in held.items()}

    def lie(name: str, found: Any) -> Any:
        return ([changed(found[0][0], payload=payload)], None) if name == "scroll" else found

    liar.lie = lie
    with pytest.raises(EngineWrong, match="a reach"):
        store._points.largest(field)


def test_rows_that_were_not_asked_for() -> None:
    liar, store = store_of(DENSE)

    def lie(name: str, found: Any) -> Any:
        return [changed(one, id=one.id + 1) for one in found] if name == "retrieve" else found

    liar.lie = lie
    with pytest.raises(EngineWrong, match="picture 4, which was not asked for"):
        store.rows([3])


def test_a_collection_of_somebody_elses() -> None:
    """Vectors without a name: another program's."""
    from likewise_cluster.engines.server import ServerPoints

    liar = Liar()
    models = client.models
    liar.real.create_collection(
        "photos", vectors_config=models.VectorParams(size=3, distance=models.Distance.DOT)
    )
    points = ServerPoints(liar, "photos", "qdrant://there/photos")
    with pytest.raises(EngineRefused, match="its vectors have no names"):
        QdrantEngine(points).store("space-1", SPARSE)
