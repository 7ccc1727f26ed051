"""docs/learning.md, word for word: every command and every line of Python of it, in its order."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest
from typer.testing import CliRunner

from likewise.cli.app import app
from likewise.collection.collection import Collection
from likewise_lab.evaluation.planted import planted_views
from likewise_methods.solis import judging
from likewise_methods.spaces import local_metric
from tests.product.collection.pictures import write

PAGE = Path(__file__).parents[3] / "docs" / "learning.md"


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Two views of 23 scenes in two folders, some judgements, triplets, and a new picture."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("LIKEWISE_COLLECTION", raising=False)
    scenes: dict[str, list[str]] = {}
    for view in planted_views(2):
        scene = view.name.rsplit("-", 2)[0]
        scenes.setdefault(scene, []).append(f"{'ab'[len(scenes) % 2]}/{view.name}.jpg")
        write(tmp_path / scenes[scene][-1], view.pixels[::2, ::2])
        if view.name == "coffee-01-crop":
            write(tmp_path / "holiday.jpg", view.pixels[10:-40, 30:-20])
    rows = [
        f"{one},{two},{other[0]}"
        for number, (one, two) in enumerate(scenes.values())
        for place, other in enumerate(scenes.values())
        if place != number
    ]
    (tmp_path / "triplets.csv").write_text("\n".join(["anchor,nearer,farther", *rows]))
    with Collection.create("photos.lw", deep=False) as col:
        col.add("a", "b", workers=0)
        for number in range(1, 17):
            col.judge(number, [number + 1], [number + 20])
    return tmp_path


@pytest.mark.slow
def test_every_command_of_the_page(here: Path) -> None:
    blocks = re.findall(r"```(python)?\n(.*?)```", PAGE.read_text(), flags=re.DOTALL)
    done = []
    for python, block in blocks:
        if python:
            exec(compile(block, "learning.md", "exec"), {})
            continue
        for line in block.splitlines():
            _, *arguments = shlex.split(line, comments=True)
            ended = CliRunner().invoke(app, arguments)
            assert ended.exit_code == 0, (line, ended.output, ended.exception)
            groups = {"models", "evaluate", "admin"}
            done.append(arguments[1] if arguments[0] in groups else arguments[0])
    wanted = {"teach", "undo", "log", "learn", "compact", "profile", "learned"}
    assert wanted <= set(done)
    assert (here / "learned.html").is_file()
    assert (here / "people.weights").is_file()


def test_limits_of_the_page() -> None:
    text = PAGE.read_text()
    rows = dict(re.findall(r"^\| [^|]* \| ([\d.]+)[^|]* \| `(\w+)` \|$", text, flags=re.MULTILINE))
    said = {name: float(value) for value, name in rows.items()}
    assert said.pop("SESSION_GAP") == 30
    assert said == {name: getattr(judging, name) for name in said}
    assert set(said) == {"JUDGEMENT_REACH", "SESSION_REACH", "LIMIT"}
    pattern = r"^\| [^|]* \| ([\d.]+) \| `local_metric\.(\w+)` \|$"
    pairs = {name: float(value) for value, name in re.findall(pattern, text, flags=re.MULTILINE)}
    assert pairs == {name: getattr(local_metric, name) for name in pairs}
    assert len(pairs) == 5
