"""The examples of docs/solvers.md, run as written."""

from __future__ import annotations

import doctest
from pathlib import Path

PAGE = Path(__file__).parents[2] / "docs" / "solvers.md"


def test_the_page_runs() -> None:
    done = doctest.testfile(str(PAGE), module_relative=False)
    assert done.attempted >= 15
    assert done.failed == 0
