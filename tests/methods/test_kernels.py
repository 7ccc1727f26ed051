"""Compiled kernels are cached between processes; any edit of what they use compiles them again."""

from __future__ import annotations

import ast
import json
import os
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import pytest

import likewise_methods
from likewise_methods import _kernel_cache
from likewise_methods import kernels as _kernels

ROOT = Path(likewise_methods.__file__).parent

# A kernel; a helper that numba inlines; a helper that is called; a constant from a third file.
FILES = {
    "__init__.py": "",
    "main.py": (
        "from likewise_methods.kernels import kernel\n"
        "from pack.helpers import (\n    inlined,\n    called,  # one (of two)\n)\n"
        "@kernel\n"
        "def total(n):\n"
        "    return inlined(n) + called(n)\n"
    ),
    "helpers.py": (
        "from likewise_methods.kernels import kernel\n"
        "from .deep import constants\n"
        "SHIFT = constants.SHIFT\n"
        "@kernel(inline='always')\n"
        "def inlined(n):\n"
        "    return n + SHIFT\n"
        "@kernel\n"
        "def called(n):\n"
        "    return 10 * n\n"
    ),
    "deep/__init__.py": "",
    "deep/constants.py": "SHIFT = 100\n",
    "deep/stranger.py": "UNUSED = 1\n",
}
ASK = (
    "import json\n"
    "from pack.main import total\n"
    "answer = total(1)\n"
    "s = total.stats\n"
    "hits, misses = sum(s.cache_hits.values()), sum(s.cache_misses.values())\n"
    "print(json.dumps([answer, hits, misses]))\n"
)


@pytest.fixture
def package(tmp_path: Path) -> Path:
    for name, text in FILES.items():
        path = tmp_path / "pack" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return tmp_path


def ask(package: Path, code: str = ASK, **more: str) -> list[Any]:
    """Run code in a new process; return what it prints, [answer, hits, misses] by default."""
    # The cache folder of the tests themselves must not replace the package's own.
    environment = {k: v for k, v in os.environ.items() if k != "NUMBA_CACHE_DIR"}
    environment |= {"PYTHONPATH": f"{package}{os.pathsep}{ROOT.parent}", **more}
    done = subprocess.run(
        # Without Python's bytecode: it goes by size and whole seconds, and edits here are quicker.
        [sys.executable, "-B", "-W", "error", "-c", code],
        env=environment, capture_output=True, text=True, timeout=300,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    found: list[Any] = json.loads(done.stdout)
    return found


def edit(package: Path, name: str, old: str, new: str) -> None:
    path = package / "pack" / name
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new))


@pytest.mark.slow
def test_a_second_process_compiles_nothing(package: Path) -> None:
    assert ask(package) == [111, 0, 1]
    assert ask(package) == [111, 1, 0]


@pytest.mark.slow
def test_edits_are_seen(package: Path) -> None:
    ask(package)
    for name, old, new, answer in (
        ("main.py", "inlined(n) +", "inlined(n) + 1 +", 112),
        ("helpers.py", "n + SHIFT", "n + SHIFT + 1", 113),
        ("helpers.py", "10 * n", "20 * n", 123),
        ("deep/constants.py", "100", "200", 223),
    ):
        edit(package, name, old, new)
        assert ask(package) == [answer, 0, 1]
    assert ask(package) == [223, 1, 0]
    # The first version was replaced; it is compiled again.
    edit(package, "deep/constants.py", "200", "100")
    assert ask(package) == [123, 0, 1]


@pytest.mark.slow
def test_an_edit_elsewhere_costs_nothing(package: Path) -> None:
    ask(package)
    edit(package, "deep/stranger.py", "1", "2")
    assert ask(package) == [111, 1, 0]


@pytest.mark.slow
def test_numbas_own_cache_would_be_stale(package: Path) -> None:
    """The reason for stamps: numba's own cache returns the old result after an edit of a helper."""
    for name in ("main.py", "helpers.py"):
        path = package / "pack" / name
        text = path.read_text().replace(
            "from likewise_methods.kernels import kernel", "import numba"
        )
        text = text.replace("@kernel(", "@numba.njit(cache=True, ")
        path.write_text(text.replace("@kernel\n", "@numba.njit(cache=True)\n"))
    assert ask(package)[0] == 111
    edit(package, "helpers.py", "n + SHIFT", "n + SHIFT + 1")
    assert ask(package)[0] == 111


@pytest.mark.slow
def test_a_file_edited_under_a_running_process_is_not_kept(package: Path) -> None:
    """That process runs the old code, which must not be cached as the new."""
    old = (
        "import pathlib, pack.main\n"
        "path = pathlib.Path(pack.helpers.__file__)\n"
        "path.write_text(path.read_text().replace('10 * n', ' 20 * n'))\n"
    )
    assert ask(package, old + ASK) == [111, 0, 1]
    assert ask(package) == [121, 0, 1]


@pytest.mark.slow
def test_two_versions_written_across_each_other(package: Path) -> None:
    """Two processes may leave the data of one version under the index of the other."""
    ask(package)
    kept = package / "pack" / "__pycache__"
    data = next(kept.glob("main.total-*.nbc"))
    before = data.read_bytes()
    edit(package, "helpers.py", "n + SHIFT", "n + SHIFT + 1")
    ask(package)
    assert data.read_bytes() != before
    data.write_bytes(before)
    assert ask(package) == [112, 0, 1]


@pytest.mark.slow
def test_a_damaged_cache_is_compiled_anew(package: Path) -> None:
    ask(package)
    for path in (package / "pack" / "__pycache__").glob("main.total-*.nb?"):
        path.write_bytes(path.read_bytes()[:20])
    assert ask(package) == [111, 0, 1]
    assert ask(package) == [111, 1, 0]


