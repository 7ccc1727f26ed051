"""A Qdrant server (or its client's emulation in memory, for tests), through qdrant-client.

Every request has a time limit and is repeated after a failure that may pass: no connection, a
time-out, a truncated answer, 429 and 5xx.  Other refusals are raised at once.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from likewise.engines.errors import EngineMissing, EngineRefused
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
from likewise_cluster.engines.retries import Retries
from likewise_cluster.engines.wire import Translator
from likewise_methods.neighbours import Metric

TIMEOUT = 30
"""Seconds a request may take."""
_TRANSIENT = (408, 429, 500, 502, 503, 504)
_NO_KEY = (401, 403)
_TRANSIENT_GRPC = ("UNAVAILABLE", "DEADLINE_EXCEEDED", "RESOURCE_EXHAUSTED", "INTERNAL", "ABORTED")

Answer = TypeVar("Answer")


def _library() -> Any:
    try:
        import qdrant_client
        import qdrant_client.models
    except ImportError as error:
        raise EngineMissing(
            "qdrant-client is not installed; 'pip install likewise-cluster[qdrant]' brings it"
        ) from error
    return qdrant_client


def connect(
    url: str, *, api_key: str | None = None, timeout: int = TIMEOUT, grpc_port: int | None = None
) -> Any:
    """Return a client of the server at ``url``, or of ``:memory:``; sends no request yet."""
    library = _library()
    if url == ":memory:":
        return library.QdrantClient(":memory:")
    with warnings.catch_warnings():
        # It warns of a key without TLS; addresses.py refuses that except on this machine.
        warnings.simplefilter("ignore", UserWarning)
        return library.QdrantClient(
            url=url,
            api_key=api_key,
            timeout=timeout,
            check_compatibility=False,
            prefer_grpc=grpc_port is not None,
            grpc_port=grpc_port or 6334,
        )


class ServerPoints:
    """One collection of a Qdrant server."""

    def __init__(
        self, client: Any, name: str, address: str, *, retries: Retries | None = None
    ) -> None:
        self.address = address
        self._client = client
        self._name = name
        self._retries = retries or Retries()
        self._m = _library().models
        self._to = Translator(self._m, "Range", "has_id", "has_vector", sorted)
        self._is_local = type(client._client).__name__ == "QdrantLocal"

    def _ask(self, call: Callable[..., Answer], *values: Any, **named: Any) -> Answer:
        try:
            return self._retries.call(
                self.address, lambda: call(self._name, *values, **named), transient_reason
            )
        except Exception as error:
            refusal = self._refusal(error)
            if refusal is None:
                raise
            raise refusal from error

    def _refusal(self, error: Exception) -> EngineRefused | None:
        from qdrant_client.http.exceptions import UnexpectedResponse

        status = getattr(error, "status_code", None)
        if isinstance(error, UnexpectedResponse) and status in _NO_KEY:
            return EngineRefused(
                f"{self.address} wants another API key (status {status}); set "
                "LIKEWISE_QDRANT_API_KEY"
            )
        if isinstance(error, UnexpectedResponse):
            said = " ".join(error.content.decode(errors="replace").split())[:300]
            return EngineRefused(f"{self.address} answered {status}: {said}")
        code = _grpc_code(error)
        if code in ("UNAUTHENTICATED", "PERMISSION_DENIED"):
            return EngineRefused(
                f"{self.address} wants another API key ({code}); set LIKEWISE_QDRANT_API_KEY"
            )
        return None if code is None else EngineRefused(f"{self.address} answered {code}: {error}")

    # -- names ------------------------------------------------------------------------------

    def names(self) -> dict[str, RowKind]:
        if not self._ask(self._client.collection_exists):
            return {}
        params = self._ask(self._client.get_collection).config.params
        found = {name: RowKind(True, 0) for name in params.sparse_vectors or {}}
        if not isinstance(params.vectors or {}, dict):
            raise EngineRefused(
                f"{self.address} is a collection of another program: its vectors have no names; "
                "push to another name"
            )
        for name, said in (params.vectors or {}).items():
            metric: Metric = "l2" if said.distance == self._m.Distance.EUCLID else "ip"
            found[name] = RowKind(False, said.size, metric)
        return found

    def create(self, name: str, kind: RowKind, number_field: str) -> None:
        m = self._m
        distance = m.Distance.EUCLID if kind.metric == "l2" else m.Distance.DOT
        if not self._ask(self._client.collection_exists):
            self._make(
                self._client.create_collection,
                lambda: self._ask(self._client.collection_exists),
                vectors_config={},
                sparse_vectors_config={},
            )
        if not self._is_local:  # the emulation has no indexes and warns of them
            # Before the vector is named, so that after a kill the next call creates them.
            schemas = m.PayloadSchemaType
            for field in (pt.TAGS, pt.INSIDE, pt.OWNER):
                self._ask(self._client.create_payload_index, field, schemas.KEYWORD)
            self._ask(self._client.create_payload_index, pt.MOMENT, schemas.INTEGER)
            self._ask(self._client.create_payload_index, number_field, schemas.FLOAT)
        config = (
            m.SparseVectorNameConfig(sparse=m.SparseVectorConfig())
            if kind.is_sparse
            else m.DenseVectorNameConfig(
                dense=m.DenseVectorConfig(size=kind.width, distance=distance)
            )
        )
        make = self._client.create_vector_name
        self._make(make, lambda: name in self.names(), vector_name=name, vector_name_config=config)

    def _make(self, call: Callable[..., Any], is_there: Callable[[], bool], **named: Any) -> None:
        """Create something that an earlier attempt, whose answer was lost, may have created."""
        try:
            self._ask(call, **named)
        except EngineRefused:
            if not is_there():
                raise

    def drop(self, name: str, fields: Sequence[str]) -> None:
        if not self._is_local:
            for field in fields:
                self._ask(self._client.delete_payload_index, field)
        everyone = self._m.Filter(must=[])
        self._ask(self._client.delete_payload, list(fields), everyone)
        self._ask(self._client.delete_vector_name, name)

    # -- points -----------------------------------------------------------------------------

    def upsert(self, points: Sequence[Point]) -> None:
        made = [
            self._m.PointStruct(
                id=one.id,
                vector={name: self._to.vector(numbers) for name, numbers in one.vectors.items()},
                payload=dict(one.payload),
            )
            for one in points
        ]
        self._ask(self._client.upsert, made, wait=True)

    def delete_vector(self, ids: Sequence[int], name: str) -> None:
        passing = self._to.filter(PointFilter((pt.IdIn(frozenset(ids)),)))
        self._ask(self._client.delete_vectors, [name], passing, wait=True)

    def delete(self, passing: PointFilter) -> None:
        selected = self._m.FilterSelector(filter=self._to.filter(passing))
        self._ask(self._client.delete, selected, wait=True)

    def set_payload(self, ids: Sequence[int], payload: Payload) -> None:
        passing = self._to.filter(PointFilter((pt.IdIn(frozenset(ids)),)))
        self._ask(self._client.set_payload, dict(payload), passing, wait=True)

    def nearest(
        self, name: str, query: Numbers, limit: int, passing: PointFilter, how: SearchOptions
    ) -> list[Candidate]:
        first, before = how.first, None
        condition = self._to.filter_or_none(passing)
        params = None  # the emulation compares all rows, and warns of parameters
        if not self._is_local:
            params = self._m.SearchParams(exact=how.exact, hnsw_ef=how.breadth)
        if first is not None:
            before = self._m.Prefetch(
                query=self._to.vector(first.query),
                using=first.store,
                filter=condition,
                params=params,
                limit=first.limit,
            )
        found = self._ask(
            self._client.query_points,
            self._to.vector(query),
            using=name,
            prefetch=before,
            limit=limit,
            query_filter=condition,
            search_params=params,
            with_vectors=[name] if how.with_vectors else False,
            with_payload=False,
        ).points
        return [candidate_of(self.address, one, name, how) for one in found]

    def scroll(
        self, passing: PointFilter, first: int, limit: int, vector: str | None, payload: bool
    ) -> list[Point]:
        found, _ = self._ask(
            self._client.scroll,
            self._to.filter(passing),
            limit=limit,
            offset=first,
            with_payload=payload,
            with_vectors=[vector] if vector else False,
        )
        return [point_of(self.address, one) for one in found]

    def retrieve(self, ids: Sequence[int], vectors: Sequence[str], payload: bool) -> list[Point]:
        found = self._ask(
            self._client.retrieve, list(ids), with_payload=payload, with_vectors=list(vectors)
        )
        return [point_of(self.address, one) for one in found]

    def count(self, passing: PointFilter) -> int:
        return int(self._ask(self._client.count, self._to.filter(passing), exact=True).count)

    def largest(self, field: str) -> float:
        order = self._m.OrderBy(key=field, direction=self._m.Direction.DESC)
        found, _ = self._ask(self._client.scroll, limit=1, order_by=order, with_payload=[field])
        if not found:
            return 0.0
        held = (found[0].payload or {}).get(field)
        return check_number(self.address, held, "a reach", least=0.0)

    def close(self) -> None:
        self._client.close()


def transient_reason(error: Exception) -> str | None:
    """Describe a failure that a retry may solve; None for others."""
    from qdrant_client.common.client_exceptions import ResourceExhaustedResponse
    from qdrant_client.http.exceptions import ResponseHandlingException, UnexpectedResponse

    if isinstance(error, UnexpectedResponse):
        status = error.status_code
        return f"it answered {status}" if status in _TRANSIENT else None
    if isinstance(error, ResourceExhaustedResponse):
        return "it answered 429: too many requests"
    if isinstance(error, ResponseHandlingException):
        source = error.source
        first = next(iter(str(source).splitlines()), "")
        return f"{type(source).__name__}: {first}".rstrip(": ")
    if isinstance(error, AssertionError):
        # The client asserts that required fields are there; a proxy's answer lacks them.
        return f"no answer of Qdrant: {error}"
    code = _grpc_code(error)
    return f"it answered {code}" if code in _TRANSIENT_GRPC else None


def _grpc_code(error: Exception) -> str | None:
    """Return the status of a failed gRPC call; None for other errors."""
    import grpc

    if not isinstance(error, grpc.RpcError) or not hasattr(error, "code"):
        return None
    return str(error.code().name)
