"""The command line as a person uses it: in a process of its own."""

from __future__ import annotations

import contextlib
import io
import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

SCENES = ("astronaut", "chelsea", "china", "coffee", "flower", "rocket")


def few_views(folder: Path) -> list[Path]:
    """Two views of each of six scenes, as files."""
    from PIL import Image

    from likewise.evaluation.planted import planted_views

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
        inherited = {k: v for k, v in os.environ.items() if k != "LIKEWISE_COLLECTION"}
        return subprocess.run(
            [sys.executable, "-m", "likewise", *map(str, arguments)],
            capture_output=True,
            text=True,
            timeout=300,
            check=False,
            cwd=self.folder,
            env={**inherited, "COLUMNS": "200", **environment},
        )

    def json(self, *arguments: object) -> Any:
        """What a command prints with ``--json``; it must end well."""
        done = self(*arguments, "--json")
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)

    def refused(self, *arguments: object, code: int = 1) -> str:
        """The one line a command refuses with.

        Run here: a process of its own for each of many refusals would spend its time importing.
        """
        from likewise.cli import main

        out, err = io.StringIO(), io.StringIO()
        command = ["likewise", *map(str, arguments)]
        with (
            pytest.MonkeyPatch.context() as patch,
            contextlib.redirect_stdout(out),
            contextlib.redirect_stderr(err),
        ):
            patch.chdir(self.folder)
            patch.delenv("LIKEWISE_COLLECTION", raising=False)
            patch.setattr(sys, "argv", command)
            with pytest.raises(SystemExit) as ended:
                main()
        assert ended.value.code == code, out.getvalue() + err.getvalue()
        assert out.getvalue() == ""
        if code == 1:
            assert err.getvalue().startswith("likewise: "), err.getvalue()
            assert len(err.getvalue().splitlines()) == 1, err.getvalue()
        return err.getvalue()
