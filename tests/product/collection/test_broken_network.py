"""A machine whose onnxruntime is installed and cannot be imported: as where it is not, and told."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from likewise.catalog.changes import WAITING, backfill_of
from likewise.collection.collection import Collection
from likewise.errors import CollectionError, UnknownName, UnknownPicture
from likewise.ingest import pool
from likewise.search.typed import meaning
from likewise.vision.deep import libraries, network
from likewise.vision.deep.libraries import INSTALL, BrokenLibrary, DeepMissing
from likewise.vision.text import model as text_model
from likewise.vision.text import text_model_status
from tests.product.cli.process import Likewise
from tests.product.collection.pictures import small_scenes, write, write_pictures
from tests.product.private import store_of
from tests.product.vision.deep_cases import needs_deep

pytestmark = needs_deep

SAID = "libstdc++.so.6: version `GLIBCXX_3.4.29' not found"
WRONG = f"onnxruntime is installed but cannot be imported here: ImportError: {SAID}"


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """``pictures`` and ``photos.lw``, made where all is well."""
    folder = tmp_path_factory.mktemp("broken")
    write_pictures(folder / "pictures", views=1)
    with Collection.create(folder / "photos.lw", all_spaces=True) as col:
        col.add(folder / "pictures", workers=0)
    return folder


@pytest.fixture
def col(built: Path, tmp_path: Path) -> Iterator[Collection]:
    shutil.copytree(built / "photos.lw", tmp_path / "photos.lw")
    with Collection.open(tmp_path / "photos.lw") as found:
        yield found


@pytest.fixture
def broken(
    built: Path, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Path]:
    """An onnxruntime that fails, in this process and in workers, and nothing known of it yet."""
    folder = tmp_path_factory.mktemp("packages")
    (folder / "onnxruntime").mkdir()
    (folder / "onnxruntime" / "__init__.py").write_text(f"raise ImportError({SAID!r})\n")
    with monkeypatch.context() as patch:
        for name in [one for one in sys.modules if one.split(".")[0] == "onnxruntime"]:
            patch.delitem(sys.modules, name)
        patch.syspath_prepend(folder)
        forget(patch)
        yield folder
    forget()


def forget(patch: pytest.MonkeyPatch | None = None) -> None:
    """As in a new process, and with new workers."""
    if patch is not None:
        patch.setattr(libraries, "_broken", {})
    pool.stop_idle()
    network.network.cache_clear()
    text_model._open.cache_clear()


def test_a_new_collection_does_without(broken: Path, tmp_path: Path) -> None:
    with Collection.create(tmp_path / "photos.lw") as made:
        assert set(made.spaces) == {"words", "holistic"}
        assert network.offer().endswith(f"less like what you mean. What is wrong: {WRONG}")
        assert "pip" not in network.offer()
        with pytest.raises(BrokenLibrary) as refused:
            made.spaces.add("deep", {"feature": "deep"})
        assert str(refused.value) == WRONG
        assert set(made.spaces) == {"words", "holistic"}
        for name in ("deep", "look"):
            with pytest.raises(UnknownName) as unknown:
                made.similarities[name]
            way = f"likewise admin spaces add {name} makes it"
            said = f"yet: once the network runs here ({WRONG}), {way}"
            assert said in str(unknown.value)
    with pytest.raises(DeepMissing, match="installed but cannot be imported"):
        Collection.create(tmp_path / "other.lw", deep=True)
    assert not (tmp_path / "other.lw").exists()


@pytest.mark.parametrize("workers", [0, 1])
def test_an_add_goes_on_with_what_can_be_made(
    col: Collection, broken: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, workers: int
) -> None:
    write(tmp_path / "more" / "late.jpg", np.ascontiguousarray(small_scenes()["rocket"][6:, 6:]))
    assert network.is_installed()  # as far as can be said without an import
    result = col.add(tmp_path / "more", workers=workers)
    assert (result.added, result.skipped, result.unmade) == (1, [], ["deep", "deep-dense"])
    assert WRONG in col.spaces["deep"].how_to_get()
    assert not network.is_installed()
    lacks = backfill_of(store_of(col), "deep")
    assert lacks is not None
    assert lacks.state == WAITING
    # The next one, in a new process, tries and goes on.
    with monkeypatch.context() as patch:
        forget(patch)
        write(tmp_path / "more" / "later.jpg", small_scenes()["china"][5:])
        result = col.add(tmp_path / "more", workers=workers)
        assert (result.added, result.unmade) == (1, ["deep", "deep-dense"])
        assert col.add(tmp_path / "more", workers=workers).added == 0
    assert col.verify() == []
    late = col.id_of(tmp_path / "more" / "late.jpg")
    assert Path(col.search(late, k=1, by="both")[0].path).name == "rocket-0.jpg"


def test_an_add_where_nothing_can_be_made(broken: Path, tmp_path: Path) -> None:
    write(tmp_path / "more" / "late.jpg", small_scenes()["rocket"])
    sys.path.remove(str(broken))
    forget()
    Collection.create(tmp_path / "photos.lw").close()
    sys.modules.pop("onnxruntime", None)
    sys.path.insert(0, str(broken))
    forget()
    with Collection.open(tmp_path / "photos.lw") as made:
        assert "words" not in made.spaces
        result = made.add(tmp_path / "more", workers=0)
        assert (result.added, result.unmade) == (1, ["deep", "deep-dense"])


def test_what_was_missing_is_made_once_it_runs(col: Collection, tmp_path: Path) -> None:
    path = write(tmp_path / "more" / "late.jpg", small_scenes()["rocket"][6:])
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(libraries, "_broken", {"onnxruntime": SAID})
        assert col.add(path, workers=0).unmade == ["deep", "deep-dense"]
    assert col.add(path, workers=0).unmade == []
    found = col.search(col.id_of(path), k=1, by="deep")
    assert Path(found[0].path).name == "rocket-0.jpg"


def test_who_writes_the_catalog_imports_no_network(
    built: Path, broken: Path, tmp_path: Path
) -> None:
    """A worker says that the library is broken; a command that needs no network asks nobody."""
    shutil.copytree(built / "photos.lw", tmp_path / "photos.lw")
    write(tmp_path / "more" / "late.jpg", small_scenes()["rocket"][6:])
    (broken / "onnxruntime" / "__init__.py").write_text(
        "import multiprocessing\n"
        "assert multiprocessing.parent_process() is not None, 'imported by who writes'\n"
        f"raise ImportError({SAID!r})\n"
    )
    with Collection.open(tmp_path / "photos.lw") as found:
        assert found.add(tmp_path / "more", workers=1).unmade == ["deep", "deep-dense"]
        assert libraries._broken == {"onnxruntime": f"ImportError: {SAID}"}


def test_searches_say_what_is_wrong(col: Collection, broken: Path, tmp_path: Path) -> None:
    path = write(tmp_path / "late.jpg", small_scenes()["rocket"][6:])
    with pytest.raises(
        CollectionError, match=r"cannot describe a new picture here: onnxruntime is"
    ):
        col.search(path, by="deep")
    libraries._broken.clear()
    hits = col.search(text="snow")
    if text_model_status().where is not None:
        assert hits.hint == f"{meaning.ONLY_WRITTEN}: {WRONG}"
    libraries._broken.clear()
    col.spaces.drop("look")
    col.spaces.drop("deep-dense")
    assert f"{WRONG}, then likewise admin spaces add deep-dense" in str(col.search(text="ice").hint)
    col.add(path, workers=0)
    libraries._broken.clear()
    with pytest.raises(UnknownPicture, match=r"once the network runs here \(onnxruntime is inst"):
        col.search(col.id_of(path), by="deep")


def test_commands_tell_the_truth(built: Path, broken: Path, tmp_path: Path) -> None:
    run = Likewise(tmp_path)
    (tmp_path / "none").mkdir()
    done = run("add", built / "pictures", "-C", "new.lw", "--workers", "0")
    assert done.returncode == 0, done.stderr
    assert WRONG in done.stderr
    libraries._broken.clear()
    found = {one["model"]: one for one in json.loads(run("models", "--json").stdout)}
    ours = found["pictures' network"]
    assert (ours["available"], ours["missing"], ours["command"]) == (False, [WRONG], None)
    assert not found["text model"]["available"]
    assert WRONG in found["text model"]["missing"]
    assert "pip install onnxruntime" not in str(found["text model"]["command"])


def test_a_library_that_is_not_there_is_told_with_a_command(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(libraries, "_broken", {})
    with pytest.raises(DeepMissing, match="a network needs no_such_library: pip install") as error:
        libraries.import_library("no_such_library")
    assert not isinstance(error.value, BrokenLibrary)
    assert libraries._broken == {}
    assert network.what_it_needs() == INSTALL


def test_what_is_installed_is_not_offered_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """Also where somebody else found it broken before anybody asked whether it is there."""
    monkeypatch.setattr(libraries, "_broken", {"onnxruntime": f"ImportError: {SAID}"})
    network._is_whole.cache_clear()
    assert network.what_it_needs() == WRONG
    assert not network.is_installed()
    network._is_whole.cache_clear()
    monkeypatch.setattr(network, "_packaged_weights", lambda: None)
    assert network.what_it_needs() == f"{WRONG}; {INSTALL}"
    network._is_whole.cache_clear()


def test_a_library_may_fail_in_any_way(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(libraries, "_broken", {})
    monkeypatch.syspath_prepend(tmp_path)
    (tmp_path / "odd_library.py").write_text("import json.nothing_of_that_name\n")
    (tmp_path / "older_library.py").write_text("raise RuntimeError('built\\n  for NumPy 1')\n")
    for name, said in (
        ("odd_library", "ModuleNotFoundError: No module named 'json.nothing_of_that_name'"),
        ("older_library", "RuntimeError: built for NumPy 1"),
    ):
        assert libraries.is_there(name)
        for _ in range(2):
            with pytest.raises(BrokenLibrary) as refused:
                libraries.import_library(name)
            assert refused.value.reason == said
        assert not libraries.is_there(name)


def test_a_finder_that_fails_ends_no_command(col: Collection) -> None:
    """Someone else's import hook may not survive the question whether a library is there."""
    program = (
        "import sys\n"
        "class Finder:\n"
        "    def find_spec(self, name, path=None, target=None):\n"
        "        if name in ('onnxruntime', 'onnx', 'tokenizers'): raise OSError('no such drive')\n"
        "sys.meta_path.insert(0, Finder())\n"
        "from likewise.cli import main\n"
        "main()\n"
    )
    for command in ("info", "search 1", "models"):
        given = [sys.executable, "-c", program, *command.split(), "-C", str(col.root)]
        done = subprocess.run(given, capture_output=True, text=True, check=False, timeout=120)
        assert done.returncode == 0, done.stderr
