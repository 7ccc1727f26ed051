"""What the README shows is run: its Python blocks as written, its commands by name."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from tests.product.corpus import noisy, saved

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text()


def test_python_blocks_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for number, name in enumerate(("holiday", "b", "c", "d", "e")):
        (tmp_path / f"{name}.heic").write_bytes(saved(noisy(200 + 8 * number), "HEIF"))
    blocks = re.findall(r"```python\n(.*?)```", README, flags=re.DOTALL)
    assert len(blocks) >= 2
    names: dict[str, Any] = {}
    for block in blocks:
        exec(compile(block, "README.md", "exec"), names)
    assert names["result"].added == 5
    assert names["again"][0].id == names["hits"][2].id
    assert [one.tag for one in names["suggestions"]] == ["garden"]
    assert names["metric"].gap_ < 1e-3


def test_it_is_short() -> None:
    assert len(README.splitlines()) <= 120


def test_make_targets_and_links_exist() -> None:
    makefile = (ROOT / "Makefile").read_text()
    for target in re.findall(r"make ([a-z-]+)", README):
        pattern = "bench-%" if target.startswith("bench-") else target
        assert re.search(rf"^{re.escape(pattern)}:", makefile, flags=re.MULTILINE), target
    for link in re.findall(r"\]\(([^)]+)\)", README):
        assert (ROOT / link).exists(), link


def test_the_two_commands_stand_side_by_side_near_the_top() -> None:
    """What somebody types first, with what it needs, how long it takes and what it skips."""
    top = README[: README.index("## On the command line")]
    block = next(b for b in re.findall(r"```\n(.*?)```", top, flags=re.DOTALL) if "make demo" in b)
    lines = {line.split("#")[0].strip(): line for line in block.splitlines()}
    assert {"make demo", "make test"} <= set(lines)
    assert all("minute" in lines[name] for name in ("make demo", "make test"))
    early = README.splitlines()[:39]
    assert all(any(line.startswith(name) for line in early) for name in ("make demo", "make test"))
    assert "Python 3.11" in top
    assert "make browser" in top


def test_no_path_of_a_machine_is_written_down() -> None:
    """Documentation and results speak of the project, not of where it was built."""
    for path in (*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md"), *ROOT.glob("docs/**/*.csv")):
        assert not re.search(r"(?<![\w.])/(home|root|work|tmp)/", path.read_text()), path


def test_the_citation_file_lists_papers_that_are_known() -> None:
    """CFF 1.2.0 wants type, title and authors of every reference; what is not known is no entry."""
    text = (ROOT / "CITATION.cff").read_text()
    head, _, listed = text.partition("\nreferences:\n")
    for key in ("cff-version: 1.2.0", "message: ", "title: ", "authors:", "type: software"):
        assert re.search(rf"^{re.escape(key)}", head, flags=re.MULTILINE), key
    entries = re.split(r"^  - ", listed, flags=re.MULTILINE)[1:]
    assert len(entries) == 4
    for entry in entries:
        assert entry.startswith(("type: article\n", "type: conference-paper\n")), entry
        assert re.search(r'^    title: "[^"]+"$', entry, flags=re.MULTILINE), entry
        assert re.search(r"^    year: \d{4}$", entry, flags=re.MULTILINE), entry
        people = entry.count("- family-names: ")
        assert people > 1
        assert people == entry.count("given-names: ")
    assert "SISO" in head
    assert "SISO" not in listed
