"""Qdrant's engine in this process (qdrant-edge-py): one folder, one process at a time.

An update is in the engine's write-ahead log when it returns, so it survives the death of the
process.  Opening a folder again in this process shares the open shard.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from likewise.engines.errors import EngineAway, EngineMissing, EngineRefused
from likewise.engines.protocol import RowKind
from likewise_cluster.engines import points as pt
from likewise_cluster.engines.answers import candidate_of, check_number, point_of
from likewise_cluster.engines.points import (
    Candidate,
    Numbers,
    Payload,
    Point,
    PointFilter,
    SearchOptions,
)
from likewise_cluster.engines.wire import Translator
from likewise_methods.durable_files import private_folder
from likewise_methods.neighbours import Metric

_CONFIG = "edge_config.json"
_PLACEHOLDER = "nobody"
"""A vector that no picture has: a shard cannot be created without one."""
_KEYWORDS = (pt.TAGS, pt.INSIDE, pt.OWNER)


def _library() -> Any:
    try:
        import qdrant_edge
    except ImportError as error:
        raise EngineMissing(
            "qdrant-edge-py is not installed; 'pip install likewise-cluster[qdrant]' brings it"
        ) from error
    return qdrant_edge


class _SharedShard:
    """The open shard of a folder, and how many users it has in this process."""

    def __init__(self) -> None:
        self.shard: Any = None
        self.users = 0


_OPEN: dict[str, _SharedShard] = {}
_OPENING = threading.RLock()


class EdgePoints:
    """A shard of Qdrant in a folder of its own."""

    def __init__(self, folder: Path, *, threads: int = 1) -> None:
        self.address = f"qdrant-edge://{folder}"
        self._edge = _library()
        self._to = Translator(self._edge, "RangeFloat", "point_ids", "vector", set)
        self._folder = folder
        self._threads = threads
        self._is_open = True
        self._key = str(folder.resolve())
        with _OPENING:
            self._held = _OPEN.get(self._key) or _SharedShard()
            # A new shard is created by ``create``.
            if self._held.shard is None and (folder / _CONFIG).exists():
                self._held.shard = self._load()
            _OPEN[self._key] = self._held
            self._held.users += 1

    @property
    def _shard(self) -> Any:
        return self._held.shard if self._is_open else None

    def _load(self) -> Any:
        try:
            return self._edge.EdgeShard.load(str(self._folder))
        except Exception as error:  # the library raises no narrower error
            if "WouldBlock" in str(error):
                raise EngineAway(f"{self.address} is open in another process; end that") from error
            raise EngineRefused(f"{self.address} cannot be opened: {error}") from error

    def _change(self, operation: Any) -> None:
        self._ask("update", operation)

    def _ask(self, what: str, *values: Any) -> Any:
        if self._shard is None:
            raise EngineRefused(f"{self.address} holds nothing; push to it first")
        try:
            return getattr(self._shard, what)(*values)
        except Exception as error:  # the library raises no narrower error
            raise EngineRefused(f"{self.address}: {error}") from error

    def names(self) -> dict[str, RowKind]:
        if self._shard is None:
            return {}
        config = json.loads((self._folder / _CONFIG).read_text())
        names = (config.get("sparse_vectors") or {}).keys() - {_PLACEHOLDER}
        found = {name: RowKind(True, 0) for name in sorted(names)}
        for name, said in (config.get("vectors") or {}).items():
            metric: Metric = "l2" if said["distance"] == "Euclid" else "ip"
            found[name] = RowKind(False, said["size"], metric)
        return found

    def create(self, name: str, kind: RowKind, number_field: str) -> None:
        edge = self._edge
        make, schemas = edge.UpdateOperation, edge.PayloadSchemaType
        with _OPENING:
            if self._shard is None:
                private_folder(self._folder)
                config = edge.EdgeConfig(
                    sparse_vectors={_PLACEHOLDER: edge.EdgeSparseVectorParams()},
                    max_search_threads=self._threads,
                )
                self._held.shard = edge.EdgeShard.create(str(self._folder), config)
        # Before the vector is named, so that after a kill the next call creates them.
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
                {name: self._to.vector(numbers) for name, numbers in one.vectors.items()},
                dict(one.payload),
            )
            for one in points
        ]
        self._change(self._edge.UpdateOperation.upsert_points(made))

    def delete_vector(self, ids: Sequence[int], name: str) -> None:
        passing = self._to.filter(PointFilter((pt.IdIn(frozenset(ids)),)))
        self._change(self._edge.UpdateOperation.delete_vectors_by_filter(passing, [name]))

    def delete(self, passing: PointFilter) -> None:
        self._change(self._edge.UpdateOperation.delete_points_by_filter(self._to.filter(passing)))

    def set_payload(self, ids: Sequence[int], payload: Payload) -> None:
        passing = self._to.filter(PointFilter((pt.IdIn(frozenset(ids)),)))
        self._change(self._edge.UpdateOperation.set_payload_by_filter(passing, dict(payload)))

    def nearest(
        self, name: str, query: Numbers, limit: int, passing: PointFilter, how: SearchOptions
    ) -> list[Candidate]:
        edge, first = self._edge, how.first
        condition = self._to.filter_or_none(passing)
        params = edge.SearchParams(exact=how.exact, hnsw_ef=how.breadth)
        before = None
        if first is not None:
            nearest = edge.Query.Nearest(self._to.vector(first.query), using=first.store)
            before = [
                edge.Prefetch(limit=first.limit, query=nearest, filter=condition, params=params)
            ]
        found = self._ask(
            "query",
            edge.QueryRequest(
                limit=limit,
                query=edge.Query.Nearest(self._to.vector(query), using=name),
                prefetches=before,
                filter=condition,
                params=params,
                with_vector=[name] if how.with_vectors else False,
                with_payload=False,
            ),
        )
        return [candidate_of(self.address, one, name, how) for one in found]

    def scroll(
        self, passing: PointFilter, first: int, limit: int, vector: str | None, payload: bool
    ) -> list[Point]:
        found, _ = self._ask(
            "scroll",
            self._edge.ScrollRequest(
                offset=first,
                limit=limit,
                filter=self._to.filter(passing),
                with_payload=payload,
                with_vector=[vector] if vector else False,
            ),
        )
        return [point_of(self.address, one) for one in found]

    def retrieve(self, ids: Sequence[int], vectors: Sequence[str], payload: bool) -> list[Point]:
        found = self._ask("retrieve", list(ids), payload, list(vectors))
        return [point_of(self.address, one) for one in found]

    def count(self, passing: PointFilter) -> int:
        asked = self._edge.CountRequest(exact=True, filter=self._to.filter(passing))
        return int(self._ask("count", asked))

    def largest(self, field: str) -> float:
        edge = self._edge
        order = edge.OrderBy(field, direction=edge.Direction.Desc)
        found, _ = self._ask(
            "scroll", edge.ScrollRequest(limit=1, with_payload=[field], order_by=order)
        )
        if not found:
            return 0.0
        held = (found[0].payload or {}).get(field)
        return check_number(self.address, held, "a reach", least=0.0)

    def close(self) -> None:
        with _OPENING:
            if not self._is_open:
                return
            self._is_open = False
            self._held.users -= 1
            if not self._held.users:
                del _OPEN[self._key]
                if self._held.shard is not None:
                    self._held.shard.close()
