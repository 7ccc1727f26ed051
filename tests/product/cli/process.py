"""The command line as a person uses it: arguments in, text and a code out."""

from __future__ import annotations

import contextlib
import io
import json
import os
import signal
import subprocess
import sys
import traceback
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from likewise.cli import app

_SURROUNDINGS = {"COLUMNS": "200"}
SCENES = ("astronaut", "chelsea", "china", "coffee", "flower", "rocket")


def hear_ctrl_c() -> None:
    """In a new process (``preexec_fn``): hear Ctrl-C, as what a terminal starts does.

    Whoever runs tests in the background ignores it, and so would what they start.
    """
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def few_views(folder: Path) -> list[Path]:
    """Two views of each of six scenes, as files."""
    from PIL import Image

    from likewise_lab.evaluation.planted import planted_views

    folder.mkdir(parents=True, exist_ok=True)
    paths = []
    for view in planted_views(2):
        if view.name.rsplit("-", 2)[0] in SCENES:
            paths.append(folder / f"{view.name}.jpg")
            Image.fromarray(view.pixels).save(paths[-1], quality=90)
    assert len(paths) == 2 * len(SCENES)
    return paths


@dataclass(frozen=True)
class Likewise:
    """Runs ``likewise`` in a folder; its collection is ``photos.lw`` there."""

    folder: Path

    @property
    def pictures(self) -> Path:
        return self.folder / "pictures"

    def __call__(self, *arguments: object, **environment: str) -> subprocess.CompletedProcess[str]:
        """Run a command in this process, as its entry point would in one of its own.

        A process for each of some two hundred commands would spend its time importing.
        """
        from likewise.cli import main

        command = ["likewise", *map(str, arguments)]
        code: object = 0
        with (
            pytest.MonkeyPatch.context() as patch,
            _captured("stdout") as out,
            _captured("stderr") as err,
        ):
            patch.chdir(self.folder)
            for name, value in {**self._surroundings(), **environment}.items():
                patch.setenv(name, value)
            if "LIKEWISE_COLLECTION" not in environment:
                patch.delenv("LIKEWISE_COLLECTION", raising=False)
            patch.setattr(sys, "argv", command)
            patch.setattr(app, "_debug", False)
            try:
                main()
            except SystemExit as ended:
                code = ended.code
            except Exception:  # what a process would end with
                traceback.print_exc()
                code = 1
        returncode = code if isinstance(code, int) else int(code is not None)
        return subprocess.CompletedProcess(command, returncode, text_of(out), text_of(err))

    def alone(self, *arguments: object, **environment: str) -> subprocess.CompletedProcess[str]:
        """The same in a process of its own, as a shell starts it."""
        inherited = {k: v for k, v in os.environ.items() if k != "LIKEWISE_COLLECTION"}
        return subprocess.run(
            [sys.executable, "-m", "likewise", *map(str, arguments)],
            capture_output=True,
            text=True,
            timeout=300,
            check=False,
            cwd=self.folder,
            env={**inherited, **self._surroundings(), **environment},
        )

    def _surroundings(self) -> dict[str, str]:
        """The last collection opened is remembered for this folder alone."""
        return {**_SURROUNDINGS, "LIKEWISE_STATE": str(self.folder / ".state")}

    def json(self, *arguments: object) -> Any:
        """What a command prints with ``--json``; it must end well."""
        done = self(*arguments, "--json")
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)

    def refused(self, *arguments: object, code: int = 1) -> str:
        """The one line a command refuses with."""
        done = self(*arguments)
        assert done.returncode == code, done.stdout + done.stderr
        assert done.stdout == ""
        if code == 1:
            said = [line for line in done.stderr.splitlines() if not line.startswith("using ")]
            assert len(said) == 1, done.stderr
            assert said[0].startswith("likewise: "), done.stderr
        return done.stderr


@contextlib.contextmanager
def _captured(name: str) -> Iterator[io.BytesIO]:
    """Standard output or error as bytes, with a text layer over them as a process has it."""
    kept = io.BytesIO()
    layer = io.TextIOWrapper(kept, encoding="utf-8", write_through=True)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, name, layer)
        yield kept
        layer.flush()
        # Whoever still holds the layer (a console made meanwhile) must not close what was kept.
        layer.detach()


def text_of(kept: io.BytesIO) -> str:
    return kept.getvalue().decode()