@pytest.mark.slow
def test_nothing_can_be_written(package: Path) -> None:
    """There is no folder for a cache: files are in the way of folders."""
    for folder in ("pack", "pack/deep"):
        (package / folder / "__pycache__").write_text("in the way")
    (package / "home").write_text("in the way")
    nowhere = {
        "HOME": str(package / "home"), "XDG_CACHE_HOME": str(package / "home" / "cache"),
        "PYTHONDONTWRITEBYTECODE": "1",
    }  # fmt: skip
    assert ask(package, **nowhere) == [111, 0, 1]
    assert ask(package, **nowhere) == [111, 0, 1]


@pytest.mark.slow
def test_a_folder_of_ones_own(package: Path) -> None:
    kept = package / "kept"
    assert ask(package, NUMBA_CACHE_DIR=str(kept)) == [111, 0, 1]
    assert ask(package, NUMBA_CACHE_DIR=str(kept)) == [111, 1, 0]
    assert list(kept.rglob("main.total-*.nbc"))
    edit(package, "deep/constants.py", "100", "200")
    assert ask(package, NUMBA_CACHE_DIR=str(kept)) == [211, 0, 1]


@pytest.mark.slow
def test_the_callback_is_called_once_before_compiling(package: Path) -> None:
    code = (
        "import json\n"
        "from pack.main import total\n"
        "from likewise_methods.kernels import call_before_compile\n"
        "told = []\n"
        "call_before_compile(told.append)\n"
        "total(1)\n"
        "total(1.5)\n"
        "print(json.dumps(told))\n"
    )
    assert ask(package, code) == [True]
    assert ask(package, code) == [], "what was kept is not compiled"


def test_numba_comes_with_the_first_call(package: Path) -> None:
    code = (
        "import json, sys\n"
        "from pack.main import total\n"
        "from likewise_methods.kernels import numba_loaded\n"
        "before = ['numba' in sys.modules, numba_loaded()]\n"
        "answer = total(1)\n"
        "print(json.dumps([*map(int, before), answer, int(numba_loaded())]))\n"
    )
    assert ask(package, code) == [0, 0, 111, 1]


def test_kernels_reach_each_other_in_every_way(package: Path) -> None:
    """By a module's name, out of a closure, and themselves."""
    (package / "pack" / "main.py").write_text(
        "from likewise_methods.kernels import kernel\n"
        "from pack import helpers\n"
        "@kernel\n"
        "def fold(n):\n"
        "    if n <= 0:\n"
        "        return 0\n"
        "    return n + fold(n - 1)\n"
        "def make(inner):\n"
        "    @kernel(cache=False)\n"
        "    def outer(n):\n"
        "        return helpers.called(n) + helpers.inlined(n) + inner(n)\n"
        "    return outer\n"
        "total = make(fold)\n"
    )
    code = "import json\nfrom pack.main import total\nprint(json.dumps([total(4)]))"
    assert ask(package, code) == [40 + 104 + 10]


def test_threads_that_call_at_once_get_one_kernel() -> None:
    made = []

    @_kernels.kernel(cache=False)
    def double(x):  # type: ignore[no-untyped-def]
        return 2 * x

    start = threading.Barrier(8)

    def call() -> None:
        start.wait()
        made.append(double.made())

    threads = [threading.Thread(target=call) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(made) == 8
    assert all(one is made[0] for one in made)
    assert made[0](4) == 8


def test_without_compiling(package: Path) -> None:
    code = "import json\nfrom pack.main import total\nprint(json.dumps([total(1)]))"
    assert ask(package, code, NUMBA_DISABLE_JIT="1") == [111]


def test_an_unknown_numba_gives_a_warning_and_no_cache(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without a stamp cached code could be stale."""
    monkeypatch.setattr(_kernel_cache, "_SUPPORTED", False)

    @_kernels.kernel
    def double(x):  # type: ignore[no-untyped-def]
        return 2 * x

    with pytest.warns(RuntimeWarning, match="compiled in every process"):
        assert double(3) == 6
    assert double.stats.cache_path is None


def imported(path: Path) -> set[str]:
    """What Python's own parser says a file imports."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.module is not None
            found.add(node.module)
            found |= {f"{node.module}.{alias.name}" for alias in node.names}
    return found


def test_a_stamp_is_the_same_in_every_process(package: Path) -> None:
    """A stamp that held an address or the order of a set would compile in every process."""
    code = (
        "import importlib, json, pkgutil, likewise_methods\n"
        "from likewise_methods.kernels import Kernel\n"
        "found = {}\n"
        "for one in pkgutil.walk_packages(likewise_methods.__path__, 'likewise_methods.'):\n"
        "    for name, value in vars(importlib.import_module(one.name)).items():\n"
        "        if isinstance(value, Kernel):\n"
        "            found[one.name, name] = value\n"
        "from likewise_methods._kernel_cache import stamp\n"
        "print(json.dumps([f'{key} {stamp(kernel.made())}' for key, kernel in found.items()]))\n"
    )
    first, second = (ask(package, code, PYTHONHASHSEED=seed) for seed in ("1", "2"))
    assert len(first) > 100
    assert first == second


def test_every_kernel_of_the_package_has_this_cache() -> None:
    """Only one file may know numba's own decorators (benchmarks are outside)."""
    for path in sorted(ROOT.rglob("*.py")):
        name = str(path.relative_to(ROOT))
        if name == "_kernel_cache.py":
            continue
        taken = {module.removeprefix("numba.") for module in imported(path)}
        assert taken.isdisjoint({"njit", "jit", "vectorize", "guvectorize", "cfunc"}), name
