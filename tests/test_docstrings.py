"""What the reference says of a public name is true of it: sections, parameters, defaults, links.

Sections are numpydoc's.  Every name of a room's door is looked at once, and so are the methods of
estimators, indexes and the collection that people call.
"""

from __future__ import annotations

import ast
import dataclasses
import importlib
import inspect
import math
import re
import textwrap
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import pytest

ROOT = Path(__file__).parents[1] / "packages"
PACKAGES = sorted(
    ".".join(path.relative_to(ROOT).parts[2:-1])
    for path in ROOT.glob("likewise*/src/**/__init__.py")
    if "lazy_exports(" in path.read_text()
)
DOORS = {package: importlib.import_module(package).__all__ for package in PACKAGES}
# A room before the rooms in it, which offer some of the same names; last the front door, which only
# offers names of rooms.  The command line has a page of its own.
ROOMS = (
    *sorted(set(DOORS) - {"likewise", "likewise.cli"}, key=lambda room: (room.count("."), room)),
    "likewise",
)

# Nothing is learned from data: there is nothing to show afterwards.
LEARN_NOTHING = {"MaxPooling", "SpatialPyramid"}
# Nobody's method in particular.
NO_PAPER = {"Exact"}
# What the product uses of the methods' packages and the reference does not describe.
SUPPORT = {
    "likewise_methods.neighbours.row_scores",
    "likewise_methods.coding.Weighting",
    "likewise_methods.coding.brought_back",
    "likewise_methods.coding.factor",
    "likewise_methods.coding.products",
    "likewise_methods.evaluation.UNTESTED",
    "likewise_methods.index.SmallIndex",
    "likewise_methods.index.EMPTY_INDEX",
    "likewise_methods.index.id_vector",
    "likewise_methods.index.is_current",
    "likewise_methods.index.picture_rows",
    "likewise_methods.index.query_rows",
    "likewise_methods.neighbours.CompactFlat",
    "likewise_methods.neighbours.Flat",
    "likewise_methods.neighbours.Metric",
    "likewise_methods.neighbours.Streamed",
    "likewise_methods.neighbours.map_arrays",
    "likewise_methods.neighbours.open_arrays",
    "likewise_methods.neighbours.pack_arrays",
    "likewise_methods.neighbours.release",
    "likewise_methods.neighbours.rows",
    "likewise_methods.neighbours.save_arrays",
    "likewise_methods.neighbours.unit_length",
    "likewise_methods.neighbours.unpack_arrays",
    "likewise_methods.solis.DELTA",
    "likewise_methods.solis.ETA",
    "likewise_methods.solis.JUDGEMENT_REACH",
    "likewise_methods.solis.L1",
    "likewise_methods.solis.LIMIT",
    "likewise_methods.solis.MARGIN",
    "likewise_methods.solis.N_RANDOM",
    "likewise_methods.solis.PEAK",
    "likewise_methods.solis.RANDOM_WEIGHT",
    "likewise_methods.solis.SESSION_REACH",
    "likewise_methods.spaces.GROWTH",
    "likewise_methods.spaces.NEW",
}  # fmt: skip
# Below this, a sentence names all fields.
MANY_FIELDS = 5
CALLED = {
    "add", "build", "extract", "fit", "partial_fit", "predict", "predict_scores", "score", "search",
    "transform",
}  # fmt: skip

_ENTRY = re.compile(r"(\*{0,2}\w+(?:, \*{0,2}\w+)*) : (\S.*)")
_DEFAULT = re.compile(r"default=(\([^)]*\)|\"[^\"]*\"|[^\s;]+)$")


class Entry(NamedTuple):
    """One line of a section, and whether something is said below it."""

    names: tuple[str, ...]
    kind: str
    is_said: bool


@cache
def public() -> dict[str, Any]:
    """Every public thing once, by where the reference describes it."""
    found: dict[str, Any] = {}
    seen: set[int] = set()
    for room in ROOMS:
        module = importlib.import_module(room)
        for name in sorted(DOORS[room]):
            made = getattr(module, name)
            if f"{room}.{name}" in SUPPORT:
                continue
            if callable(made) and id(made) not in seen:
                seen.add(id(made))
                found[f"{room}.{name}"] = made
    return found


def named(wanted: Any) -> Any:
    """Marks a test that looks at some of the public names, one at a time."""
    chosen = [where for where, made in public().items() if wanted(made)]
    return pytest.mark.parametrize("where", chosen)


