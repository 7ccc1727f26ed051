"""What the tests of the readers share: where the development data is, and small file trees."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from benchmarks.readers.records import data_root
from likewise.errors import DatasetError


def development(name: str) -> Path:
    """A development data set, or a skip that says which one is missing."""
    root = data_root()
    if root is None or not (root / name).exists():
        pytest.skip(f"development data {name} is not here (LIKEWISE_DATA)")
    return root / name


def grow(root: Path, files: dict[str, str | bytes]) -> Path:
    """Write a small file tree."""
    for name, content in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content.encode() if isinstance(content, str) else content)
    return root


def refusal(read: Callable[..., Any], *args: Any, **options: Any) -> str:
    """The message a reader refuses with."""
    with pytest.raises(DatasetError) as caught:
        read(*args, **options)
    return str(caught.value)
