"""The walks of docs/architecture.md are true: the functions exist, call each other, and are few."""

from __future__ import annotations

import ast
import re
from functools import cache
from pathlib import Path
from typing import NamedTuple

import pytest

ROOT = Path(__file__).parents[1]
SOURCE = ROOT / "packages/likewise/src/likewise"
LIMITS = {"add": 14, "search": 12, "words": 14, "judge": 10, "tag": 10}
"""The most files that a reader of each walk opens."""

_HEADING = re.compile(r"### Walk: (\w+) \((\d+) files\)")
_STEP = re.compile(r"(\d+)\. `([\w/]+\.py)::([\w.]+)`")

Definition = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef


class Step(NamedTuple):
    """One function or class of a walk."""

    path: str
    name: str


def read_walks() -> dict[str, tuple[int, list[Step]]]:
    """The limit and the steps of each walk."""
    found: dict[str, tuple[int, list[Step]]] = {}
    steps: list[Step] = []
    for line in (ROOT / "docs/architecture.md").read_text().splitlines():
        if heading := _HEADING.fullmatch(line):
            steps = []
            found[heading[1]] = (int(heading[2]), steps)
        elif found and (step := _STEP.match(line)):
            assert int(step[1]) == len(steps) + 1, f"wrong number: {line}"
            steps.append(Step(step[2], step[3]))
    return found


WALKS = read_walks()


@cache
def tree_of(path: str) -> ast.Module:
    return ast.parse((SOURCE / path).read_text())


def find(step: Step) -> Definition | None:
    """The definition of a function, method or class; None where there is none."""
    scope: ast.Module | Definition = tree_of(step.path)
    for part in step.name.split("."):
        inside = [
            node
            for node in scope.body
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef)
            and node.name == part
        ]
        if not inside:
            return None
        scope = inside[-1]
    assert not isinstance(scope, ast.Module)
    return scope


def names_in(step: Step) -> set[str]:
    """Names that a function calls or passes on; of a class, those of its constructor."""
    node = find(step)
    assert node is not None
    if isinstance(node, ast.ClassDef):
        made = find(Step(step.path, f"{step.name}.__init__"))
        node = node if made is None else made
    return {
        one.id if isinstance(one, ast.Name) else one.attr
        for one in ast.walk(node)
        if isinstance(one, ast.Name | ast.Attribute)
    }


def unnamed_steps(steps: list[Step]) -> list[Step]:
    """Steps that no earlier step calls."""
    known: set[str] = set()
    found = []
    for i, step in enumerate(steps):
        if i and step.name.rpartition(".")[2] not in known:
            found.append(step)
        known |= names_in(step)
    return found


def test_the_walks_are_there() -> None:
    assert {"add", "search", "words", "judge", "tag"} <= WALKS.keys() <= LIMITS.keys()


@pytest.mark.parametrize("walk", sorted(WALKS))
def test_every_step_exists(walk: str) -> None:
    for step in WALKS[walk][1]:
        assert (SOURCE / step.path).is_file(), step
        assert find(step) is not None, step


@pytest.mark.parametrize("walk", sorted(WALKS))
def test_every_step_is_called_by_an_earlier_one(walk: str) -> None:
    assert unnamed_steps(WALKS[walk][1]) == []


@pytest.mark.parametrize("walk", sorted(WALKS))
def test_a_walk_takes_few_files(walk: str) -> None:
    limit, steps = WALKS[walk]
    assert limit == LIMITS[walk]
    assert len(steps) > 1
    assert len({step.path for step in steps}) <= limit


def test_a_step_that_nothing_calls_is_found() -> None:
    stray = Step("search/duplicates.py", "find_duplicates")
    steps = WALKS["search"][1]
    assert unnamed_steps([*steps[:2], stray]) == [stray]
    assert find(Step("search/rank.py", "no_such_function")) is None
