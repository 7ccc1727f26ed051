"""The house rules: lazy doors, imports downwards only, one room for each dangerous tool."""

from __future__ import annotations

import ast
import importlib
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest

import likewise
from likewise._doors import DOORS

ROOT = Path(likewise.__file__).parent
FILES = sorted(ROOT.rglob("*.py"))

# From the roof to the ground; rooms on one line stand side by side and do not know each other.
FLOORS = [
    {"__main__"},
    {"cli"},
    {"server"},
    {"demo"},
    {"collection"},
    {"engines"},
    {"index"},
    {"similarity", "metric", "ordinal", "annotation"},
    {"coding"},
    {"features"},
    {"neighbours"},
    {"solvers"},
    {"evaluation"},
    {"camera_facts"},
    {"images"},
    {"recognition", "decoding_memory", "raw_previews", "shots", "jpegs"},
    {"_estimators", "_csr"},
    {"_kernels", "_validation", "_durable", "_heaps"},
    {"_kernel_cache"},
    {"_kernel_sources"},
    {"errors"},
    {"_doors", "_lazy", "_version"},
]
HEIGHT = {room: len(FLOORS) - floor for floor, rooms in enumerate(FLOORS) for room in rooms}

# The same inside the largest room; a file that is no room of its own stands on the roof.
COLLECTION = ["tags", "models", "ingest", "feedback", "search", "spaces", "keywords", "store"]
CELLAR = {
    "content", "errors", "jobs", "filters_and_metadata", "parts", "read_write_lock", "tag_names",
    "thumbnail_packs", "thumbnails", "written_words",
}  # fmt: skip

HEAVY = ("numba", "faiss", "cv2", "sklearn", "scipy", "fastapi", "skimage", "PIL", "numpy")


def room_of(path: Path) -> str:
    return path.relative_to(ROOT).with_suffix("").parts[0]


@cache
def imports(path: Path) -> list[tuple[str, int]]:
    """Every module a file imports, wherever in the file, with the line."""
    found = []
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            found += [(alias.name, node.lineno) for alias in node.names]
        elif (
            isinstance(node, ast.Call)
            and ast.unparse(node.func).endswith("import_module")
            and node.args
            and isinstance(node.args[0], ast.Constant)
        ):
            found.append((str(node.args[0].value), node.lineno))
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}:{node.lineno} imports relatively"
            module = node.module or ""
            # "from likewise import images" imports a room by its name.
            if module in ("likewise", "likewise.collection"):
                found += [(f"{module}.{alias.name}", node.lineno) for alias in node.names]
            else:
                found.append((module, node.lineno))
            # What is imported later is imported all the same.
            if module == "likewise._lazy":
                found += [(alias.name, node.lineno) for alias in node.names]
    return found


@pytest.mark.parametrize("path", FILES, ids=lambda p: str(p.relative_to(ROOT)))
def test_imports_go_downwards(path: Path) -> None:
    room = room_of(path)
    if room == "__init__":
        return  # the front door shows names of every room, lazily
    assert room in HEIGHT, f"{room} has no place in FLOORS; give it one"
    for module, line in imports(path):
        parts = module.split(".")
        if parts[0] != "likewise":
            continue
        # Through the front door every room can be reached; only entry points may use it.
        assert len(parts) > 1 or room in ("cli", "server"), f"{path}:{line}"
        other = parts[1]
        if other == "__version__":
            other = "_version"
        if other == room:
            continue
        assert HEIGHT[other] < HEIGHT[room], f"{path}:{line}: {room} may not know {other}"


def floor_in_collection(name: str) -> int:
    """How high something below ``likewise.collection`` stands."""
    if name in CELLAR:
        return 0
    return len(COLLECTION) - COLLECTION.index(name) if name in COLLECTION else len(COLLECTION) + 1


@pytest.mark.parametrize(
    "path",
    sorted((ROOT / "collection").rglob("*.py")),
    ids=lambda p: str(p.relative_to(ROOT / "collection")),
)
def test_imports_inside_the_collection_go_downwards(path: Path) -> None:
    own = path.relative_to(ROOT / "collection").with_suffix("").parts[0]
    if own == "__init__":
        return  # shows names of every room, lazily
    for module, line in imports(path):
        parts = module.split(".")
        if parts[:2] != ["likewise", "collection"]:
            continue
        there, here = floor_in_collection(parts[2]), floor_in_collection(own)
        # Files of the roof, and those of the cellar, may know each other.
        level = there == here and own not in COLLECTION
        assert parts[2] == own or level or there < here, f"{path}:{line}: {own} knows {parts[2]}"


def test_reading_does_not_know_writing() -> None:
    """Whoever searches or judges never starts what takes pictures in."""
    for room in ("search", "feedback", "spaces", "store"):
        for path in (ROOT / "collection" / room).rglob("*.py"):
            for module, line in imports(path):
                assert not module.startswith("likewise.collection.ingest"), f"{path}:{line}"


ASKED = (".row_format_name", ".kind", 'kind"]', "kind']")
"""How an expression ends that says which format the rows of a space have."""


def asked_kinds(path: Path) -> list[int]:
    """Lines that compare the feature of a recipe, or the kind of vector of a space."""
    found = []
    for node in ast.walk(ast.parse(path.read_text())):
        if not isinstance(node, ast.Compare):
            continue
        sides = [node.left, *node.comparators]
        names = {
            one.value for side in sides for one in ast.walk(side) if isinstance(one, ast.Constant)
        }
        feature = any(isinstance(s, ast.Subscript) and "feature" in ast.unparse(s) for s in sides)
        vector = any(ast.unparse(side).endswith(ASKED) for side in sides)
        if feature or (vector and names & {"sparse", "dense"}):
            found.append(node.lineno)
    return found


