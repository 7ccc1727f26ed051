"""``likewise admin spaces add psc`` and ``vlad``, and what ``similarity list`` says then."""

from __future__ import annotations

import json
from pathlib import Path

from typer.testing import CliRunner

from likewise.cli.app import app
from likewise.collection.collection import Collection
from tests.product.collection.pictures import small_scenes, write

RUN = CliRunner()


def said(*arguments: str):
    done = RUN.invoke(app, [*arguments, "--json"])
    assert done.exit_code == 0, done.output
    return json.loads(done.stdout)


def test_pooled_spaces_are_added_and_asked(tmp_path: Path) -> None:
    for scene in ("astronaut", "china", "rocket"):
        for i in range(2):
            pixels = small_scenes()[scene]
            write(tmp_path / "p" / f"{scene}-{i}.jpg", pixels[5 * i :, 3 * i :])
    where = ("-C", str(tmp_path / "photos.lw"))
    with Collection.create(tmp_path / "photos.lw", words={"n_words": 50}, deep=False) as col:
        col.add(tmp_path / "p", workers=0)
    few = ("--set", "n_words=6", "--set", "step=16", "--workers", "0")
    for name in ("psc", "vlad"):
        made = said("space", "add", name, *where, *few)
        assert (made["space"], made["width"], made["recipe"]["feature"]) == (name, 5, name)
        hits = said("search", str(tmp_path / "p" / "china-1.jpg"), "--by", name, "-k", "1", *where)
        assert "china-0" in json.dumps(hits)
    both = {row["name"]: set(row["spaces"]) for row in said("similarity", "list", *where)}["both"]
    assert both == {"words", "vlad"}
    assert said("verify", *where)["ok"]
