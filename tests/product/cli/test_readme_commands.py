"""Run every command of the README's five minutes in a shell, in their order."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.product.cli.process import few_views
from tools.release.readme import five_minutes, installing

README = Path(__file__).parents[3] / "README.md"


@pytest.mark.slow
def test_five_minutes(tmp_path: Path) -> None:
    commands = five_minutes(README.read_text())
    # The server runs until Ctrl-C; tests/server starts and ends it.
    assert "likewise open ~/Pictures" in commands
    commands = [line for line in commands if " open " not in line]
    assert len(commands) >= 11
    paths = few_views(tmp_path / "Pictures")
    shutil.copy(paths[2], tmp_path / "Pictures" / "cat.jpg")
    (tmp_path / "bin").mkdir()
    program = tmp_path / "bin" / "likewise"
    program.write_text(f'#!/bin/sh\nexec {sys.executable} -m likewise "$@"\n')
    program.chmod(0o755)
    done = subprocess.run(
        ["sh", "-ec", "\n".join(commands)],
        capture_output=True,
        text=True,
        cwd=tmp_path,
        env={
            **os.environ,
            "HOME": str(tmp_path),
            "PATH": os.pathsep.join((str(program.parent), os.environ["PATH"])),
        },
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "cat.html").is_file()
    assert (tmp_path / "learned.html").is_file()
    assert (tmp_path / "photos-backup.lw").is_dir()
    assert "No problems." in done.stdout


def test_the_way_without_a_checkout_brings_typed_words_too() -> None:
    """`make release-check` installs by these very lines, with the wheel's file for its name."""
    from likewise.vision.text.status import COMMAND

    lines = [line.split("#")[0].strip() for line in installing(README.read_text())]
    assert lines == ["pip install likewise", COMMAND]
