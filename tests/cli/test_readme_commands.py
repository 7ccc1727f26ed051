"""The README's five minutes, word for word: every command of it, in its order, by a shell."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

from tests.cli.process import few_views

README = Path(__file__).parents[2] / "README.md"


def test_five_minutes(tmp_path: Path) -> None:
    section = README.read_text().split("## Five minutes")[1].split("\n## ")[0]
    blocks = re.findall(r"```\n(.*?)```", section, flags=re.DOTALL)
    lines = [line for block in blocks for line in block.splitlines()]
    commands = [line for line in lines if line.startswith(".venv/bin/likewise ")]
    # The server runs until Ctrl-C; tests/server starts and ends it.
    assert ".venv/bin/likewise open ~/Pictures" in commands
    commands = [line for line in commands if " open " not in line]
    assert len(commands) >= 11
    paths = few_views(tmp_path / "Pictures")
    shutil.copy(paths[2], tmp_path / "Pictures" / "cat.jpg")
    (tmp_path / ".venv" / "bin").mkdir(parents=True)
    program = tmp_path / ".venv" / "bin" / "likewise"
    program.write_text(f'#!/bin/sh\nexec {sys.executable} -m likewise "$@"\n')
    program.chmod(0o755)
    done = subprocess.run(
        ["sh", "-ec", "\n".join(commands)],
        capture_output=True,
        text=True,
        cwd=tmp_path,
        env={**os.environ, "HOME": str(tmp_path)},
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "cat.html").is_file()
    assert (tmp_path / "learned.html").is_file()
    assert (tmp_path / "photos-backup.lw").is_dir()
    assert "No problems." in done.stdout
