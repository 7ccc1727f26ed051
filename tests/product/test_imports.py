"""What importing the product does not import."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest


@pytest.mark.parametrize(
    "code",
    [
        "import likewise.collection.collection",
        "import likewise.cli.app",
        "import likewise.ingest.describe",
        "import likewise as lw; lw.SOLIS; lw.Vocabulary; lw.SparseAnnotator; lw.ProductSparseCoder",
    ],
)
def test_scikit_learn_is_not_imported_before_it_is_needed(code: str, tmp_path: Path) -> None:
    """Its import takes more processor time than most commands."""
    done = subprocess.run(
        [sys.executable, "-c", f"{code}; import sys; print(int('sklearn' in sys.modules))"],
        capture_output=True,
        text=True,
        check=True,
        cwd=tmp_path,
        env=os.environ,
    )
    assert done.stdout.strip() == "0"
