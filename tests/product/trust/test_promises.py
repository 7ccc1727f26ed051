"""Every promise of docs/security.md names tests, and these tests exist."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).parents[3]
TEXT = (ROOT / "docs" / "security.md").read_text(encoding="utf-8")
TEST = re.compile(r"`(tests/[\w/]+\.py)(?:::(\w+))?`")


def test_every_named_test_exists() -> None:
    named = TEST.findall(TEXT)
    assert len(named) > 40
    for file, test in named:
        path = ROOT / file
        assert path.is_file(), file
        if test:
            assert f"def {test}(" in path.read_text(encoding="utf-8"), f"{file}::{test}"


def test_every_promise_names_a_test() -> None:
    section = TEXT.split("## Promises and their tests")[1].split("\n## ")[0]
    rows = [line for line in section.splitlines() if line.startswith("| ")][1:]
    assert len(rows) > 25
    for row in rows:
        assert TEST.search(row) or "`make bench-trust`" in row, row
