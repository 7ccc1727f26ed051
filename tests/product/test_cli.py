"""The command line as a person uses it: in a process of its own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.product.corpus import BROKEN, ODD, quarters, saved


def run(*arguments: object, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "likewise", *map(str, arguments)],
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
        env={**os.environ, "COLUMNS": "200", **environment},
    )


def test_help_and_version() -> None:
    assert "check" in run("--help").stdout
    assert run("--version").stdout.startswith("likewise 0.")
    nothing = run()
    assert "Usage" in nothing.stdout + nothing.stderr


def test_wrong_usage_is_exit_code_two() -> None:
    assert run("no-such-command").returncode == 2


def test_check_names_every_bad_file_and_goes_on(tmp_path: Path) -> None:
    for name in ("plain.jpg", "plain.png", "grey16.tif"):
        (tmp_path / name).write_bytes(ODD[name]())
    for name in ("half.jpg", "text.jpg", "bomb.png"):
        (tmp_path / name).write_bytes(BROKEN[name][0]())
    (tmp_path / ".hidden").write_bytes(b"x")
    done = run("check", tmp_path)
    assert done.returncode == 1
    assert "3 usable, 3 refused" in done.stdout
    assert "plain.jpg: JPEG 60 x 40 RGB" in done.stdout
    assert "truncated or corrupt JPEG" in done.stdout
    assert "100000 x 100000 pixels" in done.stdout
    assert ".hidden" not in done.stdout
    rows = json.loads(run("check", tmp_path, "--json").stdout)
    assert {Path(row["path"]).name: row["usable"] for row in rows} == {
        "plain.jpg": True,
        "plain.png": True,
        "grey16.tif": True,
        "half.jpg": False,
        "text.jpg": False,
        "bomb.png": False,
    }


@pytest.mark.slow
def test_check_of_good_pictures_is_exit_code_zero(tmp_path: Path) -> None:
    path = tmp_path / "a.png"
    path.write_bytes(saved(quarters(), "PNG"))
    assert run("check", path).returncode == 0
    absent = run("check", tmp_path / "absent.png")
    assert absent.returncode == 1
    assert "No such file" in absent.stdout


@pytest.mark.slow
def test_errors_are_one_line_unless_debugged(tmp_path: Path) -> None:
    for arguments, environment in (
        (("info", "-C", tmp_path / "absent"), {}),
        (("search", tmp_path / "absent.jpg", "-C", tmp_path / "absent"), {}),
    ):
        done = run(*arguments, **environment)
        assert done.returncode == 1
        assert done.stderr.startswith("likewise: ")
        assert len(done.stderr.strip().splitlines()) == 1
        debugged = run("--debug", *arguments, **environment)
        assert debugged.returncode == 1
        assert "Traceback" in debugged.stderr


@pytest.mark.slow
@pytest.mark.parametrize("arguments", [("check",), ("add",), ("remove",), ("restore", "x")])
def test_bad_options(arguments: tuple[object, ...]) -> None:
    assert run(*arguments).returncode == 2
