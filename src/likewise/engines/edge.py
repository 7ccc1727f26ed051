"""Qdrant's engine in this process (qdrant-edge-py): one folder, one process at a time.

An update is in the engine's write-ahead log when it returns, so that it survives the death of
the process.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from likewise._durable import private_folder
from likewise.engines import points as pt
from likewise.engines.answers import check_number, point_of, vector_of
from likewise.engines.errors import EngineAway, EngineMissing, EngineRefused
from likewise.engines.points import Condition, Nominee, Numbers, Payload, Point, Sieve
from likewise.engines.protocol import RowKind
from likewise.neighbours.protocol import Metric

_CONFIG = "edge_config.json"
_NOBODY = "nobody"
"""A vector that no picture has: a shard cannot be made without any."""
_KEYWORDS = (pt.TAGS, pt.INSIDE, pt.OWNER)


def _library() -> Any:
    try:
        import qdrant_edge
    except ImportError as error:
        raise EngineMissing(
            "qdrant-edge-py is not installed; 'pip install likewise[qdrant]' brings it"
        ) from error
    return qdrant_edge


class EdgePoints:
    """A shard of Qdrant in a folder of its own."""

    def __init__(self, folder: Path, *, threads: int = 1) -> None:
        self.address = f"qdrant-edge://{folder}"
        self._edge = _library()
        self._folder = folder
        self._threads = threads
        # A new one is made when something is put there.
        self._shard: Any = self._load() if (folder / _CONFIG).exists() else None

    def _load(self) -> Any:
        try:
            return self._edge.EdgeShard.load(str(self._folder))
        except Exception as error:  # the library raises nothing narrower
            if "WouldBlock" in str(error):
                raise EngineAway(f"{self.address} is open in another process; end that") from error
            raise EngineRefused(f"{self.address} cannot be opened: {error}") from error

    def _change(self, operation: Any) -> None:
        try:
            self._shard.update(operation)
        except Exception as error:  # the library raises nothing narrower
            raise EngineRefused(f"{self.address}: {error}") from error

    def names(self) -> dict[str, RowKind]:
        if self._shard is None:
            return {}
        config = json.loads((self._folder / _CONFIG).read_text())
        names = (config.get("sparse_vectors") or {}).keys() - {_NOBODY}
        found = {name: RowKind(True, 0) for name in sorted(names)}
        for name, said in (config.get("vectors") or {}).items():
            metric: Metric = "l2" if said["distance"] == "Euclid" else "ip"
            found[name] = RowKind(False, said["size"], metric)
        return found

    def create(self, name: str, kind: RowKind, number_field: str) -> None:
        edge = self._edge
        make, schemas = edge.UpdateOperation, edge.PayloadSchemaType
        if self._shard is None:
            private_folder(self._folder)
            config = edge.EdgeConfig(
                sparse_vectors={_NOBODY: edge.EdgeSparseVectorParams()},
                max_search_threads=self._threads,
            )
            self._shard = edge.EdgeShard.create(str(self._folder), config)
        # Before the vector has its name: whoever was killed here makes them when it starts again.
        for field in _KEYWORDS:
            self._change(make.create_field_index(field, schemas.Keyword))
        self._change(make.create_field_index(pt.MOMENT, schemas.Integer))
        self._change(make.create_field_index(number_field, schemas.Float))
        distance = edge.Distance.Euclid if kind.metric == "l2" else edge.Distance.Dot
        self._change(
            make.create_sparse_vector(name)
            if kind.is_sparse
            else make.create_dense_vector(name, kind.width, distance)
        )

    def drop(self, name: str, fields: Sequence[str]) -> None:
        make = self._edge.UpdateOperation
        for field in fields:
            self._change(make.delete_field_index(field))
        self._change(make.delete_payload_by_filter(self._edge.Filter(must=[]), list(fields)))
        self._change(make.delete_vector_name(name))

    def upsert(self, points: Sequence[Point]) -> None:
        made = [
            self._edge.Point(
                one.id,
                {name: self._vector(numbers) for name, numbers in one.vectors.items()},
                dict(one.payload),
            )
            for one in points
        ]
        self._change(self._edge.UpdateOperation.upsert_points(made))

    def delete_vector(self, ids: Sequence[int], name: str) -> None:
        sieve = self._filter(Sieve((pt.Among(frozenset(ids)),)))
        self._change(self._edge.UpdateOperation.delete_vectors_by_filter(sieve, [name]))

    def delete(self, sieve: Sieve) -> None:
        self._change(self._edge.UpdateOperation.delete_points_by_filter(self._filter(sieve)))

    def set_payload(self, ids: Sequence[int], payload: Payload) -> None:
        sieve = self._filter(Sieve((pt.Among(frozenset(ids)),)))
        self._change(self._edge.UpdateOperation.set_payload_by_filter(sieve, dict(payload)))

    def nearest(
        self, name: str, query: Numbers, limit: int, sieve: Sieve, exact: bool
    ) -> list[Nominee]:
        edge = self._edge
        found = self._shard.query(
            edge.QueryRequest(
                limit=limit,
                query=edge.Query.Nearest(self._vector(query), using=name),
                filter=self._filter(sieve) if sieve != Sieve() else None,
                params=edge.SearchParams(exact=exact),
                with_vector=[name],
                with_payload=False,
            )
        )
        return [Nominee(one.id, one.score, vector_of(self.address, one, name)) for one in found]

    def scroll(
        self, sieve: Sieve, first: int, limit: int, vector: str | None, payload: bool
    ) -> list[Point]:
        found, _ = self._shard.scroll(
            self._edge.ScrollRequest(
                offset=first,
                limit=limit,
                filter=self._filter(sieve),
                with_payload=payload,
                with_vector=[vector] if vector else False,
            )
        )
        return [point_of(self.address, one) for one in found]

    def retrieve(self, ids: Sequence[int], vectors: Sequence[str], payload: bool) -> list[Point]:
        found = self._shard.retrieve(list(ids), payload, list(vectors))
        return [point_of(self.address, one) for one in found]

    def count(self, sieve: Sieve) -> int:
        asked = self._edge.CountRequest(exact=True, filter=self._filter(sieve))
        return int(self._shard.count(asked))

    def largest(self, field: str) -> float:
        edge = self._edge
        order = edge.OrderBy(field, direction=edge.Direction.Desc)
        found, _ = self._shard.scroll(
            edge.ScrollRequest(limit=1, with_payload=[field], order_by=order)
        )
        if not found:
            return 0.0
        held = (found[0].payload or {}).get(field)
        return check_number(self.address, held, "a reach", least=0.0)

    def close(self) -> None:
        if self._shard is not None:
            self._shard.close()
            self._shard = None

    def _vector(self, numbers: Numbers) -> Any:
        if isinstance(numbers, pt.SparseNumbers):
            return self._edge.SparseVector(numbers.words.tolist(), numbers.values.tolist())
        return numbers.tolist()

    def _filter(self, sieve: Sieve) -> Any:
        return self._edge.Filter(
            must=[self._condition(one) for one in sieve.all_of],
            must_not=[self._condition(one) for one in sieve.none_of],
        )

    def _condition(self, one: Condition) -> Any:
        edge = self._edge
        match one:
            case pt.Equals(field, value):
                return edge.FieldCondition(field, match=edge.MatchValue(value))
            case pt.OneOf(field, values):
                return edge.FieldCondition(field, match=edge.MatchAny(list(values)))
            case pt.Between(field, low, high):
                return edge.FieldCondition(field, range=edge.RangeFloat(gte=low, lt=high))
            case pt.Among(ids):
                return edge.HasIdCondition(set(ids))
            case pt.Has(vector):
                return edge.HasVectorCondition(vector)
