"""The rules of the code base: packages import downwards only, through public names, and lazily."""

from __future__ import annotations

import ast
import importlib
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest

import likewise

ROOT = Path(__file__).parents[1]
SOURCES = {
    "likewise_methods": ROOT / "packages/likewise-methods/src/likewise_methods",
    "likewise_cuda": ROOT / "packages/likewise-cuda/src/likewise_cuda",
    "likewise": ROOT / "packages/likewise/src/likewise",
    "likewise_cluster": ROOT / "packages/likewise-cluster/src/likewise_cluster",
    "likewise_lab": ROOT / "packages/likewise-lab/src/likewise_lab",
}
FILES = {name: sorted(root.rglob("*.py")) for name, root in SOURCES.items()}
ALL_FILES = [(name, path) for name, paths in FILES.items() for path in paths]

# From top to bottom; packages on one line do not import each other.
METHODS = [
    {"solis", "spaces", "concepts"},
    {"s3ml", "ordinal"},
    {"psc"},
    {"siso"},
    {"coding"},
    {"index"},
    {"neighbours"},
    {"evaluation"},
    {"blas_threads", "prefetch", "estimators", "sparse_rows"},
    {"kernels", "validation", "durable_files", "memory"},
    {"_kernel_cache"},
    {"errors", "lazy_imports"},
    {"lazy_exports", "_version"},
]
PRODUCT = [
    {"__main__"},
    {"cli"},
    {"server"},
    {"collection"},
    {"tags"},
    {"ingest"},
    {"learning"},
    {"library"},
    {"search"},
    {"spaces"},
    {"catalog"},
    {"engines"},
    {"vision"},
    {"images"},
    {"describers"},
    {"parts", "plugins"},
    {"errors", "lazy_imports", "_version"},
]
LEVEL = {
    dist: {name: len(levels) - i for i, names in enumerate(levels) for name in names}
    for dist, levels in (("likewise_methods", METHODS), ("likewise", PRODUCT))
}
# What a distribution may import of the others; the product finds plug-ins by entry points.
MAY_IMPORT = {
    "likewise_methods": {"likewise_cuda"},
    "likewise_cuda": {"likewise_methods"},
    "likewise": {"likewise_methods"},
    "likewise_cluster": {"likewise_methods", "likewise"},
    "likewise_lab": {"likewise_methods", "likewise"},
}
HEAVY = ("numba", "faiss", "cv2", "sklearn", "scipy", "fastapi", "skimage", "PIL", "numpy")


@cache
def imports(path: Path) -> list[tuple[str, tuple[str, ...], int]]:
    """Every module a file imports, wherever in the file, with the names and the line."""
    found: list[tuple[str, tuple[str, ...], int]] = []
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            found += [(alias.name, (), node.lineno) for alias in node.names]
        elif (
            isinstance(node, ast.Call)
            and ast.unparse(node.func).endswith("import_module")
            and node.args
            and isinstance(node.args[0], ast.Constant)
        ):
            found.append((str(node.args[0].value), (), node.lineno))
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}:{node.lineno} imports relatively"
            names = tuple(alias.name for alias in node.names)
            found.append((node.module or "", names, node.lineno))
            # What is imported later is imported all the same.
            if node.module in ("likewise_methods.lazy_imports", "likewise.lazy_imports"):
                found += [(name, (), node.lineno) for name in names]
    return found


def package_of(dist: str, path: Path) -> str:
    return path.relative_to(SOURCES[dist]).with_suffix("").parts[0]


@pytest.mark.parametrize(
    ("dist", "path"), ALL_FILES, ids=lambda v: v.name if isinstance(v, Path) else v
)
def test_imports_go_downwards(dist: str, path: Path) -> None:
    own = package_of(dist, path)
    if own == "__init__":
        return  # shows names of every package, lazily
    for module, names, line in imports(path):
        top, _, rest = module.partition(".")
        if top not in SOURCES:
            continue
        if top != dist:
            assert top in MAY_IMPORT[dist], f"{path}:{line}: {dist} may not import {top}"
            continue
        if dist not in LEVEL:
            continue
        targets = [rest.partition(".")[0]] if rest else list(names)
        for target in targets:
            if target == own or (not rest and target == "__version__"):
                continue
            level = LEVEL[dist]
            assert own in level, f"{own} has no place in the list of packages; give it one"
            # Through the top package every name can be reached; only entry points may use it.
            if not rest and target not in level:
                assert own in ("cli", "server"), f"{path}:{line}"
                continue
            assert level[target] < level[own], f"{path}:{line}: {own} may not import {target}"


@pytest.mark.parametrize("path", FILES["likewise"], ids=lambda p: p.name)
def test_the_product_uses_public_names_of_the_methods(path: Path) -> None:
    for module, names, line in imports(path):
        if not module.startswith("likewise_methods."):
            continue
        assert module.count(".") == 1, f"{path}:{line}: {module} is not a public package"
        assert not module.partition(".")[2].startswith("_"), f"{path}:{line}: {module}"
        shown = importlib.import_module(module)
        for name in names:
            assert hasattr(shown, name), f"{path}:{line}: {module} has no {name}"
            assert not name.startswith("_"), f"{path}:{line}: {name} is private"


def test_searching_does_not_import_adding() -> None:
    """A search or an answer never starts what takes pictures in."""
    for package in ("search", "learning", "spaces", "catalog"):
        for path in (SOURCES["likewise"] / package).rglob("*.py"):
            for module, _, line in imports(path):
                assert not module.startswith("likewise.ingest"), f"{path}:{line}"


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


