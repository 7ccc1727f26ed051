"""The guide's examples do what it says."""

from __future__ import annotations

import doctest
from pathlib import Path

GUIDE = Path(__file__).parents[2] / "docs" / "coding.md"


def test_examples_of_the_guide() -> None:
    result = doctest.testfile(str(GUIDE), module_relative=False)
    assert result.attempted > 20
    assert result.failed == 0