def sections(made: Any) -> dict[str, list[str]]:
    """The lines of each section; those before the first under ""."""
    lines = (inspect.getdoc(made) or "").split("\n")
    found: dict[str, list[str]] = {"": []}
    at = ""
    for line, following in pairwise([*lines, ""]):
        if line and following == "-" * len(line):
            at = line
            assert at not in found, f"{at} twice"
            found[at] = []
        elif not line or set(line) != {"-"}:
            found[at].append(line)
    return found


def entries(lines: list[str]) -> list[Entry]:
    found = []
    for line, following in pairwise([*lines, ""]):
        match = _ENTRY.fullmatch(line)
        if match:
            names = tuple(name.lstrip("*") for name in match[1].split(", "))
            found.append(Entry(names, match[2], following.startswith("    ")))
        else:
            assert not line or line.startswith("    "), f"{line!r} is not 'name : type'"
    return found


def parameters(made: Any) -> dict[str, inspect.Parameter]:
    if inspect.isclass(made) and getattr(made, "_is_protocol", False):
        return {}
    found = inspect.signature(made).parameters
    return {
        name: one
        for name, one in found.items()
        if name not in ("self", "cls") and not name.startswith("_")
    }


def is_error(made: Any) -> bool:
    return inspect.isclass(made) and issubclass(made, BaseException)


def is_record(made: Any) -> bool:
    return inspect.isclass(made) and (dataclasses.is_dataclass(made) or issubclass(made, tuple))


def is_estimator(made: Any) -> bool:
    """What is fitted, and the indexes, which are built."""
    if not inspect.isclass(made) or getattr(made, "_is_protocol", False):
        return False
    return hasattr(made, "fit") or (hasattr(made, "build") and hasattr(made, "search"))


def is_plain(made: Any) -> bool:
    return not (is_error(made) or is_record(made))


def gives_something(made: Any) -> bool:
    return inspect.signature(made).return_annotation not in (None, "None")


def check_parameters(made: Any, lines: list[str]) -> None:
    """Names as in the signature, each with a type and a word about it, and its own default."""
    known = parameters(made)
    said = entries(lines)
    assert [name for one in said for name in one.names] == list(known)
    for one in said:
        assert one.is_said, f"nothing is said about {one.names}"
        default = _DEFAULT.search(one.kind)
        for name in one.names if default else ():
            value = known[name].default
            text = default[1]  # type: ignore[index]
            assert repr(value) == text or value == (
                math.inf if text == "inf" else ast.literal_eval(text)
            ), f"{name} is {value!r} by default, not {text}"


@named(lambda made: True)
def test_it_begins_with_a_sentence(where: str) -> None:
    first = " ".join(sections(public()[where])[""]).split("  ")[0].strip()
    assert re.search(r"[.:?]$", first), f"{where}: {first!r}"


@named(is_plain)
def test_parameters_are_those_of_the_signature(where: str) -> None:
    made, found = public()[where], sections(public()[where])
    assert ("Parameters" in found) == bool(parameters(made)), sorted(parameters(made))
    check_parameters(made, found.get("Parameters", []))


@named(is_record)
def test_fields_are_those_of_the_record(where: str) -> None:
    made, found = public()[where], sections(public()[where])
    assert not {"Parameters", "Attributes"} <= set(found), "once is enough"
    if "Parameters" in found:
        check_parameters(made, found["Parameters"])
    elif "Attributes" in found:
        said = entries(found["Attributes"])
        assert [name for one in said for name in one.names] == list(parameters(made))
        assert all(one.is_said for one in said)
    else:
        assert len(parameters(made)) < MANY_FIELDS, "too many fields for one sentence"


@named(inspect.isfunction)
def test_a_function_says_what_it_gives(where: str) -> None:
    made, found = public()[where], sections(public()[where])
    assert bool({"Returns", "Yields"} & set(found)) == gives_something(made)


@named(is_estimator)
def test_an_estimator_has_an_example_and_says_what_it_learned(where: str) -> None:
    made, found = public()[where], sections(public()[where])
    assert ">>>" in "\n".join(found["Examples"])
    learns = hasattr(made, "fit") and made.__name__ not in LEARN_NOTHING
    assert ("Attributes" in found) == learns
    assert ("References" in found) == (made.__name__ not in NO_PAPER)


