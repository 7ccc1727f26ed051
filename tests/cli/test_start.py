"""A command that learns nothing imports nothing it does not use."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from scipy import sparse

from likewise.collection.collection import Collection
from tests.cli.process import few_views

HEAVY = {"numba", "llvmlite", "faiss", "cv2", "scipy", "sklearn", "onnxruntime", "PIL", "ssl"}
RUN = (
    "import sys\n"
    "from likewise.cli import main\n"
    "try: main()\n"
    "except SystemExit as ended: assert not ended.code, ended.code\n"
    "sys.stderr.write(' '.join(sys.modules))\n"
)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A collection with tags and a sparse space that is searched by its raw rows."""
    where = tmp_path_factory.mktemp("start")
    few_views(where / "pictures")
    rng = np.random.default_rng(0)
    with Collection.create(where / "photos.lw", words={"n_words": 200}, deep=False) as col:
        col.add(where / "pictures", workers=0)
        col.tag(1, "cat")
        col.spaces.add("mine", {"feature": "own", "kind": "sparse"})
        rows = sparse.random_array((len(col), 300), density=0.1, rng=rng, format="csr")
        col.spaces.add_vectors("mine", [row.id for row in col.images()], rows)
    return where


def run(folder: Path, *arguments: str) -> tuple[str, set[str]]:
    """What a command prints, and the modules its process has at the end."""
    done = subprocess.run(
        [sys.executable, "-c", RUN, *arguments],
        cwd=folder, capture_output=True, text=True, check=True, timeout=120,
    )  # fmt: skip
    return done.stdout, {name.split(".")[0] for name in done.stderr.split()}


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("info",), "12 pictures"),
        (("tags",), "cat"),
        (("search", "1", "--by", "mine"), "score"),
        (("log",), ""),
        (("problems",), ""),
    ],
    ids=lambda value: "-".join(value) if isinstance(value, tuple) else "",
)
def test_a_command_imports_what_it_needs(
    folder: Path, arguments: tuple[str, ...], said: str
) -> None:
    printed, loaded = run(folder, *arguments)
    assert said in printed
    assert "numpy" in loaded
    assert loaded.isdisjoint(HEAVY), loaded & HEAVY


def test_a_search_without_kernels_is_the_same(folder: Path) -> None:
    """The command found without a compiler what this process finds with one, to the bit."""
    import json

    from likewise._kernels import have_compiler

    printed, _ = run(folder, "search", "1", "--by", "mine", "--json")
    found = json.loads(printed)
    with Collection.open(folder / "photos.lw") as col:
        col.search(1, by="words")
        assert have_compiler()
        hits = col.search(1, by="mine")
    text = json.dumps(found)
    assert len(hits) == 11
    for hit in hits:
        assert json.dumps(hit.score) in text


def test_one_command_is_built_and_all_are_known() -> None:
    from likewise.cli.app import _app_for, app

    small = _app_for(["info", "--json"])
    assert [one.callback.__name__ for one in small.registered_commands if one.callback] == ["info"]
    assert not small.registered_groups
    assert [one.name for one in _app_for(["tags"]).registered_groups] == ["tags"]
    for arguments in ([], ["--help"], ["--debug", "info"], ["inof"]):
        assert _app_for(arguments) is app
    # Asking for one leaves the others where they are.
    assert len(app.registered_commands) > 20
