"""A wrong byte anywhere in the catalog has no effect, or is told; never a different answer."""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import pytest

from likewise.catalog.store import FILE
from likewise.collection.collection import Collection
from likewise.errors import LikewiseError
from tests import trials
from tests.product.trust.stored_cases import ROUNDS, ask_all, make_full


@pytest.fixture(scope="module")
def full(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_full(tmp_path_factory.mktemp("flips"))


def test_flips_anywhere_in_the_catalog(full: Path, tmp_path: Path) -> None:
    with Collection.open(full) as col:
        reference = ask_all(col)
        assert col.verify() == []
    content = (full / FILE).read_bytes()
    assert not (full / f"{FILE}-wal").exists()
    shutil.copytree(full, tmp_path / "hurt.lw")
    # Most of a small catalog is room for more rows, which is zero and read by nobody.
    places = np.flatnonzero(np.frombuffer(content, np.uint8))
    rng = np.random.default_rng(24)
    silent, told, harmless = [], 0, 0
    for _ in range(12 + 5 * ROUNDS):
        at, bit = int(rng.choice(places)), int(rng.integers(8))
        hurt = bytearray(content)
        hurt[at] ^= 1 << bit
        for left in (tmp_path / "hurt.lw").glob(f"{FILE}*"):
            left.unlink()
        (tmp_path / "hurt.lw" / FILE).write_bytes(hurt)
        wrong: list[str] = []
        try:
            with Collection.open(tmp_path / "hurt.lw") as col:
                wrong = col.verify()
                found = ask_all(col)
        except LikewiseError:
            told += 1
            continue
        if wrong:
            told += 1
        elif found == reference:
            harmless += 1
        else:
            silent.append((at, bit))
    assert silent == []
    trials.count(trials.FLIPS, told + harmless)
    assert told > harmless
