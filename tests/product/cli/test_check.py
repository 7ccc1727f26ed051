"""`likewise evaluate check` on what folders and names may hold."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from likewise.cli.output import printable
from likewise.cli.pictures import _files, _line
from tests.product.corpus import MAY_ALL, quarters, saved


@pytest.mark.skipif(os.name == "nt", reason="there are no pipes among the files there")
def test_every_entry_is_listed(tmp_path: Path) -> None:
    (tmp_path / "good.png").write_bytes(saved(quarters(), "PNG"))
    (tmp_path / "dangling.jpg").symlink_to(tmp_path / "nowhere")
    os.mkfifo(tmp_path / "pipe.jpg")
    (tmp_path / ".hidden.png").write_bytes(b"x")
    (tmp_path / "loop").symlink_to(tmp_path)
    assert [path.name for path in _files([tmp_path])] == ["dangling.jpg", "good.png", "pipe.jpg"]


@pytest.mark.skipif(MAY_ALL, reason="a mode keeps nobody out here")
def test_a_folder_that_may_not_be_entered_is_listed(tmp_path: Path) -> None:
    (tmp_path / "closed").mkdir(mode=0)
    assert [path.name for path in _files([tmp_path])] == ["closed"]


def test_names_cannot_move_the_cursor() -> None:
    assert printable("a\nb\x1b[31m\udce9é") == "a\\nb\\x1b[31m\\udce9é"
    line = _line({"path": "x\ny.jpg", "usable": False, "reason": "is a folder"})
    assert line == "x\\ny.jpg: is a folder"
