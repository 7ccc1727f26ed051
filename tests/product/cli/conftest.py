"""A small collection, built once, for every test of the command line."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.product.cli.process import Likewise, few_views


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Likewise:
    """Twelve views of six scenes in a collection of this module's own."""
    from likewise.collection.collection import Collection

    folder = tmp_path_factory.mktemp("cli")
    few_views(folder / "pictures")
    with Collection.create(folder / "photos.lw", deep=False) as col:
        col.add(folder / "pictures", workers=0)
    return Likewise(folder)


@pytest.fixture
def empty(tmp_path: Path) -> Likewise:
    """A folder with nothing in it."""
    return Likewise(tmp_path)
