"""Listing every picture page by page costs what it lists, not what is left."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from likewise.collection.collection import Collection
from tests.product.collection.loop_cases import N, copied
from tests.product.private import store_of


def test_a_page_of_pictures_sorts_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with Collection.open(copied(tmp_path)) as col:
        store, asked = store_of(col), []
        plain = type(store).all

        def noted(self: Any, sql: str, values: Any = ()) -> Any:
            asked.append((sql, values))
            return plain(self, sql, values)

        monkeypatch.setattr(type(store), "all", noted)
        listed = list(store.every_image())
        assert [row.id for row in listed] == list(range(1, N + 1))
        assert store.every_path() == [(row.id, row.path) for row in listed]
        for sql, values in asked:
            plan = [str(tuple(row)) for row in plain(store, f"EXPLAIN QUERY PLAN {sql}", values)]
            assert plan
            assert not any("TEMP B-TREE" in step for step in plan), plan