def test_nobody_asks_which_kind_a_space_is() -> None:
    """A kind answers for itself: a new one must not touch a file outside of its own."""
    # What a pooled coder's file holds is no question about a space.
    apart = {"collection/spaces/pooled_coder.py"}
    for path in (ROOT / "collection").rglob("*.py"):
        if str(path.relative_to(ROOT)) not in apart:
            assert asked_kinds(path) == [], path


def users_of(module: str) -> set[str]:
    return {
        str(path.relative_to(ROOT))
        for path in FILES
        for name, _ in imports(path)
        if name.split(".")[0] == module
    }


def test_the_package_does_not_know_its_benchmarks_and_tests() -> None:
    for outside in ("benchmarks", "tests"):
        beside = Path(__file__).parents[1] / outside / "__init__.py"
        assert beside.is_file(), f"{outside} has moved"
        assert users_of(outside) == set(), outside


def test_each_dangerous_tool_has_one_room() -> None:
    assert all(name.startswith("neighbours/") for name in users_of("faiss") - {"_lazy.py"})
    assert all(name.startswith("collection/store/") for name in users_of("sqlite3"))
    for module in ("qdrant_client", "qdrant_edge", "grpc"):
        assert all(name.startswith("engines/") for name in users_of(module)), module
    assert all(name.startswith("collection/store/postgres/") for name in users_of("psycopg"))
    for module in ("dask", "distributed"):
        assert all(name.startswith("collection/ingest/cluster") for name in users_of(module))
    for module in ("pickle", "cloudpickle", "joblib", "dill", "shelve", "marshal"):
        assert users_of(module) == set(), module


# Saving a thumbnail or a view needs Pillow too; nothing else may even import it.
WRITERS = {
    "images.py", "evaluation/planted.py", "cli/page.py", "cli/search_page.py", "ordinal/drawing.py",
}  # fmt: skip


def test_one_room_makes_files_durable() -> None:
    """A hand-written copy would forget the folder, or what another system cannot do."""
    for path in FILES:
        if path.name != "_durable.py":
            assert "fsync" not in path.read_text(), f"{path}: use likewise._durable"


def test_only_images_decodes_pictures() -> None:
    for module in ("PIL", "pillow_heif", "imageio", "matplotlib"):
        assert users_of(module) - WRITERS == set(), module
    for path in FILES:
        name = str(path.relative_to(ROOT))
        # What jpegs.py decodes, images.py has opened, measured and checked before.
        if name in ("images.py", "jpegs.py"):
            continue
        source = path.read_text()
        assert "plain_pixels" not in source, f"{name}: use likewise.images"
        for call in ("Image.open", "PIL.Image import open", "imread", "imdecode", "skimage.io"):
            assert call not in source, f"{name} uses {call}"


@pytest.mark.parametrize("room", sorted(DOORS))
def test_doors_agree_with_what_type_checkers_see(room: str) -> None:
    """The table and the imports under TYPE_CHECKING name the same things in the same files."""
    path = ROOT.joinpath(*room.split(".")[1:]) / "__init__.py"
    seen = {}
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.If):
            for inner in node.body:
                assert isinstance(inner, ast.ImportFrom)
                for alias in inner.names:
                    assert alias.asname == alias.name, f"{alias.name} is not re-exported"
                    seen[alias.name] = (inner.module or "").removeprefix(f"{room}.")
    assert seen == DOORS[room]


@pytest.mark.parametrize("room", sorted(DOORS))
def test_every_door_opens(room: str) -> None:
    module = importlib.import_module(room)
    assert sorted(module.__all__) == sorted(DOORS[room])
    for name in module.__all__:
        assert getattr(module, name) is not None
        assert name in dir(module)
    with pytest.raises(AttributeError, match="no_such_name"):
        _ = module.no_such_name


@pytest.mark.parametrize("room", sorted(DOORS))
def test_no_door_has_the_name_of_a_file_beside_it(room: str) -> None:
    """Importing ``room.name`` sets that attribute to the module, whatever the door would give:
    the same import would then mean one thing or the other, by what was imported before."""
    folder = ROOT.joinpath(*room.split(".")[1:])
    for name in DOORS[room]:
        assert not (folder / f"{name}.py").exists()
        assert not (folder / name).exists()


@pytest.mark.parametrize(
    "before", ["", "import likewise.solvers.lassos.engine", "import likewise.solvers.lassos"]
)
def test_a_solver_is_a_function_whatever_was_imported_before(before: str) -> None:
    code = (
        f"{before}\nfrom likewise.solvers import lasso\nimport likewise.solvers.lassos.engine\n"
        "from likewise.solvers import lasso as again\n"
        "assert lasso is again and lasso.__name__ == 'lasso', lasso"
    )
    loaded_after(code)


def loaded_after(code: str) -> set[str]:
    """Names of top-level modules a fresh interpreter has after running ``code``."""
    script = f"{code}\nimport sys\nsys.stderr.write(' '.join(m for m in sys.modules))"
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True, timeout=60
    )
    return {name.split(".")[0] for name in done.stderr.split()}


def test_import_is_light() -> None:
    everything = "; ".join(f"import {room}" for room in DOORS)
    assert loaded_after(everything).isdisjoint(HEAVY)


def test_help_is_light() -> None:
    code = "import sys\nsys.argv=['likewise','--help']\nfrom likewise.cli import main\n"
    code += "try: main()\nexcept SystemExit: pass"
    loaded = loaded_after(code)
    assert "typer" in loaded
    assert loaded.isdisjoint(HEAVY)


def test_version_is_the_packages() -> None:
    from importlib.metadata import version

    assert likewise.__version__ == version("likewise")
