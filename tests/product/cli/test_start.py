"""A command that learns nothing imports nothing it does not use."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from likewise.catalog.changes import drop_space
from likewise.cli.app import SINGLE_THREADED, _app_for, app
from likewise.collection.collection import Collection
from likewise_methods import kernels as _kernels
from tests.product.cli.process import few_views
from tests.product.private import store_of

HEAVY = {
    "cv2", "faiss", "fastapi", "jinja2", "llvmlite", "numba", "onnx", "onnxruntime", "PIL",
    "pydantic", "scipy", "sklearn", "ssl", "uvicorn",
}  # fmt: skip
RUN = """
import os, sys
from likewise.cli import main
try: main()
except SystemExit as ended: assert not ended.code, ended.code
print(os.environ.get("OPENBLAS_NUM_THREADS"), *sys.modules, file=sys.stderr)
"""
COMMANDS = {
    "--help": "Usage",
    "info": "12 pictures",
    "search 1": "score",
    "search 1 --by given": "score",
    "search 1 --where tag=cat --by fit": "score",
    "teach 1 --like 2 --dislike 7": "Now most similar",
    "log": "liked 2",
    "learned": "1 judgement",
    "undo": "is undone",
    "tags": "cat",
    "reject 3 cat": "",
    "problems": "",
}
"""What is run, one after the other, and what it says."""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A collection with tags and three spaces: two given, one of them sparse, and one fitted."""
    where = tmp_path_factory.mktemp("start")
    few_views(where / "pictures")
    with Collection.create(where / "photos.lw", words={"n_words": 50}, deep=False) as col:
        col.spaces.add("given", {"feature": "own"})
        col.spaces.add("sparse", {"feature": "own", "kind": "sparse"})
        col.spaces.add("fit", {"feature": "fitted", "source": "given", "first": 5})
        with store_of(col).write(durable=True) as c:
            for name in set(col.spaces) - {"given", "sparse", "fit"}:
                drop_space(c, name)
        col.add(where / "pictures", workers=0)
        rows = np.random.default_rng(0).normal(size=(len(col), 30)).astype(np.float32)
        col.spaces.add_vectors("given", [row.id for row in col.images()], rows)
        col.spaces.add_vectors("sparse", [row.id for row in col.images()], np.maximum(rows, 0))
        col.similarities.use("fit")
        col.tag(1, "cat")
        col.tag(2, "cat")
    return where


def run(folder: Path, *arguments: str) -> tuple[str, str, set[str]]:
    """What a command prints, its number of BLAS threads, and the modules it has at the end."""
    surroundings = {k: v for k, v in os.environ.items() if k != "OPENBLAS_NUM_THREADS"}
    done = subprocess.run(
        [sys.executable, "-c", RUN, *arguments], env=surroundings,
        cwd=folder, capture_output=True, text=True, check=False, timeout=120,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    threads, *modules = done.stderr.split("\n")[-2].split()
    return done.stdout, threads, {name.split(".")[0] for name in modules}


def test_commands_import_what_they_need(folder: Path) -> None:
    for command, said in COMMANDS.items():
        printed, threads, loaded = run(folder, *command.split())
        assert said in printed, command
        assert loaded.isdisjoint(HEAVY), (command, loaded & HEAVY)
        assert threads == ("None" if command == "--help" else "1"), command
        assert ("numpy" in loaded) == (command != "--help"), command


def test_few_sparse_rows_need_no_kernel(folder: Path) -> None:
    printed, _, loaded = run(folder, "search", "1", "--by", "sparse")
    assert "score" in printed
    assert "numba" not in loaded


def test_a_search_without_kernels_is_the_same(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The command found without a compiler what this process finds with one, to the bit."""
    monkeypatch.setattr(_kernels, "numba_loaded", lambda: True)
    for by in ("given", "sparse", "fit"):
        printed, _, _ = run(folder, "search", "5", "--by", by, "--json")
        with Collection.open(folder / "photos.lw") as col:
            hits = col.search(5, by=by)
        assert len(hits) == 11
        found = [(hit["id"], hit["score"]) for hit in json.loads(printed)["hits"]]
        assert found == [(hit.id, hit.score) for hit in hits]


def test_a_young_collection_learns_without_kernels(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Ranked by a sparse space, as all are before `look` is learned: the weights of its words.

    What the commands learned is what this process learns with a compiler, to the bit.
    """
    shutil.copytree(folder / "photos.lw", tmp_path / "photos.lw")
    with Collection.open(tmp_path / "photos.lw") as col:
        col.similarities.use("sparse")
    for command in (
        "judge 1 --liked 2 --disliked 7", "judge 3 --liked 5,6", "search 1", "learned",
        "judge 4 --disliked 8", "undo", "tags", "info",
    ):  # fmt: skip
        _, _, loaded = run(tmp_path, *command.split())
        assert loaded.isdisjoint({"numba", "llvmlite"}), command
    printed, _, _ = run(tmp_path, "search", "5", "--json")
    monkeypatch.setattr(_kernels, "numba_loaded", lambda: True)
    with Collection.open(tmp_path / "photos.lw") as col:
        found = [(hit["id"], hit["score"]) for hit in json.loads(printed)["hits"]]
        hits = col.search(5)
        plain = col.search(5, by="sparse")
    assert len(found) == 11
    assert found == [(hit.id, hit.score) for hit in hits]
    assert found != [(hit.id, hit.score) for hit in plain]  # something was learned


def test_one_command_is_built_and_all_are_known() -> None:
    small = _app_for(["info", "--json"])
    assert [one.callback.__name__ for one in small.registered_commands if one.callback] == ["info"]
    assert not small.registered_groups
    assert [one.name for one in _app_for(["tags"]).registered_groups] == ["tags"]
    for arguments in (["--debug", "info"], ["inof"]):
        assert set(app.registered_commands) <= set(_app_for(arguments).registered_commands)
    for arguments in ([], ["--help"]):
        assert not any(one.hidden for one in _app_for(arguments).registered_commands)
        groups = {one.name for one in _app_for(arguments).registered_groups}
        assert groups == {"export", "library", "models", "evaluate", "admin"}
    # Asking for one leaves the others where they are.
    assert len(app.registered_commands) > 20
    assert all(_app_for([name]) is not app for name in SINGLE_THREADED)
