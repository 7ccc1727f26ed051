"""``python -m benchmarks.readers``: one line a data set."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path


def survey(*arguments: object) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "benchmarks.readers", *map(str, arguments)]
    root = Path(__file__).parents[3]
    return subprocess.run(command, cwd=root, capture_output=True, text=True, timeout=60)


def test_it_lists_what_is_absent(tmp_path: Path) -> None:
    done = survey(tmp_path)
    assert done.returncode == 0
    assert len(done.stdout.splitlines()) >= 11
    assert all("absent" in line for line in done.stdout.splitlines())


def test_it_says_what_it_refused(tmp_path: Path) -> None:
    (tmp_path / "uci-car").mkdir()
    (tmp_path / "uci-car" / "car.data").write_text("vhigh,[/red],2\n")
    done = survey(tmp_path)
    assert done.returncode == 1
    assert "refused" in done.stdout
