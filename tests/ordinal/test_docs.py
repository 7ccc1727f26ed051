"""The Python of docs/ordinal.md, run as written."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

PAGE = Path(__file__).parents[2] / "docs" / "ordinal.md"


def test_the_page_runs() -> None:
    blocks = re.findall(r"```python\n(.*?)```", PAGE.read_text(), flags=re.DOTALL)
    assert len(blocks) == 3
    names: dict[str, Any] = {}
    for block in blocks:
        exec(compile(block, "ordinal.md", "exec"), names)
    assert names["model"].score(names["answers"][1500:]) > 0.95
    assert names["ask"].shape == (5, 3)
    assert names["curve"].best_dimension == 2
