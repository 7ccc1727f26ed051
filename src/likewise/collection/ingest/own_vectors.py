"""The user's own vectors: validated, stored as rows of a space like any other."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy import sparse

from likewise.collection.errors import CollectionError, UnknownPicture
from likewise.collection.ingest import generations as gen
from likewise.collection.jobs import silent
from likewise.collection.spaces import rows as space_rows
from likewise.collection.spaces.graphs import grow_graphs
from likewise.collection.store import changes as change
from likewise.collection.store.segments import pack_dense, pack_sparse
from likewise.collection.store.store import Store
from likewise.errors import InvalidInput


def put_vectors(store: Store, name: str, ids: Sequence[int], X: Any) -> int:
    """Store a vector for each id; the caller holds the lease."""
    space = store.spaces().get(name)
    if space is None:
        raise CollectionError(f'there is no space {name!r}; add_space(name, {{"feature": "own"}})')
    if space.recipe["feature"] != "own":
        raise CollectionError(f"space {name!r} makes its own vectors; choose another name")
    images = [int(i) for i in ids]
    if len(set(images)) != len(images):
        raise InvalidInput("ids names a picture twice; one vector a picture expected")
    rows = _sparse_rows(X) if space.kind == "sparse" else _dense_rows(X)
    if rows.shape[0] != len(images):
        raise InvalidInput(f"X has {rows.shape[0]} rows for {len(images)} ids")
    if space.generation and rows.shape[1] != space.width:
        raise InvalidInput(
            f"X has {rows.shape[1]} columns; {space.width} expected for space {name!r}"
        )
    known = store.images(images)
    missing = [i for i in images if i not in known]
    if missing:
        raise UnknownPicture(f"there is no picture with id {missing[0]}; nothing was stored")
    if not space.generation:
        gen.start_dense(store, name, rows.shape[1])
        space = store.spaces()[name]
    # Sealed rows are written again without the ones that are replaced; all of it, and the new
    # rows, become true in one transaction.
    joined = space_rows.rewritten(store, name, np.array(images, np.int64))
    with store.write(durable=True) as c:
        if "graph" in space.files:
            change.put_files(c, name, space.generation, {})
        for one in joined:
            space_rows.name_joined(c, space, one)
        for i, image in enumerate(images):
            change.put_vector(c, name, space.generation, image, _packed(rows, i))
    grow_graphs(store, silent)
    space_rows.tidy(store)
    return len(images)


def _packed(rows: Any, i: int) -> bytes:
    if isinstance(rows, np.ndarray):
        return pack_dense(rows[i])
    a, b = rows.indptr[i], rows.indptr[i + 1]
    return pack_sparse(rows.indices[a:b], rows.data[a:b])


def _dense_rows(X: Any) -> Any:
    try:
        rows = np.asarray(X.toarray() if hasattr(X, "toarray") else X, np.float32)
    except (TypeError, ValueError) as error:
        raise InvalidInput(f"X is no matrix of numbers: {error}") from error
    if rows.ndim != 2 or rows.shape[1] == 0:
        raise InvalidInput(f"X has shape {rows.shape}; (pictures, columns) expected")
    if not np.isfinite(rows).all():
        raise InvalidInput("X has NaN or infinite values")
    return rows


def _sparse_rows(X: Any) -> Any:
    try:
        rows = sparse.csr_array(X, dtype=np.float32, copy=True)
    except (TypeError, ValueError) as error:
        raise InvalidInput(f"X is no matrix of numbers: {error}") from error
    if rows.ndim != 2:
        raise InvalidInput(f"X has {rows.ndim} dimensions; (pictures, columns) expected")
    rows.sum_duplicates()
    rows.eliminate_zeros()
    if not np.isfinite(rows.data).all():
        raise InvalidInput("X has NaN or infinite values")
    return rows
