"""The recipes of CONTRIBUTING do what they say, and everything around a contribution is there."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml  # type: ignore[import-untyped]

from likewise import OrdinalEmbedding
from likewise.errors import DatasetError
from likewise.spaces.base import Space
from likewise_methods.ordinal.solver import registry

ROOT = Path(__file__).parents[1]
TEXT = (ROOT / "CONTRIBUTING.md").read_text()


def recipe(heading: str) -> dict[str, Any]:
    """The names that the code below a heading makes."""
    section = TEXT.split(f"\n## {heading}\n")[1].split("\n## ")[0]
    (block,) = re.findall(r"```python\n(.*?)```", section, flags=re.DOTALL)
    names: dict[str, Any] = {"__name__": "recipe"}
    exec(compile(block, "CONTRIBUTING.md", "exec"), names)
    return names


def test_a_space() -> None:
    kind = recipe("A new kind of space")["MeanColour"]
    assert issubclass(kind, Space)
    assert kind.feature == "mean-colour"


def test_a_solver(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(registry, "SOLVERS", dict(registry.SOLVERS))
    recipe("A new solver")
    rng = np.random.default_rng(0)
    points = rng.random((20, 2))
    triplets = np.array([rng.permutation(20)[:3] for _ in range(800)])
    far = ((points[triplets[:, :1]] - points[triplets[:, 1:]]) ** 2).sum(axis=2)
    swap = far[:, 0] > far[:, 1]
    triplets[swap] = triplets[swap][:, [0, 2, 1]]
    monkeypatch.setattr("likewise_methods.ordinal.embedding.SOLVERS", registry.SOLVERS)
    fitted = {
        name: OrdinalEmbedding(solver=name, random_state=0).fit(triplets)
        for name in ("adagrad", "polish")
    }
    assert fitted["polish"].history_[-1].objective < fitted["adagrad"].history_[-1].objective
    assert fitted["polish"].score(triplets) > 0.95


def test_a_reader(tmp_path: Path) -> None:
    read = recipe("A new reader")["read_petals"]
    (tmp_path / "petals.csv").write_text("1,2,0\n\n3,4,1\n")
    table = read(tmp_path)
    assert table.X.tolist() == [[1, 2], [3, 4]]
    assert table.Y.tolist() == [0, 1]
    (tmp_path / "petals.csv").write_text("1,2,0\n3,four,1\n")
    with pytest.raises(DatasetError, match="line 2: '3,four,1'; numbers expected"):
        read(tmp_path)


def test_links_lead_somewhere() -> None:
    for page in ("CONTRIBUTING.md", "CODE_OF_CONDUCT.md"):
        text = (ROOT / page).read_text()
        headings = {
            re.sub(r"[^a-z0-9 -]", "", line.lstrip("# ").lower()).replace(" ", "-")
            for line in text.splitlines()
            if line.startswith("#")
        }
        for link in re.findall(r"\]\(([^)]+)\)", text):
            if link.startswith("#"):
                assert link[1:] in headings, link
            else:
                assert (ROOT / link).exists(), link


def test_workflows_call_what_is_there() -> None:
    """They cannot be run here: at least their commands exist, and files they name."""
    makefile = (ROOT / "Makefile").read_text()
    workflows = sorted((ROOT / ".github" / "workflows").glob("*.yml"))
    assert {path.stem for path in workflows} == {"docs", "release", "tests"}
    for path in workflows:
        text = path.read_text()
        assert "permissions:" in text
        assert "secrets." not in text  # releases are published by who the workflow is
        for target in re.findall(r"run: make ([a-z-]+)", text):
            assert re.search(rf"^{target}:", makefile, flags=re.MULTILINE), target
        for place in re.findall(r"--ignore=(\S+)", text):
            assert (ROOT / place).exists(), place
    lines = next(path for path in workflows if path.stem == "tests").read_text()
    assert 'python: ["3.11", "3.12", "3.13", "3.14"]' in lines


def test_every_change_builds_the_site_and_tries_a_release() -> None:
    for name, command in (("docs", "make docs"), ("release", "make release-check")):
        # YAML 1.1 reads a bare ``on`` as true.
        flow = yaml.load(
            (ROOT / ".github" / "workflows" / f"{name}.yml").read_text(), yaml.BaseLoader
        )
        assert {"push", "pull_request"} <= set(flow["on"])
        assert "main" in flow["on"]["push"]["branches"]
        (job,) = (
            job
            for job in flow["jobs"].values()
            if any(step.get("run", "").startswith(command) for step in job["steps"])
        )
        assert "if" not in job
        published = flow["jobs"]["publish"]
        assert published["if"]
        assert flow["jobs"][published["needs"]] is job
