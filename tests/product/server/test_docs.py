"""The examples of docs/server.md, run against a server."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.product.server.browser import Served, served

DOC = Path(__file__).parents[3] / "docs" / "server.md"


def blocks(language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", DOC.read_text(), re.DOTALL)


@pytest.fixture
def server(root: Path) -> Iterator[Served]:
    with served(root) as started:
        yield started


def run(server: Served, command: list[str], text: str, folder: Path) -> str:
    done = subprocess.run(
        command,
        input=text.replace("http://127.0.0.1:8700", server.url),
        capture_output=True,
        text=True,
        cwd=folder,
        env={**os.environ, "LIKEWISE_KEY": server.key},
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.slow
def test_the_python_client_works_as_written(server: Served, tmp_path: Path) -> None:
    text = "\n".join(blocks("python"))
    printed = run(server, [sys.executable, "-"], text, tmp_path)
    assert "holiday" in printed
    assert server.ask("/api/compare/questions?n=1")["progress"]["all"] == 5


@pytest.mark.skipif(shutil.which("curl") is None, reason="curl is missing")
def test_the_curl_examples_work_as_written(server: Served, home: Path, tmp_path: Path) -> None:
    shutil.copy(next((home / "outside").glob("*.jpg")), tmp_path / "query.jpg")
    lines = [line for block in blocks("sh") if "api()" in block or "api /" in block
             for line in block.splitlines()]  # fmt: skip
    # The stream of events has no end to wait for.
    text = "\n".join(line for line in lines if "/api/events" not in line)
    printed = run(server, ["bash", "-e"], text, tmp_path)
    assert printed.count("error") == 0, printed
    for said in ('"pictures"', '"upload"', '"tag":"first"', '"items"', '"address":"/?token='):
        assert said in printed.replace(": ", ":"), said