def test_no_code_asks_which_kind_a_space_is() -> None:
    """A kind answers for itself: a new one must not touch a file outside of its own."""
    for package in ("catalog", "collection", "ingest", "search", "spaces", "learning", "tags"):
        for path in (SOURCES["likewise"] / package).rglob("*.py"):
            assert asked_kinds(path) == [], path


def users_of(module: str) -> set[str]:
    """Files that import a module, as ``distribution/path``."""
    return {
        f"{dist}/{path.relative_to(SOURCES[dist])}"
        for dist, path in ALL_FILES
        for name, _, _ in imports(path)
        if name.split(".")[0] == module
    }


def test_the_packages_do_not_import_benchmarks_and_tests() -> None:
    for outside in ("benchmarks", "tests"):
        assert (ROOT / outside / "__init__.py").is_file(), f"{outside} has moved"
        assert users_of(outside) == set(), outside


@pytest.mark.parametrize(
    ("modules", "where"),
    [
        (("faiss",), ("likewise_methods/neighbours/", "likewise_methods/lazy_imports.py")),
        (("sqlite3",), ("likewise/catalog/", "likewise_cluster/postgres/")),
        (("qdrant_client", "qdrant_edge", "grpc"), ("likewise_cluster/engines/",)),
        (("psycopg",), ("likewise_cluster/postgres/",)),
        (("dask", "distributed"), ("likewise_cluster/dask/",)),
        (("cupy",), ("likewise_cuda/",)),
        (("pickle", "cloudpickle", "joblib", "dill", "shelve", "marshal"), ()),
    ],
    ids=lambda v: v[0] if v else "nowhere",
)
def test_each_dangerous_library_has_one_place(
    modules: tuple[str, ...], where: tuple[str, ...]
) -> None:
    for module in modules:
        assert all(name.startswith(where) for name in users_of(module)), module


# Saving a thumbnail or a view needs Pillow too; nothing else may even import it.
WRITERS = {
    "likewise/images/decode.py", "likewise_lab/evaluation/planted.py", "likewise/cli/pages.py",
    "likewise/cli/search_page.py", "likewise_methods/ordinal/cross_validation.py",
}  # fmt: skip


def test_one_module_makes_files_durable() -> None:
    """A hand-written copy would forget the folder, or what another system cannot do."""
    for _, path in ALL_FILES:
        if path.name != "durable_files.py":
            assert "fsync" not in path.read_text(), f"{path}: use likewise_methods.durable_files"


def test_only_images_decodes_pictures() -> None:
    for module in ("PIL", "pillow_heif", "imageio", "matplotlib"):
        assert users_of(module) - WRITERS == set(), module
    for dist, path in ALL_FILES:
        name = f"{dist}/{path.relative_to(SOURCES[dist])}"
        # What jpegs.py decodes, decode.py has opened, measured and checked before.
        if name in ("likewise/images/decode.py", "likewise/images/jpegs.py"):
            continue
        source = path.read_text()
        assert "plain_pixels" not in source, f"{name}: use likewise.images.decode"
        for call in ("Image.open", "PIL.Image import open", "imread", "imdecode", "skimage.io"):
            assert call not in source, f"{name} uses {call}"


LAZY = sorted(
    (f"{dist}.{'.'.join(path.relative_to(SOURCES[dist]).parts[:-1])}".rstrip("."), path)
    for dist, path in ALL_FILES
    if path.name == "__init__.py" and "lazy_exports(" in path.read_text()
)


@pytest.mark.parametrize(("package", "path"), LAZY, ids=lambda v: v if isinstance(v, str) else "")
def test_lazy_exports_agree_with_what_type_checkers_see(package: str, path: Path) -> None:
    """The table and the imports under TYPE_CHECKING name the same things in the same files."""
    seen = {}
    table = {}
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.If):
            for inner in node.body:
                assert isinstance(inner, ast.ImportFrom)
                for alias in inner.names:
                    assert alias.asname == alias.name, f"{alias.name} is not re-exported"
                    seen[alias.name] = (inner.module or "").removeprefix(f"{package}.")
        if isinstance(node, ast.Dict):
            for module, names in ast.literal_eval(node).items():
                table |= dict.fromkeys(names, module.removeprefix(f"{package}."))
    assert seen == table


@pytest.mark.parametrize(("package", "path"), LAZY, ids=lambda v: v if isinstance(v, str) else "")
def test_every_lazy_export_can_be_imported(package: str, path: Path) -> None:
    module = importlib.import_module(package)
    for name in module.__all__:
        assert getattr(module, name) is not None
        assert name in dir(module)
        # Importing ``package.name`` would set the attribute to the module, whatever is exported.
        assert not path.with_name(f"{name}.py").exists(), name
        assert not path.with_name(name).exists(), name
    with pytest.raises(AttributeError, match="no_such_name"):
        _ = module.no_such_name


def loaded_after(code: str) -> set[str]:
    """Names of top-level modules a fresh interpreter has after running ``code``."""
    script = f"{code}\nimport sys\nsys.stderr.write(' '.join(m for m in sys.modules))"
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True, timeout=60
    )
    return {name.split(".")[0] for name in done.stderr.split()}


def test_import_is_light() -> None:
    everything = "; ".join(f"import {package}" for package, _ in LAZY)
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
    for name in ("likewise_methods", "likewise_cluster", "likewise_cuda", "likewise_lab"):
        own = importlib.import_module(f"{name}._version").__version__
        assert own == version(name.replace("_", "-")) == likewise.__version__
