"""What docs/security.md says is tested, is tested by a test of that name."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_every_named_test_is_there() -> None:
    text = (ROOT / "docs" / "security.md").read_text(encoding="utf-8")
    named = re.findall(r"`(tests/[\w/]+\.py)(?:::(\w+))?`", text)
    assert len(named) > 40
    for file, test in named:
        path = ROOT / file
        assert path.is_file(), file
        if test:
            assert f"def {test}(" in path.read_text(encoding="utf-8"), f"{file}::{test}"