@cache
def set_in(module: str) -> frozenset[str]:
    """Names that a file assigns, annotates or defines."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(inspect.getsource(importlib.import_module(module)))):
        if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
            found.add(node.attr)
        elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            found.add(node.target.id)
        elif isinstance(node, ast.FunctionDef):
            found.add(node.name)
    return frozenset(found)


@named(lambda made: inspect.isclass(made) and is_plain(made))
def test_attributes_exist(where: str) -> None:
    made, found = public()[where], sections(public()[where])
    mine = [
        cls.__module__
        for cls in made.__mro__
        if cls.__module__.startswith(("likewise.", "likewise_"))
    ]
    known = frozenset().union(*(set_in(module) for module in mine))
    for one in entries(found.get("Attributes", [])):
        assert one.is_said, f"nothing is said about {one.names}"
        assert known.issuperset(one.names), f"nobody sets {set(one.names) - known}"


@named(lambda made: not is_error(made))
def test_see_also_names_what_is_public(where: str) -> None:
    """A name alone is one of the same room; a dotted one is where the reference has it."""
    found = sections(public()[where])
    room = where.rpartition(".")[0]
    seen = entries_of_links(found["See Also"])
    assert seen, "nothing to see"
    for name in seen:
        target = name if "." in name else f"{room}.{name}"
        assert target in public() or name in DOORS[room], f"{name} is not public in {room}"
        assert target != where, "it links to itself"


def entries_of_links(lines: list[str]) -> list[str]:
    found = []
    for line in lines:
        if line:
            match = re.fullmatch(r"([\w.]+) : \S.*\.", line)
            assert match, f"{line!r} is not 'name : what it is.'"
            found.append(match[1])
    return found


@named(lambda made: "docs/methods/" in (inspect.getdoc(made) or "") and is_plain(made))
def test_a_page_that_is_cited_is_among_the_references(where: str) -> None:
    assert "docs/methods/" in " ".join(sections(public()[where])["References"])


def methods(made: type) -> dict[str, Any]:
    """Functions of a class that are ours and public, unwrapped of what binds them."""
    found = {}
    for name in dir(made):
        member = inspect.getattr_static(made, name)
        inner = member.__func__ if isinstance(member, (classmethod, staticmethod)) else member
        if (
            not name.startswith("_")
            and inspect.isfunction(inner)
            and inner.__module__.startswith(("likewise.", "likewise_"))
            # The protocol of scikit-learn, described there.
            and inner.__module__ != "likewise_methods.estimators"
        ):
            found[name] = inner
    return found


def delegates(method: Any) -> bool:
    """Whether a method only calls one of a part, which describes what it takes."""
    (node,) = ast.parse(textwrap.dedent(inspect.getsource(method))).body
    assert isinstance(node, ast.FunctionDef)
    _, *code = node.body
    called = code[0].value if isinstance(code[0], ast.Return | ast.Expr) else None
    return (
        len(code) == 1
        and isinstance(called, ast.Call)
        and re.fullmatch(r"self\.\w+\.\w+", ast.unparse(called.func)) is not None
    )


CLASSES = [where for where, made in public().items() if inspect.isclass(made)]


@pytest.mark.parametrize("where", CLASSES)
def test_methods_say_what_they_take_and_give(where: str) -> None:
    made = public()[where]
    called = CALLED if is_estimator(made) or where.endswith(".InvertedIndex") else set()
    if where.endswith(".Collection"):
        called = {
            name
            for name, method in methods(made).items()
            if parameters(method) and not delegates(method)
        }
    for name, method in methods(made).items():
        found = sections(method)
        if "Parameters" in found:
            check_parameters(method, found["Parameters"])
        if name in called and parameters(method) and made.__name__ not in LEARN_NOTHING:
            assert "Parameters" in found, f"{name} does not say what it takes"
            assert ("Returns" in found) == gives_something(method), name


def test_a_section_that_lies_is_found() -> None:
    """The checks above can fail."""

    def lies(one: int, two: int = 2) -> int:
        return one + two

    lies.__doc__ = (
        "Sum.\n\nParameters\n----------\none : int\n    A.\ntwo : int, default=3\n    B.\n"
    )
    with pytest.raises(AssertionError, match="two is 2 by default, not 3"):
        check_parameters(lies, sections(lies)["Parameters"])
    lies.__doc__ = "Sum.\n\nParameters\n----------\none : int\n    A.\nthree : int\n    B.\n"
    with pytest.raises(AssertionError):
        check_parameters(lies, sections(lies)["Parameters"])
    lies.__doc__ = "Sum.\n\nParameters\n----------\none\n    A.\n"
    with pytest.raises(AssertionError, match="is not 'name : type'"):
        check_parameters(lies, sections(lies)["Parameters"])
